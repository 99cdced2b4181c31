// Whatever way one asks for a job's results, the answer must be the same: journal, database, CSV, JSON.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { recordsOf, samplesOf, SAMPLE_COLUMNS } from './journal.mjs';

const sum = (rows, name) => rows.reduce((total, row) => total + row[name], 0);
const byTime = (a, b) => a.at - b.at || a.load - b.load;

/* Entries of run directories that are still on the target. */
export function leftOn(path) {
    return existsSync(path) ? readdirSync(path).filter((name) => name.startsWith('plimsoll-')) : [];
}

/* Holds the journal of a job that ended against every other way to its samples; → samples by phase, of the
 * first run. */
export async function assertAgrees(daemon, client, id) {
    const job = await client.job(id);
    const records = daemon.journal(id);
    assert.equal(records.torn, false, 'the journal has a torn tail');
    const measured = Object.fromEntries(job.runs.map(({ run }) => [run, samplesOf(records, run)]));
    const ends = Object.fromEntries(recordsOf(records, 'phase_end').map((record) => [`${record.run} ${record.phase}`, record]));

    assert.deepEqual(job.phases.map((phase) => [phase.run, phase.name]), recordsOf(records, 'phase').map((record) => [record.run, record.phase]));
    for (const phase of job.phases) {
        const rows = (measured[phase.run][phase.name] ?? []).sort(byTime);
        const where = `job ${id}, run ${phase.run}, phase ${phase.name}`;

        const csv = await client.samples(id, phase.name, phase.run);
        assert.equal(csv.length, rows.length, `${where}: samples in the CSV and in the journal`);
        rows.forEach((row, i) => {
            for (const name of SAMPLE_COLUMNS)
                if (csv[i][name] !== row[name])
                    assert.fail(`${where}: sample ${i}: ${name} is ${csv[i][name]} in the CSV, ${row[name]} in the journal`);
        });

        const [[count, ops, bytes, keys]] = daemon.psql(`
            select count(*), coalesce(sum(ops), 0), coalesce(sum(bytes), 0), count(distinct (run, leg, lane, at))
              from sample where job = ${Number(id)} and run = ${phase.run} and phase = '${phase.name}'`).map((row) => row.map(Number));
        assert.deepEqual({ count, ops, bytes, keys }, { count: rows.length, ops: sum(rows, 'ops'), bytes: sum(rows, 'bytes'), keys: rows.length }, `${where}: database`);

        assert.equal(phase.ops, sum(rows, 'ops'), `${where}: ops of the phase and of its samples`);
        assert.equal(phase.bytes, sum(rows, 'bytes'), `${where}: bytes of the phase and of its samples`);
        if (rows.length) {
            let load = 0;
            rows.forEach((row, i) => {
                if (row.load < load) assert.fail(`${where}: load falls from ${load} to ${row.load} at sample ${i}`);
                load = row.load;
            });
            const series = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/series?phase=${phase.name}&run=${phase.run}&points=500`)).json;
            assert.equal(series.count, rows.length, `${where}: count of the series`);
            const low = Math.min(...rows.map((row) => row.elapsed)) / 1e9;
            const high = Math.max(...rows.map((row) => row.elapsed)) / 1e9;
            close(Math.min(...series.points.min), low, `${where}: least elapsed of the thinned series`);
            close(Math.max(...series.points.max), high, `${where}: most elapsed of the thinned series`);
        }
        const end = ends[`${phase.run} ${phase.name}`];
        if (end) {
            assert.equal(phase.ops, end.ops, `${where}: ops of the phase and of its end`);
            assert.equal(end.latency.count, end.ops, `${where}: operations in the histogram`);
            assert.equal(sum(end.latency.buckets.map(([, n]) => ({ n })), 'n'), end.ops, `${where}: sum of the buckets`);
            if (rows.length) {
                // A batch's end is its last operation's end: the phase lasts from the first start to it.
                const last = Math.max(...rows.map((row) => row.at));
                assert.equal(end.last_done, last, `${where}: last_done`);
                const first = Math.min(...rows.map((row) => row.at - row.elapsed));
                assert.ok(end.first_start <= first && first - end.first_start < 50e6, `${where}: first_start ${end.first_start}, first batch from ${first}`);
                const seconds = (end.last_done - end.first_start) / 1e9;
                close(phase.seconds, seconds, `${where}: seconds`);
                close(phase.rate, (phase.unit === 'bytes' ? phase.bytes : phase.ops) / seconds, `${where}: rate = what was done / (last end - first start)`);
            }
        }
    }
    return measured[1] ?? {};
}

export function close(actual, expected, what) {
    assert.ok(Math.abs(actual - expected) <= 1e-6 * Math.abs(expected) + 1e-9, `${what}: ${actual}, expected ${expected}`);
}
