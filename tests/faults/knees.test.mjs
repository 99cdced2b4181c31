// A busy machine makes no knee, and a device that becomes slower does.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { analysed, finding } from '../e2e/imports.mjs';
import { canMount, makeFilesystem, sourceOf, writes } from '../e2e/loop.mjs';
import { until } from '../e2e/wait.mjs';

const full = Boolean(process.env.PLIMSOLL_FULL);
const seconds = 8;

/* The job once it has created for about so long: by its own samples, as the service tells them. */
function halfway(client, id, after = seconds / 2) {
    return until(`job ${id} to be halfway`, async () => {
        const { phases } = await client.job(id);
        return phases[0]?.name === 'create' && phases[0].seconds >= after;
    }, { seconds: 60, every: 20 });
}

const kinds = (job) => job.findings.filter((each) => each.phase === 'create').map((each) => each.kind);

test('a CPU hog over the second half of a run is told, and makes no knee', { skip: !canMount && 'needs root to mount a tmpfs' }, async (t) => {
    const filesystem = makeFilesystem('tmpfs', { megabytes: 4096 });
    t.after(() => filesystem.close());
    const daemon = await startDaemon({ build: 'release', targets: { memory: { path: filesystem.path } } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const runs = full ? 20 : 2;
    for (let run = 1; run <= runs; run++)
        await t.test(`run ${run} of ${runs}`, async (t) => {
            const hogs = [];
            t.after(() => hogs.forEach((hog) => hog.kill('SIGKILL')));
            // Where the scheduler let the hogs take nothing from the lane, nothing was disturbed: that is no run.
            let id, taken = 0;
            for (let tries = 0; tries < 4 && taken < 0.5; tries++) ({ id, taken } = await hogged(hogs));
            assert.ok(taken >= 0.5, `the hogs took ${taken} s of CPU time`);
            const job = await analysed(client, id);
            t.diagnostic(`${job.phases[0].ops} files, without a CPU for ${taken.toFixed(2)} s; ${finding(job, 'disturbed')?.sentence ?? 'not disturbed'}`);
            assert.ok(finding(job, 'disturbed'), `${kinds(job)}`);
            assert.equal(finding(job, 'knee'), undefined, finding(job, 'knee')?.sentence);
        });

    /* One run; how long its lane had no CPU, in seconds. */
    async function hogged(hogs) {
        const { id } = await client.submit({ workload: 'create-scaling', target: 'memory', params: { files: 100_000_000, batch: 100, operations: ['create'], max_seconds: seconds } });
        await halfway(client, id);
        // Each in a session of its own: the kernel shares the CPUs fairly between sessions, not processes.
        for (let i = 0; i < 4 * cpus().length; i++) hogs.push(spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore', detached: true }));
        await client.finished(id);
        hogs.forEach((hog) => hog.kill('SIGKILL'));
        await client.settled(id);
        const samples = await client.samples(id, 'create');
        return { id, taken: samples.reduce((sum, { elapsed, cpu }) => sum + Math.max(0, elapsed - cpu), 0) / 1e9 };
    }
});

const throttle = '/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device';

test('a device that is throttled halfway makes a knee, and no disturbance', { skip: !(canMount && existsSync(throttle)) && 'needs root, loop devices and cgroup v1 blkio' }, async (t) => {
    const filesystem = makeFilesystem('ext4', { megabytes: 512 });
    t.after(() => filesystem.close());
    const daemon = await startDaemon({ build: 'release', targets: { disk: { path: filesystem.path } } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const disk = sourceOf(filesystem.path), { rdev } = statSync(disk);
    const device = `${(rdev >> 8) & 0xfff}:${rdev & 0xff}`;
    const group = join('/sys/fs/cgroup/blkio', `plimsoll-test-${process.pid}`);
    mkdirSync(group);
    t.after(() => until('the group to be empty', () => (rmdirSync(group), true)));
    async function throttled() {
        const { id } = await client.submit({ workload: 'create-scaling', target: 'disk', params: { files: 1_000_000, batch: 50, operations: ['create'], file_bytes: 4096, sync: 'fsync', max_seconds: 14 } });
        await client.reached(id, 'create', 1);
        writeFileSync(join(group, 'cgroup.procs'), String(daemon.runner(id)));
        const before = writes(disk), began = performance.now();
        await halfway(client, id, 2);
        const at = (await client.job(id)).phases[0].ops;
        // A sixth of what this device does for it today, whoever else uses it; few enough that a batch takes longer
        // than the slices of 0.1 s in which the kernel counts, and within which it lets all through.
        const usual = 1000 * (writes(disk) - before) / (performance.now() - began);
        writeFileSync(join(group, 'blkio.throttle.write_iops_device'), `${device} ${Math.min(600, Math.ceil(usual / 6))}`);
        await client.settled(id);
        writeFileSync(join(group, 'blkio.throttle.write_iops_device'), `${device} 0`);
        return { at, job: await analysed(client, id) };
    }
    // What else the machine does is told as a disturbance, rightly; and the throttle lets the filesystem's own thread
    // through, and bursts. So up to four runs: one that was left alone, and slowed down, must show it.
    const runs = [], shows = ({ at, job }) => !finding(job, 'disturbed') && Math.abs(finding(job, 'knee')?.data.at - at) < 0.2 * at;
    for (let tries = 0; tries < 4 && !runs.some(shows); tries++) {
        const run = await throttled();
        runs.push(run);
        t.diagnostic(`throttled near ${run.at} of ${run.job.phases[0].ops} files; ${run.job.findings.filter((f) => f.phase === 'create').map((f) => f.sentence).join(' ')}`);
    }
    if (runs.every(({ job }) => finding(job, 'disturbed'))) {
        t.skip('this machine is busy');
        return;
    }
    assert.ok(runs.some(shows), `no knee there: ${runs.map(({ at, job }) => `${at}: ${kinds(job)}`).join('; ')}`);
});
