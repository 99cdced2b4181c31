// A filesystem that stops answering when it is told to: build/asan/bin/stalling-filesystem over a folder.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programs } from '../e2e/daemon.mjs';
import { until } from '../e2e/wait.mjs';

export const canStall = process.getuid() === 0 && existsSync('/dev/fuse');

/* → { path, behind, stall(), goOn(), close() }. `behind` is the folder it shows, which always answers. */
export async function makeStalling(t) {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-stall-'));
    const behind = join(folder, 'behind');
    const path = join(folder, 'mnt');
    execFileSync('chmod', ['755', folder]);
    mkdirSync(behind);
    mkdirSync(path);
    const server = spawn(join(programs.test, 'stalling-filesystem'), [behind, path], { stdio: ['ignore', 'inherit', 'inherit'] });
    const ended = new Promise((done) => server.once('exit', done));
    // Without its server everything that waits for the filesystem is released with an error.
    const release = () => server.kill('SIGKILL');
    process.on('exit', release);
    t.after(async () => {
        process.off('exit', release);
        server.kill('SIGUSR2');
        await until('the filesystem to be free', () => {
            execFileSync('umount', [path], { stdio: 'pipe' });
            return true;
        }, { seconds: 10 }).catch((error) => {
            execFileSync('umount', ['-l', path]);
            release();
            throw error;
        });
        await ended;
        rmSync(folder, { recursive: true, force: true });
    });
    await until('the filesystem to be mounted', () => readFileSync('/proc/self/mounts', 'utf8').includes(` ${path} fuse`), { seconds: 20 });
    return { path, behind, stall: () => server.kill('SIGUSR1'), goOn: () => server.kill('SIGUSR2') };
}
