// The runner, the daemon, or both killed at random moments: after the next start nothing of the job is left on any kind of target.
import test from 'node:test';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { canMount } from '../e2e/loop.mjs';

const kills = process.env.PLIMSOLL_FULL ? ['--kills', '20'] : ['--kills', '1', '--on', 'mkfs,zfs', '--build', 'release'];

test('killed at random moments, no filesystem, mount or loop device is left, and look-alikes are', { skip: !canMount && 'needs root and loop devices', timeout: 3_600_000 }, (t) => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    try {
        t.diagnostic(execFileSync(join(import.meta.dirname, 'kills.sh'), kills, { encoding: 'utf8', env }));
    } catch (error) {
        throw new Error(`${error.stdout}${error.stderr}`);
    }
});
