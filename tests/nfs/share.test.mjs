// Filesystems shared by a real nfs-ganesha, over D-Bus, through the whole service: what is shared can be read by a
// client, shared is compared with unshared, and nothing of a job stays exported, nor anything of others does not.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { leftOn } from '../e2e/agree.mjs';
import { canMount, makeFilesystem } from '../e2e/loop.mjs';
import { until } from '../e2e/wait.mjs';
import { canServe, serve, whyNot } from './ganesha.mjs';

const full = Boolean(process.env.PLIMSOLL_FULL);
const number = (n) => `f${String(n).padStart(10, '0')}`;

test('filesystems shared by nfs-ganesha', { skip: !canServe && whyNot, timeout: full ? 1_800_000 : 300_000 }, async (t) => {
    const server = await serve(t, null, { bus: true });
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-share-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    for (const name of ['open', 'closed', 'others']) mkdirSync(join(folder, name));
    const btrfs = canMount ? makeFilesystem('btrfs', { megabytes: 300 }) : null;
    t.after(() => btrfs?.close());
    // The first of these ids is the server's own: it is not to be used.
    const sharing = { share: 'ganesha', share_options: 'Squash=No_Root_Squash', share_id_first: 1, share_id_last: 20000 };
    const daemon = await startDaemon({
        env: { DBUS_SYSTEM_BUS_ADDRESS: server.bus },
        targets: {
            open: { path: join(folder, 'open'), ...sharing },
            volume: { kind: 'btrfs', path: btrfs?.path ?? folder, ...sharing },
            pool: { kind: 'zfs', dataset: 'plimsoll/bench', ...sharing },
            closed: { path: join(folder, 'closed') },
            few: { path: join(folder, 'closed'), ...sharing, share_id_first: 100, share_id_last: 109, concurrent: true },
        },
    });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const create = (params, target = 'open') => client.submit({ workload: 'filesystem-scaling', target, params: { share: 'nfs', operations: ['create', 'list', 'destroy'], ...params } });
    const ops = (job) => Object.fromEntries(job.phases.map((phase) => [phase.name, phase.ops]));
    const able = async (target, value) => (await client.expect(200, 'GET', `/api/v1/targets/${target}`)).json.capabilities.find((one) => one.value === value);

    /* What is exported: id → pseudo path. */
    const exported = () => new Map([...server.call('ShowExports').matchAll(/uint16 (\d+)\s+string "([^"]*)"/g)].map(([, id, path]) => [Number(id), path]));
    const unchanged = new Map([...exported()]);
    const add = (id, path, pseudo) => {
        const file = join(folder, `export-${id}.conf`);
        mkdirSync(path, { recursive: true });
        writeFileSync(file, `EXPORT { Export_Id = ${id}; Path = "${path}"; Pseudo = "${pseudo}"; FSAL { Name = VFS; } }\n`);
        server.call('AddExport', `string:${file}`, `string:EXPORT(Export_Id=${id})`);
    };

    await t.test('a target says by what means, and why not', async () => {
        const can = await until('the target to be looked at', async () => (await able('open', 'nfs'))?.usable && able('open', 'nfs'));
        assert.deepEqual(can, { parameter: 'share', value: 'nfs', by: 'ganesha', usable: true, reason: null });
        const cannot = await until('the other to be looked at', () => able('closed', 'nfs'));
        assert.deepEqual(cannot, { parameter: 'share', value: 'nfs', by: null, usable: false, reason: "the target's setting share names no means" });
    });

    await t.test('where it is not allowed, or there are too few numbers, a job is refused', async () => {
        const refused = async (target, params) => (await client.expect(422, 'POST', '/api/v1/jobs', { body: { workload: 'filesystem-scaling', target, params } })).json.errors[0];
        const { pointer, detail } = await refused('closed', { share: 'nfs' });
        assert.equal(pointer, '/params/share');
        assert.equal(detail, 'the target does not allow nfs: its setting share does not say by what means (zfs, exportfs or ganesha)');
        assert.match((await refused('few', { share: 'nfs', filesystems: 11 })).detail, /^filesystems must be at most 10 to be shared/);
    });

    const wanted = full ? { filesystems: 2500, batch: 50 } : { filesystems: 120, batch: 10 };
    await t.test(`${wanted.filesystems} directories are shared, and compared with as many that are not`, async () => {
        const [plain, shared] = [await create({ ...wanted, share: 'none' }), await create(wanted)];
        const before = await client.finished(plain.id, { seconds: 600 }), after = await client.settled(shared.id, { seconds: 600 });
        assert.equal(after.state, 'succeeded', JSON.stringify(after.problem));
        const n = wanted.filesystems;
        assert.deepEqual(ops(before), { create: n, list: n, destroy: n });
        assert.deepEqual(ops(after), { create: n, share: n, list: n, unshare: n, destroy: n });
        assert.deepEqual(exported(), unchanged);
        const { comparisons: [{ phases, differences, flags }] } = (await client.expect(200, 'GET', `/api/v1/comparisons?jobs=${plain.id},${shared.id}`)).json;
        assert.deepEqual(differences.params, [{ pointer: '/share', a: 'none', b: 'nfs' }]);
        assert.deepEqual(flags, []);
        const both = phases.find((one) => one.phase === 'create+share');
        assert.ok(both.blocks > 0 && both.ratio > 0, JSON.stringify(both));
        if (full) assert.equal(both.verdict, 'slower', JSON.stringify(both));
        for (const phase of after.phases) t.diagnostic(`${n} shared: ${phase.name} ${(phase.seconds / phase.ops * 1e3).toFixed(3)} ms each, p99 ${(phase.latency_ns.p99 / 1e6).toFixed(3)} ms`);
        for (const phase of before.phases) t.diagnostic(`${n} unshared: ${phase.name} ${(phase.seconds / phase.ops * 1e3).toFixed(3)} ms each`);
        for (const phase of phases) t.diagnostic(phase.sentence);
    });

    // Not images: ganesha sometimes refuses those when they are back, it seems where loop devices have changed places.
    await t.test('subvolumes that are unmounted and mounted again are shared again', { skip: !canMount && 'needs root and loop devices' }, async () => {
        const { id } = await create({ filesystems: 8, batch: 4, cycle: 'remount', operations: ['create', 'cycle', 'destroy'] }, 'volume');
        const job = await client.settled(id);
        assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
        assert.deepEqual(ops(job), { create: 8, mount: 8, share: 8, cycle: 2, unshare: 8, destroy: 8 });
        assert.deepEqual(exported(), unchanged);
        assert.deepEqual(leftOn(btrfs.path), []);
    });

    /* A job that does not come to its end, once some are shared, and its runner stopped; which and where they are. */
    const stopped = async () => {
        const { id } = await create({ filesystems: 15000, batch: 20 });
        const ours = () => [...exported()].filter(([, path]) => path.startsWith(`/plimsoll/plimsoll-${id}-1-`));
        await until('some to be shared', async () => {
            const job = await client.job(id);
            if (job.problem) throw new Error(JSON.stringify(job.problem));
            return ours().length >= 60;
        });
        const runner = daemon.runner(id);
        process.kill(runner, 'SIGSTOP');
        return { id, runner, ours: ours() };
    };

    await t.test('a client reads what is shared; a runner killed then leaves no export, and those of others stay', async () => {
        const { id, runner, ours } = await stopped();
        assert.ok(!ours.some(([export_id]) => export_id === 1), 'the number that the server has itself is left alone');
        const [, seventh] = ours.find(([, path]) => path.endsWith(number(7)));
        const listed = (pseudo) => execFileSync('nfs-ls', [server.urlOf(pseudo)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
        assert.equal(listed(seventh).trim(), '', 'it is there, and empty');
        assert.throws(() => listed(`${seventh}x`), 'and what is not exported is not');

        // Somebody else's: under a number that the job had, and by a look-alike name.
        const [lost] = ours.find(([, path]) => path.endsWith(number(9)));
        server.call('RemoveExport', `uint16:${lost}`);
        add(lost, join(folder, 'others', number(9)), '/others/nine');
        add(30000, join(folder, 'others', 'plimsoll-1-1-00000000deadbeef', number(1)), `/plimsoll/plimsoll-1-1-00000000deadbeef/${number(1)}`);

        process.kill(runner, 'SIGKILL');
        const job = await client.settled(id);
        assert.equal(job.state, 'failed');
        assert.equal(job.problem.code, 'interrupted');
        assert.equal(job.cleanup, 'done');
        assert.deepEqual(exported(), new Map([...unchanged, [lost, '/others/nine'], [30000, `/plimsoll/plimsoll-1-1-00000000deadbeef/${number(1)}`]]));
        assert.deepEqual(leftOn(join(folder, 'open')), []);
        for (const id_ of [lost, 30000]) server.call('RemoveExport', `uint16:${id_}`);
    });

    await t.test('cancelling does not wait for a server that hangs', { skip: !full && 'takes its five seconds' }, async () => {
        const { id, runner } = await stopped();
        server.stall();
        process.kill(runner, 'SIGCONT');
        await client.expect(202, 'POST', `/api/v1/jobs/${id}/cancel`);
        assert.equal((await client.finished(id)).state, 'cancelled');
        server.resume();
        assert.equal((await client.settled(id)).cleanup, 'done');
        assert.deepEqual(exported(), unchanged);
        assert.deepEqual(leftOn(join(folder, 'open')), []);
    });

    await t.test('what a run shared goes even when its directory is gone', { skip: !full && 'with --full' }, async () => {
        const { id, runner } = await stopped();
        for (const name of readdirSync(join(folder, 'open'))) rmSync(join(folder, 'open', name), { recursive: true });
        process.kill(runner, 'SIGKILL');
        assert.equal((await client.settled(id)).cleanup, 'done');
        assert.deepEqual(exported(), unchanged);
    });

    await t.test('datasets of a pool that is exported and imported are shared again', { skip: !full && 'with --full: takes zfs-fuse' }, async (st) => {
        const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8', timeout: 60_000 });
        for (const place of ['/run/zfs', '/var/lock/zfs', '/var/lib/zfs']) {
            mkdirSync(place, { recursive: true });
            run('mount', '-t', 'tmpfs', 'tmpfs', place);
        }
        run('zfs-fuse', '--no-kstat-mount', '-p', join(folder, 'zfs.pid'), '-m', '100');
        st.after(() => {
            try { run('zpool', 'destroy', 'plimsoll'); } finally { process.kill(Number(readFileSync(join(folder, 'zfs.pid'), 'utf8'))); }
        });
        await until('zfs-fuse', () => { try { return run('zpool', 'list'); } catch { return false; } });
        const image = join(folder, 'pool.img');
        writeFileSync(image, '');
        truncateSync(image, 1 << 30);
        run('zpool', 'create', '-m', join(folder, 'pool'), 'plimsoll', image);
        run('zfs', 'create', 'plimsoll/bench');
        const listed = run('zfs', 'list', '-H', '-o', 'name');
        const { id } = await create({ filesystems: 20, batch: 10, cycle: 'import', operations: ['create', 'cycle', 'destroy'] }, 'pool');
        const job = await client.settled(id);
        assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
        assert.deepEqual(ops(job), { parent: 1, create: 20, share: 20, cycle: 2, unshare: 20, destroy: 20 });
        assert.deepEqual(exported(), unchanged);
        assert.equal(run('zfs', 'list', '-H', '-o', 'name'), listed);
    });

    await t.test('a server that is killed ends the job in words, and the target says that it is gone', async () => {
        const { id, runner } = await stopped();
        await server.kill();
        process.kill(runner, 'SIGCONT');
        const job = await client.settled(id);
        assert.equal(job.state, 'failed');
        assert.match(job.problem.message, /(^|: )nfs-ganesha cannot (AddExport|ShowExports): /);
        assert.equal(job.cleanup, 'done');
        assert.deepEqual(leftOn(join(folder, 'open')), []);
        const gone = await until('that to be noticed', async () => { const can = await able('open', 'nfs'); return !can.usable && can; }, { seconds: 60 });
        assert.equal(gone.reason, 'nfs-ganesha is not on the system bus, where it would be org.ganesha.nfsd');
        const none = await client.settled((await create({ filesystems: 5, batch: 5 })).id);
        assert.match(none.problem.message, /^nothing can be shared: nfs-ganesha is not on the system bus/);
        assert.deepEqual(leftOn(join(folder, 'open')), []);
    });
});
