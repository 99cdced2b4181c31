// packaging/quickstart.sh as a newcomer runs it, on a state directory of its own.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository } from './daemon.mjs';
import { Client } from './client.mjs';
import { until } from './wait.mjs';

function folder(t) {
    const path = mkdtempSync(join(tmpdir(), 'quickstart-'));
    chmodSync(path, 0o755);
    t.after(() => rmSync(path, { recursive: true, force: true }));
    return path;
}

/* In a process group of its own, as from a terminal: interrupt() reaches all of it, as Ctrl-C does. */
function quickstart(t, ...words) {
    const child = spawn(join(repository, 'packaging/quickstart.sh'), words, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const it = { out: '', err: '', code: undefined, interrupt: () => process.kill(-child.pid, 'SIGINT') };
    child.stdout.on('data', (data) => (it.out += data));
    child.stderr.on('data', (data) => (it.err += data));
    it.ended = new Promise((resolve) => child.on('close', (code) => resolve((it.code = code))));
    t.after(() => it.code === undefined && process.kill(-child.pid, 'SIGKILL'));
    return it;
}

/* Processes that name the folder, or stand in it. */
function processesOf(path) {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
        try {
            const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
            return line.includes(path) ? [`${pid} ${line}`] : [];
        } catch {
            return [];
        }
    });
}

const told = (it) => `exit status ${it.code}\n${it.out}\n${it.err}`;

test('--once shows the result and leaves nothing running, twice on the same state', { timeout: 600_000 }, async (t) => {
    const state = folder(t);
    for (const files of [20_000, 1_000]) {
        const it = quickstart(t, '--once', '--files', String(files), '--state', state);
        assert.equal(await it.ended, 0, told(it));
        assert.match(it.out, new RegExp(`^create +${files.toLocaleString('en')} `, 'm'), told(it));
        assert.match(it.out, new RegExp(`${files.toLocaleString('en')} files were created in [0-9.]+ s: [0-9,]+ files/s`), told(it));
        assert.deepEqual(readdirSync(join(state, 'scratch')), []);
        assert.deepEqual(processesOf(state), []);
    }
});

test('it serves with a code that signs in, beside a port that is taken; Ctrl-C ends all', { timeout: 600_000 }, async (t) => {
    const state = folder(t);
    const other = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    t.after(() => other.close());
    const taken = other.address().port;
    const it = quickstart(t, '--files', '1000', '--state', state, '--port', String(taken));
    const [, url, code] = await until('the address of the dashboard', () => {
        assert.equal(it.code, undefined, told(it));
        return /(http:\/\/127\.0\.0\.1:\d+)\/#code=(\S+)/.exec(it.out);
    }, { seconds: 300 });
    assert.match(it.err, new RegExp(`Port ${taken} is in use`));
    const client = new Client(url);
    assert.equal((await client.get('/')).status, 200);
    const session = await client.post('/api/v1/session', { code });
    assert.equal(session.status, 200, session.text);
    assert.equal((await client.get('/api/v1/jobs', { headers: { cookie: session.headers.get('set-cookie').split(';')[0] } })).json.items.length, 1);
    // What somebody else asked for meanwhile ends with it, too.
    const operator = new Client(url, readFileSync(join(state, 'token'), 'utf8').trim());
    for (let i = 0; i < 2; i++) await operator.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 20_000_000 } });
    await operator.reached(2, 'create', 1);
    it.interrupt();
    assert.equal(await it.ended, 0, told(it));
    assert.deepEqual(readdirSync(join(state, 'scratch')), []);
    assert.deepEqual(processesOf(state), []);
    await assert.rejects(client.get('/'));
});

test('Ctrl-C in the middle cancels the job and waits until its files are removed', { timeout: 600_000 }, async (t) => {
    const state = folder(t);
    const it = quickstart(t, '--files', '20000000', '--state', state);
    const scratch = join(state, 'scratch');
    await until('files', () => {
        assert.equal(it.code, undefined, told(it));
        return existsSync(scratch) && readdirSync(scratch).some((name) => readdirSync(join(scratch, name)).length > 100);
    }, { seconds: 300 });
    it.interrupt();
    assert.equal(await it.ended, 130, told(it));
    assert.match(it.err, /Cancelling job 1/);
    assert.deepEqual(readdirSync(scratch), []);
    assert.deepEqual(processesOf(state), []);
});

test('what it cannot do it says, with what to do instead', async (t) => {
    const state = folder(t);
    for (const [words, message] of [
        [['--port', '0'], /--port is "0"[^]*1 to 65535/],
        [['--files', 'many'], /--files is "many"[^]*number of files/],
        [['--colour'], /no option --colour[^]*--help/],
        [['--state', '/proc/nowhere'], /cannot create \/proc\/nowhere[^]*--state DIR/],
        [['--state', state, '--scratch', join(state, 'nowhere')], /no directory .*nowhere[^]*Create it/],
    ]) {
        const it = quickstart(t, '--once', ...words);
        assert.equal(await it.ended, 1, told(it));
        assert.match(it.err, message);
    }
    const it = quickstart(t, '--help');
    assert.equal(await it.ended, 0);
    assert.match(it.out, /--scratch DIR/);
});
