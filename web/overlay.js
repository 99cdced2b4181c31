/* Curves of several jobs on one load axis: a line for each, read out under the cursor. */
import uPlot from '/vendor/uPlot.esm.js';
import { colour, dark, drawMarks, sizeOf, xAxis, yAxis } from './chart.js';
import { h, text } from './dom.js';
import { quantity } from './format.js';
import { positive } from './range.js';

/** As many lines as can be told apart; the style sheet has a colour and a dash for each. */
export const LINES = 8;
const DASHES = [[], [8, 4], [2, 3], [8, 3, 2, 3], [12, 4], [4, 4], [2, 6], [12, 3, 2, 3, 2, 3]];

/** @returns {{element, show: (view) => void}}
 *  view: {lines: [{label, x, y}], xUnit, yUnit, log, marks: [{at, label}], label} */
export function overlayChart(signal) {
    const legend = h('ul', { class: 'legend' });
    const at = h('b', { class: 'num' });
    const holder = h('div', { class: 'chart', role: 'img' });
    const element = h('div', {}, h('p', { class: 'readout num' }, at), legend, holder);
    let plot = null, view = null, values = [];

    function read(index) {
        const joined = plot?.data;
        text(at, index === null || !joined ? 'Point at a place to read the curves there' : quantity(joined[0][index], view.xUnit));
        values.forEach((value, i) => text(value, index === null || !joined ? '' : quantity(near(joined[i + 1], index), view.yUnit)));
    }

    function draw() {
        const fit = view.log ? positive : (column) => column;
        plot?.destroy();
        legend.replaceChildren();
        values = view.lines.map((line, i) => {
            const swatch = h('i'), value = h('span', { class: 'num' });
            swatch.style.background = `var(--c${(i % 4) + 1})`;
            legend.append(h('li', {}, swatch, `${line.label} `, value));
            return value;
        });
        const data = view.lines.length ? uPlot.join(view.lines.map((line) => [line.x, fit(line.y)])) : [[]];
        plot = new uPlot({
            ...sizeOf(holder), padding: [10, 34, 0, 0], legend: { show: false },
            scales: { x: { time: false }, y: view.log ? { distr: 3 } : { range: (u, least, most) => [0, most > 0 ? most * 1.06 : 1] } },
            axes: [xAxis(() => view.xUnit), yAxis(() => view.yUnit)],
            series: [{}, ...view.lines.map((line, i) => ({
                stroke: colour(`c${(i % 4) + 1}`), width: 1.5, dash: DASHES[i % DASHES.length], spanGaps: true, points: { show: line.x.length < 60, size: 4 },
            }))],
            cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
            hooks: { setCursor: [(u) => read(u.cursor.left < 0 ? null : u.cursor.idx)], draw: [(u) => drawMarks(u, view.marks)] },
        }, data, holder);
        holder.setAttribute('aria-label', view.label);
        read(null);
    }

    const sizes = new ResizeObserver(() => plot?.setSize(sizeOf(holder)));
    sizes.observe(holder);
    dark.addEventListener('change', () => view && draw(), { signal });
    signal.addEventListener('abort', () => {
        sizes.disconnect();
        plot?.destroy();
        plot = null;
    });
    return {
        element,
        show(next) {
            view = next;
            draw();
        },
    };
}

/** The value at an index, or the nearest one: the curves were not measured at the same loads. */
export function near(column, index) {
    for (let off = 0; off < column.length; off++)
        for (const i of [index - off, index + off])
            if (column[i] !== null && column[i] !== undefined)
                return column[i];
    return null;
}
