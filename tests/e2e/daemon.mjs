// Starts the real plimsolld, with its own PostgreSQL and its own runners, for a test to talk to.
//
//     const daemon = await startDaemon({ targets: { scratch: { path: '/mnt/x' } } });
//     t.after(() => daemon.close());
//     const client = daemon.client(await daemon.token('operator'));
//
// Everything lives in one temporary folder, which is removed when close() found nothing wrong, and kept
// (and named) when it did or when PLIMSOLL_KEEP is set.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from './client.mjs';
import { readJournal, recordsOf } from './journal.mjs';
import { until, fatal } from './wait.mjs';

export const repository = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const root = process.getuid() === 0;
const running = new Set();

function binaries(variable, ...builds) {
    const places = [process.env[variable], ...builds.map((build) => join(repository, 'build', build, 'bin'))];
    const found = places.find((place) => place && existsSync(join(place, 'plimsolld')));
    if (!found) throw new Error(`no plimsolld in ${places.filter(Boolean).join(', ')}: build it, or set ${variable}`);
    return resolve(found);
}

/* Where the programs are: `test` is the build under sanitizers, `release` the one whose memory and speed
 * are the product's. */
export const programs = {
    get test() {
        return binaries('PLIMSOLL_BIN', 'asan', 'debug');
    },
    get release() {
        return binaries('PLIMSOLL_RELEASE_BIN', 'release', 'debug');
    },
};

function alive(pid) {
    try {
        process.kill(pid, 0);
        return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
        return false;
    }
}

function ensureUser() {
    if (!root || spawnSync('getent', ['passwd', 'plimsoll']).status === 0) return;
    execFileSync('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'plimsoll']);
}

/* Writes [section] and its keys; a list becomes comma-separated. */
function iniOf(sections) {
    return sections.map(([name, keys]) => `[${name}]\n` + Object.entries(keys)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => `${key} = ${Array.isArray(value) ? value.join(', ') : value}\n`).join('')).join('\n');
}

class Daemon {
    constructor({ targets, service = {}, env = {}, build = 'test', program = 'plimsolld' }) {
        ensureUser();
        this.folder = mkdtempSync(join(tmpdir(), 'plm-'));
        chmodSync(this.folder, 0o755); // PostgreSQL runs as somebody else than root
        this.bin = programs[build];
        this.program = program;
        this.boot = null; // the id of another boot to start in
        this.env = { ...process.env, ASAN_OPTIONS: 'abort_on_error=0:detect_leaks=1', UBSAN_OPTIONS: 'print_stacktrace=1', ...env };
        this.settings = join(this.folder, 'plimsoll.conf');
        this.state = join(this.folder, 'state');
        this.runtime = join(this.folder, 'run');
        this.log = join(this.folder, 'plimsolld.log');
        this.logged = 0;
        this.targets = targets;
        this.service = {
            state: this.state,
            runtime: this.runtime,
            listen: '127.0.0.1:0',
            runner: join(this.bin, 'plimsoll-runner'),
            web: join(repository, 'web'),
            ...service,
        };
        if (!this.targets) {
            this.scratch = join(this.folder, 'scratch');
            mkdirSync(this.scratch);
            this.targets = { scratch: { path: this.scratch } };
        }
        this.tokens = {};
        this.configure();
    }

    /* Writes the settings; after a change, restart() or process.kill(daemon.pid, 'SIGHUP'). */
    configure() {
        writeFileSync(this.settings, iniOf([
            ['service', this.service],
            ...Object.entries(this.targets).map(([name, keys]) => [`target ${name}`, { kind: 'directory', ...keys }]),
        ]));
    }

    async start() {
        const from = this.logged;
        const out = openSync(this.log, 'a');
        const argv = [join(this.bin, this.program), '--settings', this.settings];
        if (this.boot) {
            const file = join(this.folder, 'boot_id');
            writeFileSync(file, `${this.boot}\n`);
            argv.unshift('unshare', '--mount', 'bash', '-c', 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"', file);
        }
        this.child = spawn(argv[0], argv.slice(1), { stdio: ['ignore', out, out], env: this.env, cwd: this.folder });
        closeSync(out);
        this.pid = this.child.pid;
        this.exited = new Promise((done) => this.child.once('exit', (code, signal) => done({ code, signal })));
        let gone = null;
        this.exited.then((how) => (gone = how));
        running.add(this);
        this.url = await until('plimsolld to listen', () => {
            if (gone) throw fatal(`plimsolld ended (${gone.code ?? gone.signal}) while starting:\n${this.tail()}`);
            return existsSync(this.log) && /listening on (http:\/\/\S+)/.exec(readFileSync(this.log, 'utf8').slice(from))?.[1];
        }, { seconds: 60, every: 20 });
        await until('plimsolld to be ready', async () => {
            if (gone) throw fatal(`plimsolld ended (${gone.code ?? gone.signal}) while starting:\n${this.tail()}`);
            return (await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(5000) })).ok;
        }, { seconds: 60, every: 20 });
        return this;
    }

    /* Runs plimsolld with further words, e.g. command('token', 'list'); → its output. */
    command(...words) {
        return execFileSync(join(this.bin, 'plimsolld'), ['--settings', this.settings, ...words], { encoding: 'utf8', env: this.env, timeout: 30_000 });
    }

    /* A token of that role, made once. */
    async token(role = 'admin', ...words) {
        const key = [role, ...words].join(' ');
        if (!this.tokens[key]) {
            const name = `test-${role}-${Object.keys(this.tokens).length}`;
            this.tokens[key] = /plm_[A-Za-z0-9_-]+/.exec(this.command('token', 'add', name, '--role', role, ...words))[0];
        }
        return this.tokens[key];
    }

    /* A client that follows the daemon through restarts. */
    client(token) {
        return new Client(() => this.url, token);
    }

    get journals() {
        return join(this.state, 'jobs');
    }

    journal(id) {
        return readJournal(join(this.journals, String(id), 'journal.ndjson'));
    }

    /* The pid of the runner that works on the job; throws when there is no journal yet. */
    runner(id) {
        return recordsOf(this.journal(id), 'begin').at(-1).pid;
    }

    get postmaster() {
        return Number(readFileSync(join(this.state, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
    }

    /* Rows of a query against the embedded database, as arrays of text. */
    psql(sql) {
        const argv = ['psql', '-X', '-A', '-t', '-q', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-h', join(this.runtime, 'postgres'), '-U', 'plimsoll', '-d', 'postgres', '-c', sql];
        if (root) argv.unshift('setpriv', '--reuid=plimsoll', '--regid=plimsoll', '--clear-groups');
        const text = execFileSync(argv[0], argv.slice(1), { encoding: 'utf8', cwd: '/', timeout: 60_000, maxBuffer: 1 << 28 });
        return text.split('\n').filter(Boolean).map((line) => line.split('\t'));
    }

    async kill9() {
        this.child.kill('SIGKILL');
        await this.exited;
        this.logged = readFileSync(this.log, 'utf8').length;
    }

    /* SIGTERM; throws unless it ends by itself, with 0, in time. */
    async stop({ seconds = 30 } = {}) {
        let how = null;
        this.exited.then((value) => (how = value));
        this.child.kill('SIGTERM');
        await until('plimsolld to stop', () => how, { seconds, every: 20 });
        this.logged = readFileSync(this.log, 'utf8').length;
        if (how.code !== 0) throw new Error(`plimsolld ended with ${how.code ?? how.signal}:\n${this.tail()}`);
    }

    async restart() {
        if (this.child.exitCode === null && this.child.signalCode === null) await this.stop();
        return this.start();
    }

    tail(lines = 40) {
        return existsSync(this.log) ? readFileSync(this.log, 'utf8').trimEnd().split('\n').slice(-lines).join('\n') : '';
    }

    /* What the sanitizers said, in the daemon or in a runner. */
    complaints() {
        const files = [this.log];
        if (existsSync(this.journals))
            for (const job of readdirSync(this.journals)) files.push(join(this.journals, job, 'runner.log'));
        return files.filter(existsSync).flatMap((file) => {
            const text = readFileSync(file, 'utf8');
            const at = text.search(/==\d+==ERROR|runtime error:|WARNING: ThreadSanitizer/);
            return at < 0 ? [] : [`${file}:\n${text.slice(at, at + 4000)}`];
        });
    }

    /* Stops what is left, by pid, without asking. */
    kill() {
        const pids = [];
        if (this.child && this.child.exitCode === null && this.child.signalCode === null) pids.push(this.pid);
        try {
            pids.push(this.postmaster);
        } catch {
            /* no cluster runs */
        }
        if (existsSync(this.journals)) {
            for (const job of readdirSync(this.journals)) {
                try {
                    const begin = recordsOf(this.journal(job), 'begin').at(-1);
                    const start = readFileSync(`/proc/${begin.pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ')[19];
                    if (Number(start) === begin.pid_start) pids.push(begin.pid);
                } catch {
                    /* it ended */
                }
            }
        }
        for (const pid of pids.filter(alive)) {
            try {
                process.kill(pid, 'SIGKILL');
            } catch {
                /* it ended */
            }
        }
        running.delete(this);
    }

    /* Ends the daemon and looks back: it must have stopped cleanly and no sanitizer have complained. */
    async close() {
        let failure = null;
        try {
            if (this.child.exitCode === null && this.child.signalCode === null) await this.stop();
            const complaints = this.complaints();
            if (complaints.length) failure = new Error(complaints.join('\n'));
        } catch (error) {
            failure = error;
        }
        this.kill();
        if (failure || process.env.PLIMSOLL_KEEP) console.error(`kept: ${this.folder}`);
        else rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
        if (failure) throw failure;
    }
}

process.on('exit', () => {
    for (const daemon of [...running]) daemon.kill();
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

/* { targets, service, env, build }: see Daemon. Ready when it returns. */
export async function startDaemon(options = {}) {
    const daemon = new Daemon(options);
    try {
        return await daemon.start();
    } catch (error) {
        daemon.kill();
        console.error(`kept: ${daemon.folder}`);
        throw error;
    }
}
