// What is not the job's own is never followed and never removed, whatever it is called and wherever it points.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { leftOn } from '../e2e/agree.mjs';
import { recordsOf } from '../e2e/journal.mjs';
import { until } from '../e2e/wait.mjs';

const creating = (seconds) => ({
    workload: 'create-scaling',
    target: 'scratch',
    params: { files: 100_000_000, batch: 10, sync: 'fsync', operations: ['create'], max_seconds: seconds },
});

async function start(t) {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const outside = join(daemon.folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'precious'), 'kept');
    return { daemon, client: daemon.client(await daemon.token('operator')), outside };
}

const workspace = (daemon) => join(daemon.scratch, leftOn(daemon.scratch)[0]);

function assertKept(outside) {
    assert.equal(readFileSync(join(outside, 'precious'), 'utf8'), 'kept');
}

test('foreign entries in the run directory: left, listed, and the clean-up blocked until they are gone', async (t) => {
    const { daemon, client, outside } = await start(t);
    const { id } = await client.submit(creating(4));
    await client.reached(id, 'create', 50);
    const folder = workspace(daemon);
    const own = readdirSync(folder).filter((name) => /^f\d{10}$/.test(name)).sort();
    const planted = {
        'notes.txt': (path) => writeFileSync(path, 'mine'),
        'link-to-file': (path) => symlinkSync(join(outside, 'precious'), path),
        'link-to-folder': (path) => symlinkSync(outside, path),
        folder: (path) => {
            mkdirSync(path);
            writeFileSync(join(path, 'f0000000001'), 'mine');
        },
        // Under names that the job itself uses, in the place of files that it made.
        [own[0]]: (path) => {
            unlinkSync(path);
            symlinkSync(join(outside, 'precious'), path);
        },
        [own[1]]: (path) => {
            unlinkSync(path);
            mkdirSync(path);
        },
        ...(process.getuid() === 0 ? { [own[2]]: (path) => chownSync(path, 65534, 65534) } : {}),
        // A name like the job's own, but of a file that it has not come to make.
        f9999999999: (path) => writeFileSync(path, 'mine'),
    };
    for (const [name, plant] of Object.entries(planted)) plant(join(folder, name));

    const job = await client.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    assert.equal(job.cleanup, 'blocked');
    assert.deepEqual([...job.foreign].sort(), Object.keys(planted).sort());
    assert.deepEqual(readdirSync(folder).sort(), Object.keys(planted).sort(), 'all else is removed');
    assertKept(outside);
    assert.equal(readFileSync(join(folder, 'notes.txt'), 'utf8'), 'mine');
    assert.equal(readFileSync(join(folder, 'folder', 'f0000000001'), 'utf8'), 'mine');

    await t.test('the target stays busy', async () => {
        const next = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 10 } });
        assert.equal((await client.job(next.id, '?wait=1')).state, 'queued');
        const target = (await client.get('/api/v1/targets/scratch')).json;
        assert.equal(target.busy, true);
        assert.equal((await client.post(`/api/v1/jobs/${next.id}/cancel`)).status, 202);
    });

    await t.test('a start of the daemon tries again, and leaves them again', async () => {
        await daemon.restart();
        const again = await until('the clean-up to be tried again', async () => {
            const now = await client.job(id);
            return recordsOf(daemon.journal(id), 'cleanup').filter((record) => record.state === 'blocked').length >= 2 && now.cleanup === 'blocked' && now;
        });
        assert.deepEqual([...again.foreign].sort(), Object.keys(planted).sort());
        assertKept(outside);
    });

    await t.test('once the administrator removed them, the next start finishes', async () => {
        for (const name of Object.keys(planted)) rmSync(join(folder, name), { recursive: true });
        await daemon.restart();
        await until('the clean-up', async () => (await client.job(id)).cleanup === 'done');
        assert.deepEqual(leftOn(daemon.scratch), []);
        assertKept(outside);
        const next = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 10 } });
        assert.equal((await client.settled(next.id)).state, 'succeeded', 'the target is free again');
    });
});

test('a run directory that was swapped for a link or another directory is not cleaned', async (t) => {
    const { daemon, client, outside } = await start(t);
    for (const swap of [
        (folder) => symlinkSync(outside, folder),
        // The administrator's own directory under that name, with files named as a run names them.
        (folder) => {
            mkdirSync(folder);
            writeFileSync(join(folder, 'precious'), 'kept');
        },
    ]) {
        const { id } = await client.submit(creating(60));
        await client.reached(id, 'create', 50);
        const runner = daemon.runner(id);
        await daemon.kill9();
        process.kill(runner, 'SIGKILL');
        const folder = workspace(daemon);
        const aside = join(daemon.folder, `aside-${id}`);
        renameSync(folder, aside);
        writeFileSync(join(outside, 'f0000000001'), 'mine');
        const made = readdirSync(aside).length;
        swap(folder);
        await daemon.start();
        const job = await client.settled(id);
        assert.equal(job.state, 'failed');
        assert.equal(job.cleanup, 'blocked');
        assertKept(outside);
        assert.ok(existsSync(join(outside, 'f0000000001')), 'a file outside was removed through the link');
        assert.ok(existsSync(join(folder, 'precious')));
        assert.equal(readdirSync(aside).length, made, 'nor what was moved away');

        rmSync(folder, { recursive: true });
        renameSync(aside, folder);
        await daemon.restart();
        await until('the clean-up', async () => (await client.job(id)).cleanup === 'done');
        assert.deepEqual(leftOn(daemon.scratch), []);
    }
});

test('what is mounted below the run directory is neither entered nor does it keep the rest', { skip: process.getuid() !== 0 && 'mounting needs root' }, async (t) => {
    const { daemon, client, outside } = await start(t);
    writeFileSync(join(outside, 'f0000000001'), 'mine');
    const job = creating(4);
    Object.assign(job.params, { threads: 2, layout: 'private' });
    const { id } = await client.submit(job);
    await client.reached(id, 'create', 100);
    const folder = workspace(daemon);
    const mounted = ['d0000/f0000000001', 'd0001'];
    const mount = (name, what) => execFileSync('mount', ['--bind', join(outside, what), join(folder, name)]);
    mount(mounted[0], 'precious');
    mount(mounted[1], '.');
    let blocked;
    try {
        blocked = await client.settled(id);
        assert.equal(blocked.cleanup, 'blocked');
        assert.deepEqual([...blocked.foreign].sort(), mounted);
        assert.deepEqual(readdirSync(folder).sort(), ['d0000', 'd0001'], 'all else is removed');
        assert.deepEqual(readdirSync(join(folder, 'd0000')), ['f0000000001']);
        assertKept(outside);
        assert.equal(readFileSync(join(outside, 'f0000000001'), 'utf8'), 'mine');
    } finally {
        for (const name of mounted) execFileSync('umount', [join(folder, name)]);
    }
    for (const name of mounted) rmSync(join(folder, name), { recursive: true });
    await daemon.restart();
    await until('the clean-up', async () => (await client.job(id)).cleanup === 'done');
    assert.deepEqual(leftOn(daemon.scratch), []);
});
