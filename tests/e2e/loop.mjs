// Filesystems of our own to measure: images in a temporary folder, mounted by loop; tmpfs. They are
// unmounted and removed when close() is called, and in any case when the process ends.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const open = new Set();
let hooked = false;

function run(program, ...argv) {
    return execFileSync(program, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
}

const mkfs = {
    ext4: (image, options) => run('mkfs.ext4', '-q', '-F', ...options, image),
    xfs: (image, options) => run('mkfs.xfs', '-q', '-f', ...options, image),
    btrfs: (image, options) => run('mkfs.btrfs', '-q', '-f', ...options, image),
};

/* makeFilesystem('ext4', { megabytes: 64, mkfs: ['-N', '2000'] }) → { path, image, close() }.
 * `tmpfs` takes mount options instead of mkfs options. `direct`: past the page cache of the filesystem in
 * which the image lies, where that can be done. `sector`: bytes of one, of the device. */
export function makeFilesystem(kind, { megabytes = 2048, mkfs: options = [], mount = [], owner, direct = false, sector = 0 } = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-fs-'));
    const path = join(folder, 'mnt');
    const image = join(folder, 'image');
    let device = null;
    const filesystem = {
        kind,
        path,
        image,
        close() {
            if (!open.delete(filesystem)) return;
            try {
                run('umount', path);
            } catch {
                // Busy: whoever holds it lets go soon; the mount disappears with the last of them.
                try {
                    run('umount', '-l', path);
                } catch {
                    /* was not mounted */
                }
            }
            if (device) run('losetup', '--detach', device);
            rmSync(folder, { recursive: true, force: true });
        },
    };
    if (!hooked) {
        hooked = true;
        process.on('exit', closeAll);
    }
    run('chmod', '755', folder);
    mkdirSync(path);
    open.add(filesystem);
    try {
        if (kind === 'tmpfs') {
            run('mount', '-t', 'tmpfs', '-o', [`size=${megabytes}m`, ...mount].join(','), 'plimsoll-test', path);
        } else {
            writeFileSync(image, '');
            truncateSync(image, megabytes * 1024 * 1024);
            if (sector) device = run('losetup', '--find', '--show', '--sector-size', sector, image).trim();
            mkfs[kind](device ?? image, options);
            // `-o loop` detaches the loop device by itself at umount, even a lazy one.
            run('mount', '-o', [...(device ? [] : ['loop']), 'rw', ...mount].join(','), device ?? image, path);
            if (direct) spawnSync('losetup', ['--direct-io=on', sourceOf(path)]);
        }
        if (owner) run('chown', owner, path);
    } catch (error) {
        filesystem.close();
        throw error;
    }
    return filesystem;
}

/* The device that is mounted there, as /dev/loop7. */
export function sourceOf(path) {
    return run('findmnt', '-n', '-o', 'SOURCE', path).trim();
}

const counter = (device, place) => Number(readFileSync(`/sys/block/${device.replace('/dev/', '')}/stat`, 'utf8').trim().split(/\s+/)[place]);

/* Bytes that were read from the device, and writes to it, all told. */
export const bytesRead = (device) => 512 * counter(device, 2);
export const writes = (device) => counter(device, 4);

function closeAll() {
    for (const filesystem of [...open]) filesystem.close();
}

export const canMount = process.getuid() === 0 && existsSync('/dev/loop-control');
