// The cache is part of a result: what was listed and looked at cold came from the device and took longer; and one
// phase's write-back does not fall into the next.
import test from 'node:test';
import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { startDaemon } from '../e2e/daemon.mjs';
import { bytesRead, canMount, makeFilesystem, sourceOf } from '../e2e/loop.mjs';

const MIB = 1 << 20;

function canDrop() {
    try {
        accessSync('/proc/sys/vm/drop_caches', constants.W_OK);
        return canMount;
    } catch {
        return false;
    }
}

test('cold list and stat read from the device and differ from warm ones', { skip: !canDrop() && 'needs root, loop devices and the right to drop caches' }, async (t) => {
    // Long names make a large directory, large inodes a large table: much to read, for few files.
    const files = 20_000, name_length = 200, inode = 1024, file_bytes = 8192;
    const filesystem = makeFilesystem('ext4', { megabytes: 768, mkfs: ['-I', `${inode}`, '-N', '40000', '-E', 'lazy_itable_init=0,lazy_journal_init=0'], direct: true });
    t.after(() => filesystem.close());
    const device = sourceOf(filesystem.path);
    const daemon = await startDaemon({ build: 'release', targets: { image: { path: filesystem.path, cold: 'drop-caches' } } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));

    /* → the job, its phases by name, and what was read from the device for it. */
    async function measure(cache) {
        const before = bytesRead(device);
        const { id } = await client.submit({ workload: 'create-scaling', target: 'image', params: { files, name_length, file_bytes, cache } });
        const job = await client.settled(id, { seconds: 60 });
        assert.deepEqual([job.state, job.cleanup], ['succeeded', 'done'], JSON.stringify(job.problem));
        return { job, phases: Object.fromEntries(job.phases.map((phase) => [phase.name, phase])), read: bytesRead(device) - before };
    }
    const warm = await measure('warm'), cold = await measure('cold'), again = await measure('warm');

    for (const phase of ['list', 'stat']) {
        const usual = Math.min(warm.phases[phase].seconds, again.phases[phase].seconds);
        t.diagnostic(`${phase}: warm ${(1e3 * usual).toFixed(1)} ms, cold ${(1e3 * cold.phases[phase].seconds).toFixed(1)} ms`);
        assert.ok(cold.phases[phase].seconds > 1.5 * usual, `${phase}: cold ${cold.phases[phase].seconds} s, warm ${usual} s`);
        assert.deepEqual([warm, cold].map((each) => each.phases[phase].cache), ['warm', 'drop-caches'], phase);
    }
    assert.equal(cold.phases.create.cache, null);
    const least = files * (name_length + inode); // the entries and the inodes, once each
    t.diagnostic(`read from the device: warm ${(warm.read / MIB).toFixed(1)} and ${(again.read / MIB).toFixed(1)} MiB, cold ${(cold.read / MIB).toFixed(1)} MiB`);
    assert.ok(cold.read > least, `${cold.read} bytes, the names and inodes have ${least}`);
    for (const each of [warm, again]) assert.ok(each.read < least / 4, `${each.read} bytes were read although all was warm`);

    await t.test('what a phase left to be written is written before the next one begins', async () => {
        const written = files * file_bytes, later = ['list', 'stat', 'remove'], runs = [warm, cold, again];
        // What is counted is what the whole machine has to write, and others write, too: the quietest moment counts.
        const dirty = (phase) => Math.min(...runs.map((each) => each.phases[phase].dirty_before));
        const small = (phase) => dirty(phase) < written / 16;
        for (let more = 0; more < 5 && !later.every(small); more++) runs.push(await measure('warm'));
        for (const phase of later) {
            t.diagnostic(`${phase}: ${(dirty(phase) / MIB).toFixed(1)} MiB waited to be written before it, in the quietest of ${runs.length} runs`);
            assert.ok(small(phase), `${phase}: ${dirty(phase)} bytes, create wrote ${written}`);
        }
        for (const { job } of [warm, cold, again])
            for (const phase of job.phases) assert.ok(phase.flush_seconds > 0, `${phase.name}: its flush was timed`);
        // What was flushed is in no rate, and counted where it is said.
        const { create } = warm.phases;
        assert.ok(create.rate_with_flush < create.rate && Math.abs(create.ops / create.rate_with_flush - create.seconds - create.flush_seconds) < 1e-6);
    });
});
