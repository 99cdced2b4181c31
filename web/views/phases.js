/* The result: one line for each phase. */
import { fill, h, onChange } from '../dom.js';
import { UNKNOWN, bytes, nanoseconds, number, rate, seconds, title } from '../format.js';

const LATENCIES = [['p50', 'p50'], ['p90', 'p90'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'longest']];

export function phasesPanel() {
    const holder = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Figures of each phase' });
    const element = h('section', { class: 'card', 'aria-labelledby': 'phases-head', hidden: true },
        h('h2', { id: 'phases-head' }, 'Phases'), holder);
    const draw = onChange((phases) => {
        element.hidden = phases.length === 0;
        fill(holder, phases.length ? tableOf(phases) : null);
    });
    return { element, update: (job) => draw(job.phases ?? []) };
}

function tableOf(phases) {
    const some = (test) => phases.some(test);
    const runs = some((p) => p.run > 1), data = some((p) => p.bytes > 0), wrong = some((p) => p.errors > 0);
    const limits = some((p) => p.limited_by), flushed = some((p) => p.flush_seconds > 0);
    const one = phases.every((p) => p.unit === phases[0].unit && !p.at_load) ? phases[0].unit : null;
    const columns = [
        runs && ['Run', (p) => number(p.run)],
        one === 'bytes' ? ['Operations', (p) => number(p.ops)] : one ? [title(one), (p) => number(p.ops)] : ['Operations', (p) => `${number(p.ops)} ${p.at_load ? 'measurements' : p.unit}`],
        data && ['Data', (p) => (p.bytes > 0 ? bytes(p.bytes) : UNKNOWN)],
        ['Time', (p) => seconds(p.seconds)],
        ['Rate', (p) => rate(p.rate, `${p.unit}/s`), 'strong'],
        one === 'bytes' && ['Operations/s', (p) => number(p.ops_per_second)],
        ...LATENCIES.map(([name, words]) => [words, (p) => nanoseconds(p.latency_ns?.[name])]),
        flushed && ['Flush', (p) => (p.flush_seconds > 0 ? seconds(p.flush_seconds) : UNKNOWN)],
        flushed && ['Rate with it', (p) => (p.flush_seconds > 0 ? rate(p.rate_with_flush, `${p.unit}/s`) : UNKNOWN)],
        some((p) => p.lanes > 1) && ['Lanes', (p) => number(p.lanes)],
        some((p) => p.lanes > 1) && ['First done', (p) => seconds(p.first_done_seconds)],
        some((p) => p.lanes > 1 && p.first_done_rate > 0) && ['Rate until then', (p) => rate(p.first_done_rate, `${p.unit}/s`)],
        some((p) => p.sync_seconds > 0) && ['Of it syncing', (p) => (p.sync_seconds > 0 ? seconds(p.sync_seconds) : UNKNOWN)],
        some((p) => p.cache) && ['Caches before', (p) => p.cache ?? UNKNOWN],
        some((p) => p.resident_bytes > 0) && ['In memory before', (p) => (p.resident_bytes > 0 ? bytes(p.resident_bytes) : UNKNOWN)],
        wrong && ['Errors', (p) => number(p.errors)],
        limits && ['Ended by', (p) => (p.limited_by ? p.limited_by.reason : UNKNOWN)],
    ].filter(Boolean);
    const first = columns.findIndex(([name]) => name === 'p50');
    return h('table', { class: 'phases' },
        h('caption', { class: 'unseen' }, 'Phases with their rate, and how long single operations took'),
        h('thead', {},
            h('tr', { class: 'over' }, h('td', { colspan: first + 1 }),
                h('th', { scope: 'colgroup', colspan: LATENCIES.length }, 'One operation took'),
                columns.length > first + LATENCIES.length && h('td', { colspan: columns.length - first - LATENCIES.length })),
            h('tr', {}, h('th', { scope: 'col' }, 'Phase'), columns.map(([name]) => h('th', { scope: 'col', class: 'right' }, name)))),
        h('tbody', {}, phases.map((p) => h('tr', {},
            h('th', { scope: 'row' }, title(p.name)),
            columns.map(([, words, more]) => h('td', { class: `num right ${more ?? ''}` }, words(p)))))));
}
