/* Line charts on uPlot: a mean line in a band from least to most, read out under the cursor, zoomed by
 * dragging or by keys. Pixels only; what to fetch is decided elsewhere. */
import uPlot from '/vendor/uPlot.esm.js';
import { h, text } from './dom.js';
import { axis } from './format.js';
import { positive, zoomed } from './range.js';

const HEIGHT = 320, NARROW = 240;
export const dark = matchMedia('(prefers-color-scheme: dark)');

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** What a chart in `holder` measures, in pixels. */
export const sizeOf = (holder) => ({ width: holder.clientWidth, height: holder.clientWidth < 520 ? NARROW : HEIGHT });

/* Bytes are read in KiB, MiB, …: ticks stand at round ones. */
const BINARY_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);

export function yAxis(unit, size = 74) {
    return {
        size, incrs: unit().startsWith('bytes') ? BINARY_STEPS : undefined,
        stroke: colour('muted'), font: '12px system-ui, sans-serif', gap: 6,
        grid: { stroke: colour('grid'), width: 1 }, ticks: { show: false },
        values: (u, ticks) => ticks.map(axis(unit(), Math.max(...ticks.map(Math.abs)), ticks[1] - ticks[0])),
    };
}

export function xAxis(unit) {
    return {
        size: 32, stroke: colour('muted'), font: '12px system-ui, sans-serif', gap: 6, space: 80,
        grid: { stroke: colour('grid'), width: 1 }, ticks: { stroke: colour('grid'), size: 4 },
        values: (u, ticks) => ticks.map(axis(unit(), Math.max(...ticks), ticks[1] - ticks[0])),
    };
}

/* At the right, without lines of its own. */
function loadAxis() {
    return {
        scale: 'load', side: 1, size: 44, stroke: colour('muted'), font: '12px system-ui, sans-serif', gap: 4,
        grid: { show: false }, ticks: { show: false }, values: (u, ticks) => ticks.map(axis('', Math.max(...ticks), ticks[1] - ticks[0])),
    };
}

/** Where a knee lies or a limit was met: a result, so it stands in the picture. */
export function drawMarks(u, marks) {
    const { ctx, bbox } = u, ratio = devicePixelRatio;
    for (const mark of marks) {
        const x = u.valToPos(mark.at, 'x', true);
        if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1)
            continue;
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = colour('mark');
        ctx.lineWidth = ratio;
        ctx.setLineDash([4 * ratio, 3 * ratio]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        ctx.font = `${12 * ratio}px system-ui, sans-serif`;
        ctx.textBaseline = 'top';
        ctx.textAlign = x > bbox.left + bbox.width / 2 ? 'right' : 'left';
        ctx.fillText(mark.label, x + (ctx.textAlign === 'right' ? -5 : 5) * ratio, bbox.top + 4 * ratio);
        ctx.restore();
    }
}

/**
 * The chart of one series.
 * @param on {zoom: ({from,to}|null) => void, cursor: (index|null) => void}
 * @returns {{element, show: (view) => void, destroy: () => void, columns: () => number}}
 *   view: {x, min, max, mean, xUnit, yUnit, log, range, bounds, marks: [{at, label}], label, beside}
 *   beside: [{y, colour, dash, scale}] over the same x: on "load" with an axis at the right, or on "share", 0 to 1
 */
export function seriesChart(on, signal) {
    const holder = h('div', {
        class: 'chart', tabindex: '0', role: 'img',
        'aria-keyshortcuts': 'ArrowLeft ArrowRight + - 0', 'aria-describedby': 'chart-help',
    });
    let plot = null, view = null, made = '';
    let held = false, late = false; /* what comes while a part is being marked would undo the mark */

    function options() {
        const log = view.log;
        return {
            ...sizeOf(holder),
            padding: [10, 34, 0, 0], legend: { show: false },
            scales: {
                x: { time: false, range: (u, least, most) => rangeOf(least, most) },
                y: log ? { distr: 3 } : { range: (u, least, most) => [0, most > 0 ? most * 1.06 : 1] },
                load: { range: (u, least, most) => [0, most > 0 ? most * 1.06 : 1] },
                share: { range: () => [0, 1.02] },
            },
            axes: [xAxis(() => view.xUnit), yAxis(() => view.yUnit),
                ...(view.beside.some((line) => line.scale === 'load') ? [loadAxis()] : [])],
            series: [{}, { width: 0, points: { show: false } }, { stroke: colour('rim'), width: 1, points: { show: false } },
                { stroke: colour('line'), width: 1.5, points: { size: 4, fill: colour('line') } },
                ...view.beside.map((line) => ({ scale: line.scale, stroke: colour(line.colour), width: 1.25, dash: line.dash, points: { show: false } }))],
            bands: [{ series: [2, 1], fill: colour('band') }],
            cursor: {
                y: false, drag: { x: true, y: false, setScale: false, dist: 6 },
                points: { show: (u, i) => i === 3 && uPlotPoint(), size: 8 },
                bind: { dblclick: () => () => on.zoom(null) },
                ...(view.xUnit === 's' ? { sync: syncWith } : {}),
            },
            hooks: {
                setCursor: [(u) => on.cursor(u.cursor.left < 0 ? null : u.cursor.idx)],
                setSelect: [selected],
                draw: [(u) => drawMarks(u, view.marks ?? [])],
            },
        };
    }

    const uPlotPoint = () => {
        const point = h('div');
        point.style.background = colour('line');
        return point;
    };

    function rangeOf(least, most) {
        if (view.range)
            return [view.range.from, view.range.to];
        if (least === null || least === undefined)
            return [0, 1];
        return least === most ? [least * 0.99 - 1e-9, most * 1.01 + 1e-9] : [least, most];
    }

    function selected(u) {
        const { left, width } = u.select;
        if (width < 2)
            return;
        const range = { from: u.posToVal(left, 'x'), to: u.posToVal(left + width, 'x') };
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        on.zoom(range);
    }

    function draw() {
        late = false;
        const fit = view.log ? positive : (values) => values;
        const data = [view.x, fit(view.min), fit(view.max), fit(view.mean), ...view.beside.map((line) => line.y)];
        const need = JSON.stringify([view.log, view.xUnit === 's', dark.matches, view.beside.map(({ colour: c, scale }) => [c, scale])]);
        if (!plot || made !== need) {
            plot?.destroy();
            made = need;
            plot = new uPlot(options(), data, holder);
        } else {
            plot.setData(data);
        }
        holder.setAttribute('aria-label', view.label);
    }

    function keys(event) {
        if (!plot || event.ctrlKey || event.metaKey || event.altKey)
            return;
        const last = view.x.length - 1, at = plot.cursor.idx ?? null;
        const shown = { from: plot.scales.x.min, to: plot.scales.x.max };
        const middle = at === null || plot.cursor.left < 0 ? (shown.from + shown.to) / 2 : view.x[at];
        const point = (i) => plot.setCursor({ left: plot.valToPos(view.x[Math.max(0, Math.min(last, i))], 'x'), top: 10 });
        const step = event.shiftKey ? 20 : 1;
        const actions = {
            ArrowLeft: () => point((at ?? last + 1) - step), ArrowRight: () => point((at ?? -1) + step),
            Home: () => point(0), End: () => point(last),
            '+': () => on.zoom(zoomed(shown, middle, 0.5, view.bounds)),
            '=': () => on.zoom(zoomed(shown, middle, 0.5, view.bounds)),
            '-': () => on.zoom(zoomed(shown, middle, 2, view.bounds)),
            0: () => on.zoom(null), Escape: () => on.zoom(null),
        };
        if (last >= 0 && actions[event.key]) {
            event.preventDefault();
            actions[event.key]();
        }
    }

    holder.addEventListener('mousedown', () => (held = true));
    addEventListener('mouseup', () => {
        held = false;
        if (late)
            draw();
    }, { signal });
    holder.addEventListener('keydown', keys);
    const sizes = new ResizeObserver(() => plot && view && plot.setSize(sizeOf(holder)));
    sizes.observe(holder);
    dark.addEventListener('change', () => view && draw(), { signal });
    signal.addEventListener('abort', () => {
        sizes.disconnect();
        plot?.destroy();
        plot = null;
    });
    return {
        element: holder,
        show(next) {
            view = { beside: [], ...next };
            late = held;
            if (!held)
                draw();
        },
        /** As many as there are pixels to show them in, and no more. */
        columns: () => Math.round(Math.max(200, Math.min(2000, (holder.clientWidth || 800) - 108))),
    };
}

/* The cursor is shared by charts over time, the zoom is not. */
const moves = (type) => type === 'mousemove' || type === 'mouseleave';
const syncWith = { key: 'time', setSeries: false, scales: ['x', null], filters: { pub: moves, sub: moves } };

/**
 * A small chart of several columns over time, with a readout beside its title.
 * @param lines [{name, label, colour}]: names of the columns, and variables of the style sheet
 */
export function smallChart({ heading, unit, lines, most = null }, signal) {
    const values = lines.map(() => h('span', { class: 'num' }));
    const entries = lines.map((line, i) => {
        const swatch = h('i');
        swatch.style.background = `var(--${line.colour})`;
        return h('li', {}, swatch, `${line.label} `, values[i]);
    });
    const legend = h('ul', { class: 'legend' }, entries);
    const holder = h('div', { class: 'chart small', role: 'img' });
    const element = h('figure', { class: 'host' }, h('figcaption', {}, h('span', {}, heading), legend), holder);
    let plot = null, data = null, made = null;

    const read = (index) => lines.forEach((line, i) =>
        text(values[i], data?.[0].length ? unit.format(valueAt(data[i + 1], index ?? data[0].length - 1)) : ''));
    /* A moment of another column has no value of this one: the one before it counts. */
    const valueAt = (column, i) => {
        while (i > 0 && column[i] === undefined)
            i--;
        return column[i];
    };

    function draw() {
        if (!plot || made !== dark.matches) {
            plot?.destroy();
            made = dark.matches;
            plot = new uPlot({
                width: holder.clientWidth, height: 120, padding: [8, 8, 0, 0], legend: { show: false },
                scales: { x: { time: false }, y: { range: (u, a, b) => [0, most ?? (b > 0 ? b * 1.08 : 1)] } },
                axes: [{ ...xAxis(() => 's'), size: 26, space: 70 }, { ...yAxis(() => unit.name, 70), space: 34 }],
                series: [{}, ...lines.map((line) => ({ stroke: colour(line.colour), width: 1.25, points: { show: (u) => u.data[0].length < 3, size: 4 } }))],
                cursor: { y: false, drag: { x: false, y: false }, sync: syncWith, points: { size: 6 } },
                hooks: { setCursor: [(u) => read(u.cursor.left < 0 ? null : u.cursor.idx)] },
            }, data, holder);
        } else {
            plot.setData(data);
        }
        read(plot.cursor.left < 0 ? null : plot.cursor.idx);
    }

    const sizes = new ResizeObserver(() => plot?.setSize({ width: holder.clientWidth, height: 120 }));
    sizes.observe(holder);
    dark.addEventListener('change', () => data && draw(), { signal });
    signal.addEventListener('abort', () => {
        sizes.disconnect();
        plot?.destroy();
        plot = null;
    });
    return {
        element,
        show(points) {
            data = [points.at, ...lines.map((line) => (points[line.name] ?? []).map((v) => (v === undefined || Number.isFinite(v) ? v : null)))];
            entries.forEach((entry, i) => (entry.hidden = !data[i + 1].some(Number.isFinite)));
            holder.setAttribute('aria-label', `${heading} over ${points.at.length} moments`);
            draw();
        },
    };
}
