/* What many filesystems cost: seconds for a batch and for one of them against how many there are, and on the same axis
 * what it takes to bring all of them back; one job, or several beside each other. Phases are taken as they come. */
import { get, query } from '../api.js';
import { fill, h, text } from '../dom.js';
import { figure, number, sentence, title } from '../format.js';
import { LINES, overlayChart } from '../overlay.js';
import { bootWords, isFinal } from '../words.js';
import { buildsUp, rowsOf } from './filesystem_rows.js';

const POINTS = 10000, EVERY = 5000; /* ms, while it runs */

/* Of a restart: what comes before all filesystems are in place. */
const PARTS = { 'cycle-kernel': 'Kernel up', 'cycle-daemon': 'Daemon up' };
const words = (phase) => PARTS[phase.name] ?? title(phase.name);

/** @returns {{element, update: (jobs) => void}} jobs: whole, each with the phases of the run to be shown */
export function filesystemsPanel({ signal, failed }) {
    let chart = null; /* made when there is something to draw: most jobs have no such panel */
    const state = h('p', { class: 'doc' }), table = h('div');
    const each = h('select', { id: 'filesystems-y', onchange: () => draw() },
        h('option', { value: 'batch' }, 'of a batch'), h('option', { value: 'one' }, 'of one filesystem'));
    const log = h('input', { type: 'checkbox', id: 'filesystems-log', onchange: () => draw() });
    const element = h('section', { class: 'card', 'aria-labelledby': 'filesystems-head', hidden: true });
    let series = null, seen = '', last = -Infinity, asking = false, several = false;

    function make() {
        chart = overlayChart(signal);
        fill(element, h('div', { class: 'card-head' }, h('h2', { id: 'filesystems-head' }, 'With every filesystem'),
            h('div', { class: 'tools' }, h('span', { class: 'pick' }, h('label', { for: 'filesystems-y' }, 'Seconds'), each),
                h('label', { class: 'box', for: 'filesystems-log' }, log, 'Logarithmic'))), chart.element, table, state);
    }

    async function read(job, phase) {
        const ask = (y) => get(`/jobs/${job.id}/series${query({ phase: phase.name, run: phase.run, y, points: POINTS })}`, { signal });
        const [elapsed, ops] = await Promise.all([ask('elapsed'), ask('ops')]);
        return { job, phase, unit: phase.unit, x: elapsed.points.x, elapsed: elapsed.points.mean, ops: ops.points.mean, thinned: elapsed.thinned };
    }

    async function load(jobs) {
        asking = true;
        try {
            series = (await Promise.all(jobs.flatMap((job) => job.phases.filter(buildsUp).map((phase) => read(job, phase))))).filter((one) => one.x.length);
            several = jobs.length > 1;
            element.hidden = series.length === 0;
            if (!series.length)
                return;
            if (!chart)
                make();
            draw();
        } catch (error) {
            seen = ''; /* asked for again at the next look */
            if (error.status === 401)
                failed(error);
            else if (error.name !== 'AbortError')
                text(state, sentence(error.message));
        } finally {
            asking = false;
        }
    }

    const called = ({ job, phase }) => `${several ? `job ${job.id}, ` : ''}${several ? words(phase).toLowerCase() : words(phase)}`;

    function lineOf(one) {
        const { phase, x, elapsed, ops } = one, single = each.value === 'one';
        const batch = phase.batch > 1 ? ` a batch of ${number(phase.batch)}` : '';
        const of = PARTS[phase.name] ? '' : phase.at_load ? (single ? ' all, for each' : ' all') : single ? ' one' : batch;
        return { label: `${called(one)}${of}`, x, y: elapsed.map((s, i) => (single ? s / (phase.at_load ? x[i] : ops[i]) : s)) };
    }

    function draw() {
        const lines = series.slice(0, LINES).map(lineOf), unit = series[0].unit;
        const what = each.value === 'one' ? `Seconds for one of the ${unit}` : 'Seconds for a batch, and to bring all back';
        chart.show({
            lines, xUnit: unit, yUnit: 's', log: log.checked, marks: [],
            label: `${what} against ${unit}: ${lines.map((line) => `${line.label} up to ${figure(Math.max(...line.y))} s`).join(', ')}`,
        });
        const rows = rowsOf(series);
        fill(table, tableOf(rows, unit));
        const grouped = series.some((one) => one.thinned) ? ' More batches than can be added up here: only the time of one is told.' : '';
        text(state, `${what} against ${unit} in place. In the table, the seconds since the row before` +
            `${series.some((one) => one.phase.at_load) ? ', and those that it took to bring all back' : ''}.${grouped}` + restarts());
    }

    function restarts() {
        const jobs = [...new Set(series.map(({ job }) => job))];
        return jobs.map((job) => [job.id, bootWords(job.boots ?? [])]).filter(([, told]) => told)
            .map(([id, told]) => ` ${several ? `Job ${id}: ` : ''}${told}`).join('');
    }

    function tableOf(rows, unit) {
        /* What is measured at a load has no filesystem of its own. */
        const columns = series.flatMap((one, i) => [
            [`${called(one)}, s`, (row) => figure(row.cells[i].seconds)],
            !one.phase.at_load && [`${called(one)}, s each`, (row) => figure(row.cells[i].each)],
        ].filter(Boolean));
        return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Seconds by ${unit}` },
            h('table', { class: 'filesystems' }, h('caption', { class: 'unseen' }, `Seconds by ${unit}`),
                h('thead', {}, h('tr', {}, h('th', { scope: 'col', class: 'right' }, title(unit)),
                    columns.map(([name]) => h('th', { scope: 'col', class: 'right' }, name)))),
                h('tbody', {}, rows.map((row) => h('tr', {}, h('th', { scope: 'row', class: 'num right' }, number(row.load)),
                    columns.map(([, cell]) => h('td', { class: 'num right' }, cell(row))))))));
    }

    return {
        element,
        update(jobs) {
            const ended = jobs.every((job) => isFinal(job.state));
            const now = JSON.stringify([ended, jobs.map((job) => [job.id, job.phases.map((p) => [p.name, p.run, p.ops])])]);
            if (now === seen || asking || (!ended && performance.now() - last < EVERY))
                return;
            seen = now;
            last = performance.now();
            load(jobs);
        },
    };
}
