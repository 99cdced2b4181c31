/* Numbers, units and times as people read them. Pure functions; null, undefined and NaN are
 * unknown and become "–", never 0. */

export const UNKNOWN = '–';
const THIN = '\u202f'; /* narrow no-break space, between groups of digits */
const SPACE = '\u00a0'; /* no-break space, before a unit */
const MINUS = '\u2212';

const known = (n) => typeof n === 'number' && Number.isFinite(n);

/** 1750000 → "1 750 000"; up to `digits` decimals, trailing zeros dropped. */
export function number(n, digits = 0) {
    if (!known(n))
        return UNKNOWN;
    const [whole, part] = Math.abs(n).toFixed(digits).split('.');
    const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
    const tail = part?.replace(/0+$/, '') ?? '';
    const text = tail ? `${grouped}.${tail}` : grouped;
    return n < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** Three significant digits, but never fewer than the whole part has: 0.0375, 3.75, 37.5, 3 750. */
export function figure(n) {
    if (!known(n))
        return UNKNOWN;
    if (n === 0)
        return '0';
    const size = Math.floor(Math.log10(Math.abs(n)));
    if (size < -6)
        return n.toExponential(2).replace('-', MINUS);
    return number(n, Math.max(0, 2 - size));
}

const SECONDS = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];

/** A measured time: "3.75 ms". */
export function seconds(s) {
    if (!known(s))
        return UNKNOWN;
    if (Math.abs(s) >= 600)
        return duration(s);
    const [scale, unit] = SECONDS.find(([scale]) => Math.abs(s) >= scale * 0.9995) ?? [1e-9, 'ns'];
    return s === 0 ? `0${SPACE}s` : `${figure(s / scale)}${SPACE}${unit}`;
}

export const nanoseconds = (ns) => seconds(known(ns) ? ns / 1e9 : NaN);

/** A long time, in its two largest units: "17 h 2 min"; below a minute "12.3 s". */
export function duration(s) {
    if (!known(s))
        return UNKNOWN;
    if (s < 0)
        return MINUS + duration(-s);
    if (s < 59.95)
        return `${number(s, s < 10 ? 1 : 0)}${SPACE}s`;
    const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
    const at = units.findIndex(([size]) => Math.round(s) >= size);
    const [size, unit] = units[at];
    const [small, smallUnit] = units[at + 1];
    const rest = Math.round(s / small) * small;
    const big = Math.floor(rest / size), left = Math.round((rest - big * size) / small);
    return left ? `${big}${SPACE}${unit} ${left}${SPACE}${smallUnit}` : `${big}${SPACE}${unit}`;
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** IEC: 8192 → "8 KiB". */
export function bytes(n) {
    if (!known(n))
        return UNKNOWN;
    let at = 0, size = n;
    while (Math.abs(size) >= 1023.5 && at < BINARY.length - 1) {
        size /= 1024;
        at++;
    }
    return `${at ? figure(size) : number(size)}${SPACE}${BINARY[at]}`;
}

export const percent = (share, digits = 0) =>
    known(share) ? `${number(share * 100, digits)}${SPACE}%` : UNKNOWN;

/** "26.65 files/s": four significant digits, for a rate is the result people came for. */
export function rate(n, unit) {
    if (!known(n))
        return UNKNOWN;
    if (unit === 'bytes/s')
        return `${bytes(n)}/s`;
    const size = n === 0 ? 0 : Math.floor(Math.log10(Math.abs(n)));
    return `${number(n, Math.max(0, 3 - size))}${SPACE}${unit}`;
}

const UNIT = {
    s: seconds, seconds, ns: nanoseconds, nanoseconds, bytes, B: bytes,
    'bytes/s': (n) => rate(n, 'bytes/s'), share: (n) => percent(n, 1),
};

/** A value with the unit the API names: "s", "ns", "bytes", "share", "files/s", "". */
export function quantity(n, unit) {
    if (!known(n))
        return UNKNOWN;
    if (UNIT[unit])
        return UNIT[unit](n);
    const words = known(n) && Number.isInteger(n) ? number(n) : figure(n);
    return unit ? `${words}${SPACE}${unit}` : words;
}

/**
 * One scale for all ticks of an axis, so that they compare at a glance.
 * @param most the largest absolute value on the axis
 * @param step the distance between ticks: decides the decimals
 * @returns {(n: number) => string}
 */
export function axis(unit, most, step) {
    let scale = 1, name = unit === 'seconds' ? 's' : unit;
    if (unit === 'ns' || unit === 'nanoseconds' || name === 's') {
        const own = name === 's' ? 1 : 1e-9;
        const [size, word] = SECONDS.find(([size]) => most * own >= size) ?? SECONDS.at(-1);
        [scale, name] = most ? [size / own, word] : [1 / own, 's'];
    } else if (unit === 'bytes' || unit === 'bytes/s') {
        const at = most < 1024 ? 0 : Math.min(6, Math.floor(Math.log2(most) / 10));
        [scale, name] = [1024 ** at, BINARY[at] + (unit === 'bytes' ? '' : '/s')];
    } else if (unit === 'share') {
        [scale, name] = [0.01, '%'];
    }
    const fine = step / scale;
    const digits = fine > 0 ? Math.min(6, Math.max(0, Math.ceil(-Math.log10(fine) - 1e-9))) : 0;
    /* Names of what is counted would only repeat the axis title: units of scale stay. */
    const tail = /^(n|µ|m)?s$|^.?i?B(\/s)?$|^%$/.test(name) ? SPACE + name : '';
    return (n) => (known(n) ? number(n / scale, digits) + tail : '');
}

const pad = (n) => String(n).padStart(2, '0');

/** RFC 3339 → local "2026-03-02 14:05:09"; sorts and compares as it reads. */
export function localTime(text) {
    const at = new Date(text ?? NaN);
    if (Number.isNaN(at.getTime()))
        return UNKNOWN;
    return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ` +
        `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** The same moment in UTC, for the tooltip. */
export function utcTime(text) {
    const at = new Date(text ?? NaN);
    return Number.isNaN(at.getTime()) ? '' :
        `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const SHORT = { cpu: 'CPU', cpus: 'CPUs', nic: 'NIC', nics: 'NICs', io: 'I/O', id: 'ID', uid: 'user ID', mtu: 'MTU', vdso: 'vDSO', os: 'OS', nfs: 'NFS', numa: 'NUMA' };

/** "create-scaling" → "Create scaling"; "cpu_model" → "CPU model". */
export function title(name) {
    const words = String(name).split(/[-_ ]+/).map((word) => SHORT[word] ?? word).join(' ');
    return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A message without its full stop → a sentence. */
export function sentence(words) {
    const text = String(words ?? '');
    return text && text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

/** "1 file", "2 files": the unit's plural is what the API sends. */
export function count(n, unit) {
    if (unit === 'bytes')
        return bytes(n);
    const one = unit.replace(/ies$/, 'y').replace(/(ch|sh|x)es$/, '$1').replace(/s$/, '');
    return `${number(n)} ${n === 1 ? one : unit}`;
}
