// A server that is busy: nfs-ganesha, whose filesystem says at times that a write is to be tried again, answers
// NFS3ERR_JUKEBOX. The client waits and asks again, and the wait is part of the operation.
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDaemon } from '../e2e/daemon.mjs';
import { assertAgrees, leftOn } from '../e2e/agree.mjs';
import { until } from '../e2e/wait.mjs';
import { canServe, serve, whyNot } from './ganesha.mjs';

const KiB = 1024, MiB = 1024 * KiB;

/* → { library, said, always }: to be preloaded; a file with one byte for each write that was put off; one that, while
 * it exists, has all of them put off. */
function busyWrites(t) {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-busy-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const busy = { library: join(folder, 'busy.so'), said: join(folder, 'said'), always: join(folder, 'always') };
    writeFileSync(join(folder, 'busy.c'), `
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdatomic.h>
        #include <sys/uio.h>
        #include <unistd.h>
        static atomic_uint writes;
        void *dlopen(const char *name, int flags) /* the server's modules would look past what is preloaded */
        {
            void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
            return real(name, flags & ~RTLD_DEEPBIND);
        }
        ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t offset)
        {
            static ssize_t (*real)(int, const struct iovec *, int, off64_t);
            if (!real)
                real = (ssize_t (*)(int, const struct iovec *, int, off64_t))dlsym(RTLD_NEXT, "pwritev64");
            if (atomic_fetch_add(&writes, 1) % 16 != 15 && access("${busy.always}", F_OK) != 0)
                return real(fd, parts, n, offset);
            int said = open("${busy.said}", O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (write(said, "x", 1) != 1)
                _exit(1);
            close(said);
            errno = EAGAIN;
            return -1;
        }`);
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', busy.library, join(folder, 'busy.c'), '-ldl']);
    return busy;
}

test('a busy NFS server', { skip: !canServe && whyNot, timeout: 120_000 }, async (t) => {
    const busy = busyWrites(t);
    const server = await serve(t, null, { preload: busy.library });
    const daemon = await startDaemon({ targets: { filer: { kind: 'nfs', url: server.url } } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const measure = async (workload, params) => client.settled((await client.submit({ workload, target: 'filer', params })).id, { seconds: 60 });
    const said = () => existsSync(busy.said) ? statSync(busy.said).size : 0;

    await t.test('is asked again until all is written, and the wait is told as latency', async () => {
        for (const layout of ['private', 'shared-interleaved']) {
            const before = said();
            const job = await measure('throughput', { backend: 'nfs', file_bytes: '8MiB', record_bytes: '64KiB', threads: 2, layout, queue_depth: 8, verify: true, sync: 'data', operations: ['write', 'rewrite', 'read'] });
            assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
            const bytes = (layout === 'private' ? 16 : 8) * MiB;
            assert.deepEqual(job.phases.map((phase) => [phase.name, phase.ops, phase.bytes, phase.errors]), ['write', 'rewrite', 'read'].map((name) => [name, bytes / (64 * KiB), bytes, 0]));
            assert.ok(said() > before, 'the server did put writes off');
            assert.ok(job.phases.some((phase) => phase.latency_ns.max >= 50e6), JSON.stringify(job.phases.map((phase) => phase.latency_ns)));
            await assertAgrees(daemon, client, job.id);
        }
        const before = said();
        const job = await measure('create-scaling', { files: 200, batch: 10, file_bytes: '4KiB', sync: 'fsync', operations: ['create', 'remove'] });
        assert.deepEqual([job.state, job.phases[0]?.ops, job.cleanup], ['succeeded', 200, 'done'], JSON.stringify(job.problem));
        assert.ok(said() > before);
    });

    await t.test('and that never gets done with it fails the job by deadline, in words', async () => {
        writeFileSync(busy.always, '');
        const job = await measure('throughput', { backend: 'nfs', file_bytes: '1MiB', record_bytes: '64KiB', queue_depth: 4, patience: '2s', operations: ['write'] });
        assert.equal(job.state, 'failed');
        assert.match(job.problem.message, /^phase write: .*the NFS server 127\.0\.0\.1 has asked for 2 s to be asked again later \(NFS3ERR_JUKEBOX\)/);
        await until('the clean-up', async () => (await client.job(job.id)).cleanup === 'done', { seconds: 60 });
        assert.deepEqual(leftOn(server.path), []);
    });
});
