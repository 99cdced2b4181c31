/* A job of several runs: which there are, how each went, and what the runs of one point came to. */
import { fill, h, onChange } from '../dom.js';
import { UNKNOWN, duration, number, percent, rate, title } from '../format.js';
import { badge, time } from '../parts.js';
import { valueWords } from './environment.js';

/** What a point of the matrix sets: "Threads 4, Sync fsync". */
const pointWords = (params) => Object.entries(params ?? {}).map(([name, value]) => `${title(name)} ${valueWords(name, value)}`).join(', ');

/** Which run's figures are to be shown: the one that was chosen, the one under way, or the first. */
export const shownRun = (job, chosen) => (job.runs?.some((run) => run.run === chosen) ? chosen : job.progress?.run ?? 1);

/** The job as far as one run of it is concerned; all of a job that has only one. */
export function ofRun(job, run) {
    if (!(job.runs?.length > 1))
        return job;
    return {
        ...job, run, phases: job.phases.filter((p) => p.run === run),
        findings: (job.findings ?? []).filter((f) => f.run === null || f.run === run),
    };
}

/** @param choose (run) => void: show the figures of that run */
export function runsPanel(choose) {
    const holder = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Every run' });
    const points = h('div');
    const element = h('section', { class: 'card', 'aria-labelledby': 'runs-head', hidden: true },
        h('h2', { id: 'runs-head' }, 'Runs'), points, holder);
    const drawRuns = onChange(({ runs, shown }) => fill(holder, runs.length > 1 ? runsTable(runs, shown, choose) : null));
    const drawPoints = onChange((repeats) => fill(points, repeats.map(pointsTable)));
    return {
        element,
        update(job, shown) {
            const runs = job.runs ?? [];
            element.hidden = runs.length < 2;
            drawRuns({ runs: runs.map(({ run, params, state, started_at, finished_at }) => ({ run, params, state, started_at, finished_at })), shown });
            drawPoints((job.findings ?? []).filter((f) => f.kind === 'repeats').map((f) => ({
                ...f, unit: job.phases.find((p) => p.name === f.phase)?.unit ?? '',
            })));
        },
    };
}

const took = ({ started_at: from, finished_at: to }) => (from && to ? duration((Date.parse(to) - Date.parse(from)) / 1000) : UNKNOWN);

function runsTable(runs, shown, choose) {
    const varied = runs.some((run) => Object.keys(run.params ?? {}).length > 0);
    return h('table', { class: 'runs' },
        h('caption', { class: 'unseen' }, 'Runs in the order in which they ran'),
        h('thead', {}, h('tr', {}, ['Run', varied && 'With', 'State', 'Started', 'Took'].filter(Boolean).map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, runs.map((run) => h('tr', {},
            h('th', { scope: 'row' }, h('button', {
                type: 'button', class: 'small', 'aria-pressed': run.run === shown ? 'true' : 'false', disabled: !run.started_at,
                onclick: () => choose(run.run),
            }, `Run ${number(run.run)}`)),
            varied && h('td', {}, pointWords(run.params)),
            h('td', {}, shownBadge(run.state)), h('td', {}, shownTime(run.started_at)),
            h('td', { class: 'num right' }, took(run))))));
}

function shownBadge(state) {
    const element = badge();
    element.update(state);
    return element;
}

function shownTime(at) {
    const element = time();
    element.update(at);
    return element;
}

function pointsTable({ phase, sentence, unit, data }) {
    const words = (n) => rate(n, `${unit}/s`);
    return [h('p', {}, sentence), h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${title(phase)}, point by point` },
        h('table', { class: 'points' },
            h('caption', { class: 'unseen' }, `${title(phase)}: the runs of each point beside each other`),
            h('thead', {}, h('tr', {}, [title(phase), 'Runs', 'Median', 'Lowest', 'Highest', 'Apart'].map((name, i) => h('th', { scope: 'col', class: i ? 'right' : '' }, name)))),
            h('tbody', {}, data.points.map((point) => h('tr', {},
                h('th', { scope: 'row' }, pointWords(point.params) || 'All runs'),
                [number(point.runs), words(point.median), words(point.low), words(point.high), percent(point.spread, 1)]
                    .map((text) => h('td', { class: 'num right' }, text)))))))];
}
