/* One job: what it is, how far it is, what came out, and where. */
import { address, query } from '../api.js';
import { fill, h, onChange } from '../dom.js';
import { UNKNOWN, title } from '../format.js';
import { facts } from '../parts.js';
import { poll } from '../poll.js';
import { isFinal } from '../words.js';
import { chartPanel } from './chart_panel.js';
import { environmentPanel, valueWords } from './environment.js';
import { filesystemsPanel } from './filesystems.js';
import { findingsPanel } from './findings.js';
import { hostPanel } from './host_panel.js';
import { jobHeader } from './job_header.js';
import { ladderPanel } from './ladder.js';
import { noticesPanel } from './notices.js';
import { phasesPanel } from './phases.js';
import { ofRun, runsPanel, shownRun } from './runs.js';

const LIVE = 1, CLEANING = 2; /* seconds between looks */
const CONCLUDING = 15; /* looks, for the findings of a job that has just ended */
const HOLD = 30; /* seconds that the server may keep us waiting for a queued job to start */

export function jobView(context, id) {
    const { main, signal } = context;
    const shared = { ...context, id };
    let watch = null, last = null, chosen = Number(context.search.get('run')) || null;
    const header = jobHeader({ ...shared, again: () => watch.again() });
    const panels = {
        notices: noticesPanel(), phases: phasesPanel(), findings: findingsPanel(), chart: chartPanel(shared), host: hostPanel(shared),
        params: paramsPanel(), environment: environmentPanel(), links: linksPanel(id),
    };
    const ladder = ladderPanel(), filesystems = filesystemsPanel(shared);
    const runs = runsPanel((run) => {
        const asked = new URLSearchParams(location.search);
        chosen = run;
        asked.set('run', run);
        history.replaceState(null, '', `${location.pathname}?${asked}`);
        update(last);
    });
    function update(job) {
        const shown = shownRun(job, chosen);
        last = job;
        runs.update(job, shown);
        ladder.update(job);
        for (const panel of Object.values(panels))
            panel.update(ofRun(job, shown));
        updateFilesystems(job);
    }
    function updateFilesystems(job) {
        if (job.workload === 'filesystem-scaling')
            filesystems.update([ofRun(job, shownRun(job, chosen))]);
    }
    const show = (...names) => names.map((name) => panels[name].element);
    const page = h('div', { class: 'job', hidden: true }, header.element, show('notices'),
        h('div', { class: 'columns' },
            h('div', { class: 'wide' }, runs.element, ladder.element, show('phases', 'findings'), filesystems.element, show('chart', 'host')),
            h('div', { class: 'narrow' }, show('params', 'links'))),
        show('environment'));
    fill(main, page);
    context.title(`Job ${id}`);
    /* While it waits, the answer is held until its state changes; while it runs, progress is read. */
    let waiting = false, patience = CONCLUDING;
    watch = poll({
        signal, failed: context.failed,
        address: () => `/jobs/${id}`, hold: () => (waiting ? HOLD : 0),
        each(job, fresh) {
            waiting = job.state === 'queued';
            if (fresh) {
                page.hidden = false;
                context.title(`${title(job.state)} · job ${id}`);
                header.update(job);
                update(job);
            } else if (!isFinal(job.state)) {
                header.update(job);
                panels.host.update(ofRun(job, shownRun(job, chosen)));
                updateFilesystems(job);
            }
            if (!isFinal(job.state))
                return job.state === 'queued' ? 0.1 : LIVE;
            const concluded = job.findings.length > 0 || !job.phases.some((p) => p.ops > 0);
            if (job.cleanup === 'pending' || job.cleanup === 'running')
                return CLEANING;
            return concluded || patience-- <= 0 ? null : LIVE;
        },
    });
}

/** What was asked for. */
function paramsPanel() {
    const list = h('div'), about = h('div');
    const element = h('section', { class: 'card', 'aria-labelledby': 'params-head' },
        h('h2', { id: 'params-head' }, 'Parameters'), list, about);
    const draw = onChange(({ params, labels, note, reference, by, host }) => {
        fill(list, facts(Object.entries(params).map(([name, value]) => [title(name), valueWords(name, value)])));
        const rows = [
            ['Note', note], ['Reference', reference], ['Asked by', by], ['Host', host],
            ...Object.entries(labels).map(([name, value]) => [name, value]),
        ].filter(([, value]) => value);
        fill(about, rows.length ? [h('hr'), facts(rows)] : null);
    });
    return {
        element,
        update: (job) => draw({
            params: job.params ?? {}, labels: job.labels ?? {}, note: job.note,
            reference: job.external_ref, by: job.created_by, host: job.host,
        }),
    };
}

/** The same facts for programs. */
function linksPanel(id) {
    const csv = h('div');
    const element = h('section', { class: 'card', 'aria-labelledby': 'links-head' },
        h('h2', { id: 'links-head' }, 'Take it away'),
        h('ul', { class: 'links' },
            h('li', {}, 'Every sample, CSV: ', csv),
            h('li', {}, h('a', { href: address(`/jobs/${id}/report?format=html`) }, 'Report'), ', ',
                h('a', { href: address(`/jobs/${id}/report?format=markdown`), download: `job-${id}.md` }, 'as Markdown'), ' for a ticket'),
            h('li', {}, h('a', { href: address(`/jobs/${id}/journal`), download: `job-${id}.ndjson` }, 'The journal'), ' as the runner wrote it'),
            h('li', {}, h('a', { href: address(`/jobs/${id}`) }, 'This job'), ' as JSON')));
    const draw = onChange((names) => fill(csv, names.length === 0 ? UNKNOWN : names.map((name, i) => [
        i ? ', ' : null,
        h('a', {
            href: address(`/jobs/${id}/series${query({ phase: name, format: 'csv' })}`),
            download: `job-${id}-${name}.csv`,
        }, name),
    ])));
    return { element, update: (job) => draw([...new Set((job.phases ?? []).map((p) => p.name))]) };
}
