// kill -9 of each process in the middle of a job: what was measured is kept, exactly once, and what was
// made is removed.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from './daemon.mjs';
import { assertAgrees, leftOn } from './agree.mjs';
import { recordsOf } from './journal.mjs';
import { until } from './wait.mjs';

const full = Boolean(process.env.PLIMSOLL_FULL);

/* A job that creates for so many seconds, however fast or slow the disk is. */
const creating = (seconds, params = {}) => ({
    workload: 'create-scaling',
    target: 'scratch',
    params: { files: 100_000_000, batch: 10, sync: 'fsync', operations: ['create'], max_seconds: seconds, ...params },
});

async function start(t) {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    return { daemon, client: daemon.client(await daemon.token('operator')) };
}

const journalSize = (daemon, id) => statSync(join(daemon.journals, String(id), 'journal.ndjson')).size;

/* The runner measures on: its journal grows. */
function goesOn(daemon, id) {
    const before = journalSize(daemon, id);
    return until(`the journal of job ${id} to grow`, () => journalSize(daemon, id) > before, { seconds: 10 });
}

async function assertWhole(daemon, client, id) {
    const job = await client.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    assert.equal(job.cleanup, 'done');
    assert.equal(job.phases[0].limited_by.reason, 'deadline');
    assert.ok(job.phases[0].ops > 100, `${job.phases[0].ops} files`);
    await assertAgrees(daemon, client, id);
    assert.deepEqual(leftOn(daemon.scratch), []);
    return job;
}

function children(pid) {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number));
}

test('plimsolld killed in the middle, again and again: the job goes on, every sample is there once', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(12));
    let rounds = 0;
    let done = 20;
    while (recordsOf(daemon.journal(id), 'end').length === 0 && rounds < 3) {
        const job = await client.reached(id, 'create', done);
        done = job.progress.done + 20;
        const runner = daemon.runner(id);
        await daemon.kill9();
        if (recordsOf(daemon.journal(id), 'end').length === 0) {
            rounds++;
            process.kill(runner, 0);
            await goesOn(daemon, id);
        }
        await daemon.start();
        assert.equal(daemon.runner(id), runner, 'the runner was adopted');
    }
    assert.ok(rounds > 0, 'it ended before plimsolld could be killed');
    t.diagnostic(`killed ${rounds} times`);
    await assertWhole(daemon, client, id);
});

test('plimsolld stopped and started in the middle: the runner stays', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(4));
    await client.reached(id, 'create', 20);
    const runner = daemon.runner(id);
    await daemon.stop();
    await goesOn(daemon, id);
    await daemon.start();
    assert.equal(daemon.runner(id), runner);
    await assertWhole(daemon, client, id);
});

test('a job that ended while plimsolld was dead is told as it ended', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(2));
    await client.reached(id, 'create', 10);
    await daemon.kill9();
    await until('the runner to end', () => recordsOf(daemon.journal(id), 'cleanup').at(-1)?.state === 'done', { seconds: 60 });
    await daemon.start();
    await assertWhole(daemon, client, id);
});

test('PostgreSQL killed in the middle, its server and then a connection of it: nothing is lost', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(12));
    await client.reached(id, 'create', 100);
    const first = daemon.postmaster;
    process.kill(first, 'SIGKILL');
    await goesOn(daemon, id);
    await until('PostgreSQL to be back', async () => daemon.postmaster !== first && (await client.get('/readyz')).status === 200);

    const connection = await until('a connection of the daemon', () => children(daemon.postmaster).find((pid) => /^postgres: .*\[local\]/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))));
    process.kill(connection, 'SIGKILL');
    await goesOn(daemon, id);
    assert.equal(recordsOf(daemon.journal(id), 'end').length, 0, 'killed in the middle, not after the end');
    await assertWhole(daemon, client, id);
});

const away = full ? 30 : 5;
test(`PostgreSQL stands still for ${away} s in the middle: nothing is lost, and the API says so meanwhile`, async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(away + 6));
    await client.reached(id, 'create', 100);
    const stopped = [daemon.postmaster, ...children(daemon.postmaster)];
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    let asked; // by somebody who needs the database for the answer
    try {
        const since = performance.now();
        asked = client.get(`/api/v1/jobs/${id}`, { seconds: 60 });
        await goesOn(daemon, id);
        await until(`${away} s to pass with a daemon that answers`, async () => {
            assert.equal((await client.get('/healthz', { seconds: 5 })).status, 200);
            return performance.now() - since > away * 1000;
        }, { seconds: away + 10, every: 250 });
    } finally {
        for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    assert.ok([200, 503].includes((await asked).status), 'late, or no');
    await until('the daemon to be ready again', async () => (await client.get('/readyz')).status === 200);
    await assertWhole(daemon, client, id);
});

test('a killed runner: failed, interrupted, its samples kept, its files removed', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(60));
    await client.reached(id, 'create', 200);
    process.kill(daemon.runner(id), 'SIGKILL');
    const ended = await client.finished(id, { seconds: 15 });
    assert.equal(ended.state, 'failed');
    assert.equal(ended.problem.code, 'interrupted');
    const job = await client.settled(id);
    assert.equal(job.cleanup, 'done');
    assert.ok(job.removed >= 200, `${job.removed} files removed`);
    assert.ok(job.phases[0].ops >= 200, `${job.phases[0].ops} operations kept`);
    await assertAgrees(daemon, client, id);
    assert.deepEqual(leftOn(daemon.scratch), []);

    const next = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 100 } });
    assert.equal((await client.settled(next.id)).state, 'succeeded', 'the target is free again');
});

test('a runner killed while plimsolld was dead: the same', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(60));
    await client.reached(id, 'create', 100);
    const runner = daemon.runner(id);
    await daemon.kill9();
    process.kill(runner, 'SIGKILL');
    await daemon.start();
    const job = await client.settled(id);
    assert.equal(job.state, 'failed');
    assert.equal(job.problem.code, 'interrupted');
    assert.equal(job.cleanup, 'done');
    await assertAgrees(daemon, client, id);
    assert.deepEqual(leftOn(daemon.scratch), []);
});

test('a runner killed while it cleans up: the result stands, the clean-up is done again', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(4, { sync: 'none' }));
    const runner = await until('the clean-up to begin', () => recordsOf(daemon.journal(id), 'end').length === 1 && daemon.runner(id), { every: 2 });
    process.kill(runner, 'SIGKILL');
    assert.notEqual(recordsOf(daemon.journal(id), 'cleanup').at(-1)?.state, 'done', 'killed before it was done');
    await assertWhole(daemon, client, id);
});

test('cancel in the middle of a batch: cancelled within seconds, samples kept, files removed', async (t) => {
    const { daemon, client } = await start(t);
    const { id } = await client.submit(creating(120, { batch: 1_000_000, file_bytes: 4096 }));
    await until('files of the first batch', () => leftOn(daemon.scratch).some((name) => readdirSync(join(daemon.scratch, name)).length > 100));
    const asked = performance.now();
    const answer = await client.post(`/api/v1/jobs/${id}/cancel`);
    assert.equal(answer.status, 202, answer.text);
    const again = await client.post(`/api/v1/jobs/${id}/cancel`);
    assert.equal(again.status, 202, 'cancelling again is the same');
    const ended = await client.finished(id, { seconds: 15 });
    const seconds = (performance.now() - asked) / 1000;
    assert.equal(ended.state, 'cancelled');
    assert.ok(seconds < 10, `it took ${seconds} s`);
    const job = await client.settled(id);
    assert.equal(job.cleanup, 'done');
    assert.ok(job.removed > 100, `${job.removed} files removed`);
    assert.ok(job.phases[0].ops > 100, `${job.phases[0].ops} operations kept`);
    await assertAgrees(daemon, client, id);
    assert.deepEqual(leftOn(daemon.scratch), []);
});

test('jobs of one target run one after the other, and a queued one is cancelled at once', async (t) => {
    const { daemon, client } = await start(t);
    const first = await client.submit(creating(60));
    await client.reached(first.id, 'create', 100);
    const second = await client.submit(creating(60));
    assert.equal((await client.job(second.id)).state, 'queued');
    assert.equal((await client.post(`/api/v1/jobs/${second.id}/cancel`)).status, 202);
    const cancelled = await client.job(second.id);
    assert.deepEqual([cancelled.state, cancelled.cleanup, cancelled.started_at], ['cancelled', 'none', null]);
    const third = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 100 } });
    await client.post(`/api/v1/jobs/${first.id}/cancel`);
    const done = await client.settled(third.id);
    assert.equal(done.state, 'succeeded');
    const before = await client.job(first.id);
    assert.ok(done.started_at >= before.finished_at, `${done.started_at} before ${before.finished_at}`);
    assert.equal((await client.post(`/api/v1/jobs/${third.id}/cancel`)).status, 409, 'one that ended otherwise');
    assert.deepEqual(leftOn(daemon.scratch), []);
});
