// Kills at random moments: the runner, the daemon, or both, in the middle of filesystem-scaling. After the next start of the
// daemon, or its own clean-up where it lives on, the target must be as before, and what merely looks like the run's must be
// untouched: beside the run directory, and under names in it that the run was about to use.
//
//     kills.mjs --work FOLDER --possible KIND,... [--on KIND,...] [--kills N] [--seed S] [--build test|release]
//
// For kills.sh, which gives it a mount namespace and a pool. It ends with 0 when all was well.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDaemon } from '../e2e/daemon.mjs';
import { recordsOf } from '../e2e/journal.mjs';
import { until } from '../e2e/wait.mjs';

const { values: given } = parseArgs({ allowPositionals: true, options: { work: { type: 'string' }, on: { type: 'string', default: 'btrfs,mkfs,directory,zfs' }, possible: { type: 'string' }, kills: { type: 'string', default: '1' }, seed: { type: 'string' }, build: { type: 'string', default: 'test' } } });
const { work } = given;
const seed = Number(given.seed ?? Math.floor(Math.random() * 2 ** 32));
const run = (program, ...argv) => execFileSync(program, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000 });

// mulberry32
let state = seed >>> 0;
function random() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

// --- targets: a kind, what a job asks for (`span`: about how many ms it takes), and a thing of that kind that is nobody's ---

const beside = 'plimsoll-1-1-00000000deadbeef';
const lines = (text) => text.split('\n').filter(Boolean);
const image = (name, kind) => {
    run('truncate', '-s', '1G', join(work, name));
    run(`mkfs.${kind}`, '-q', join(work, name));
    mkdirSync(join(work, kind));
    run('mount', '-o', 'loop', join(work, name), join(work, kind));
};
const kinds = {
    btrfs: {
        keys: { kind: 'btrfs', path: join(work, 'btrfs') },
        params: { filesystems: 1000, batch: 50, cycle: 'remount', cycle_every: 4 },
        span: 500,
        plant: (name) => run('btrfs', 'subvolume', 'create', join(work, 'btrfs', name)),
        listing: () => [...readdirSync(join(work, 'btrfs')), ...lines(run('btrfs', 'subvolume', 'list', '-u', join(work, 'btrfs')))],
    },
    mkfs: {
        keys: { kind: 'mkfs', path: join(work, 'ext4/images') },
        params: { filesystems: 16, batch: 4, cycle: 'remount' },
        span: 600,
        // Also an image that somebody has mounted there.
        plant(name) {
            mkdirSync(join(work, 'ext4/images', name));
            const file = join(work, 'ext4/images', name, 'i0000000000');
            mkdirSync(join(work, 'ext4/images', name, 'm0000000000'));
            run('truncate', '-s', '16M', file);
            run('mkfs.ext4', '-q', file);
            run('mount', '-o', 'loop', file, join(work, 'ext4/images', name, 'm0000000000'));
        },
        listing: () => lines(run('find', join(work, 'ext4/images'), '-xdev', '-printf', '%P %i\n')).sort(),
    },
    directory: {
        keys: { kind: 'directory', path: join(work, 'ext4/folder') },
        params: { filesystems: 40_000, batch: 1000 },
        span: 1200,
        plant: (name) => mkdirSync(join(work, 'ext4/folder', name)),
        listing: () => lines(run('find', join(work, 'ext4/folder'), '-printf', '%P %i\n')).sort(),
    },
    zfs: {
        keys: { kind: 'zfs', dataset: 'plimsoll/bench' },
        params: { filesystems: 12, batch: 4, cycle: 'import' },
        span: 1500,
        plant: (name) => run('zfs', 'create', `plimsoll/bench/${name}`),
        listing: () => lines(run('zfs', 'get', '-H', '-r', '-o', 'name,value', 'guid', 'plimsoll')),
    },
};

// Everything of ours that the system knows: entries, mounts, loop devices.
function everything() {
    const mounts = lines(readFileSync('/proc/self/mounts', 'utf8')).map((line) => line.split(' ').slice(0, 3).join(' ')).filter((line) => line.includes(work));
    const loops = lines(run('losetup', '-n', '-l', '-O', 'NAME,BACK-FILE')).map((line) => line.replace(/\s+/g, ' ')).filter((line) => line.includes(work));
    return [...wanted.flatMap((name) => kinds[name].listing().map((line) => `${name}: ${line}`)), ...mounts, ...loops].sort();
}

const wanted = given.on.split(',').filter((name) => given.possible.split(',').includes(name));
if (wanted.includes('btrfs')) image('image.btrfs', 'btrfs');
image('image.ext4', 'ext4');
for (const folder of ['images', 'folder']) mkdirSync(join(work, 'ext4', folder));
for (const name of wanted) kinds[name].plant(beside);
const before = everything();

const daemon = await startDaemon({ targets: Object.fromEntries(wanted.map((name) => [name, kinds[name].keys])), build: given.build });
const client = daemon.client(await daemon.token('operator'));
let failures = 0;
const first = Math.floor(random() * 3);
console.log(`seed ${seed}`);

function same(what) {
    const after = everything();
    const gone = before.filter((line) => !after.includes(line)).map((line) => `- ${line}`);
    const left = after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`);
    const ok = gone.length + left.length === 0;
    failures += !ok;
    console.log(`${ok ? 'ok    ' : 'FAILED'} ${what}${ok ? '' : `\n${[...gone, ...left].join('\n')}`}`);
}

function kill(pid) {
    try {
        process.kill(pid, 'SIGKILL');
    } catch {
        /* it has ended already */
    }
}

/* How long a job takes that nobody kills, so that the moments are spread over all of it. */
async function calibrate(name) {
    const { id } = await client.submit({ workload: 'filesystem-scaling', target: name, params: kinds[name].params });
    const began = await until('the runner to begin', () => daemon.runner(id) && performance.now(), { every: 5, seconds: 120 });
    await until('the clean-up', () => recordsOf(daemon.journal(id), 'cleanup').at(-1)?.state === 'done', { every: 20, seconds: 300 });
    kinds[name].span = performance.now() - began;
    await client.settled(id);
    same(`${name}: left alone, a job takes ${Math.round(kinds[name].span)} ms`);
}

async function once(name, number) {
    const victim = ['runner', 'daemon', 'both'][(first + number) % 3];
    const after = Math.floor(random() * kinds[name].span);
    const { id } = await client.submit({ workload: 'filesystem-scaling', target: name, params: kinds[name].params });
    const runner = await until('the runner to begin', () => daemon.runner(id), { every: 5, seconds: 120 });
    await new Promise((resolve) => setTimeout(resolve, after)); // the moment is at random; what is waited for is nothing
    const records = daemon.journal(id);
    const phase = recordsOf(records, 'end').length ? 'clean-up' : (recordsOf(records, 'phase').at(-1)?.phase ?? 'the beginning');
    if (victim !== 'runner') await daemon.kill9();
    if (victim !== 'daemon') kill(runner);
    if (victim !== 'runner') await daemon.start();
    const job = await client.settled(id, { seconds: 300 });
    const told = `${name}: ${victim} killed after ${after} ms, in ${phase}: ${job.state}, clean-up ${job.cleanup}, ${job.removed} removed`;
    const right = victim === 'daemon' ? job.state === 'succeeded' : job.state === 'succeeded' || job.problem?.code === 'interrupted';
    if (!right || job.cleanup !== 'done') {
        failures++;
        console.log(`FAILED ${told}: ${JSON.stringify([job.problem, job.foreign, recordsOf(daemon.journal(id), 'cleanup').at(-1)])}`);
    }
    same(told);
}

try {
    if (Number(given.kills) > 1) for (const name of wanted) await calibrate(name);
    for (let i = 0; i < Number(given.kills); i++)
        for (const [at, name] of wanted.entries()) await once(name, i + at);
} catch (error) {
    failures++;
    console.log(`FAILED ${error.stack}\n${daemon.tail()}`);
}
await daemon.close();
process.exit(failures > 0 ? 1 : 0);
