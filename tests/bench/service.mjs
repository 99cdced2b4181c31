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

/* CPU per file of the create phase: by hand without a journal, and as a job of the service, recorded,
 * ingested and asked about 100 times a second. */
async function benchOverhead() {
    const daemon = await startDaemon({ build: 'release', targets: { scratch: { path: options.scratch } } });
    try {
        const client = daemon.client(await daemon.token('operator'));
        const alone = async () => {
            const { stdout } = await run(join(options.bin, 'plimsoll-runner'), ['run', 'create-scaling', '--on', options.scratch, '--json', `files=${files}`, 'operations=create']);
            const phase = JSON.parse(stdout).phases[0];
            return { cost: phase.cpu_ns_per_op, rate: phase.rate };
        };
        const asked = async () => {
            const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files, operations: ['create'] } });
            const asking = new Set();
            const timer = setInterval(() => {
                const one = client.job(id).finally(() => asking.delete(one));
                asking.add(one);
            }, 10);
            try {
                await client.finished(id);
            } finally {
                clearInterval(timer);
                await Promise.all(asking);
            }
            const { phases } = await client.settled(id);
            const [end] = recordsOf(daemon.journal(id), 'phase_end');
            return { cost: end.cpu / end.ops, rate: phases[0].rate };
        };
        await alone(); /* to warm caches; not counted */
        for (let round = 1; round <= rounds; round++) {
            say(`overhead: round ${round} of ${rounds}`);
            const turns = [['alone', alone], ['plimsoll', asked]];
            for (const [tool, work] of round % 2 ? turns : turns.reverse()) {
                const { cost, rate } = await work();
                record('overhead', 'overhead', tool, round, cost, 'cpu_ns/op', rate);
            }
        }
    } finally {
        await daemon.close();
    }
}

mkdirSync(options.scratch, { recursive: true });
for (const [name, bench] of [['startup', benchStartup], ['api', benchApi], ['overhead', benchOverhead]])
    if (wanted.includes(name)) await bench();
