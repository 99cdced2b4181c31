// A busy machine can be told from a slow filesystem by what every batch says of its lane.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { startDaemon } from '../e2e/daemon.mjs';
import { makeFilesystem, canMount } from '../e2e/loop.mjs';

test('a CPU hog started halfway shows in CPU time and switches', { skip: !canMount && 'needs root to mount a tmpfs' }, async (t) => {
    const filesystem = makeFilesystem('tmpfs', { megabytes: 4096 });
    t.after(() => filesystem.close());
    const daemon = await startDaemon({ build: 'release', targets: { memory: { path: filesystem.path } } });
    t.after(() => daemon.close());
    const hogs = [];
    t.after(() => hogs.forEach((hog) => hog.kill('SIGKILL')));
    const client = daemon.client(await daemon.token('operator'));

    const { id } = await client.submit({ workload: 'create-scaling', target: 'memory', params: { files: 100_000_000, batch: 100, operations: ['create'], max_seconds: 5 } });
    await client.reached(id, 'create', 1);
    // The middle by the job's own clock: what was done after two of its five seconds.
    const quiet = await client.reached(id, 'create', (await client.job(id)).progress.done + 50_000);
    // Each in a session of its own: the kernel shares the CPUs fairly between sessions, not processes.
    for (let i = 0; i < 6 * cpus().length; i++) hogs.push(spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore', detached: true }));
    const from = (await client.job(id)).progress.done;
    await client.finished(id);
    hogs.forEach((hog) => hog.kill('SIGKILL'));
    const job = await client.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));

    const samples = await client.samples(id, 'create');
    const share = (rows) => rows.reduce((n, row) => n + row.cpu, 0) / rows.reduce((n, row) => n + row.elapsed, 0);
    const before = samples.filter((row) => row.load <= quiet.progress.done);
    // A second of room until all of them spin.
    const after = samples.filter((row) => row.load > from && row.at > samples.find((each) => each.load > from).at + 1e9);
    assert.ok(before.length > 100 && after.length > 100, `${before.length} and ${after.length} samples`);
    // A batch that was kept from the CPU must say so: a machine that was busy before has switches before, too.
    const kept = after.filter((row) => row.elapsed > 2 * row.cpu + 1e6);
    const switched = kept.filter((row) => row.switches > 0).length;
    t.diagnostic(`share of a CPU ${share(before).toFixed(2)} → ${share(after).toFixed(2)}; ${switched} of ${kept.length} long batches were switched`);
    assert.ok(share(after) < 0.8 * share(before), `CPU per elapsed: ${share(before)} before, ${share(after)} after`);
    assert.ok(kept.length > 10, `${kept.length} batches lost more than a millisecond`);
    assert.ok(switched > 0.8 * kept.length, `${switched} of ${kept.length} batches that were kept from the CPU were switched`);
});
