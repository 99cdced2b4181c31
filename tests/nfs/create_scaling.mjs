// create-scaling on an NFS server, by libnfs: what nfs.test.mjs runs against the server and the daemon it has.
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAgrees, leftOn } from '../e2e/agree.mjs';
import { until } from '../e2e/wait.mjs';

const full = Boolean(process.env.PLIMSOLL_FULL);
const ALL = ['create', 'list', 'stat', 'open', 'rename', 'remove'];
/* A job that creates until somebody ends it. */
const endless = (params = {}) => ({ files: 100_000_000, batch: 10, operations: ['create'], ...params });

export async function createScaling(t, { server, daemon, client }) {
    const ask = (params, target = 'filer') => ({ workload: 'create-scaling', target, params });
    const measure = async (params, target) => (await client.submit(ask(params, target))).id;
    const folderOf = () => join(server.path, leftOn(server.path)[0]);
    const cleaned = (id) => until(`the clean-up of job ${id}`, async () => (await client.job(id)).cleanup === 'done', { seconds: 90 });

    await t.test('create-scaling is offered there, and what has no meaning over the wire is refused by its field', async () => {
        const { json } = await client.expect(200, 'GET', '/api/v1/targets/filer');
        assert.ok(json.workloads.includes('create-scaling') || json.workloads.some(({ name }) => name === 'create-scaling'), JSON.stringify(json.workloads));
        await client.expect(200, 'POST', '/api/v1/jobs?dry_run=1', { body: ask({ files: 10, layout: 'fanout', sync: 'open', file_bytes: 10 }) });
        for (const [params, pointer] of [[{ cache: 'cold' }, '/params/cache'], [{ create_call: 'mknod' }, '/params/create_call'], [{ sync: 'directory' }, '/params/sync']]) {
            const { json: refusal } = await client.expect(422, 'POST', '/api/v1/jobs', { body: ask(params) });
            assert.equal(refusal.errors[0].pointer, pointer);
            assert.match(refusal.errors[0].detail ?? refusal.detail, /on an NFS server/);
        }
    });

    await t.test('every operation over every layout goes over every file once, and leaves nothing', async () => {
        for (const params of [
            { layout: 'shared', order: 'random', name_length: 64 },
            { layout: 'private', threads: 4, file_bytes: 5000, sync: 'fsync' },
            { layout: 'fanout', threads: 3, directories: 7, file_bytes: 100, sync: 'open', order: 'random' },
        ]) {
            const id = await measure({ files: 200, batch: 10, operations: ALL, ...params });
            const job = await client.settled(id);
            const bytes = 200 * (params.file_bytes ?? 0);
            assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
            assert.deepEqual(job.phases.map(({ name, ops, bytes, errors }) => [name, ops, bytes, errors]), ALL.map((name) => [name, 200, name === 'create' ? bytes : 0, 0]), params.layout);
            assert.equal(job.environment.filesystem.type, 'nfs3');
            if (params.layout === 'private') await assertAgrees(daemon, client, id);
            const samples = await client.samples(id, 'create');
            assert.equal(samples.length, 20, params.layout);
            assert.ok(samples.every(({ ops, cpu, p50, p99, max, elapsed }) => ops === 10 && cpu > 0 && p50 > 0 && p50 <= p99 && p99 <= max && max <= elapsed));
            assert.equal(job.cleanup, 'done');
            assert.deepEqual(readdirSync(server.path), []);
        }
    });

    await t.test('what is written has its size, stays if that is asked, and goes with the job', async () => {
        const id = await measure({ files: 6, batch: 2, threads: 2, layout: 'private', file_bytes: '2500KiB', operations: ['create', 'list'], keep_files: true });
        const job = await client.settled(id);
        assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
        assert.equal(job.cleanup, 'kept');
        const files = readdirSync(folderOf()).flatMap((lane) => readdirSync(join(folderOf(), lane)).map((name) => join(folderOf(), lane, name)));
        assert.equal(files.length, 6);
        assert.deepEqual([...new Set(files.map((file) => statSync(file).size))], [2500 * 1024]);
        assert.equal(new Set(files.map((file) => readFileSync(file).subarray(0, 4096).toString('hex'))).size, 6, 'each differs');
        await client.expect(202, 'DELETE', `/api/v1/jobs/${id}`);
        await until('the job to be gone', async () => (await client.get(`/api/v1/jobs/${id}`)).status === 404, { seconds: 60 });
        assert.deepEqual(readdirSync(server.path), []);
    });

    await t.test('cancelled in the middle: what was measured stays, its files go', async () => {
        const id = await measure(endless({ threads: 3 }));
        await client.reached(id, 'create', 50);
        await client.expect(202, 'POST', `/api/v1/jobs/${id}/cancel`);
        const job = await client.settled(id);
        assert.deepEqual([job.state, job.cleanup, job.problem?.code], ['cancelled', 'done', 'cancelled']);
        assert.ok(job.phases[0].ops >= 50);
        assert.deepEqual(readdirSync(server.path), []);
    });

    await t.test('a runner killed in the middle: its files are removed', async () => {
        const id = await measure(endless({ threads: 2, layout: 'private', file_bytes: 10 }));
        await client.reached(id, 'create', 100);
        process.kill(daemon.runner(id), 'SIGKILL');
        const job = await client.settled(id);
        assert.deepEqual([job.state, job.problem.code, job.cleanup], ['failed', 'interrupted', 'done']);
        assert.ok(job.removed >= 100, `${job.removed} removed`);
        assert.deepEqual(readdirSync(server.path), []);
    });

    await t.test('a server that is killed ends the run in words, one that falls silent by its deadline', async () => {
        const stall = ['stall', '1s', /has not answered for 1 s/]; // nfs.test.mjs has one
        for (const [what, patience, words] of [...full ? [stall] : [], ['kill', '60s', /(has closed the connection|is no longer connected|did not take the call)/]]) {
            const id = await measure(endless({ patience }));
            await client.reached(id, 'create', 50);
            await server[what]();
            const job = await client.finished(id, { seconds: 60 });
            await (what === 'stall' ? server.resume() : server.restart());
            assert.equal(job.state, 'failed');
            assert.match(job.problem.message, words);
            assert.match(job.problem.message, /^phase create: operation \d+: the NFS server 127\.0\.0\.1 /);
            assert.ok(job.phases[0].ops >= 50, 'what was measured is kept');
            await cleaned(id);
            assert.deepEqual(readdirSync(server.path), []);
        }
    });

    await t.test('the reserve of the server\'s filesystem is kept, and without one a full filesystem is a limit', async () => {
        const { inodes_total: inodes, inodes_available: free } = await until('the target to be looked at', async () => { const found = (await client.expect(200, 'GET', '/api/v1/targets/small')).json; return found.usable && found; });
        const kept = await client.settled(await measure({ files: 1000, batch: 10, operations: ['create'] }, 'small'));
        assert.equal(kept.state, 'succeeded', JSON.stringify(kept.problem));
        assert.equal(kept.phases[0].limited_by.reason, 'inodes');
        assert.match(kept.phases[0].limited_by.detail, /the reserve of 50 % of the target's inodes was reached/);
        const most = free - inodes / 2;
        assert.ok(kept.phases[0].ops <= most && kept.phases[0].ops > most - 20, `${kept.phases[0].ops} of ${most} files`);

        const bytes = await client.settled((await client.submit({ workload: 'throughput', target: 'small', params: { backend: 'nfs', file_bytes: '64MiB', record_bytes: '64KiB', operations: ['write'] } })).id);
        assert.equal(bytes.state, 'succeeded', JSON.stringify(bytes.problem));
        assert.match(bytes.phases[0].limited_by.detail, /the reserve of 50 % of the target's space was reached/);

        const full = await client.settled(await measure({ files: 1000, batch: 10, threads: 2, operations: ['create', 'list'] }, 'brim'));
        assert.equal(full.state, 'succeeded', JSON.stringify(full.problem));
        assert.equal(full.phases[0].limited_by.reason, 'inodes');
        assert.equal(full.phases[0].limited_by.errno, constants.errno.ENOSPC);
        assert.ok(full.phases[0].ops > most, `${full.phases[0].ops} files`);
        assert.equal(full.phases[1].ops, full.phases[0].ops, 'what was made is what is listed');
        assert.deepEqual(leftOn(server.small), []);
    });

    await t.test('a file that was there before its turn fails the run; foreign entries are left and listed, all else goes', async () => {
        const id = await measure(endless({ threads: 2, layout: 'fanout', directories: 3 }));
        await client.reached(id, 'create', 50);
        server.stall();
        const last = Math.max(...['d0000', 'd0001', 'd0002'].flatMap((name) => readdirSync(join(folderOf(), name)).map((file) => Number(file.slice(1)))));
        const ahead = 30 * Math.ceil((last + 60) / 30) + 4; // of a batch that goes into d0000, and is not begun
        const name = `f${String(ahead).padStart(10, '0')}`;
        writeFileSync(join(folderOf(), 'd0000', name), '');
        writeFileSync(join(folderOf(), 'notes.txt'), 'x');
        writeFileSync(join(folderOf(), 'd0001', 'f9999999999'), 'not ours: there are not so many');
        writeFileSync(join(folderOf(), 'd0002', 'f0000000003'), 'not ours: ours are empty');
        mkdirSync(join(folderOf(), 'd0004'));
        server.resume();
        const job = await client.settled(id);
        assert.equal(job.state, 'failed');
        assert.match(job.problem.message, new RegExp(`^phase create: operation ${ahead}: cannot create ${name}: File exists`));
        assert.ok(job.phases[0].ops >= 50, 'what was measured is kept');
        await assertAgrees(daemon, client, id);
        assert.equal(job.cleanup, 'blocked');
        const foreign = [`d0000/${name}`, 'd0001/f9999999999', 'd0002/f0000000003', 'd0004', 'notes.txt'];
        assert.deepEqual(job.foreign.sort(), foreign);
        assert.deepEqual(readdirSync(folderOf()).sort(), ['d0000', 'd0001', 'd0002', 'd0004', 'notes.txt']);
        assert.deepEqual(readdirSync(join(folderOf(), 'd0000')), [name]);
        for (const entry of foreign) rmSync(join(folderOf(), entry), { recursive: true });
        if (!full) return; // nfs.test.mjs waits for such a clean-up to be tried again
        await cleaned(id);
        assert.deepEqual(readdirSync(server.path), []);
    });
}
