// From a request to a chart's data: one job, looked at from every side.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, chownSync, existsSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { startDaemon } from './daemon.mjs';
import { assertAgrees, leftOn } from './agree.mjs';
import { recordsOf } from './journal.mjs';

test('a create-scaling job from request to series', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));

    const created = await client.expect(201, 'POST', '/api/v1/jobs', {
        body: { workload: 'create-scaling', target: 'scratch', params: { files: 20000, batch: 100 }, labels: { kernel: '6.1' }, note: 'the whole path', external_ref: 'OPS-1207' },
    });
    const id = created.json.id;
    assert.equal(created.headers.get('location'), `/api/v1/jobs/${id}`);
    assert.match(created.json.state, /queued|running/);
    const job = await client.settled(id);

    await t.test('the job tells its whole story', () => {
        assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
        assert.equal(job.cleanup, 'done');
        assert.equal(job.problem, null);
        assert.equal(job.progress, null);
        assert.equal(job.note, 'the whole path');
        assert.equal(job.external_ref, 'OPS-1207');
        assert.deepEqual(job.labels, { kernel: '6.1' });
        assert.equal(job.params.files, 20000);
        assert.equal(job.params.batch, 100);
        assert.equal(job.params.threads, 1, 'defaults are filled in');
        assert.deepEqual(job.phases.map((phase) => [phase.name, phase.ops, phase.errors]), ['create', 'list', 'stat', 'remove'].map((name) => [name, 20000, 0]));
        assert.ok(job.created_at <= job.started_at && job.started_at <= job.finished_at, `${job.created_at} ${job.started_at} ${job.finished_at}`);
        for (const time of [job.created_at, job.started_at, job.finished_at]) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    });

    await t.test('journal, database, CSV and JSON agree', async () => {
        const samples = await assertAgrees(daemon, client, id);
        for (const phase of ['create', 'stat', 'remove']) assert.equal(samples[phase].length, 200, phase);
    });

    await t.test('nothing is left on the target', () => {
        assert.deepEqual(leftOn(daemon.scratch), []);
        assert.equal(recordsOf(daemon.journal(id), 'cleanup').at(-1).state, 'done');
    });

    await t.test('the environment is recorded', () => {
        const text = JSON.stringify(job.environment);
        const kernel = execFileSync('uname', ['-r'], { encoding: 'utf8' }).trim();
        assert.ok(text.includes(kernel), `no kernel ${kernel} in ${text.slice(0, 600)}`);
    });

    await t.test('the journal comes as it is', async () => {
        const answer = await client.expect(200, 'GET', `/api/v1/jobs/${id}/journal`);
        assert.match(answer.headers.get('content-type'), /ndjson/);
        const lines = answer.text.trimEnd().split('\n').map(JSON.parse);
        assert.deepEqual(lines, [...daemon.journal(id)]);
    });

    await t.test('the host series has columns of one length', async () => {
        const host = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/host`)).json;
        assert.ok(host.count >= 1, 'at least one host sample');
        for (const [name, values] of Object.entries(host.points)) assert.equal(values.length, host.points.at.length, name);
        assert.ok(host.points.load1.every((load) => load === null || load >= 0));
    });

    await t.test('a zoomed series has only what was asked for', async () => {
        const series = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/series?phase=create&from=5000&to=10000&points=1000`)).json;
        assert.equal(series.thinned, false);
        assert.ok(series.count >= 50 && series.count <= 51, `count ${series.count}`);
        assert.ok(series.points.x.every((x) => x >= 5000 && x <= 10000));
    });
});

test('the runner becomes the user that the target names', { skip: process.getuid() !== 0 && 'only root can become somebody else' }, async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const nobody = Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' }));
    const path = join(daemon.folder, 'of-nobody');
    mkdirSync(path);
    chownSync(path, nobody, nobody);
    daemon.targets = { nobody: { path, run_as: 'nobody' }, closed: { path: join(daemon.folder, 'of-root'), run_as: 'nobody' } };
    mkdirSync(daemon.targets.closed.path, { mode: 0o755 });
    daemon.configure();
    await daemon.restart();
    const client = daemon.client(await daemon.token('operator'));

    const { id } = await client.submit({ workload: 'create-scaling', target: 'nobody', params: { files: 5000, operations: ['create'] } });
    const job = await client.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    assert.equal(job.cleanup, 'done');
    assert.deepEqual(leftOn(path), []);

    const refused = await client.submit({ workload: 'create-scaling', target: 'closed', params: { files: 5000 } });
    const failed = await client.settled(refused.id);
    assert.equal(failed.state, 'failed', 'root would have been able to');
    assert.match(failed.problem.message, /[Pp]ermission/);
    assert.ok(existsSync(daemon.targets.closed.path));
});

test('every layout, sync and file size gives exact counts', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    for (const params of [
        { files: 1000, batch: 100, sync: 'fsync' },
        { files: 1000, batch: 100, sync: 'open', file_bytes: 4096 },
        { files: 500, batch: 50, sync: 'directory' },
        { files: 1001, batch: 100, threads: 2, layout: 'private' },
        { files: 999, batch: 7, threads: 3, layout: 'shared', file_bytes: '8KiB' },
        { files: 1, batch: 100 },
        { files: 1000, operations: ['create', 'remove'] },
        { files: 1000, operations: ['create'] },
    ]) {
        const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params });
        const job = await client.settled(id);
        const what = JSON.stringify(params);
        assert.equal(job.state, 'succeeded', `${what}: ${JSON.stringify(job.problem)}`);
        for (const phase of job.phases) assert.equal(phase.ops, params.files, `${what}: ${phase.name}`);
        const samples = await assertAgrees(daemon, client, id);
        if ((params.threads ?? 1) === 1) assert.equal(samples.create.length, Math.ceil(params.files / (params.batch ?? 100)), what);
        const size = params.file_bytes === '8KiB' ? 8192 : (params.file_bytes ?? 0);
        assert.equal(job.phases[0].bytes, size * params.files, what);
        assert.deepEqual(leftOn(daemon.scratch), [], what);
    }
});
