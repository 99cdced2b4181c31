/* A job whose runs vary one or two numbers, as a ladder of threads and record sizes does: every point in a table,
 * and all of them as a picture. */
import { fill, h, onChange } from '../dom.js';
import { nanoseconds, rate, title } from '../format.js';
import { bars, extent, levelOf, surface } from '../surface.js';
import { valueWords } from './environment.js';

/** Those that people sweep together, first; the first two that vary are the axes. */
const FIRST = ['record_bytes', 'threads', 'queue_depth'];
const FIGURES = {
    rate: { name: 'Rate', of: (p) => p.rate, words: (n, unit) => rate(n, `${unit}/s`) },
    p50: { name: 'Median latency', of: (p) => p.latency_ns?.p50, words: nanoseconds },
    p99: { name: 'Slowest 1 % (p99)', of: (p) => p.latency_ns?.p99, words: nanoseconds },
    p999: { name: 'Slowest 0.1 % (p99.9)', of: (p) => p.latency_ns?.p999, words: nanoseconds },
};

/**
 * What varies between runs: at most two numbers make the axes; by the rest the runs are kept apart.
 * @returns {{axes: [name], rest: [name]}}
 */
export function axesOf(runs) {
    const names = [...new Set(runs.flatMap((run) => Object.keys(run.params ?? {})))];
    const values = (name) => [...new Set(runs.map((run) => JSON.stringify(run.params?.[name])))];
    const varied = names.filter((name) => values(name).length > 1);
    const numbers = varied.filter((name) => runs.every((run) => typeof run.params?.[name] === 'number'));
    const place = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
    const axes = numbers.sort((a, b) => place(a) - place(b)).slice(0, 2);
    return { axes, rest: varied.filter((name) => !axes.includes(name)) };
}

/** The middle one of the values that there are; null: none. */
export function median(values) {
    const real = values.filter(Number.isFinite).sort((a, b) => a - b);
    if (!real.length)
        return null;
    return (real[(real.length - 1) >> 1] + real[real.length >> 1]) / 2;
}

const sorted = (values) => [...new Set(values)].sort((a, b) => a - b);
const apart = (run, rest) => JSON.stringify(rest.map((name) => [name, run.params?.[name]]));

/** Every point: the median over its runs. @returns {{rows: [number], columns: [number], grid: [[number|null]]}} */
export function gridOf(runs, phases, [down, across], figure) {
    const rows = sorted(runs.map((run) => run.params[down]));
    const columns = across ? sorted(runs.map((run) => run.params[across])) : [null];
    const at = (row, column) => runs.filter((run) => run.params[down] === row && (!across || run.params[across] === column)).map((run) => run.run);
    return {
        rows, columns,
        grid: rows.map((row) => columns.map((column) => median(phases.filter((p) => at(row, column).includes(p.run)).map(figure)))),
    };
}

export function ladderPanel() {
    const want = { phase: null, figure: 'rate', rest: null };
    const picks = h('div', { class: 'tools' }), picture = h('div'), table = h('div'), said = h('p', { class: 'doc' });
    const element = h('section', { class: 'card', 'aria-labelledby': 'ladder-head', hidden: true },
        h('div', { class: 'card-head' }, h('h2', { id: 'ladder-head' }, 'Point by point'), picks), picture, table, said);
    let last = null;

    const pick = (name, label, choices) => {
        const select = h('select', { id: `ladder-${name}`, onchange: () => { want[name] = select.value; show(); } },
            choices.map(([value, words]) => h('option', { value, selected: value === want[name] }, words)));
        return h('span', { class: 'pick' }, h('label', { for: select.id }, label), select);
    };

    function show() {
        const { runs, phases } = last, { axes, rest } = axesOf(runs);
        const names = [...new Set(phases.map((p) => p.name))];
        const sets = [...new Set(runs.map((run) => apart(run, rest)))];
        element.hidden = !axes.length || !names.length;
        if (element.hidden)
            return;
        want.phase = names.includes(want.phase) ? want.phase : names[0];
        want.rest = sets.includes(want.rest) ? want.rest : sets[0];
        const setWords = (set) => JSON.parse(set).map(([name, value]) => `${title(name)} ${valueWords(name, value)}`).join(', ');
        const focused = document.activeElement?.id;
        fill(picks, pick('phase', 'Operation', names.map((name) => [name, title(name)])),
            pick('figure', 'Figure', Object.entries(FIGURES).map(([name, { name: words }]) => [name, words])),
            sets.length > 1 && pick('rest', 'With', sets.map((set) => [set, setWords(set)])));
        if (focused?.startsWith('ladder-'))
            document.getElementById(focused)?.focus();
        draw(runs.filter((run) => apart(run, rest) === want.rest), phases.filter((p) => p.name === want.phase), axes);
    }

    function draw(runs, phases, axes) {
        const { name, of, words } = FIGURES[want.figure], unit = phases[0].unit;
        const { rows, columns, grid } = gridOf(runs, phases, axes, of);
        const text = (n) => words(n, unit);
        const names = {
            row: title(axes[0]), rows: rows.map((n) => valueWords(axes[0], n)),
            column: axes[1] ? title(axes[1]) : name, columns: axes[1] ? columns.map((n) => valueWords(axes[1], n)) : [name],
        };
        const span = extent(grid.flat());
        const over = axes.map(title).join(' and ').toLowerCase();
        const label = span ? `${name} of ${title(want.phase).toLowerCase()} over ${over}: from ${text(span.least)} to ${text(span.most)}` : `${name}: nothing measured yet`;
        const twice = runs.some((run, i) => runs.findIndex((other) => axes.every((axis) => other.params[axis] === run.params[axis])) !== i);
        fill(picture, rows.length > 1 && columns.length > 1 ? surface(grid, names, text, label) : bars(grid.flat(), names.rows, names.row, text, label));
        fill(table, tableOf(grid, names, text, span, label));
        said.textContent = `${label}.${twice ? ' Where a point has several runs, their median.' : ''}`;
    }

    const look = onChange(({ runs, phases }) => {
        last = { runs, phases };
        show();
    });
    return {
        element,
        update(job) {
            const runs = (job.runs ?? []).map(({ run, params }) => ({ run, params }));
            if (runs.length > 1)
                look({ runs, phases: job.phases.filter((p) => p.ops > 0).map(({ name, run, unit, rate: n, latency_ns }) => ({ name, run, unit, rate: n, latency_ns })) });
        },
    };
}

/* Coloured as the picture is; the words say all that the colour says. */
function tableOf(grid, names, text, span, label) {
    const cell = (value) => {
        const level = span && levelOf(value, span.least, span.most);
        return h('td', { class: `num right${level === null ? '' : ` heat${level}`}` }, text(value));
    };
    return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Every point' },
        h('table', { class: 'ladder' }, h('caption', { class: 'unseen' }, label),
            h('thead', {},
                names.columns.length > 1 && h('tr', { class: 'over' }, h('td'), h('th', { scope: 'colgroup', colspan: names.columns.length }, names.column)),
                h('tr', {}, h('th', { scope: 'col' }, names.row), names.columns.map((name) => h('th', { scope: 'col', class: 'right' }, name)))),
            h('tbody', {}, grid.map((row, i) => h('tr', {}, h('th', { scope: 'row' }, names.rows[i]), row.map(cell))))));
}
