/* The figures of many filesystems as rows, as the old reports had them. Pure functions. */

/** Phases whose load is how many filesystems are in place: not those that go over them or take them away. */
export const buildsUp = (phase) => phase.ops > 0 && !/^(list|read|stat|destroy|remove|un)/.test(phase.name);

/**
 * What the table shows, a row for every load at which all were brought back, or else for every batch: seconds since
 * the row before in phases that build up, seconds at that load in the others.
 * @param series [{phase: {name, at_load}, x: [load], elapsed: [s], ops: [n], thinned}]
 * @returns [{load, cells: [{seconds, each}]}] each: seconds for one filesystem
 */
export function rowsOf(series, most = 60) {
    const measured = series.filter((one) => one.phase.at_load);
    const loads = [...new Set((measured.length ? measured : series).flatMap((one) => one.x))].sort((a, b) => a - b);
    /* Batches after the last time that all were brought back are no less real. */
    const last = series.reduce((most, one) => Math.max(most, one.x.at(-1) ?? 0), 0);
    if (last > (loads.at(-1) ?? 0))
        loads.push(last);
    const step = Math.ceil(loads.length / most);
    const kept = loads.filter((load, i) => (i + 1) % step === 0 || i === loads.length - 1);
    return kept.map((load, i) => ({ load, cells: series.map((one) => cellOf(one, i ? kept[i - 1] : 0, load)) }));
}

function cellOf({ phase, x, elapsed, ops, thinned }, from, to) {
    if (phase.at_load) {
        const at = x.lastIndexOf(to);
        return at < 0 ? { seconds: null, each: null } : { seconds: elapsed[at], each: elapsed[at] / to };
    }
    let taken = 0, made = 0;
    x.forEach((load, i) => {
        if (load > from && load <= to) {
            taken += elapsed[i];
            made += ops[i];
        }
    });
    if (!made)
        return { seconds: null, each: null };
    return { seconds: thinned ? null : taken, each: taken / made };
}
