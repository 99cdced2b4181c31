// Many files on real filesystems, with the programs as they are shipped. A tenth of the main job in CI, all
// of it with PLIMSOLL_FULL.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { startDaemon } from './daemon.mjs';
import { makeFilesystem, canMount } from './loop.mjs';
import { assertAgrees, leftOn } from './agree.mjs';
import { FINAL } from './client.mjs';
import { until } from './wait.mjs';

const files = process.env.PLIMSOLL_FULL ? 1_750_000 : 175_000;
const batch = 100;

/* The most memory that the process has had, in KiB. */
function peak(pid) {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
}

test(`${files} files on ext4, xfs and btrfs, with one lane and with two`, { skip: !canMount && 'needs root and loop devices' }, async (t) => {
    const megabytes = process.env.PLIMSOLL_FULL ? 8192 : 2048;
    const kinds = { ext4: ['-N', String(files + 50_000)], xfs: [], btrfs: [] };
    const filesystems = {};
    t.after(() => Object.values(filesystems).forEach((filesystem) => filesystem.close()));
    for (const [kind, mkfs] of Object.entries(kinds)) filesystems[kind] = makeFilesystem(kind, { megabytes, mkfs });

    const daemon = await startDaemon({
        build: 'release',
        targets: Object.fromEntries(Object.entries(filesystems).map(([kind, { path }]) => [kind, { path, reserve: '1%' }])),
    });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));

    for (const kind of Object.keys(kinds))
        for (const threads of [1, 2])
            await t.test(`${kind}, ${threads} ${threads === 1 ? 'lane' : 'lanes'}`, async (t) => {
                const { id } = await client.submit({ workload: 'create-scaling', target: kind, params: { files, batch, threads } });
                let memory = 0;
                const job = await until(`job ${id} to end`, async () => {
                    try {
                        memory = Math.max(memory, peak(daemon.runner(id)));
                    } catch {
                        /* not begun yet, or over */
                    }
                    const now = await client.job(id);
                    return FINAL.has(now.state) && now;
                }, { seconds: process.env.PLIMSOLL_FULL ? 900 : 120, every: 200 });
                assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
                assert.equal((await client.settled(id)).cleanup, 'done');
                for (const phase of job.phases) assert.equal(phase.ops, files, phase.name);
                assert.equal(job.environment.filesystem?.type ?? job.environment.filesystem, kind);

                const samples = await assertAgrees(daemon, client, id);
                for (const phase of ['create', 'stat', 'remove']) assert.equal(samples[phase].length, files / batch, `samples of ${phase}`);
                const lanes = new Set(samples.create.map((sample) => sample.lane));
                assert.equal(lanes.size, threads, 'every lane worked');

                assert.ok(memory > 0, 'the runner was seen');
                assert.ok(memory < 32 * 1024, `the runner had ${memory} KiB resident`);
                assert.deepEqual(leftOn(filesystems[kind].path), []);
                const rates = job.phases.map((phase) => `${phase.name} ${Math.round(phase.rate)}/s`).join(', ');
                t.diagnostic(`${kind} ${threads}: ${rates}; runner at most ${memory} KiB`);
            });
});
