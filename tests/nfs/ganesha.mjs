// A real NFS server: nfs-ganesha over a folder of ours. Only within tests/nfs/inside.sh, where its ports are free.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fatal, until } from '../e2e/wait.mjs';

const NFS = 20490, MOUNT = 20491, RPCBIND = 111;

export const canServe = process.env.PLIMSOLL_INSIDE === 'yes';
export const whyNot = 'runs within tests/nfs/inside.sh';

const listens = (port) => new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(socket.destroy() && true));
    socket.once('error', () => resolve(false));
});

function start(program, args) {
    const child = spawn(program, args, { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    return { child, ended, async end(signal = 'SIGTERM') {
        child.kill('SIGCONT');
        child.kill(signal);
        await ended;
    } };
}

/* → { url, path, kill(), stall(), resume(), restart() }; ends with the test. `path`: what it exports. */
export async function serve(t, path = null) {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-nfs-'));
    const exported = path ?? join(folder, 'export');
    mkdirSync(exported, { recursive: true });
    const settings = join(folder, 'ganesha.conf'), log = join(folder, 'ganesha.log');
    writeFileSync(settings, `
NFS_CORE_PARAM { Protocols = 3; NFS_Port = ${NFS}; MNT_Port = ${MOUNT}; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; mount_path_pseudo = true; }
EXPORT_DEFAULTS { Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 3; Transports = TCP; }
EXPORT { Export_Id = 1; Path = ${exported}; Pseudo = /export; FSAL { Name = VFS; } }
LOG { Default_Log_Level = EVENT; }
`);
    const rpcbind = await listens(RPCBIND) ? null : start('rpcbind', ['-f', '-w']);
    await until('rpcbind', () => listens(RPCBIND));
    let ganesha = null;
    const server = {
        path: exported, log,
        url: `nfs://127.0.0.1/export?version=3&nfsport=${NFS}&mountport=${MOUNT}`,
        urlByRpcbind: 'nfs://127.0.0.1/export',
        async restart() {
            ganesha = start('ganesha.nfsd', ['-F', '-f', settings, '-L', log, '-p', join(folder, 'pid')]);
            await until('the NFS server', async () => {
                if (ganesha.child.exitCode !== null) throw fatal(`nfs-ganesha ended: ${readFileSync(log, 'utf8').slice(-2000)}`);
                return await listens(NFS) && await listens(MOUNT);
            }, { seconds: 60 });
        },
        kill: () => ganesha.end('SIGKILL'),
        stall: () => ganesha.child.kill('SIGSTOP'),
        resume: () => ganesha.child.kill('SIGCONT'),
    };
    t.after(async () => {
        await ganesha?.end('SIGKILL');
        await rpcbind?.end();
        rmSync(folder, { recursive: true, force: true });
    });
    await server.restart();
    return server;
}
