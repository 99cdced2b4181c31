// Waiting on conditions, never on time alone.

/* Asks `look` until it answers with something truthy; says what was waited for, and what `look` last
 * said, when the deadline passes. A `look` that throws is asked again, and its last error told. */
export async function until(what, look, { seconds = 30, every = 50 } = {}) {
    const deadline = performance.now() + seconds * 1000;
    let last;
    for (;;) {
        try {
            last = await look();
            if (last) return last;
        } catch (error) {
            if (error.fatal) throw error;
            last = error;
        }
        if (performance.now() > deadline)
            throw new Error(`waited ${seconds} s for ${what}; last: ${last?.stack ?? JSON.stringify(last)}`);
        await new Promise((resolve) => setTimeout(resolve, every));
    }
}

/* An error that `until` passes on at once: what is waited for cannot come any more. */
export function fatal(message) {
    return Object.assign(new Error(message), { fatal: true });
}
