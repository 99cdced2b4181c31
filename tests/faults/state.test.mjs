// What the state directory and the settings say, against what is really there: another database, another
// folder, another filesystem.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { assertAgrees, leftOn } from '../e2e/agree.mjs';
import { recordsOf } from '../e2e/journal.mjs';
import { until } from '../e2e/wait.mjs';

async function start(t) {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    return { daemon, client: daemon.client(await daemon.token('operator')) };
}

const creating = { workload: 'create-scaling', target: 'scratch', params: { files: 100_000_000, batch: 10, sync: 'fsync', operations: ['create'], max_seconds: 60 } };

test('a database that was made anew does not take the journal of an earlier job for its own', async (t) => {
    const { daemon, client } = await start(t);
    const before = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 500 } });
    await client.settled(before.id);
    const kept = readFileSync(join(daemon.journals, String(before.id), 'journal.ndjson'), 'utf8');
    await daemon.stop();
    rmSync(join(daemon.state, 'postgres'), { recursive: true });
    daemon.tokens = {};
    await daemon.start();

    const again = daemon.client(await daemon.token('operator'));
    const { id } = await again.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 300 } });
    assert.equal(id, before.id, 'the numbers begin again');
    const job = await again.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    assert.deepEqual(job.phases.map((phase) => phase.ops), [300, 300, 300, 300]);
    await assertAgrees(daemon, again, id);
    const aside = readdirSync(daemon.journals).filter((name) => name.startsWith(`${id}.`));
    assert.equal(aside.length, 1);
    assert.equal(readFileSync(join(daemon.journals, aside[0], 'journal.ndjson'), 'utf8'), kept, 'the earlier one is kept');
});

/* Leaves the files of a job that was killed together with its daemon; → its id. */
async function killed(daemon, client) {
    const { id } = await client.submit(creating);
    await client.reached(id, 'create', 50);
    const runner = daemon.runner(id);
    await daemon.kill9();
    process.kill(runner, 'SIGKILL');
    return id;
}

test('a target that was moved, or is not mounted, is not said to be clean', async (t) => {
    const { daemon, client } = await start(t);
    const moved = join(daemon.folder, 'moved');
    mkdirSync(moved);
    const id = await killed(daemon, client);
    daemon.targets.scratch.path = moved;
    daemon.configure();
    await daemon.start();
    const job = await client.settled(id);
    assert.equal(job.state, 'failed');
    assert.equal(job.cleanup, 'blocked');
    assert.match(job.cleanup_reason, /^scratch is not the folder in which the run worked/);
    assert.equal(leftOn(daemon.scratch).length, 1, 'what it left stays where it is');
    const busy = (await client.get('/api/v1/targets/scratch')).json;
    assert.deepEqual([busy.busy, busy.busy_reason], [true, `the clean-up of job ${id} is blocked`]);

    await t.test('once the settings are right again, the daemon finishes by itself', async () => {
        daemon.targets.scratch.path = daemon.scratch;
        daemon.configure();
        process.kill(daemon.pid, 'SIGHUP');
        const clean = await until('the clean-up', async () => {
            const now = await client.job(id);
            return now.cleanup === 'done' && now;
        });
        assert.equal(clean.cleanup_reason, null);
        assert.deepEqual(leftOn(daemon.scratch), []);
        assert.equal(existsSync(moved), true);
        assert.equal(recordsOf(daemon.journal(id), 'cleanup').at(-1).state, 'done');
    });
});

test('what goes wrong names the target, and not to everybody where it lies', async (t) => {
    const { daemon, client } = await start(t);
    await until('the target', async () => (await client.get('/api/v1/targets/scratch')).json.usable);
    renameSync(daemon.scratch, join(daemon.folder, 'away'));
    const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 10 } });
    const job = await client.settled(id);
    assert.equal(job.state, 'failed');
    assert.equal(job.problem.message, 'cannot open the target scratch: No such file or directory');
    const target = await until('the target to be looked at', async () => {
        const now = (await client.get('/api/v1/targets/scratch')).json;
        return !now.usable && now;
    });
    assert.equal(target.reason, 'its folder cannot be opened: No such file or directory');
    const viewer = daemon.client(await daemon.token('viewer'));
    for (const path of [`/api/v1/jobs/${id}`, '/api/v1/jobs', '/api/v1/targets', `/api/v1/jobs/${id}/journal`, `/api/v1/jobs/${id}/report?format=markdown`])
        assert.ok(!(await viewer.get(path)).text.includes(daemon.folder), path);
});

test('a job is not claimed while descriptors are short: it waits, and runs when there are some', async (t) => {
    const { daemon, client } = await start(t);
    await client.settled((await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 10 } })).id);
    const limit = (n) => execFileSync('prlimit', ['--pid', `${daemon.pid}`, `--nofile=${n}:`]);
    const before = /Max open files +(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/limits`, 'utf8'))[1];
    // What it has open, and some for whoever asks: less than a runner takes.
    const open = readdirSync(`/proc/${daemon.pid}/fd`).map(Number);
    let most = 0;
    while (most - open.filter((fd) => fd < most).length < 5) most++;
    limit(most);
    const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 10 } });
    const not = await until('the daemon to say so', async () => {
        const answer = await client.get('/readyz');
        return answer.status === 503 && answer;
    });
    assert.match(not.text, /too few descriptors are left/);
    assert.equal((await client.job(id)).state, 'queued');
    limit(before);
    const job = await client.settled(id);
    assert.deepEqual([job.state, job.phases[0].ops], ['succeeded', 10], JSON.stringify(job.problem));
});

test('root does not start in a state directory of somebody else, and puts nothing there', { skip: process.getuid() !== 0 }, async (t) => {
    const { daemon } = await start(t);
    await daemon.stop();
    const theirs = join(daemon.folder, 'theirs');
    mkdirSync(theirs);
    chownSync(theirs, 65534, 65534);
    const own = daemon.service.state;
    daemon.service.state = theirs;
    daemon.configure();
    await assert.rejects(daemon.start(), new RegExp(`${theirs} belongs to nobody: start plimsolld as that user, or give root's another folder as state`));
    assert.deepEqual(readdirSync(theirs), []);
    daemon.service.state = own;
    daemon.configure();
    await daemon.start();
});

test('a token for a target that the settings do not have is made, and that is said', async (t) => {
    const { daemon } = await start(t);
    const add = (name, targets) => spawnSync(join(daemon.bin, 'plimsolld'), ['--settings', daemon.settings, 'token', 'add', name, '--role', 'operator', '--targets', targets], { encoding: 'utf8', env: daemon.env, timeout: 30_000 });
    const wrong = add('a', 'scratch,scrach'), right = add('b', 'scratch');
    assert.match(wrong.stdout, /^plm_/);
    assert.equal(wrong.stderr, 'plimsolld: token add: the settings have no target scrach\n');
    assert.deepEqual([right.status, right.stderr], [0, '']);
    assert.match(daemon.command('token', 'add', '--help'), /^usage: plimsolld .*token add NAME/);
});
