/* A figure over two axes as a surface seen from above a corner, and over one as bars; SVG, so that style sheet and
 * screen readers reach it. The numbers stand in a table beside it. */
import { h, svg } from './dom.js';

/** Colours of the style sheet, from the least to the most. */
export const LEVELS = 7;

/** Which of them: null when there is no value. */
export function levelOf(value, least, most) {
    if (!Number.isFinite(value))
        return null;
    return most > least ? Math.min(LEVELS - 1, Math.floor((value - least) / (most - least) * LEVELS)) : LEVELS >> 1;
}

export function extent(values) {
    const real = values.filter(Number.isFinite);
    return real.length ? { least: Math.min(...real), most: Math.max(...real) } : null;
}

const WIDE = 420, HIGH = 130, MARGIN = 74; /* of the floor; of the most; for names beside it */
const point = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`;
const words = (x, y, text, more = {}) => svg('text', { x: x.toFixed(1), y: y.toFixed(1), ...more }, text);

/**
 * @param grid rows of values, null where there is none; at least two rows and two columns
 * @param names {rows: [text], columns: [text], row, column}: what each is, and what all are
 * @param text (value) => text
 */
export function surface(grid, names, text, label) {
    const rows = grid.length, columns = grid[0].length;
    const { least, most } = extent(grid.flat()) ?? { least: 0, most: 1 };
    const across = Math.min(70, Math.max(30, WIDE / (rows + columns - 2))), down = across * 0.48;
    const left = (rows - 1) * across + MARGIN + 30, top = HIGH + 20;
    const place = (row, column, height = 0) => [left + (column - row) * across, top + (column + row) * down - height * HIGH];
    /* The floor is at nothing, so that heights compare as the figures do. */
    const height = (row, column) => (most > 0 ? grid[row][column] / most : 0);
    const known = (row, column) => Number.isFinite(grid[row][column]);
    const corner = (row, column) => place(row, column, height(row, column));
    const floor = [place(0, 0), place(0, columns - 1), place(rows - 1, columns - 1), place(rows - 1, 0)];
    const faces = [], dots = [], stems = [];
    for (let sum = 0; sum <= rows + columns - 2; sum++) /* from the back to the front */
        for (let row = Math.max(0, sum - columns + 1); row <= Math.min(rows - 1, sum); row++) {
            const column = sum - row;
            const corners = [[row, column], [row, column + 1], [row + 1, column + 1], [row + 1, column]];
            if (row + 1 < rows && column + 1 < columns && corners.every(([r, c]) => known(r, c))) {
                const mean = corners.reduce((all, [r, c]) => all + grid[r][c], 0) / 4;
                faces.push(svg('polygon', { class: `heat${levelOf(mean, least, most)}`, points: corners.map(([r, c]) => point(corner(r, c))).join(' ') }));
            }
            if (known(row, column)) {
                const [x, y] = corner(row, column);
                stems.push(svg('path', { class: 'stem', d: `M${point(place(row, column))}L${point([x, y])}` }));
                dots.push(svg('circle', { cx: x.toFixed(1), cy: y.toFixed(1), r: 2.5 },
                    svg('title', {}, `${names.row} ${names.rows[row]}, ${names.column} ${names.columns[column]}: ${text(grid[row][column])}`)));
            }
        }
    const under = names.columns.map((name, i) => words(...shifted(place(rows - 1, i), -8, 18), name, { 'text-anchor': 'end' }));
    const beside = names.rows.map((name, i) => words(...shifted(place(i, columns - 1), 8, 18), name));
    const [lowX, lowY] = place((rows - 1), (columns - 1) / 2), [rightX, rightY] = place((rows - 1) / 2, columns - 1);
    const width = Math.ceil(left + (columns - 1) * across + MARGIN + 30), tall = Math.ceil(top + (rows + columns - 2) * down + 48);
    return framed(label, svg('svg', { viewBox: `0 0 ${width} ${tall}`, width, height: tall, role: 'img', 'aria-label': label },
        svg('polygon', { class: 'floor', points: floor.map(point).join(' ') }),
        stems, faces, dots, under, beside,
        words(lowX - 30, lowY + 44, names.column, { class: 'axis', 'text-anchor': 'end' }),
        words(rightX + 30, rightY + 44, names.row, { class: 'axis' })));
}

/* Wider than a telephone: it can be moved by keys too. */
const framed = (label, picture) => h('div', { class: 'surface', tabindex: '0', role: 'region', 'aria-label': `Picture of ${label.charAt(0).toLowerCase()}${label.slice(1)}` }, picture);

const shifted = ([x, y], right, down) => [x + right, y + down];

/** The same over one axis. @param values null where there is none */
export function bars(values, names, name, text, label) {
    const { least, most } = extent(values) ?? { least: 0, most: 1 };
    const step = 84, base = 150, width = Math.max(240, values.length * step + 20);
    return framed(label, svg('svg', { viewBox: `0 0 ${width} 196`, width, height: 196, role: 'img', 'aria-label': label },
        svg('path', { class: 'floor', d: `M6 ${base}H${width - 6}` }),
        values.map((value, i) => {
            const tall = Number.isFinite(value) && most > 0 ? value / most * 120 : 0, x = 10 + i * step;
            return [
                Number.isFinite(value) && svg('rect', { class: `heat${levelOf(value, least, most)}`, x: x + 14, y: (base - tall).toFixed(1), width: step - 28, height: tall.toFixed(1) }),
                words(x + step / 2, base - tall - 6, text(value), { 'text-anchor': 'middle', class: 'value' }),
                words(x + step / 2, base + 17, names[i], { 'text-anchor': 'middle' }),
            ];
        }),
        words(width / 2, base + 38, name, { 'text-anchor': 'middle', class: 'axis' })));
}
