// Filesystems that a killed runner leaves behind are found again by what they are, and removed; nothing else is.
import test from 'node:test';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { canMount } from '../e2e/loop.mjs';

const root = join(import.meta.dirname, '..', '..');
const full = Boolean(process.env.PLIMSOLL_FULL);

test('a runner killed at random moments leaves no filesystem, mount or loop device', { skip: !canMount && 'needs root and loop devices', timeout: 900_000 }, () => {
    const runner = join(root, process.env.PLIMSOLL_BIN ?? 'build/asan/bin', 'plimsoll-runner');
    try {
        execFileSync(join(root, 'tests/faults/filesystems.sh'), [runner, full ? '20' : '2'], { encoding: 'utf8' });
    } catch (error) {
        throw new Error(`${error.stdout}${error.stderr}`);
    }
});
