/* Jobs beside each other: the verdict for each phase in a sentence, the curves on one load axis, and what
 * they ran with and on that differs. The first job named is what the others are compared with. */
import { address, get, query } from '../api.js';
import { fill, h, text } from '../dom.js';
import { figure, localTime, number, percent, quantity, sentence, title } from '../format.js';
import { overlayChart } from '../overlay.js';
import { emptyPage } from '../parts.js';
import { gaps } from '../range.js';
import { MEASURES } from '../words.js';
import { valueWords } from './environment.js';
import { filesystemsPanel } from './filesystems.js';
import { ofRun } from './runs.js';

const POINTS = 400;
export const VERDICTS = { faster: 'Faster', slower: 'Slower', same: 'The same', 'cannot-tell': 'Cannot tell' };

export function compareView(context) {
    const { main, signal, search } = context;
    const want = { jobs: search.get('jobs') ?? '', force: search.get('force') === '1' ? 1 : null };
    context.title('Comparison');
    if (!want.jobs) {
        fill(main, emptyPage('Nothing to compare', h('p', {}, 'Choose two to eight jobs of one workload in the list of ',
            h('a', { href: '/' }, 'jobs'), '.')));
        return;
    }
    (async () => {
        try {
            show(context, want, await get(`/comparisons${query(want)}`, { signal }));
        } catch (error) {
            if (error.name === 'AbortError')
                return;
            if (error.status === 409 && !want.force)
                refused(main, want, error);
            else
                context.failed(error);
        }
    })();
}

/* Another amount of work is no reason to call a filesystem slow; whoever wants to may look nevertheless. */
function refused(main, want, error) {
    fill(main, emptyPage('These jobs are not alike', h('p', {}, sentence(error.message)),
        h('p', {}, h('a', { class: 'button', href: `/compare${query({ ...want, force: 1 })}` }, 'Compare nevertheless'))));
}

function show(context, want, answer) {
    const { main, signal } = context;
    const names = answer.jobs.map((job) => `job ${job.id}`);
    context.title(`${title(names.join(', '))} compared`);
    const filesystems = filesystemsPanel(context);
    const curves = curvesPanel({ ...context, jobs: answer.jobs, filesystems });
    fill(main,
        h('div', { class: 'head' }, h('h1', {}, 'Comparison'), h('p', { class: 'links' },
            h('a', { href: address(`/comparisons${query({ ...want, format: 'markdown' })}`), download: 'comparison.md' }, 'Markdown'), ' for a ticket, ',
            h('a', { href: address(`/comparisons${query(want)}`) }, 'JSON'))),
        h('div', { class: 'job' },
            jobsPanel(answer),
            answer.forced && h('section', { class: 'notice result' }, h('h2', {}, 'Compared although parameters differ'),
                h('p', {}, 'The figures stand; no verdict can.')),
            answer.comparisons.map((one) => verdictPanel(one)),
            filesystems.element, curves, answer.comparisons.map((one) => differencesPanel(one))));
    signal.throwIfAborted();
}

function jobsPanel({ jobs }) {
    return h('section', { class: 'card' }, h('h2', {}, 'Jobs'),
        h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'The jobs compared' },
            h('table', {}, h('caption', { class: 'unseen' }, 'The jobs compared'),
                h('thead', {}, h('tr', {}, ['', 'Job', 'Workload', 'Target', 'Host', 'Created'].map((name) =>
                    (name ? h('th', { scope: 'col' }, name) : h('td', {}))))),
                h('tbody', {}, jobs.map((job, i) => h('tr', {},
                    h('td', { class: 'strong' }, i ? String.fromCharCode(65 + i) : 'A, the others against it'),
                    h('td', {}, h('a', { href: `/jobs/${job.id}` }, `#${job.id}`)),
                    h('td', {}, job.workload), h('td', {}, job.target || job.name), h('td', {}, job.host),
                    h('td', { class: 'num' }, localTime(job.created_at))))))));
}

function verdictPanel({ a, b, phases, flags }) {
    const runs = phases.some((p) => p.run > 1);
    const columns = [
        ['Phase', (p) => title(p.phase) + (runs ? ` ${p.run}` : '')],
        ['Verdict', (p) => h('span', { class: `verdict ${p.verdict}` }, VERDICTS[p.verdict] ?? p.verdict, p.small ? ', perhaps under 5 %' : '')],
        ['Cost, times', (p) => figure(p.ratio), 'num right'],
        ['Interval', (p) => `${figure(p.low)} to ${figure(p.high)}`, 'num right'],
        ['Confidence', (p) => percent(p.confidence, 1), 'num right'],
        ['p', (p) => figure(p.p), 'num right'],
        ['Whole time, times', (p) => figure(p.ratio_total), 'num right'],
        ['Passes 1 at', (p) => (p.cross === null || p.cross === undefined ? '–' : number(p.cross)), 'num right'],
    ];
    return h('section', { class: 'card' },
        h('h2', {}, `Job ${b} against job ${a}`),
        h('ul', { class: 'sentences' }, phases.map((p) => h('li', { 'data-verdict': p.verdict }, p.sentence))),
        flags.length > 0 && h('ul', { class: 'flags' }, flags.map((flag) => h('li', {}, sentence(flag)))),
        h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Figures of job ${b} against job ${a}` },
            h('table', { class: 'phases' }, h('caption', { class: 'unseen' }, `Job ${b} against job ${a}, phase by phase`),
                h('thead', {}, h('tr', {}, columns.map(([name, , kind]) => h('th', { scope: 'col', class: kind ? 'right' : null }, name)))),
                h('tbody', {}, phases.map((p) => h('tr', {}, columns.map(([, cell, kind], i) =>
                    (i ? h('td', { class: kind ?? null }, cell(p)) : h('th', { scope: 'row' }, cell(p))))))))));
}

function differencesPanel({ a, b, differences }) {
    const rows = [
        ...differences.params.map((d) => ({ ...d, of: 'Parameter' })),
        ...differences.environment.map((d) => ({ ...d, of: 'Environment' })),
    ];
    return h('section', { class: 'card' }, h('h2', {}, `What else differs between job ${a} and job ${b}`),
        rows.length === 0
            ? h('p', { class: 'doc' }, 'Nothing that is recorded: parameters, kernel, filesystem, device, CPU, memory and the rest are the same.')
            : h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Differences' },
                h('table', {}, h('caption', { class: 'unseen' }, 'Differences of parameters and environment'),
                    h('thead', {}, h('tr', {}, ['', 'What', `Job ${a}`, `Job ${b}`].map((name) => (name ? h('th', { scope: 'col' }, name) : h('td', {}))))),
                    h('tbody', {}, rows.map((d) => h('tr', {}, h('td', {}, d.of), h('th', { scope: 'row' }, title(d.pointer.slice(1).replace(/\//g, ', '))),
                        h('td', { class: 'wrap' }, side(d, d.a)), h('td', { class: 'wrap' }, side(d, d.b))))))));
}

const side = (d, value) => (value === null ? 'not recorded' : valueWords(d.pointer.split('/').at(-1), value));

/** The curves of one phase of every job; which phase and what of it is chosen above them. */
function curvesPanel({ jobs, signal, failed, search, filesystems }) {
    const chart = overlayChart(signal);
    const state = h('p', { class: 'doc' });
    const want = { phase: search.get('phase'), y: MEASURES[search.get('y')] ? search.get('y') : 'elapsed' };
    const phases = h('select', { id: 'curve-phase', onchange: () => choose('phase', phases.value) });
    const measures = h('select', { id: 'curve-y', onchange: () => choose('y', measures.value) },
        Object.entries(MEASURES).map(([name, { name: words }]) => h('option', { value: name, selected: name === want.y }, words)));
    const log = h('input', { type: 'checkbox', id: 'curve-log', onchange: () => load() });
    const element = h('section', { class: 'card', 'aria-labelledby': 'curves-head' },
        h('div', { class: 'card-head' }, h('h2', { id: 'curves-head' }, 'Curves at equal load'),
            h('div', { class: 'tools' },
                h('span', { class: 'pick' }, h('label', { for: 'curve-phase' }, 'Phase'), phases),
                h('span', { class: 'pick' }, h('label', { for: 'curve-y' }, 'Show'), measures),
                h('label', { class: 'box', for: 'curve-log' }, log, 'Logarithmic'))),
        chart.element, state);
    let whole = null;

    function choose(name, value) {
        want[name] = value;
        const asked = Object.fromEntries(new URLSearchParams(location.search));
        history.replaceState(null, '', location.pathname + query({ ...asked, ...want }));
        load();
    }

    async function lineOf(job) {
        const phase = job.phases.find((p) => p.name === want.phase);
        if (!phase)
            return null;
        const answer = await get(`/jobs/${job.id}/series${query({ phase: want.phase, run: phase.run, y: want.y, points: POINTS })}`, { signal });
        return { label: `job ${job.id}`, unit: answer.unit, load: phase.unit, x: answer.points.x, y: gaps(answer.points.mean) };
    }

    async function load() {
        text(state, 'Reading …');
        try {
            whole ??= await Promise.all(jobs.map(({ id }) => get(`/jobs/${id}`, { signal })));
            if (whole.every((job) => job.workload === 'filesystem-scaling'))
                filesystems.update(whole.map((job) => ofRun(job, 1)));
            const names = [...new Set(whole.flatMap((job) => job.phases.map((p) => p.name)))];
            want.phase = names.includes(want.phase) ? want.phase : names[0];
            fill(phases, names.map((name) => h('option', { value: name, selected: name === want.phase }, title(name))));
            draw((await Promise.all(whole.map(lineOf))).filter(Boolean));
        } catch (error) {
            if (error.name === 'AbortError')
                return;
            if (error.status === 401)
                failed(error);
            else
                text(state, sentence(error.message));
        }
    }

    function draw(lines) {
        const marks = whole.flatMap((job) => job.findings.filter((f) => f.kind === 'knee' && f.phase === want.phase)
            .map((f) => ({ at: f.data.at, label: `knee of job ${job.id}` })));
        const { unit, load: loadUnit } = lines[0] ?? {};
        chart.show({
            lines, xUnit: loadUnit, yUnit: unit, log: log.checked, marks,
            label: `${MEASURES[want.y].name} of ${want.phase} against ${loadUnit}, ${lines.map((line) =>
                `${line.label} up to ${quantity(Math.max(...line.y.filter((v) => v !== null)), unit)}`).join(', ')}`,
        });
        text(state, `${MEASURES[want.y].name} against ${loadUnit}; each line is the mean of at most ${number(POINTS)} columns.`);
    }

    load();
    return element;
}
