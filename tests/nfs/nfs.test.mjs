// Targets of kind nfs: a real nfs-ganesha, spoken to by libnfs, through the whole service.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { assertAgrees, leftOn } from '../e2e/agree.mjs';
import { until } from '../e2e/wait.mjs';
import { createScaling } from './create_scaling.mjs';
import { canServe, serve, whyNot } from './ganesha.mjs';

const MiB = 1024 * 1024;

test('targets on an NFS server', { skip: !canServe && whyNot, timeout: 300_000 }, async (t) => {
    const server = await serve(t, null, { small: true });
    const daemon = await startDaemon({ targets: { filer: { kind: 'nfs', url: server.url }, gone: { kind: 'nfs', url: 'nfs://127.0.0.1/export?nfsport=9&mountport=9' },
        small: { kind: 'nfs', url: server.smallUrl, reserve: '50%' }, brim: { kind: 'nfs', url: server.smallUrl, reserve: '0%' } } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const target = async (name) => (await client.expect(200, 'GET', `/api/v1/targets/${name}`)).json;
    const measure = (params, workload = 'throughput') => client.submit({ workload, target: 'filer', params });

    await t.test('say what stands there, or why nothing can be done', async () => {
        const filer = await until('the server to be looked at', async () => { const found = await target('filer'); return found.usable && found; });
        assert.equal(filer.filesystem, 'nfs3');
        assert.match(filer.mount_options, /^vers=3,proto=tcp,rsize=\d+,wsize=\d+$/);
        assert.ok(filer.space_total >= filer.space_available && filer.space_available > 0);
        const gone = await until('the other to be looked at', async () => { const found = await target('gone'); return found.reason && !/not been looked/.test(found.reason) && found; });
        assert.equal(gone.usable, false);
        assert.match(gone.reason, /cannot reach the mount service of 127\.0\.0\.1/);
    });

    await t.test('200 MiB in records of 8 KiB are written and read exactly', async () => {
        const { id } = await measure({ backend: 'nfs', file_bytes: '200MiB', record_bytes: '8KiB', queue_depth: 16, verify: true, operations: ['write', 'read'] });
        const job = await client.settled(id);
        assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
        assert.deepEqual(job.phases.map(({ name, bytes, errors, latency_ns: latency }) => [name, bytes, errors, latency.count ?? 25600]), [['write', 200 * MiB, 0, 25600], ['read', 200 * MiB, 0, 25600]]);
        assert.equal(job.environment.filesystem.type, 'nfs3');
        assert.match(job.environment.filesystem.source, /^127\.0\.0\.1:\/export$/);
        await assertAgrees(daemon, client, id);
        const samples = await client.samples(id, 'read');
        assert.equal(samples.reduce((sum, sample) => sum + sample.bytes, 0), 200 * MiB);
        assert.equal(samples.reduce((sum, sample) => sum + sample.ops, 0), 25600);
        assert.equal(job.cleanup, 'done');
        assert.deepEqual(readdirSync(server.path), []);
    });

    await t.test('every operation, by several lanes in files of their own and in one', async () => {
        for (const layout of ['private', 'shared-interleaved']) {
            const { id } = await measure({ backend: 'nfs', file_bytes: '8MiB', record_bytes: '64KiB', threads: 4, queue_depth: 8, layout, sync: 'data', verify: true,
                operations: ['write', 'rewrite', 'read', 'reread', 'random-read', 'random-write', 'mixed', 'backward-read', 'stride-read'] });
            const job = await client.settled(id);
            assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
            assert.deepEqual([...new Set(job.phases.map((phase) => phase.bytes))], [(layout === 'private' ? 32 : 8) * MiB], layout);
            assert.equal(job.phases.length, 9);
        }
        assert.deepEqual(readdirSync(server.path), []);
    });

    await t.test('what does not fit is refused, and the field named', async () => {
        for (const [params, pointer] of [[{ backend: 'posix' }, '/params/backend'], [{ backend: 'nfs', cache: 'cold' }, '/params/cache'], [{ backend: 'nfs', direct: true }, '/params/direct']]) {
            const { json } = await client.expect(422, 'POST', '/api/v1/jobs', { body: { workload: 'throughput', target: 'filer', params } });
            assert.equal(json.errors[0].pointer, pointer);
        }
    });

    await t.test('a limit ends a phase when what is in flight is done, and the next goes on with what is there', async () => {
        const late = await client.settled((await measure({ backend: 'nfs', file_bytes: '4GiB', record_bytes: '64KiB', threads: 2, queue_depth: 8, max_seconds: '1s', verify: true, operations: ['write', 'read'] })).id, { seconds: 60 });
        assert.deepEqual([late.state, late.cleanup, late.phases.length], ['succeeded', 'done', 2], JSON.stringify(late.problem));
        assert.equal(late.phases[0].limited_by.reason, 'deadline');
        assert.ok(late.phases[0].bytes > 0 && late.phases[1].bytes > 0 && late.phases[1].bytes <= late.phases[0].bytes);
        const { id } = await client.submit({ workload: 'throughput', target: 'brim', params: { backend: 'nfs', file_bytes: '12MiB', record_bytes: '64KiB', threads: 2, queue_depth: 8, verify: true, operations: ['write', 'read'] } });
        const full = await client.settled(id, { seconds: 60 });
        assert.deepEqual([full.state, full.cleanup, full.phases.length], ['succeeded', 'done', 2], JSON.stringify(full.problem));
        assert.equal(full.phases[0].limited_by.reason, 'space');
        assert.ok(full.phases[0].bytes <= 16 * MiB && full.phases[1].bytes > 14 * MiB, JSON.stringify(full.phases.map((phase) => phase.bytes)));
        await assertAgrees(daemon, client, late.id);
        await assertAgrees(daemon, client, id);
    });

    await t.test('a foreign file in the run directory is left and listed', async () => {
        const { id } = await measure({ backend: 'nfs', file_bytes: '1GiB', record_bytes: '4KiB', operations: ['write'] });
        await client.reached(id, 'write', 1);
        const [folder] = readdirSync(server.path);
        writeFileSync(join(server.path, folder, 'f0000000007'), 'not ours: there is one file only');
        writeFileSync(join(server.path, folder, 'notes.txt'), 'x');
        await client.expect(202, 'POST', `/api/v1/jobs/${id}/cancel`);
        const job = await client.settled(id);
        assert.equal(job.state, 'cancelled');
        assert.equal(job.cleanup, 'blocked');
        assert.deepEqual(job.foreign.sort(), ['f0000000007', 'notes.txt']);
        assert.deepEqual(readdirSync(join(server.path, folder)).sort(), ['f0000000007', 'notes.txt']);
        for (const name of job.foreign) rmSync(join(server.path, folder, name));
        await until('the clean-up to be tried again', async () => (await client.job(id)).cleanup === 'done', { seconds: 90 });
        assert.deepEqual(leftOn(server.path), []);
    });

    await t.test('a server that stops answering holds no cancel up, and its remains are removed when it is back', async () => {
        const { id } = await measure({ backend: 'nfs', file_bytes: '4GiB', record_bytes: '4KiB', patience: '5s', operations: ['write'] });
        await client.reached(id, 'write', 1);
        server.stall();
        const began = performance.now();
        await client.expect(202, 'POST', `/api/v1/jobs/${id}/cancel`);
        const job = await client.finished(id, { seconds: 20 });
        assert.equal(job.state, 'cancelled');
        assert.ok(performance.now() - began < 10_000, 'cancelled at once, not when the server pleases');
        server.resume();
        await until('the clean-up', async () => (await client.job(id)).cleanup === 'done', { seconds: 90 });
        assert.deepEqual(leftOn(server.path), []);
    });

    await t.test('a server that is silent for longer than is granted fails the job in words', async () => {
        const { id } = await measure({ backend: 'nfs', file_bytes: '4GiB', record_bytes: '4KiB', patience: '2s', operations: ['write'] });
        await client.reached(id, 'write', 1);
        server.stall();
        const job = await client.finished(id, { seconds: 30 });
        server.resume();
        assert.equal(job.state, 'failed');
        assert.match(job.problem.message, /the NFS server 127\.0\.0\.1 has not answered for 2 s/);
        await until('the clean-up', async () => (await client.job(id)).cleanup === 'done', { seconds: 90 });
    });

    await t.test('a server killed in the middle of reading ends the job in words', async () => {
        const { id } = await measure({ backend: 'nfs', file_bytes: '64MiB', record_bytes: '4KiB', queue_depth: 32, patience: '5s', rate_limit: '16MiB', interval: '100ms', operations: ['write', 'read'] });
        await client.reached(id, 'read', 1);
        await server.kill();
        const job = await client.finished(id, { seconds: 30 });
        assert.equal(job.state, 'failed');
        assert.match(job.problem.message, /^phase read: .*the NFS server 127\.0\.0\.1 (has closed the connection|is no longer connected)/);
        assert.ok(job.phases.find((phase) => phase.name === 'read').ops > 0, 'what was measured is kept');
        await server.restart();
        await until('the clean-up', async () => (await client.job(id)).cleanup === 'done', { seconds: 90 });
        assert.deepEqual(leftOn(server.path), []);
    });

    await createScaling(t, { server, daemon, client });
});
