// Root uses what is reserved for it, and no quota holds it: a target that is measured as somebody else finds the
// limits that people find.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { leftOn } from '../e2e/agree.mjs';
import { makeFilesystem, canMount } from '../e2e/loop.mjs';

const skip = !canMount && 'needs root and loop devices';
const run = (program, ...argv) => execFileSync(program, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/* A folder of nobody's and one of root's on the filesystem, each a target without a reserve of ours. */
async function start(t, filesystem) {
    t.after(() => filesystem.close());
    const targets = {};
    for (const user of ['nobody', 'root']) {
        const path = join(filesystem.path, user);
        mkdirSync(path);
        run('chown', user, path);
        targets[user] = { path, run_as: user, reserve: '0%' };
    }
    const daemon = await startDaemon({ targets });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    return async (user, params) => {
        const { id } = await client.submit({ workload: 'create-scaling', target: user, params: { batch: 10, operations: ['create', 'remove'], ...params } });
        const job = await client.settled(id, { seconds: 60 });
        assert.deepEqual([job.state, job.cleanup], ['succeeded', 'done'], JSON.stringify(job.problem));
        assert.deepEqual(leftOn(targets[user].path), []);
        return job.phases[0];
    };
}

test('blocks that are reserved for root: nobody ends at limit space, root goes on through them', { skip }, async (t) => {
    const filesystem = makeFilesystem('ext4', { megabytes: 64, mkfs: ['-m', '40', '-N', '4096'] });
    const measure = await start(t, filesystem);
    const { bfree, bavail, bsize } = statfsSync(filesystem.path);
    const reserved = (bfree - bavail) * bsize, file = 64 << 10;
    assert.ok(reserved > 20 << 20, `${reserved} bytes are reserved`);
    const create = { files: 100_000, file_bytes: file };
    const nobodys = await measure('nobody', create), roots = await measure('root', create);
    assert.deepEqual([nobodys.limited_by.reason, nobodys.limited_by.errno], ['space', 28]);
    assert.equal(nobodys.limited_by.at, nobodys.ops);
    assert.match(nobodys.limited_by.detail, /reserved for root/);
    assert.ok(Math.abs(nobodys.ops * file - bavail * bsize) < 1 << 20, `nobody made ${nobodys.ops} files of ${file} bytes, ${bavail * bsize} were its`);
    assert.deepEqual([roots.limited_by.reason, roots.limited_by.errno], ['space', 28]);
    assert.ok((roots.ops - nobodys.ops) * file > 0.9 * reserved, `root made ${roots.ops} files, nobody ${nobodys.ops}`);
    t.diagnostic(`nobody ended at ${nobodys.ops} files, root at ${roots.ops}`);
});

test('a quota of a user: nobody ends at limit quota, root goes on', { skip }, async (t) => {
    let filesystem;
    try {
        filesystem = makeFilesystem('ext4', { megabytes: 64, mkfs: ['-m', '10', '-O', 'quota', '-E', 'quotatype=usrquota', '-N', '8192'], mount: ['usrquota'] });
    } catch (error) {
        return t.skip(`this kernel mounts no ext4 with quotas (${String(error.stderr ?? error).split('\n')[0]})`);
    }
    const measure = await start(t, filesystem);
    run('setquota', '-u', 'nobody', '0', '0', '0', '1000', filesystem.path);
    const create = { files: 3000 };
    const nobodys = await measure('nobody', create), roots = await measure('root', create);
    assert.deepEqual([nobodys.limited_by.reason, nobodys.limited_by.errno], ['quota', 122]);
    assert.equal(nobodys.limited_by.at, nobodys.ops);
    assert.ok(nobodys.ops >= 990 && nobodys.ops < 1000, `${nobodys.ops} files`); // its folder and the run's count, too
    assert.deepEqual([roots.ops, roots.limited_by], [3000, null], 'root went on');
});
