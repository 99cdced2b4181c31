// Jobs of several runs: every point of a matrix, repeated, in one process and one journal; and what becomes of
// the other runs when something ends one.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon, programs } from './daemon.mjs';
import { assertAgrees, leftOn } from './agree.mjs';
import { recordsOf } from './journal.mjs';
import { canMount, makeFilesystem } from './loop.mjs';
import { until } from './wait.mjs';

async function start(t, options) {
    const daemon = await startDaemon(options);
    t.after(() => daemon.close());
    return { daemon, client: daemon.client(await daemon.token('operator')) };
}

const states = (job) => job.runs.map((run) => run.state);

/* A job whose every run creates for so many seconds. */
const creating = (seconds, repeat) => ({
    workload: 'create-scaling',
    target: 'scratch',
    repeat,
    params: { files: 100_000_000, batch: 10, sync: 'fsync', operations: ['create'], max_seconds: seconds },
});

/* The job, once its run number `run` has created that much. */
const inRun = (client, id, run, done) => until(`run ${run} of job ${id}`, async () => {
    const job = await client.job(id);
    return job.progress?.run === run && job.progress.phase === 'create' && job.progress.done >= done && job;
}, { seconds: 60, every: 20 });

test('two times two points, twice, through a daemon that is killed in the middle', async (t) => {
    const filesystem = canMount && makeFilesystem('ext4', { megabytes: 128, mkfs: ['-N', '20000'] });
    if (filesystem) t.after(() => filesystem.close());
    const { daemon, client } = await start(t, filesystem ? { targets: { scratch: { path: filesystem.path } } } : {});
    const path = filesystem ? filesystem.path : daemon.scratch;
    const { id, seed, runs: planned } = await client.submit({
        workload: 'create-scaling',
        target: 'scratch',
        params: { files: 8000, batch: 200 },
        matrix: { threads: [1, 2], layout: ['shared', 'private'] },
        repeat: 2,
    });
    assert.equal(planned.length, 8);
    await until('its third run', () => recordsOf(daemon.journal(id), 'begin').length >= 3, { every: 5 });
    const runner = daemon.runner(id);
    await daemon.kill9();
    await daemon.start();
    const job = await client.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    assert.equal(job.cleanup, 'done');
    assert.equal(daemon.runner(id), runner, 'one process for all runs');
    assert.deepEqual(leftOn(path), []);
    await assertAgrees(daemon, client, id);

    await t.test('each round has every point once, in the order that was planned', () => {
        assert.ok(seed > 0);
        assert.deepEqual(job.runs.map((run) => [run.run, run.point, run.params]), planned.map((run) => [run.run, run.point, run.params]));
        for (const round of [job.runs.slice(0, 4), job.runs.slice(4)]) assert.deepEqual(round.map((run) => run.point).sort(), [0, 1, 2, 3]);
    });
    await t.test('each run worked with its own parameters, after the one before was cleaned up', () => {
        const records = daemon.journal(id);
        const begins = recordsOf(records, 'begin');
        assert.deepEqual(begins.map((begin) => begin.run), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert.equal(new Set(begins.map((begin) => begin.workspace)).size, 8);
        for (const [i, begin] of begins.entries()) {
            for (const [name, value] of Object.entries(job.runs[i].params)) assert.equal(begin.params[name], value, `run ${i + 1}, ${name}`);
            assert.equal(begin.params.files, 8000);
            assert.equal(begin.used.inodes, job.runs[i].used_inodes);
            const lanes = job.phases.find((phase) => phase.run === i + 1 && phase.name === 'create').lanes;
            assert.equal(lanes, job.runs[i].params.threads);
            const before = records.slice(0, begin.seq - 1);
            for (let run = 1; run <= i; run++) assert.equal(recordsOf(before, 'cleanup').filter((record) => record.run === run).at(-1).state, 'done');
        }
        assert.deepEqual(recordsOf(records, 'run_end').map((record) => record.run), [1, 2, 3, 4, 5, 6, 7]);
        assert.deepEqual(recordsOf(records, 'end').map((record) => [record.run, record.outcome]), [[8, 'succeeded']]);
        // Nothing of a run was there when the next one began.
        for (const run of job.runs) assert.equal(run.used_inodes, job.runs[0].used_inodes);
    });
    await t.test('the API names the run', async () => {
        assert.deepEqual(states(job), Array(8).fill('succeeded'));
        assert.equal(job.phases.length, 8 * 4);
        for (const run of job.runs) assert.ok(run.started_at < run.finished_at && run.cleanup === 'done');
        const csv = await client.samples(id, 'create');
        assert.equal(csv.length, 8 * 40);
        assert.equal(new Set(csv.map((row) => row.run)).size, 8);
        const last = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/series?phase=create&run=8`)).json;
        assert.deepEqual([last.run, last.count], [8, 40]);
        const first = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/series?phase=create`)).json;
        assert.deepEqual([first.run, first.count], [1, 40]);
        await client.expect(422, 'GET', `/api/v1/jobs/${id}/series?phase=create&run=9`);
        await client.expect(200, 'GET', `/api/v1/jobs/${id}/chart.svg?phase=create&run=8`);
    });
    await t.test('a finding sets the runs of each point beside each other', async () => {
        const all = await until('the findings', async () => {
            const answer = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/findings`)).json;
            return answer.analysis > 0 && answer.items;
        });
        const repeats = all.find((finding) => finding.kind === 'repeats' && finding.phase === 'create');
        assert.equal(repeats.run, null);
        assert.equal(repeats.data.points.length, 4);
        for (const [point, { params, runs, median, low, high }] of repeats.data.points.entries()) {
            const rates = job.runs.filter((run) => run.point === point).map((run) => job.phases.find((phase) => phase.run === run.run && phase.name === 'create').rate);
            assert.deepEqual(params, job.runs.find((run) => run.point === point).params);
            assert.equal(runs, 2);
            for (const [value, expected] of [[low, Math.min(...rates)], [high, Math.max(...rates)], [median, (rates[0] + rates[1]) / 2]]) assert.ok(Math.abs(value / expected - 1) < 1e-6);
        }
        assert.match(repeats.sentence, /Creating ran at .* files\/s with threads .*, the slowest and the fastest of 4 points; runs of one point lie up to .* % apart\./);
        const third = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/findings?run=3`)).json.items;
        assert.deepEqual([...new Set(third.map((finding) => finding.run))].sort(), [3, null]);
        assert.equal(third.filter((finding) => finding.run === null).length, all.filter((finding) => finding.run === null).length);
    });
    await t.test('the report has the runs, and of each point one picture', async () => {
        const text = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/report?format=markdown`)).text;
        assert.match(text, new RegExp(`## Runs\\n\\n8 runs, in an order that the seed ${seed} fixes`));
        for (const run of job.runs) assert.match(text, new RegExp(`^\\| ${run.run} \\| threads ${run.params.threads}, layout ${run.params.layout} \\| succeeded \\|`, 'm'));
        assert.equal(text.match(/^\| \d \| (create|list|stat|remove) \|/gm).length, 32);
        assert.match(text, /### create\n\nCreating ran at .*\n\n\| Point \| Runs \| Median per second \|/);
        const html = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/report?format=html`)).text;
        assert.equal(html.match(/<svg/g).length, 12, 'no more pictures than are worth looking at');
        assert.ok(html.length < 1_000_000, `${html.length} bytes`);
    });
});

test('a runner killed in its third run: two stand, one has failed, the others are skipped, and all is removed', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(2.5, 5));
    await inRun(client, id, 3, 10);
    process.kill(daemon.runner(id), 'SIGKILL');
    const job = await client.settled(id);
    assert.equal(job.state, 'failed');
    assert.equal(job.problem.code, 'interrupted');
    assert.equal(job.cleanup, 'done');
    assert.deepEqual(states(job), ['succeeded', 'succeeded', 'failed', 'skipped', 'skipped']);
    assert.deepEqual(job.phases.map((phase) => phase.run), [1, 2, 3]);
    await assertAgrees(daemon, client, id);
    assert.deepEqual(leftOn(daemon.scratch), []);
});

test('cancelled in its second run: one stands, the others are not begun', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(2.5, 4));
    await inRun(client, id, 2, 10);
    assert.equal((await client.post(`/api/v1/jobs/${id}/cancel`)).status, 202);
    const job = await client.settled(id);
    assert.equal(job.state, 'cancelled');
    assert.deepEqual(states(job), ['succeeded', 'cancelled', 'skipped', 'skipped']);
    assert.equal(job.cleanup, 'done');
    assert.match(job.problem.message, /^run 2 of 4: stopped on request/);
    await assertAgrees(daemon, client, id);
    assert.deepEqual(leftOn(daemon.scratch), []);
});

test('cancelled while it cleans up between two runs: it is over before all is removed', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit({
        workload: 'create-scaling', target: 'scratch', repeat: 3, params: { files: 60_000, batch: 1000, operations: ['create'], threads: 2 },
    });
    const runner = await until('the clean-up of run 1', () => recordsOf(daemon.journal(id), 'run_end').length === 1 && daemon.runner(id), { every: 2 });
    process.kill(runner, 'SIGTERM');
    const job = await client.settled(id);
    const records = daemon.journal(id);
    assert.equal(job.state, 'cancelled');
    assert.equal(job.cleanup, 'done');
    assert.deepEqual(leftOn(daemon.scratch), []);
    const end = recordsOf(records, 'end')[0];
    if (end.run === 1) {
        assert.deepEqual(states(job), ['succeeded', 'skipped', 'skipped']);
        assert.ok(end.seq < recordsOf(records, 'cleanup').at(-1).seq, 'over before it was clean');
    } else {
        t.diagnostic('it was cleaned up before the signal came');
    }
});

test('by hand: a row for each run, a line for each point', () => {
    const folder = mkdtempSync(join(tmpdir(), 'plm-runs-'));
    const runner = (...words) => execFileSync(join(programs.test, 'plimsoll-runner'), ['run', 'create-scaling', '--on', folder, 'files=500', ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    try {
        const text = runner('--repeat', '2', '--matrix', 'threads=1,2', '--matrix', 'operations=create;create,remove', '--seed', '9');
        const rows = text.split('\n').filter((line) => /^\d+ +threads/.test(line));
        assert.equal(rows.length, 2 * 2 * (1 + 2), text);
        assert.match(text, /^threads 2, operations create, remove +remove +2 /m);
        assert.match(text, /create-scaling: 8 of 8 runs of 4 points, in the order of seed 9;/);
        const json = JSON.parse(runner('--repeat', '3', '--json'));
        assert.deepEqual(json.runs.map((run) => [run.run, run.point, run.cleanup]), [[1, 0, 'done'], [2, 0, 'done'], [3, 0, 'done']]);
        assert.equal(json.points.find((point) => point.phase === 'create').runs, 3);
        assert.throws(() => runner('--matrix', 'threads=1,501'), (error) => error.status === 2 && /error: with threads 501: threads must not be more than files/.test(error.stderr));
        assert.throws(() => runner('--matrix', 'thread=1'), (error) => error.status === 2 && /did you mean threads\?/.test(error.stderr));
        assert.throws(() => runner('--repeat', '0'), (error) => error.status === 2 && /--repeat: repeat must be a whole number from 1 to 100/.test(error.stderr));
        assert.deepEqual(readdirSync(folder), []);
    } finally {
        rmSync(folder, { recursive: true });
    }
});
