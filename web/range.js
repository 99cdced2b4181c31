/* What is drawn of a series, and which part of it. Pure functions. */

/** Undefined and NaN become null: a gap. */
export const gaps = (values) => (values ?? []).map((v) => (Number.isFinite(v) ? v : null));

/**
 * Columns over two lists of moments as columns over all of them: undefined is a moment of the other list, over
 * which a line goes on; null is a figure that is missing.
 * @param more [name in the result, (points) => column]
 */
export function aligned(points, other, more) {
    const at = [...new Set([...points.at, ...other.at])].sort((a, b) => a - b);
    const place = new Map(at.map((t, i) => [t, i]));
    const spread = (moments, values) => {
        const column = new Array(at.length).fill(undefined);
        gaps(values).forEach((value, i) => (column[place.get(moments[i])] = value));
        return column;
    };
    const all = { at };
    for (const [name, values] of Object.entries(points).filter(([name]) => name !== 'at'))
        all[name] = spread(points.at, values);
    for (const [name, columnOf] of more)
        all[name] = spread(other.at, columnOf(other));
    return all;
}

/** A column over some moments, read off at others, between its neighbours; null outside and beside a gap. */
export function readOff(at, values, moments) {
    const column = gaps(values);
    let i = 0;
    return moments.map((t) => {
        while (i + 1 < at.length && at[i + 1] <= t)
            i++;
        if (!(at[i] <= t) || column[i] === null)
            return null;
        if (at[i] === t)
            return column[i];
        if (i + 1 === at.length || column[i + 1] === null)
            return null;
        return column[i] + (column[i + 1] - column[i]) * (t - at[i]) / (at[i + 1] - at[i]);
    });
}

/** On a logarithmic scale nothing at or below zero can be shown: gaps. */
export const positive = (values) => values.map((v) => (v > 0 ? v : null));

/** The part of a zoomed range that a step leaves: `by` < 1 nearer, > 1 wider. */
export function zoomed({ from, to }, at, by, bounds) {
    const range = { from: at - (at - from) * by, to: at + (to - at) * by };
    const kept = { from: Math.max(range.from, bounds.from), to: Math.min(range.to, bounds.to) };
    return kept.from <= bounds.from && kept.to >= bounds.to ? null : kept;
}

/** "?from=…&to=…" of a page's address → {from, to}, or null when they make no range. */
export function rangeOf(search) {
    const from = parseFloat(search.get('from')), to = parseFloat(search.get('to'));
    return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from, to } : null;
}
