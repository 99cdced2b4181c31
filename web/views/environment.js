/* What the job ran on. The record is nested JSON whose names say their units; it is shown as it is,
 * so that nothing a newer runner records stays hidden. */
import { fill, h, onChange } from '../dom.js';
import { UNKNOWN, bytes, figure, nanoseconds, number, percent, seconds, title } from '../format.js';
import { facts } from '../parts.js';

const SIZES = /(^|_)(bytes|size|dirty|writeback)$|^(memory|space|swap)(_|$)/;
const UNITS = [
    [/_ns$/, (n) => nanoseconds(n), 3], [/_seconds$/, (n) => seconds(n), 8], [/_bytes$/, (n) => bytes(n), 6],
    [/_hz$/, (n) => `${figure(n / 1e9)}\u00a0GHz`, 3], [/_bits$/, (n) => `${figure(n / 1e9)}\u00a0Gbit/s`, 5],
    [/_share$/, (n) => percent(n, 1), 6],
];

/** A value by its name: "file_bytes": 4096 → "4 KiB". */
export function valueWords(name, value) {
    if (value === null || value === undefined || value === '')
        return UNKNOWN;
    if (typeof value === 'boolean')
        return value ? 'yes' : 'no';
    if (Array.isArray(value))
        return value.length ? value.map((v) => valueWords(name, v)).join(', ') : 'none';
    if (typeof value === 'object')
        return Object.entries(value).map(([k, v]) => `${title(k)} ${valueWords(k, v)}`).join(', ');
    if (typeof value !== 'number')
        return String(value);
    const unit = UNITS.find(([end]) => end.test(name));
    if (name === 'max_seconds' && value === 0)
        return 'no limit';
    if (unit)
        return unit[1](value);
    if (SIZES.test(name))
        return bytes(value);
    return number(value, Number.isInteger(value) ? 0 : 3);
}

function label(name) {
    const unit = UNITS.find(([end]) => end.test(name));
    return unit ? title(name.slice(0, -unit[2])) : title(name);
}

/** A record's plain values under its name, then the records within it, each in a block of its own. */
function blocks(name, record) {
    const plain = [], nested = [];
    for (const [key, value] of Object.entries(record)) {
        if (Array.isArray(value) && value.some((v) => v && typeof v === 'object'))
            value.forEach((v, i) => nested.push([v.name ? `${title(key)}: ${v.name}` : `${title(key)} ${i + 1}`, v]));
        else if (value && typeof value === 'object' && !Array.isArray(value))
            nested.push([title(key), value]);
        else
            plain.push([label(key), valueWords(key, value)]);
    }
    return [
        plain.length > 0 && h('div', { class: 'block' }, h('h3', {}, name), facts(plain)),
        nested.map(([key, value]) => blocks(key, value)),
    ];
}

export function environmentPanel() {
    const body = h('div', { class: 'blocks' });
    const element = h('section', { class: 'card environment', 'aria-labelledby': 'environment-head' },
        h('h2', { id: 'environment-head' }, 'Environment'), body);
    const draw = onChange((environment) => fill(body, environment && Object.keys(environment).length
        ? blocks('Machine', environment)
        : h('p', { class: 'doc' }, 'Recorded when the run begins.')));
    return { element, update: (job) => draw(job.environment ?? null) };
}
