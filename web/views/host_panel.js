/* What the machine did while the job ran, and the server of its target where that is observed: is it the filesystem that was slow, or was somebody else busy? */
import { get, query } from '../api.js';
import { smallChart } from '../chart.js';
import { h, text } from '../dom.js';
import { bytes, percent, quantity, rate, sentence } from '../format.js';
import { aligned } from '../range.js';
import { isFinal } from '../words.js';

const SHARE = { name: 'share', format: (n) => percent(n, 1) };
const BYTES = { name: 'bytes', format: bytes };
const SPEED = { name: 'bytes/s', format: (n) => rate(n, 'bytes/s') };

const CHARTS = [
    { heading: 'Load', unit: { name: '', format: (n) => quantity(n, '') }, lines: [
        { name: 'load1', label: '1 min', colour: 'c1' }, { name: 'load5', label: '5 min', colour: 'c2' },
        { name: 'server_load1', label: 'the server, 1 min', colour: 'c3' }] },
    { heading: 'CPU', unit: SHARE, most: 1, lines: [
        { name: 'cpu_user', label: 'user', colour: 'c1' }, { name: 'cpu_system', label: 'system', colour: 'c2' },
        { name: 'cpu_iowait', label: 'I/O wait', colour: 'c3' }, { name: 'cpu_steal', label: 'stolen', colour: 'c4' },
        { name: 'server_busy', label: 'the server, busy', colour: 'c5' }] },
    { heading: 'Not yet written', unit: BYTES, lines: [
        { name: 'dirty', label: 'dirty', colour: 'c1' }, { name: 'writeback', label: 'in writeback', colour: 'c2' }] },
    { heading: 'The target\u2019s device', unit: SPEED, lines: [
        { name: 'disk_read', label: 'read', colour: 'c1' }, { name: 'disk_written', label: 'written', colour: 'c2' }] },
    { heading: 'Waiting (pressure)', unit: SHARE, lines: [
        { name: 'pressure_cpu', label: 'CPU', colour: 'c1' }, { name: 'pressure_io', label: 'I/O', colour: 'c2' },
        { name: 'pressure_memory', label: 'memory', colour: 'c3' }] },
    { heading: 'The job\u2019s own CPUs', unit: { name: 'CPUs', format: (n) => quantity(n, 'CPUs') }, lines: [
        { name: 'job_cpu', label: 'in use', colour: 'c1' }, { name: 'job_cpu_wait', label: 'lanes waiting for one', colour: 'c3' }] },
    { heading: 'The job\u2019s own device traffic', unit: SPEED, lines: [
        { name: 'job_read', label: 'read', colour: 'c1' }, { name: 'job_written', label: 'written', colour: 'c2' }] },
    { heading: 'Network', unit: SPEED, lines: [
        { name: 'net_received', label: 'received', colour: 'c1' }, { name: 'net_sent', label: 'sent', colour: 'c2' }] },
];
/* Beside the load and the CPUs of this host. */
const BESIDE = [
    ['server_load1', (server) => server.load1],
    ['server_busy', (server) => server.cpu_user.map((user, i) => (user === null ? null : user + server.cpu_system[i]))],
];
/* What the exporter of the server tells. */
const SERVER_CHARTS = [
    { heading: 'CPU of the server', unit: SHARE, most: 1, lines: [
        { name: 'cpu_user', label: 'user', colour: 'c1' }, { name: 'cpu_system', label: 'system', colour: 'c2' },
        { name: 'cpu_iowait', label: 'I/O wait', colour: 'c3' }, { name: 'cpu_steal', label: 'stolen', colour: 'c4' }] },
    { heading: 'Disks of the server', unit: SPEED, lines: [
        { name: 'disk_read', label: 'read', colour: 'c1' }, { name: 'disk_written', label: 'written', colour: 'c2' }] },
    { heading: 'Its busiest disk', unit: SHARE, most: 1, lines: [
        { name: 'disk_busy', label: 'at work', colour: 'c1' }] },
    { heading: 'Not yet written by the server', unit: BYTES, lines: [
        { name: 'dirty', label: 'dirty', colour: 'c1' }, { name: 'writeback', label: 'in writeback', colour: 'c2' }] },
    { heading: 'Waiting on the server (pressure)', unit: SHARE, lines: [
        { name: 'pressure_cpu', label: 'CPU', colour: 'c1' }, { name: 'pressure_io', label: 'I/O', colour: 'c2' },
        { name: 'pressure_memory', label: 'memory', colour: 'c3' }] },
    { heading: 'Network of the server', unit: SPEED, lines: [
        { name: 'net_received', label: 'received', colour: 'c1' }, { name: 'net_sent', label: 'sent', colour: 'c2' }] },
];
const POINTS = 400, EVERY = 2000; /* ms, while it runs: the host is looked at once a second */

/** @returns {{element, update: (job) => void}} */
export function hostPanel({ id, signal, failed }) {
    const make = (list) => list.map((chart) => ({ ...chart, ...smallChart(chart, signal) }));
    const charts = make(CHARTS), serverCharts = make(SERVER_CHARTS);
    const state = h('p', { class: 'doc' });
    const grid = h('div', { class: 'hosts' }, charts.map((c) => c.element));
    const serverGrid = h('div', { class: 'hosts' }, serverCharts.map((c) => c.element));
    const serverPart = h('div', { class: 'server', hidden: true },
        h('h3', {}, 'The server meanwhile'), h('p', { class: 'doc' }, 'As its node exporter told, once a second.'), serverGrid);
    const element = h('section', { class: 'card', 'aria-labelledby': 'host-head', hidden: true },
        h('div', { class: 'card-head' }, h('h2', { id: 'host-head' }, 'The machine meanwhile'),
            h('span', { class: 'doc' }, 'seconds since the run began')), grid, state, serverPart);
    let last = -Infinity, complete = false, asking = false, run = 1;

    async function load() {
        asking = true;
        try {
            const ask = (of) => get(`/jobs/${id}/host${query({ points: POINTS, run, of })}`, { signal });
            const [{ points }, { points: server }] = await Promise.all([ask(null), ask('server')]);
            const some = points.at.length > 0, observed = server.at.length > 0;
            element.hidden = false;
            grid.hidden = !some && !observed;
            text(state, some ? '' : 'Nothing is recorded: the run was shorter than a second, or has just begun.');
            draw(charts, observed ? aligned(points, server, BESIDE) : points);
            serverPart.hidden = !observed;
            draw(serverCharts, server);
        } catch (error) {
            if (error.status === 401)
                failed(error);
            else if (error.name !== 'AbortError')
                text(state, sentence(error.message));
        } finally {
            asking = false;
        }
    }

    /* A figure that a host does not tell is left out, not drawn as nothing. */
    function draw(some, points) {
        for (const chart of some) {
            chart.element.hidden = !chart.lines.some(({ name }) => points[name]?.some(Number.isFinite));
            if (!chart.element.hidden)
                chart.show(points);
        }
    }

    return {
        element,
        update(job) {
            const other = (job.run ?? 1) !== run;
            const due = other || performance.now() - last >= EVERY;
            if (other) {
                run = job.run;
                complete = false;
            }
            if (!job.started_at || complete || asking || !due && !isFinal(job.state))
                return;
            last = performance.now();
            complete = isFinal(job.state);
            load();
        },
    };
}
