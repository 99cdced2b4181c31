// A filesystem that stops answering keeps a lane in the kernel. The service goes on, says so, lets nobody else
// onto the target, and comes back when the filesystem does.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { assertAgrees, leftOn } from '../e2e/agree.mjs';
import { until } from '../e2e/wait.mjs';
import { canStall, makeStalling } from './stalling.mjs';

const ANSWER_MS = 2000; // sanitizers on a busy machine; what hangs takes for ever

const creating = (target, params) => ({ workload: 'create-scaling', target, params: { files: 100_000_000, batch: 10, operations: ['create'], ...params } });

/* Asks for everything in turn until stopped; → { stop() } → how long the longest answer took, and of what. */
function keepAsking(client, paths) {
    let on = true, asked = 0, longest = { ms: 0 };
    const done = (async () => {
        while (on)
            for (const path of paths) {
                const began = performance.now();
                await client.expect(200, 'GET', path);
                const ms = performance.now() - began;
                if (ms > longest.ms) longest = { ms, path };
                asked++;
                await new Promise((resolve) => setTimeout(resolve, 10)); // the lanes' machine, too
            }
    })();
    return { async stop() { on = false; await done; return { asked, ...longest }; } };
}

/* Whether a thread of the process waits in the kernel and no signal can end that. */
const heldIn = (pid) => existsSync(`/proc/${pid}/task`) && readdirSync(`/proc/${pid}/task`)
    .some((task) => /^State:\s+D/m.test(readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8')));

test('lanes that a filesystem keeps in the kernel', { skip: !canStall && 'needs root and /dev/fuse' }, async (t) => {
    const one = await makeStalling(t), other = await makeStalling(t);
    const plain = mkdtempSync(join(tmpdir(), 'plimsoll-plain-'));
    t.after(() => rmSync(plain, { recursive: true }));
    const daemon = await startDaemon({ targets: { one: { path: one.path }, other: { path: other.path }, plain: { path: plain } } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const target = async (name) => (await client.expect(200, 'GET', `/api/v1/targets/${name}`)).json;
    await until('the targets', async () => (await target('plain')).usable && (await target('one')).usable);

    const cancelled = await client.submit(creating('one'));
    const killed = await client.submit(creating('other', { threads: 2 }));
    await client.reached(cancelled.id, 'create', 200);
    await client.reached(killed.id, 'create', 200);
    const runner = daemon.runner(killed.id);
    const asking = keepAsking(client, ['/healthz', '/readyz', '/version', '/api/v1/targets', '/api/v1/targets/one', '/api/v1/jobs',
        `/api/v1/jobs/${cancelled.id}`, `/api/v1/jobs/${cancelled.id}/series?phase=create`, `/api/v1/jobs/${cancelled.id}/host`, `/api/v1/jobs/${killed.id}/report?format=markdown`]);
    one.stall();
    other.stall();
    await client.expect(202, 'POST', `/api/v1/jobs/${cancelled.id}/cancel`);
    await client.expect(202, 'POST', `/api/v1/jobs/${killed.id}/cancel`);
    const next = await client.submit(creating('one', { files: 500, operations: ['create', 'list', 'stat', 'remove'] }));

    await t.test('the jobs are cancelling and stuck, and what the kernel holds not even SIGKILL ends', async () => {
        for (const { id } of [cancelled, killed]) {
            const job = await until(`job ${id} to be stuck`, async () => {
                const now = await client.job(id);
                return now.stuck && now;
            }, { seconds: 25 });
            assert.equal(job.state, 'cancelling');
        }
        process.kill(runner, 'SIGKILL');
        await until('the runner to be held', () => heldIn(runner));
        assert.deepEqual([(await client.job(killed.id)).state, (await client.job(killed.id)).stuck], ['cancelling', true]);
    });

    await t.test('their targets are in quarantine, and another target works', async () => {
        const silent = await until('the target to be silent', async () => {
            const now = await target('one');
            return !now.usable && now;
        }, { seconds: 30 });
        assert.match(silent.reason, /has not answered for \d+ s/);
        assert.equal(silent.busy, true);
        assert.match(silent.busy_reason, new RegExp(`job ${cancelled.id} was told to stop and does not come back from the kernel`));
        assert.equal((await client.job(next.id)).state, 'queued');
        const beside = await client.settled((await client.submit(creating('plain', { files: 300 }))).id, { seconds: 20 });
        assert.deepEqual([beside.state, beside.cleanup], ['succeeded', 'done']);
        assert.equal((await client.job(next.id)).state, 'queued');
        assert.equal(leftOn(one.behind).length, 1, 'what it made is still there');
    });

    const { asked, ms, path } = await asking.stop();
    t.diagnostic(`${asked} answers while they hung, the longest in ${ms.toFixed(0)} ms (${path})`);
    assert.ok(asked > 50 && ms < ANSWER_MS, `${asked} answers, ${path} took ${ms} ms`);

    await t.test('everything recovers with the filesystem: cancelled, cleaned, and the next job runs', async () => {
        one.goOn();
        other.goOn();
        for (const { id } of [cancelled, killed]) {
            const job = await client.settled(id, { seconds: 30 });
            assert.deepEqual([job.state, job.stuck, job.cleanup], ['cancelled', false, 'done'], JSON.stringify(job.problem));
            assert.ok(job.phases[0].ops >= 200, 'what was measured is kept');
        }
        await assertAgrees(daemon, client, cancelled.id);
        const job = await client.settled(next.id, { seconds: 30 });
        assert.deepEqual([job.state, job.phases.map((phase) => phase.ops)], ['succeeded', [500, 500, 500, 500]]);
        assert.deepEqual([leftOn(one.behind), leftOn(other.behind)], [[], []]);
        await until('the targets to be free', async () => {
            const all = (await client.expect(200, 'GET', '/api/v1/targets')).json.items;
            return all.every((each) => each.usable && !each.busy && each.busy_reason === null);
        }, { seconds: 25 });
    });
});
