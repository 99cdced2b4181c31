// Reads a runner's journal as somebody who does not trust it: every line's checksum and sequence.
import { readFileSync, existsSync } from 'node:fs';

const table = new Uint32Array(256).map((_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n >>> 0;
});

function crc32(bytes) {
    let c = 0xffffffff;
    for (const byte of bytes) c = table[(c ^ byte) & 255] ^ (c >>> 8);
    return ((c ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0');
}

/* → the records in order. A torn last line is left out (`torn` says so); anything else that is wrong
 * with the file is thrown. */
export function readJournal(path) {
    const records = [];
    records.torn = false;
    if (!existsSync(path)) return records;
    const bytes = readFileSync(path);
    let at = 0;
    while (at < bytes.length) {
        const end = bytes.indexOf(10, at);
        if (end < 0) {
            records.torn = true;
            break;
        }
        const line = bytes.subarray(at, end);
        const mark = line.lastIndexOf(',"crc":"');
        const record = JSON.parse(line.toString('utf8'));
        if (mark < 0 || crc32(line.subarray(0, mark)) !== record.crc)
            throw new Error(`${path}: line ${records.length + 1}: checksum ${record.crc} does not match`);
        if (record.seq !== records.length + 1)
            throw new Error(`${path}: line ${records.length + 1} has the number ${record.seq}`);
        records.push(record);
        at = end + 1;
    }
    return records;
}

export const SAMPLE_COLUMNS = ['lane', 'load', 'at', 'elapsed', 'ops', 'bytes', 'errors', 'cpu', 'switches', 'p50', 'p99', 'max'];

/* { create: [sample, …], … } of a run, in the journal's order. */
export function samplesOf(records, run = 1) {
    const phases = {};
    for (const record of records) {
        if (record.record !== 'samples' || record.run !== run) continue;
        const rows = (phases[record.phase] ??= []);
        record.load.forEach((_, i) => rows.push(Object.fromEntries(SAMPLE_COLUMNS.map((name) => [name, record[name][i]]))));
    }
    return phases;
}

export function recordsOf(records, kind) {
    return records.filter((record) => record.record === kind);
}
