// Measures the running service: answers a second, time to start, and what it costs the job it runs.
//
//     node service.mjs --bin DIR --scratch DIR --rounds N --files N [api] [startup] [overhead]
//
// Prints lines `bench case tool round value unit rate`, parted by tabs, for report.awk.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { recordsOf } from '../e2e/journal.mjs';
import { startDaemon } from '../e2e/daemon.mjs';

const run = promisify(execFile);
const { values: options, positionals: wanted } = parseArgs({
    allowPositionals: true,
    options: { bin: { type: 'string' }, scratch: { type: 'string' }, rounds: { type: 'string' }, files: { type: 'string' } },
});
const rounds = Number(options.rounds);
const files = Number(options.files);

const record = (...fields) => console.log(fields.join('\t'));
const say = (text) => console.error(text);

/* Requests a second, over 32 connections from one thread of wrk; every answer must be a 200. */
async function requests(url, token, seconds = 3) {
    const headers = token ? ['-H', `Authorization: Bearer ${token}`] : [];
    const { stdout } = await run('wrk', ['-t1', '-c32', `-d${seconds}s`, ...headers, url]);
    const bad = /Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)/.exec(stdout);
    if (bad) throw new Error(`${url}: ${bad[0]}`);
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]);
}

/* The bare server, as long as `work` takes; gives it its address. */
async function withHello(work) {
    const child = spawn(join(options.bin, 'hello'), ['2'], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
        const [port] = await once(createInterface({ input: child.stdout }), 'line');
        return await work(`http://127.0.0.1:${port}/`);
    } finally {
        child.kill();
    }
}

async function benchStartup() {
    for (let round = 1; round <= Math.min(rounds, 5); round++) {
        say(`startup: round ${round}`);
        let began = performance.now();
        const daemon = await startDaemon({ build: 'release' });
        record('startup', 'startup-new', 'plimsoll', round, (performance.now() - began) / 1000, 's', '');
        await daemon.stop();
        began = performance.now();
        await daemon.start();
        record('startup', 'startup-existing', 'plimsoll', round, (performance.now() - began) / 1000, 's', '');
        await daemon.close();
    }
}

/* A finished job, its series, and a job that runs: against the bare server in the same round. */
async function benchApi() {
    const slow = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'));
    const daemon = await startDaemon({
        build: 'release',
        targets: { scratch: { path: options.scratch }, slow: { path: slow, concurrent: 'yes' } },
    });
    try {
        const token = await daemon.token('operator');
        const client = daemon.client(token);
        const done = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 200000, batch: 20, operations: ['create'] } });
        const { state, problem } = await client.settled(done.id);
        if (state !== 'succeeded') throw new Error(`the job was ${state}: ${JSON.stringify(problem)}`);
        const job = `${daemon.url}/api/v1/jobs/${done.id}`;
        const measure = async (name, url) => {
            for (let round = 1; round <= Math.min(rounds, 7); round++) {
                say(`${name}: round ${round}`);
                record('api', name, 'hello', round, await withHello((hello) => requests(hello)), 'requests/s', '');
                record('api', name, 'plimsoll', round, await requests(url, token), 'requests/s', '');
            }
        };
        await measure('api-job', job);
        await measure('api-series', `${job}/series?phase=create&points=1000`);
        /* One that waits for its disk after every file: it runs for as long as it is asked about. */
        const { id } = await client.submit({ workload: 'create-scaling', target: 'slow', params: { files: 50000000, sync: 'fsync', operations: ['create'] } });
        await client.reached(id, 'create', 100);
        await measure('api-running', `${daemon.url}/api/v1/jobs/${id}`);
        if ((await client.job(id)).state !== 'running') throw new Error('the job ended while it was asked about');
        await client.expect(202, 'POST', `/api/v1/jobs/${id}/cancel`);
        await client.settled(id, { seconds: 300 });
    } finally {
        await daemon.close();
        rmSync(slow, { recursive: true, force: true });
    }
}

/* CPU per file of a job of the service that is recorded, ingested and asked about 100 times a second, against the
 * same job while the service stands still (SIGSTOP): in windows of a quarter second by turns, so that whatever else the
 * machine does falls on both. What the ingester left undone in a window without it is on those with it; what the
 * runner spends on recording is added to them, too. */
const WINDOW = 250; /* ms */
const EDGE = 50; /* ms at either end: the service takes up or puts down its work, and the clocks differ by what the runner
                   takes between its first record and the beginning of its leg, 20 ms */

async function askFor(client, id, milliseconds) {
    const asking = new Set();
    const timer = setInterval(() => {
        const one = client.job(id).finally(() => asking.delete(one));
        asking.add(one);
    }, 10);
    await setTimeout(milliseconds);
    clearInterval(timer);
    await Promise.all(asking);
}

function lives(pid) {
    try {
        return process.kill(pid, 0);
    } catch {
        return false;
    }
}

async function windowsOf(daemon, client, id) {
    const windows = [];
    const pid = daemon.runner(id);
    while (lives(pid)) {
        const asked = [1, 2].includes(windows.length % 4);
        const from = Date.now();
        if (asked) {
            await askFor(client, id, WINDOW);
        } else {
            daemon.child.kill('SIGSTOP');
            await setTimeout(WINDOW);
        }
        windows.push({ asked, from: from + EDGE, to: Date.now() - EDGE });
        daemon.child.kill('SIGCONT');
    }
    return windows;
}

/* { cost, rate } of the samples that ended in the window. */
function within(window, epoch, samples) {
    let [cpu, ops] = [0, 0];
    for (const { at, cpu: c, ops: n } of samples)
        for (let i = 0; i < at.length; i++) {
            const when = epoch + at[i] / 1e6;
            if (when < window.from || when > window.to) continue;
            cpu += c[i];
            ops += n[i];
        }
    return { cost: cpu / ops, rate: (ops / (window.to - window.from)) * 1000, ops };
}

const medianOf = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

async function benchOverhead() {
    const daemon = await startDaemon({ build: 'release', targets: { scratch: { path: options.scratch } } });
    try {
        const client = daemon.client(await daemon.token('operator'));
        for (let round = 1; round <= rounds; round++) {
            say(`overhead: round ${round} of ${rounds}`);
            const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: files * 5, operations: ['create'] } });
            await client.reached(id, 'create', 100);
            const windows = await windowsOf(daemon, client, id);
            await client.settled(id);
            const journal = daemon.journal(id);
            const samples = recordsOf(journal, 'samples');
            const [end] = recordsOf(journal, 'phase_end');
            const epoch = Date.parse(recordsOf(journal, 'begin')[0].at);
            const lanes = samples.reduce((sum, { cpu }) => sum + cpu.reduce((a, b) => a + b), 0);
            const recording = (end.cpu - lanes) / end.ops;
            const pairs = [];
            for (let i = 0; i + 1 < windows.length; i += 2) {
                const [a, b] = [windows[i], windows[i + 1]].map((window) => ({ ...within(window, epoch, samples), asked: window.asked }));
                if (a.ops && b.ops) pairs.push(a.asked ? { alone: b, asked: a } : { alone: a, asked: b });
            }
            if (pairs.length < 3) throw new Error(`only ${pairs.length} pairs of windows: more --files are wanted`);
            const cost = medianOf(pairs.map(({ alone }) => alone.cost));
            const rate = medianOf(pairs.map(({ alone }) => alone.rate));
            record('overhead', 'overhead', 'alone', round, cost, 'cpu_ns/op', rate);
            record('overhead', 'overhead', 'plimsoll', round, cost * medianOf(pairs.map(({ alone, asked }) => asked.cost / alone.cost)) + recording,
                'cpu_ns/op', rate * medianOf(pairs.map(({ alone, asked }) => asked.rate / alone.rate)));
        }
    } finally {
        await daemon.close();
    }
}

mkdirSync(options.scratch, { recursive: true });
for (const [name, bench] of [['startup', benchStartup], ['api', benchApi], ['overhead', benchOverhead]])
    if (wanted.includes(name)) await bench();
