// DELETE /jobs/{id}: a job goes with all that it measured; one that was asked to leave its files on the target
// goes after they have.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from './daemon.mjs';
import { assertAgrees, leftOn } from './agree.mjs';
import { until } from './wait.mjs';

const creating = (params) => ({ workload: 'create-scaling', target: 'scratch', params: { files: 500, batch: 10, ...params } });
const keeping = (files) => creating({ files, file_bytes: 10, operations: ['create', 'list'], keep_files: true });
const filesIn = (daemon) => leftOn(daemon.scratch).flatMap((name) => readdirSync(join(daemon.scratch, name)));
const rowsOf = (daemon, id) => ['phase', 'chunk', 'host_sample', 'finding', 'leg', 'job_event']
    .map((table) => [table, Number(daemon.psql(`select count(*) from ${table} where job = ${Number(id)}`)[0][0])]);

function commandOf(pid) {
    try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    } catch {
        return []; // it has ended
    }
}

async function start(t) {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    return { daemon, client, remove: (id) => client.request('DELETE', `/api/v1/jobs/${id}`) };
}

const goes = (client, id) => until(`job ${id} to be gone`, async () => (await client.get(`/api/v1/jobs/${id}`)).status === 404, { seconds: 30 });

test('a job that has ended goes with all that it measured, and with nothing else', async (t) => {
    const { daemon, client, remove } = await start(t);
    const stays = await client.settled((await client.submit(creating())).id);
    const { id } = await client.settled((await client.submit(creating())).id);
    const running = (await client.submit(creating({ files: 100_000_000, operations: ['create'], sync: 'fsync' }))).id;
    await client.reached(running, 'create', 10);

    const viewer = daemon.client(await daemon.token('viewer'));
    assert.equal((await viewer.request('DELETE', `/api/v1/jobs/${id}`)).status, 403);
    assert.equal((await remove(running)).status, 409);
    await client.expect(200, 'PATCH', `/api/v1/jobs/${id}`, { body: { pinned: true } });
    assert.match((await remove(id)).json.detail, /pinned/);
    await client.expect(200, 'PATCH', `/api/v1/jobs/${id}`, { body: { pinned: false } });
    assert.ok(rowsOf(daemon, id).some(([, n]) => n > 0));

    assert.equal((await remove(id)).status, 204);
    assert.equal((await remove(id)).status, 404);
    for (const below of ['', '/series?phase=create', '/host', '/findings', '/journal', '/report', '/events'])
        assert.equal((await client.get(`/api/v1/jobs/${id}${below}`)).status, 404, below);
    assert.ok(!(await client.get('/api/v1/jobs')).json.items.some((job) => job.id === id));
    assert.deepEqual(rowsOf(daemon, id).filter(([, n]) => n > 0), []);
    assert.equal(existsSync(join(daemon.journals, String(id))), false, 'its journal');

    await client.expect(202, 'POST', `/api/v1/jobs/${running}/cancel`);
    await client.settled(running);
    await daemon.restart();
    assert.equal((await client.get(`/api/v1/jobs/${id}`)).status, 404);
    await assertAgrees(daemon, client, stays.id);
    assert.equal((await remove(running)).status, 204, 'a cancelled one, too');
});

test('files that are kept are listed with their job, keep nobody away, and go when it is deleted', async (t) => {
    const { daemon, client, remove } = await start(t);
    const target = async () => (await client.expect(200, 'GET', '/api/v1/targets/scratch')).json;
    const { id } = await client.submit(keeping(700));
    const job = await client.settled(id);
    assert.deepEqual([job.state, job.cleanup, job.removed, job.deleting], ['succeeded', 'kept', 0, false], JSON.stringify(job.problem));
    assert.deepEqual(job.kept, { workspace: leftOn(daemon.scratch)[0], files: 700, bytes: 7000 });
    assert.equal(filesIn(daemon).length, 700);
    const free = await target();
    assert.deepEqual([free.busy, free.usable, free.kept], [false, true, { jobs: 1, files: 700, bytes: 7000 }]);
    const viewer = daemon.client(await daemon.token('viewer'));
    for (const path of [`/api/v1/jobs/${id}`, '/api/v1/targets'])
        assert.ok(!(await viewer.get(path)).text.includes(daemon.scratch), `${path} tells where the target lies`);

    await t.test('another job and a restart leave them alone', async () => {
        const next = await client.settled((await client.submit(creating())).id);
        assert.deepEqual([next.state, next.cleanup, next.kept], ['succeeded', 'done', null]);
        await daemon.restart();
        assert.equal((await client.job(id)).cleanup, 'kept');
        assert.equal(filesIn(daemon).length, 700);
    });

    await t.test('what did not succeed keeps nothing', async () => {
        const { id: other } = await client.submit({ ...keeping(100_000_000) });
        await client.reached(other, 'create', 10);
        await client.expect(202, 'POST', `/api/v1/jobs/${other}/cancel`);
        const cancelled = await client.settled(other);
        assert.deepEqual([cancelled.state, cancelled.cleanup, cancelled.kept], ['cancelled', 'done', null]);
        assert.equal(filesIn(daemon).length, 700);
    });

    await t.test('deleting waits for the job that runs there', async () => {
        const { id: running } = await client.submit(creating({ files: 100_000_000, operations: ['create'], sync: 'fsync' }));
        await client.reached(running, 'create', 10);
        const answer = await remove(id);
        assert.deepEqual([answer.status, answer.json.deleting, answer.json.cleanup], [202, true, 'kept']);
        assert.equal((await remove(id)).status, 202, 'again: the same');
        await client.reached(running, 'create', (await client.job(running)).progress.done + 10);
        assert.ok(existsSync(join(daemon.scratch, job.kept.workspace)), 'nothing is removed beside a measurement');
        await client.expect(202, 'POST', `/api/v1/jobs/${running}/cancel`);
        await goes(client, id);
        await client.settled(running);
        assert.deepEqual(leftOn(daemon.scratch), []);
        assert.equal(existsSync(join(daemon.journals, String(id))), false);
        assert.deepEqual([(await target()).busy, (await target()).kept], [false, { jobs: 0, files: 0, bytes: 0 }]);
    });
});

test('a deletion that is cut short goes on', async (t) => {
    const { daemon, client, remove } = await start(t);
    const { id } = await client.submit(keeping(1_000));
    await client.settled(id);
    assert.equal((await remove(id)).status, 202);
    await until('the removal to begin', () => filesIn(daemon).length < 1_000, { every: 1 });
    const cleaner = readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(join(daemon.journals, String(id), 'spec.json')));
    await daemon.kill9();
    if (cleaner) process.kill(Number(cleaner), 'SIGKILL');
    await daemon.start();
    await goes(client, id);
    assert.deepEqual(leftOn(daemon.scratch), []);
    assert.equal(existsSync(join(daemon.journals, String(id))), false);
});

test('kept files that cannot be removed stay, with the reason, and the target stays free', async (t) => {
    const { daemon, client, remove } = await start(t);
    const { id } = await client.submit(keeping(50));
    const { kept } = await client.settled(id);
    const reload = async (targets) => {
        daemon.targets = targets;
        daemon.configure();
        process.kill(daemon.pid, 'SIGHUP');
        await until('the settings', async () => {
            const names = (await client.get('/api/v1/targets')).json.items.filter((each) => each.usable).map((each) => each.name);
            return names.join() === Object.keys(targets).join();
        });
    };
    const elsewhere = join(daemon.folder, 'elsewhere');
    mkdirSync(elsewhere);

    await t.test('without the target: 409', async () => {
        await reload({ other: { path: elsewhere } });
        const refused = await remove(id);
        assert.equal(refused.status, 409);
        assert.match(refused.json.detail, new RegExp(`job ${id} keeps 50 files on target scratch, which the settings do not have`));
        assert.equal((await client.job(id)).deleting, false);
    });

    await t.test('with another folder in its place: kept as before', async () => {
        await reload({ scratch: { path: elsewhere } });
        assert.equal((await remove(id)).status, 202);
        const job = await until('the removal to be given up', async () => {
            const now = await client.job(id);
            return !now.deleting && now;
        });
        assert.equal(job.cleanup, 'kept');
        assert.match(job.cleanup_reason, /^scratch is not the folder in which the run worked/);
        assert.deepEqual(job.kept, kept);
        assert.equal((await client.get('/api/v1/targets/scratch')).json.busy, false);
    });

    await t.test('with a stranger among them: all but the stranger', async () => {
        await reload({ scratch: { path: daemon.scratch } });
        const stranger = join(daemon.scratch, kept.workspace, 'precious');
        writeFileSync(stranger, 'x');
        assert.equal((await remove(id)).status, 202);
        const job = await until('the removal to be given up', async () => {
            const now = await client.job(id);
            return !now.deleting && now;
        });
        assert.deepEqual([job.cleanup, job.foreign], ['kept', ['precious']]);
        assert.match(job.cleanup_reason, /holds what the run did not make/);
        assert.deepEqual(filesIn(daemon), ['precious']);
        rmSync(stranger);
        assert.equal((await remove(id)).status, 202);
        await goes(client, id);
        assert.deepEqual(leftOn(daemon.scratch), []);
    });
});
