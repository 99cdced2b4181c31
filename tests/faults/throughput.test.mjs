// Throughput on real filesystems, through the service: exact counts on each of them, a disk that gets full, a byte
// that changed, cold beside warm, a ladder; and by hand while the wall clock jumps.
import test, { after, before } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, readdirSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programs, startDaemon } from '../e2e/daemon.mjs';
import { bytesRead, canMount, makeFilesystem, sourceOf } from '../e2e/loop.mjs';
import { assertAgrees, leftOn } from '../e2e/agree.mjs';

const MIB = 1 << 20;
const skip = !canMount && 'needs root and loop devices';
const mounted = {};
const of = (job) => Object.fromEntries(job.phases.map((phase) => [phase.name, phase]));

/* Filesystems by name: kind, options, settings of the target. One daemon has them all. */
const filesystems = {
    ext4: ['ext4', { megabytes: 512 }], xfs: ['xfs', { megabytes: 512 }], btrfs: ['btrfs', { megabytes: 512 }], tmpfs: ['tmpfs', { megabytes: 512 }, { cold: 'fadvise' }],
    full: ['ext4', { megabytes: 64, mkfs: ['-m', '0'] }, { reserve: '0%' }], reserved: ['ext4', { megabytes: 64, mkfs: ['-m', '0'] }, { reserve: '5%' }],
    image: ['ext4', { megabytes: 512, direct: true }, { cold: 'fadvise' }], sectors: ['ext4', { megabytes: 64, sector: 4096 }],
};
const targets = {};
let daemon, client;

before(async () => {
    if (skip) return;
    for (const [name, [kind, options, settings]] of Object.entries(filesystems))
        targets[name] = { path: (mounted[name] = makeFilesystem(kind, options)).path, ...settings };
    for (const name of ['ext4', 'xfs', 'btrfs'])
        for (const cold of ['fadvise', 'drop-caches']) targets[`${name}-${cold}`] = { path: targets[name].path, cold };
    daemon = await startDaemon({ build: 'release', targets });
    client = daemon.client(await daemon.token('operator'));
});
after(async () => {
    await daemon?.close();
    for (const filesystem of Object.values(mounted)) filesystem.close();
});

async function run(target, params) {
    const { id } = await client.submit({ workload: 'throughput', target, params });
    return client.settled(id, { seconds: 120 });
}

test('200 MiB in records of 8 KiB are written and read, to the byte, on every filesystem', { skip }, async (t) => {
    for (const target of ['ext4', 'xfs', 'btrfs', 'tmpfs'])
        for (const more of [{ backend: 'posix' }, { backend: 'uring', queue_depth: 32 }]) {
            const job = await run(target, { file_bytes: '200MiB', record_bytes: '8KiB', interval: 0.05, ...more });
            const where = `${target}, ${more.backend}`;
            assert.deepEqual([job.state, job.cleanup], ['succeeded', 'done'], `${where}: ${JSON.stringify(job.problem)}`);
            assert.deepEqual(job.phases.map(({ name, unit, ops, bytes, total, errors }) => ({ name, unit, ops, bytes, total, errors })),
                ['write', 'read'].map((name) => ({ name, unit: 'bytes', ops: 25_600, bytes: 200 * MIB, total: 200 * MIB, errors: 0 })), where);
            await assertAgrees(daemon, client, job.id);
            assert.deepEqual(leftOn(targets[target].path), [], where);
            t.diagnostic(`${where}: ${of(job).write.rate / MIB | 0} MiB/s written, ${of(job).read.rate / MIB | 0} read`);
        }

    await t.test('what is in memory is told as memory, in bytes per second, on every way to it', async () => {
        const { items: [{ id }] } = (await client.expect(200, 'GET', '/api/v1/jobs?limit=1')).json;
        const findings = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/findings`)).json.items;
        const cache = findings.find(({ kind, phase }) => kind === 'cache' && phase === 'read');
        assert.equal(cache.data.resident_bytes, 200 * MIB);
        assert.match(cache.sentence, /this measured memory/);
        const rate = findings.find(({ kind, phase }) => kind === 'rate' && phase === 'write');
        assert.match(rate.sentence, /Writing 200 MiB ran at [\d.,]+ [KMG]iB\/s, [\d,.]+ operations of 8 KiB per second/);
        const series = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/series?phase=write&y=rate`)).json;
        assert.deepEqual([series.unit, series.x_unit], ['bytes/s', 'bytes']);
        const middle = of(await client.job(id)).write.rate;
        assert.ok(Math.max(...series.points.max) >= 0.9 * middle && Math.min(...series.points.min) <= 1.1 * middle);
        const report = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/report?format=markdown`)).text;
        assert.match(report, /\| write \|  \|  \| 200 MiB \| 1 \| [^|]+ \| [\d.,]+ [KMG]iB\/s \|/);
        assert.match((await client.expect(200, 'GET', `/api/v1/jobs/${id}/chart.svg?phase=write&y=rate`)).text, /bytes\/s/);
    });
});

for (const [what, small] of [['the disk', 'full'], ['its reserve', 'reserved']])
    test(`${what} is full before all is written: a limit with what was written, which is then read`, { skip }, async () => {
        const { bavail, bsize, blocks } = statfsSync(targets[small].path);
        const room = bavail * bsize - (small === 'full' ? 0 : Math.ceil(0.05 * blocks * bsize));
        const file_bytes = Math.ceil(room / 0.95 / 65536) * 65536; // full at 95 % of it
        for (const more of [{ backend: 'posix' }, { backend: 'uring', queue_depth: 8 }]) {
            const job = await run(small, { file_bytes, record_bytes: '64KiB', verify: true, ...more });
            const { write, read } = of(job);
            assert.deepEqual([job.state, job.cleanup], ['succeeded', 'done'], JSON.stringify(job.problem));
            assert.equal(write.limited_by?.reason, 'space', JSON.stringify(write));
            assert.equal(write.limited_by.errno, small === 'full' ? 28 : 0);
            assert.equal(write.limited_by.at, write.bytes);
            assert.ok(write.bytes > 0.9 * room && write.bytes <= room, `${write.bytes} of ${room} bytes`);
            // A record after the one that failed may have gone in: it counts as done, and is not read.
            assert.ok(read.bytes <= write.bytes && read.bytes >= write.bytes - 8 * 65536 && read.bytes === read.total);
            assert.deepEqual(leftOn(targets[small].path), []);
        }
    });

test('a byte that changes on the target is found, at its offset', { skip }, async () => {
    const { id } = await client.submit({
        workload: 'throughput', target: 'tmpfs',
        params: { file_bytes: '8MiB', record_bytes: '64KiB', verify: true, rate_limit: '4MiB', interval: 0.1 },
    });
    await client.reached(id, 'read', 1);
    const [folder] = leftOn(targets.tmpfs.path), offset = 8 * MIB - 4321;
    const file = openSync(join(targets.tmpfs.path, folder, 'f0000000000'), 'r+'), byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, offset);
    const expected = byte[0];
    byte[0] ^= 0x40;
    writeSync(file, byte, 0, 1, offset);
    closeSync(file);
    const job = await client.settled(id);
    const hex = (value) => `0x${value.toString(16).padStart(2, '0')}`;
    assert.equal(job.state, 'failed');
    assert.equal(job.problem.message, `phase read: operation 127: f0000000000 has a wrong byte at offset ${offset}: expected ${hex(expected)}, found ${hex(byte[0])}`);
    assert.equal(job.cleanup, 'done');
});

test('O_DIRECT on a device with sectors of 4 KiB takes records of whole sectors, and says so of others', { skip }, async () => {
    for (const more of [{ backend: 'posix' }, { backend: 'uring', queue_depth: 8 }]) {
        const params = { direct: true, verify: true, file_bytes: '768KiB', operations: ['write', 'rewrite', 'random-write', 'read', 'backward-read'], ...more };
        const whole = await run('sectors', { ...params, record_bytes: '12KiB' });
        assert.equal(whole.state, 'succeeded', JSON.stringify(whole.problem));
        for (const phase of whole.phases) assert.deepEqual([phase.ops, phase.bytes, phase.errors], [64, 768 * 1024, 0], phase.name);
        const part = await run('sectors', { ...params, record_bytes: '6KiB' });
        assert.deepEqual([part.state, part.cleanup, part.problem.field], ['failed', 'done', '/params/record_bytes'], JSON.stringify(part.problem));
        assert.match(part.problem.message, /record_bytes must be a multiple of what the device moves at once, often 4096, where direct is yes: the filesystem refuses to write 6144 bytes at offset 0/);
    }
});

test('cold is read from the device and differs from warm', { skip }, async (t) => {
    const device = sourceOf(targets.image.path), file_bytes = 128 * MIB;
    async function measure(cache) {
        const before = bytesRead(device);
        const job = await run('image', { file_bytes, record_bytes: '64KiB', cache });
        assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
        const { items } = (await client.expect(200, 'GET', `/api/v1/jobs/${job.id}/findings`)).json;
        return { read: of(job).read, fromDevice: bytesRead(device) - before, told: items.some(({ kind }) => kind === 'cache') };
    }
    const warm = await measure('warm'), cold = await measure('cold');
    t.diagnostic(`warm ${warm.read.rate / MIB | 0} MiB/s, cold ${cold.read.rate / MIB | 0} MiB/s`);
    assert.deepEqual([warm.read.cache, warm.read.resident_bytes, warm.told], ['warm', file_bytes, true]);
    assert.deepEqual([cold.read.cache, cold.read.resident_bytes, cold.told], ['fadvise', null, false]); // 0 pages before
    assert.ok(cold.read.seconds > 1.2 * warm.read.seconds, `cold ${cold.read.seconds} s, warm ${warm.read.seconds} s`);
    assert.ok(cold.fromDevice >= file_bytes && warm.fromDevice < file_bytes / 4, `${cold.fromDevice} and ${warm.fromDevice} bytes`);
});

test('cold is not one page in memory, by each way on every filesystem', { skip }, async () => {
    for (const name of ['ext4', 'xfs', 'btrfs'])
        for (const way of ['fadvise', 'drop-caches']) {
            const job = await run(`${name}-${way}`, { file_bytes: '8MiB', record_bytes: '64KiB', threads: 2, cache: 'cold', operations: ['write', 'rewrite', 'read', 'mixed', 'backward-read'] });
            assert.equal(job.state, 'succeeded', `${name}, ${way}: ${JSON.stringify(job.problem)}`);
            for (const phase of ['read', 'mixed', 'backward-read']) assert.deepEqual([of(job)[phase].cache, of(job)[phase].resident_bytes], [way, null], `${name}, ${way}, ${phase}`);
        }
});

test('cold is refused, with the reason, where it cannot be', { skip }, async () => {
    const job = await run('tmpfs', { file_bytes: '1MiB', cache: 'cold' });
    assert.deepEqual([job.state, job.problem.code, job.cleanup], ['failed', 'unsupported', 'done']);
    assert.equal(job.problem.message, 'cache cannot be cold: this filesystem lives in memory');
    const answer = await client.post('/api/v1/jobs', { workload: 'throughput', target: 'tmpfs', params: { file_bytes: '1MiB', queue_depth: 2 } });
    assert.equal(answer.status, 422);
    assert.equal(answer.json.errors[0].pointer, '/params/queue_depth');
});

test('a ladder is one job of many points', { skip }, async () => {
    const job = await run('tmpfs', { file_bytes: '4MiB', record_bytes: '16KiB', threads: 2, layout: 'shared-segments', ladder: 'both' });
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    assert.equal(job.runs.length, 6); // 1 and 2 lanes, records of 4, 8 and 16 KiB
    for (const phase of job.phases) assert.equal(phase.bytes, 4 * MIB);
    await assertAgrees(daemon, client, job.id);
    const { items } = (await client.expect(200, 'GET', `/api/v1/jobs/${job.id}/findings`)).json;
    const write = items.find(({ kind, phase }) => kind === 'repeats' && phase === 'write');
    assert.equal(write.data.points.length, 6);
    assert.match(write.sentence, /iB\/s with/);
});

test('times are right while the wall clock jumps', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-clock-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const library = join(folder, 'jumping.so'), source = join(folder, 'jumping.c'), place = join(folder, 'place');
    execFileSync('mkdir', [place]);
    // Every look at the wall clock finds it ten years off, now ahead and now behind.
    writeFileSync(source, `
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdatomic.h>
        #include <time.h>
        static atomic_uint looks;
        int clock_gettime(clockid_t clock, struct timespec *at)
        {
            static int (*real)(clockid_t, struct timespec *);
            if (!real)
                real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
            int result = real(clock, at);
            if (clock == CLOCK_REALTIME)
                at->tv_sec += atomic_fetch_add(&looks, 1) % 2 ? 315360000 : -315360000;
            return result;
        }`);
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
    const began = performance.now();
    const journal = join(folder, 'journal.ndjson');
    const out = execFileSync(join(programs.release, 'plimsoll-runner'),
        ['run', 'throughput', '--on', place, '--json', '--journal', journal, 'file_bytes=4MiB', 'record_bytes=64KiB', 'threads=2', 'interval=0.1', 'rate_limit=16MiB'],
        { env: { ...process.env, LD_PRELOAD: library }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const took = (performance.now() - began) / 1000, { phases } = JSON.parse(out);
    const years = new Set(execFileSync('grep', ['-o', '"at":"20[0-9]*', journal], { encoding: 'utf8' }).trim().split('\n'));
    assert.ok(years.size > 1, `the clock did jump: ${[...years]}`);
    for (const phase of phases) {
        assert.ok(phase.seconds > 0.45 && phase.seconds < took, `${phase.name}: ${phase.seconds} s of ${took}`);
        assert.ok(phase.max < took * 1e9 && phase.min >= 0);
    }
    assert.deepEqual(readdirSync(place), []);
});
