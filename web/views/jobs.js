/* The list of jobs, newest first; it follows what happens. */
import { get, query } from '../api.js';
import { attribute, fill, h, keyed, text } from '../dom.js';
import { UNKNOWN, count, duration, number, percent, rate } from '../format.js';
import { LINES } from '../overlay.js';
import { badge, bar, empty, time } from '../parts.js';
import { poll } from '../poll.js';
import { STATES, isFinal } from '../words.js';

const PAGE = 25;
const STATE_CHOICES = [
    ['', 'Any state'], ['queued,running,cancelling,rebooting', 'Not finished'],
    ...Object.entries(STATES),
];

export function jobsView(context) {
    const { main, signal, search } = context;
    const filters = {
        state: search.get('state'), workload: search.get('workload'), target: search.get('target'),
    };
    let cursor = search.get('cursor');
    const body = h('tbody');
    const table = h('table', { class: 'jobs' },
        h('caption', { class: 'unseen' }, 'Jobs, newest first'),
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Chosen to compare')), ['Job', 'State', 'Workload', 'Target', 'Progress', 'Rate', 'Created', 'Took']
            .map((name, i) => h('th', { scope: 'col', class: [0, 5, 7].includes(i) ? 'right' : null }, name)))),
        body);
    const nothing = h('div', { hidden: true });
    const pages = h('nav', { class: 'pages', 'aria-label': 'Pages of the list' });
    const picks = pickBar();
    fill(main,
        h('div', { class: 'head' }, h('h1', {}, 'Jobs'), h('span', { class: 'gap' }), picks.element,
            context.may('run') && h('a', { class: 'button primary', href: '/new' }, 'New job')),
        filterBar(filters, signal, chosen),
        h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Jobs', hidden: true }, table), nothing, pages);
    const list = poll({
        signal, failed: context.failed,
        address: () => `/jobs${query({ limit: PAGE, ...filters, cursor })}`,
        each({ items, next_cursor: next }, fresh) {
            if (fresh) {
                keyed(body, items, (job) => job.id, (job) => row(job, picks));
                picks.keep(items.map((job) => job.id));
                table.parentElement.hidden = items.length === 0;
                nothing.hidden = items.length > 0;
                fill(nothing, nothingWords(Object.values(filters).some(Boolean) || cursor, context.may('run')));
                fill(pages,
                    cursor && h('a', { class: 'button', href: `/${query(filters)}` }, 'Newest'),
                    next && h('a', { class: 'button', href: `/${query({ ...filters, cursor: next })}` }, 'Older'));
            }
            return items.some((job) => !isFinal(job.state)) ? 1 : 3;
        },
    });
    /* A choice becomes part of the address, so that a filtered list can be linked to. */
    function chosen(name, value) {
        filters[name] = value;
        cursor = null;
        history.pushState(null, '', `/${query(filters)}`);
        list.again();
    }
}

function nothingWords(narrowed, mayRun) {
    if (narrowed)
        return empty('No job matches', h('p', {}, h('a', { href: '/' }, 'Show all jobs')));
    return empty('Nothing has been measured yet',
        h('p', {}, 'A job runs a workload on a target and keeps every batch it timed.'),
        mayRun && h('p', {}, h('a', { class: 'button primary', href: '/new' }, 'Measure something')));
}

/** @param chosen (name, value) => void */
function filterBar(filters, signal, chosen) {
    const pick = (name, label, choices) => {
        const select = h('select', {
            id: `filter-${name}`, onchange: () => chosen(name, select.value),
        });
        const offer = (all) => fill(select, all.map(([value, words]) =>
            h('option', { value, selected: value === (filters[name] ?? '') }, words)));
        offer(filters[name] && !choices.some(([v]) => v === filters[name])
            ? [...choices, [filters[name], filters[name]]] : choices);
        return { element: [h('label', { class: 'unseen', for: select.id }, label), select], offer };
    };
    const workload = pick('workload', 'Workload', [['', 'Any workload']]);
    const target = pick('target', 'Target', [['', 'Any target']]);
    const names = async (path, filter, first) => {
        try {
            const { items } = await get(path, { signal });
            filter.offer([['', first], ...items.map(({ name }) => [name, name])]);
        } catch {
            /* The list itself reports what is wrong; without names the filter keeps what it has. */
        }
    };
    names('/workloads', workload, 'Any workload');
    names('/targets', target, 'Any target');
    return h('div', { class: 'filters', role: 'search', 'aria-label': 'Filter the jobs' },
        pick('state', 'State', STATE_CHOICES).element, workload.element, target.element);
}

/** What is ticked, in the order it was ticked: the first is what the others are compared with. */
function pickBar() {
    const ticked = new Set();
    const link = h('a', { class: 'button' }, 'Compare');
    const words = h('span', { class: 'doc', role: 'status' });
    const element = h('span', { class: 'picks', hidden: true }, words, link);
    function update() {
        const jobs = [...ticked], able = jobs.length >= 2 && jobs.length <= LINES;
        element.hidden = jobs.length === 0;
        link.hidden = !able;
        attribute(link, 'href', `/compare${query({ jobs: jobs.join(',') })}`);
        text(words, able ? `${jobs.slice(1).map((id) => `#${id}`).join(', ')} against #${jobs[0]}`
            : jobs.length < 2 ? 'Tick another job to compare' : `At most ${LINES} jobs can be compared`);
    }
    return {
        element,
        toggle(id, on) {
            ticked[on ? 'add' : 'delete'](id);
            update();
        },
        /** Forgets what the list does not show any more. */
        keep(shown) {
            [...ticked].filter((id) => !shown.includes(id)).forEach((id) => ticked.delete(id));
            update();
        },
    };
}

function row(job, picks) {
    const state = badge(), created = time(), progress = bar(`Progress of job ${job.id}`);
    const done = h('span', { class: 'num small' }), speed = h('td', { class: 'num right' });
    const took = h('td', { class: 'num right' });
    const tick = h('input', { type: 'checkbox', 'aria-label': `Compare job ${job.id}`, onchange: () => picks.toggle(job.id, tick.checked) });
    const element = h('tr', {},
        h('td', {}, tick), h('td', { class: 'num right' }, h('a', { href: `/jobs/${job.id}` }, `#${job.id}`)),
        h('td', {}, state), h('td', {}, job.workload), h('td', {}, job.target || job.name),
        h('td', { class: 'progress' }, progress, done), speed, h('td', {}, created), took);
    element.update = (now) => {
        state.update(now.state);
        created.update(now.created_at);
        const { share, words } = progressOf(now);
        progress.hidden = share === null;
        progress.update(share);
        text(done, words);
        text(speed, rateOf(now));
        text(took, tookOf(now));
    };
    return element;
}

function progressOf(job) {
    const p = job.progress;
    if (p)
        return {
            share: p.total > 0 ? p.done / p.total : null,
            words: `${p.phase} ${p.total > 0 ? percent(p.done / p.total) : number(p.done)}`,
        };
    const first = job.phases?.[0];
    if (!first)
        return { share: null, words: job.state === 'queued' ? 'waiting' : UNKNOWN };
    const limited = job.phases.some((phase) => phase.limited_by);
    return { share: null, words: count(first.ops, first.unit) + (limited ? ', limit reached' : '') };
}

function rateOf(job) {
    if (job.progress)
        return job.progress.rate === null ? UNKNOWN : rate(job.progress.rate, `${job.progress.unit}/s`);
    const first = job.phases?.[0];
    return first ? rate(first.rate, `${first.unit}/s`) : UNKNOWN;
}

function tookOf(job) {
    if (!job.started_at)
        return UNKNOWN;
    const end = job.finished_at ? Date.parse(job.finished_at) : Date.now();
    return duration(Math.max(0, end - Date.parse(job.started_at)) / 1000);
}
