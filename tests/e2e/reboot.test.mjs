// A job that restarts the machine and goes on after that. Its workload is one of the tests; the login manager only
// notes that it was asked; another boot is another boot id, in a mount namespace of the daemon's own.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon, programs } from './daemon.mjs';
import { leftOn } from './agree.mjs';
import { recordsOf } from './journal.mjs';
import { until } from './wait.mjs';

const skip = spawnSync('unshare', ['--mount', 'true']).status === 0 ? false : 'it takes root';

async function start(t, target = { allow_reboot: 'yes' }) {
    const tools = mkdtempSync(join(tmpdir(), 'plm-tools-'));
    const called = join(tools, 'called');
    const manager = spawn(join(programs.test, 'login-manager'), [join(tools, 'bus'), called], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(manager.stdout, 'data');
    const scratch = mkdtempSync(join(tmpdir(), 'plm-reboot-'));
    const daemon = await startDaemon({
        program: 'rebooting-daemon',
        service: { runner: join(programs.test, 'rebooting-runner') },
        targets: { scratch: { path: scratch, ...target } },
        env: { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${join(tools, 'bus')}` }, // never this machine's own
    });
    t.after(async () => {
        await daemon.close();
        manager.kill();
        for (const folder of [tools, scratch]) rmSync(folder, { recursive: true, force: true });
    });
    return { daemon, scratch, called, client: daemon.client(await daemon.token('admin')), restarts: () => (existsSync(called) ? readFileSync(called, 'utf8').trim().split('\n') : []) };
}

const job = (reboots, more = {}) => ({ workload: 'rebooting', target: 'scratch', params: { reboots }, ...more });
const rebooting = (client, id) => until(`job ${id} to restart the machine`, async () => (await client.job(id)).state === 'rebooting');

async function boot(daemon, number) {
    daemon.boot = `${String(number).padStart(8, '0')}-0000-0000-0000-000000000000`;
    await daemon.restart();
}

test('two reboots, three legs: the same job goes on each time', { skip }, async (t) => {
    const { daemon, scratch, client, restarts } = await start(t);
    const { id } = await client.submit(job(2));
    await rebooting(client, id);
    assert.deepEqual(restarts(), ['reboot']);
    await daemon.restart(); // the daemon alone: the machine has not been restarted
    const waiting = await client.job(id);
    assert.deepEqual([waiting.state, waiting.progress, waiting.finished_at], ['rebooting', null, null]);
    const queued = await client.submit(job(0));
    assert.equal((await client.job(queued.id)).state, 'queued', 'its target is busy meanwhile');

    await boot(daemon, 1);
    await until('the second leg', () => restarts().length === 2);
    await rebooting(client, id);
    await boot(daemon, 2);
    const ended = await client.settled(id);
    assert.equal(ended.state, 'succeeded', JSON.stringify(ended.problem));
    assert.equal(ended.cleanup, 'done');
    assert.deepEqual(ended.phases.map((phase) => [phase.run, phase.legs, phase.name, phase.ops, phase.latency_ns.p99 > 0]), [[1, 3, 'create', 3, true]]);
    assert.equal(restarts().length, 2);
    const begins = recordsOf(daemon.journal(id), 'begin');
    assert.equal(new Set(begins.map((begin) => begin.boot_id)).size, 3);
    assert.equal(new Set(begins.map((begin) => begin.workspace)).size, 1);
    assert.equal((await client.settled(queued.id)).state, 'succeeded');
    assert.deepEqual(leftOn(scratch), []);
});

test('cancelled while the machine is restarted: it does not go on, and is not restarted again', { skip }, async (t) => {
    const { daemon, scratch, client, restarts } = await start(t);
    const first = await client.submit(job(3));
    await rebooting(client, first.id);
    assert.equal((await client.post(`/api/v1/jobs/${first.id}/cancel`)).status, 202);
    const ended = await client.settled(first.id);
    assert.deepEqual([ended.state, ended.cleanup], ['cancelled', 'done']);

    const second = await client.submit(job(3));
    await rebooting(client, second.id);
    await boot(daemon, 1);
    await until('the second leg', () => restarts().length === 3);
    await rebooting(client, second.id);
    await client.post(`/api/v1/jobs/${second.id}/cancel`);
    await boot(daemon, 2);
    const also = await client.settled(second.id);
    assert.deepEqual([also.state, also.cleanup], ['cancelled', 'done']);
    assert.equal(restarts().length, 3);
    assert.deepEqual(leftOn(scratch), []);
});

test('a reboot that nobody asked for: failed, and what it made is removed', { skip }, async (t) => {
    const { daemon, scratch, client, restarts } = await start(t);
    const { id } = await client.submit(job(1, { params: { reboots: 1, takes: 60 } }));
    await until('its file', () => leftOn(scratch).some((name) => readdirSync(join(scratch, name)).length === 1));
    const runner = daemon.runner(id);
    await daemon.kill9();
    process.kill(runner, 'SIGKILL'); // as the power does
    daemon.boot = '00000001-0000-0000-0000-000000000000';
    await daemon.start();
    const ended = await client.settled(id);
    assert.equal(ended.state, 'failed');
    assert.equal(ended.problem.code, 'interrupted');
    assert.equal(ended.cleanup, 'done');
    assert.deepEqual(readdirSync(scratch), []);
    assert.deepEqual(restarts(), []);
});

test('a machine that is not up again in time has failed the job, which is told when it is', { skip }, async (t) => {
    const { daemon, scratch, called, client, restarts } = await start(t);
    writeFileSync(`${called}.hold`, ''); // so that the runner is there until the daemon is gone
    const { id } = await client.submit(job(2, { params: { reboots: 2, within: 1 } }));
    await until('the restart', () => restarts().length === 1);
    const runner = daemon.runner(id);
    await daemon.kill9(); // as the restart does
    process.kill(runner, 'SIGKILL');
    const by = Date.parse(recordsOf(daemon.journal(id), 'reboot')[0].at) + 1000;
    await until('the time to be over', () => Date.now() > by);
    daemon.boot = '00000001-0000-0000-0000-000000000000';
    await daemon.start();
    const ended = await client.settled(id);
    assert.deepEqual([ended.state, ended.problem.code, ended.cleanup], ['failed', 'interrupted', 'done']);
    assert.match(ended.problem.message, /was not up again in time/);
    assert.equal(restarts().length, 1);
    assert.deepEqual(leftOn(scratch), []);
});

test('only an administrator has a machine restarted, and only where the target allows it', async (t) => {
    const { daemon, client } = await start(t);
    const refused = async (who, body, sentence) => {
        const answer = await who.post('/api/v1/jobs', body);
        assert.equal(answer.status, 403, answer.text);
        assert.equal(answer.json.errors[0].pointer, '/params/reboots');
        assert.match(answer.json.detail, sentence);
    };
    const operator = daemon.client(await daemon.token('operator')), viewer = daemon.client(await daemon.token('viewer'));
    await refused(operator, job(1), /administrator's token/);
    await refused(operator, job(0, { matrix: { reboots: [0, 1] } }), /administrator's token/);
    assert.equal((await operator.post('/api/v1/jobs', job(0))).status, 201);
    assert.equal((await viewer.post('/api/v1/jobs', job(1))).status, 403);
    daemon.targets.scratch.allow_reboot = 'no';
    daemon.configure();
    await daemon.restart();
    await refused(client, job(1), /allow_reboot/);
});
