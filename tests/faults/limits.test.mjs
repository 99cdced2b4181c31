// A filesystem that gets full ends a phase, not the job; what is reserved stays free; the true cause is told.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { startDaemon } from '../e2e/daemon.mjs';
import { makeFilesystem, canMount } from '../e2e/loop.mjs';
import { assertAgrees, leftOn } from '../e2e/agree.mjs';
import { until } from '../e2e/wait.mjs';

const skip = !canMount && 'needs root and loop devices';
const create = (target, params) => ({ workload: 'create-scaling', target, params: { batch: 10, ...params } });

/* Runs the job to its end and looks at the filesystem all the while; → the job and the least that was free. */
async function watched(client, filesystem, body) {
    const { id } = await client.submit(body);
    const least = { space: Infinity, inodes: Infinity };
    let ended = false;
    const watching = until(`job ${id} to end`, () => {
        const { bavail, bsize, ffree } = statfsSync(filesystem.path);
        least.space = Math.min(least.space, bavail * bsize);
        least.inodes = Math.min(least.inodes, ffree);
        return ended;
    }, { seconds: 180, every: 1 });
    await client.finished(id, { seconds: 170 }).finally(() => (ended = true));
    await watching;
    return { job: await client.settled(id), least };
}

async function start(t, kind, options, target = {}, build = 'test') {
    const filesystem = makeFilesystem(kind, options);
    t.after(() => filesystem.close());
    const daemon = await startDaemon({ build, targets: { small: { path: filesystem.path, ...target } } });
    t.after(() => daemon.close());
    return { filesystem, daemon, client: daemon.client(await daemon.token('operator')) };
}

/* The later phases went on over exactly what the first one made. */
function assertWentOn(job) {
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    assert.equal(job.cleanup, 'done');
    const [made, ...later] = job.phases;
    assert.equal(made.limited_by.at, made.ops);
    assert.ok(later.length > 0);
    for (const phase of later) {
        assert.equal(phase.ops, made.ops, phase.name);
        assert.equal(phase.limited_by, null, phase.name);
    }
}

for (const threads of [1, 2])
    test(`few inodes, ${threads} ${threads === 1 ? 'lane' : 'lanes'}: limit inodes at the reserve, never below it`, { skip }, async (t) => {
        const { filesystem, daemon, client } = await start(t, 'ext4', { megabytes: 64, mkfs: ['-N', '4096'] });
        const { files, ffree } = statfsSync(filesystem.path);
        const floor = Math.ceil(files * 0.05);
        const { job, least } = await watched(client, filesystem, create('small', { files: 100_000, threads }));
        assertWentOn(job);
        const [made] = job.phases;
        assert.ok(['inodes', 'reserve'].includes(made.limited_by.reason), made.limited_by.reason);
        assert.equal(made.limited_by.errno, 0, 'our floor, not the filesystem');
        assert.ok(least.inodes >= floor, `${least.inodes} inodes were free, ${floor} are reserved`);
        const left = ffree - made.ops - floor; // of which the run directory took one
        assert.ok(left >= 1 && left <= 1 + threads * 10, `it ended ${left} files above the floor`);
        await assertAgrees(daemon, client, job.id);
        assert.deepEqual(leftOn(filesystem.path), []);
        assert.equal(statfsSync(filesystem.path).ffree, ffree, 'all inodes are back');
    });

test('little space, files of 64 KiB: limit space at the reserve, never below it', { skip }, async (t) => {
    const { filesystem, daemon, client } = await start(t, 'ext4', { megabytes: 64, mkfs: ['-N', '4096', '-m', '0'] });
    const { blocks, bavail, bsize } = statfsSync(filesystem.path);
    const floor = blocks * bsize * 0.05;
    const { job, least } = await watched(client, filesystem, create('small', { files: 100_000, file_bytes: '64KiB' }));
    assertWentOn(job);
    const [made] = job.phases;
    assert.ok(['space', 'reserve'].includes(made.limited_by.reason), made.limited_by.reason);
    assert.equal(made.limited_by.errno, 0);
    assert.equal(made.bytes, made.ops * 65536);
    assert.ok(least.space >= floor, `${least.space} bytes were free, ${floor} are reserved`);
    const left = bavail * bsize - made.bytes - floor;
    assert.ok(left >= 0 && left <= 10 * 65536 + 512 * 1024, `it ended ${left} bytes above the floor`);
    await assertAgrees(daemon, client, job.id);
    assert.deepEqual(leftOn(filesystem.path), []);
});

test('nothing reserved: the filesystem itself refuses, and which of the two was used up is told', { skip }, async (t) => {
    const { filesystem, daemon, client } = await start(t, 'ext4', { megabytes: 64, mkfs: ['-N', '4096', '-m', '0'] }, { reserve: '0%' });
    const inodes = await watched(client, filesystem, create('small', { files: 100_000 }));
    assertWentOn(inodes.job);
    assert.deepEqual([inodes.job.phases[0].limited_by.reason, inodes.job.phases[0].limited_by.errno], ['inodes', 28]);
    await assertAgrees(daemon, client, inodes.job.id);
    const space = await watched(client, filesystem, create('small', { files: 100_000, file_bytes: '256KiB' }));
    assertWentOn(space.job);
    assert.deepEqual([space.job.phases[0].limited_by.reason, space.job.phases[0].limited_by.errno], ['space', 28]);
    await assertAgrees(daemon, client, space.job.id);
    assert.deepEqual(leftOn(filesystem.path), []);
});

test('btrfs counts no inodes: no inode floor, but one for space', { skip }, async (t) => {
    const { filesystem, client } = await start(t, 'btrfs', { megabytes: 256 });
    assert.equal(statfsSync(filesystem.path).files, 0, 'this filesystem counts inodes after all');
    const many = await watched(client, filesystem, create('small', { files: 20_000, batch: 100 }));
    assert.equal(many.job.state, 'succeeded', JSON.stringify(many.job.problem));
    for (const phase of many.job.phases) assert.deepEqual([phase.ops, phase.limited_by], [20_000, null], phase.name);
    const big = await watched(client, filesystem, create('small', { files: 100_000, file_bytes: '256KiB' }));
    assertWentOn(big.job);
    assert.ok(['space', 'reserve'].includes(big.job.phases[0].limited_by.reason), big.job.phases[0].limited_by.reason);
    assert.deepEqual(leftOn(filesystem.path), []);
});

test('a quota that is used up is told as one, with space left on the filesystem', { skip }, async (t) => {
    const { filesystem, client } = await start(t, 'btrfs', { megabytes: 512 });
    execFileSync('btrfs', ['quota', 'enable', filesystem.path]);
    execFileSync('btrfs', ['qgroup', 'limit', '20M', '0/5', filesystem.path]);
    const { job, least } = await watched(client, filesystem, create('small', { files: 100_000, file_bytes: '64KiB' }));
    assertWentOn(job);
    assert.deepEqual([job.phases[0].limited_by.reason, job.phases[0].limited_by.errno], ['quota', 122]);
    assert.ok(job.phases[0].bytes <= 20 << 20, `${job.phases[0].bytes} bytes`);
    assert.ok(least.space > 100 << 20, `${least.space} bytes were free all the while`);
    assert.deepEqual(leftOn(filesystem.path), []);
});

test('tmpfs with a limit of inodes', { skip }, async (t) => {
    const { filesystem, client } = await start(t, 'tmpfs', { megabytes: 64, mount: ['nr_inodes=3000'] });
    const { job, least } = await watched(client, filesystem, create('small', { files: 100_000, threads: 2, layout: 'private' }));
    assertWentOn(job);
    assert.ok(['inodes', 'reserve'].includes(job.phases[0].limited_by.reason));
    assert.ok(least.inodes >= 150, `${least.inodes} inodes were free, 150 are reserved`);
});

test('an ext4 directory index that is full is no full disk and no failure', { skip }, async (t) => {
    // 1 KiB blocks: two levels of index hold some 269,000 names of this length in one directory.
    const { filesystem, daemon, client } = await start(t, 'ext4', { megabytes: 1024, mkfs: ['-b', '1024', '-N', '420000'] }, {}, 'release');
    const { job, least } = await watched(client, filesystem, create('small', { files: 400_000, batch: 100 }));
    assertWentOn(job);
    const [made] = job.phases;
    assert.equal(made.limited_by.reason, 'directory-index');
    assert.equal(made.limited_by.errno, 28);
    assert.ok(made.ops > 200_000 && made.ops < 340_000, `${made.ops} files`);
    assert.ok(least.inodes > 60_000, `${least.inodes} inodes were free all the while`);
    assert.ok(least.space > 300 << 20, `${least.space} bytes were free all the while`);
    t.diagnostic(`one directory held ${made.ops} files`);
    await assertAgrees(daemon, client, job.id);
    assert.deepEqual(leftOn(filesystem.path), []);
});

test('a phase that takes too long ends at its deadline', { skip }, async (t) => {
    const { filesystem, client } = await start(t, 'tmpfs', { megabytes: 1024 });
    const { job } = await watched(client, filesystem, create('small', { files: 100_000_000, max_seconds: 1, batch: 100, operations: ['create', 'stat'] }));
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    const [made, statted] = job.phases;
    assert.equal(made.limited_by.reason, 'deadline');
    assert.ok(made.seconds >= 0.9 && made.seconds < 10, `${made.seconds} s`);
    assert.ok(statted.ops <= made.ops && statted.ops > 0);
});

test('an I/O error fails the job, tells errno and operation; clean-up waits until the filesystem is back', { skip }, async (t) => {
    const { filesystem, daemon, client } = await start(t, 'xfs', { megabytes: 512 });
    const { id } = await client.submit(create('small', { files: 100_000_000, batch: 100, max_seconds: 60 }));
    await client.reached(id, 'create', 1000);
    execFileSync('xfs_io', ['-x', '-c', 'shutdown', filesystem.path]);
    const failed = await client.finished(id, { seconds: 20 });
    assert.equal(failed.state, 'failed');
    assert.match(failed.problem.message, /Input\/output error/);
    assert.match(failed.problem.message, /\b\d{4,}\b/, 'which operation it was');
    assert.ok(failed.phases[0].ops >= 1000, 'what was measured is kept');
    await until('the clean-up to be blocked', async () => (await client.job(id)).cleanup === 'blocked', { seconds: 30 });

    await until('the filesystem to be free', () => {
        execFileSync('umount', [filesystem.path], { stdio: 'pipe' });
        return true;
    }, { seconds: 10 });
    execFileSync('mount', ['-o', 'loop', filesystem.image, filesystem.path]);
    await daemon.restart();
    const job = await until('the clean-up', async () => {
        const now = await client.job(id);
        return now.cleanup === 'done' && now;
    }, { seconds: 60 });
    assert.equal(job.state, 'failed', 'what ended stays ended');
    assert.deepEqual(leftOn(filesystem.path), []);
});
