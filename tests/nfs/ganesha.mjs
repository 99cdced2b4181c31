// A real NFS server: nfs-ganesha over a folder of ours. Only within tests/nfs/inside.sh, where its ports are free.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

function start(program, args, env = process.env) {
    const child = spawn(program, args, { stdio: 'ignore', env });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    return { child, ended, async end(signal = 'SIGTERM') {
        child.kill('SIGCONT');
        child.kill(signal);
        await ended;
    } };
}

/* → { url, path, kill(), stall(), resume(), restart() }; ends with the test. `path`: what it exports. With `small`, it
 * exports a filesystem of 16 MiB and 400 inodes, too: `small`, its path, and `smallUrl`. `preload`: a library put before the server's own. With `bus`, a message bus of its own on which it takes orders: also `bus`,
 * its address, urlOf(PSEUDO) and call(METHOD, ARGUMENT…), what dbus-send prints. */
export async function serve(t, path = null, { bus = false, small: limited = false, preload = null } = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-nfs-'));
    const exported = path ?? join(folder, 'export');
    mkdirSync(exported, { recursive: true });
    const small = join(folder, 'small');
    if (limited) mkdirSync(small);
    if (limited) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,nr_inodes=400,mode=0777', 'tmpfs', small]);
    const settings = join(folder, 'ganesha.conf'), log = join(folder, 'ganesha.log');
    writeFileSync(settings, `
NFS_CORE_PARAM { Protocols = 3; NFS_Port = ${NFS}; MNT_Port = ${MOUNT}; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; mount_path_pseudo = true; }
EXPORT_DEFAULTS { Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 3; Transports = TCP; }
EXPORT { Export_Id = 1; Path = ${exported}; Pseudo = /export; FSAL { Name = VFS; } }
${limited ? `EXPORT { Export_Id = 2; Path = ${small}; Pseudo = /small; FSAL { Name = VFS; } }` : ''}
LOG { Default_Log_Level = EVENT; }
`);
    const rpcbind = await listens(RPCBIND) ? null : start('rpcbind', ['-f', '-w']);
    await until('rpcbind', () => listens(RPCBIND));
    const address = join(folder, 'bus'), env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${address}` };
    if (bus) {
        writeFileSync(join(folder, 'bus.conf'), `<busconfig><type>system</type><listen>unix:path=${address}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`);
    }
    const daemon = bus ? start('dbus-daemon', ['--nofork', `--config-file=${join(folder, 'bus.conf')}`]) : null;
    if (bus) await until('the message bus', () => existsSync(address));
    let ganesha = null;
    const called = (...args) => execFileSync('dbus-send', ['--system', '--print-reply', '--reply-timeout=20000', '--dest=org.ganesha.nfsd', ...args], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });
    const server = {
        bus: env.DBUS_SYSTEM_BUS_ADDRESS,
        call: (method, ...args) => called('/org/ganesha/nfsd/ExportMgr', `org.ganesha.nfsd.exportmgr.${method}`, ...args),
        urlOf: (pseudo) => `nfs://127.0.0.1${pseudo}?version=3&nfsport=${NFS}&mountport=${MOUNT}`,
        path: exported, log,
        url: `nfs://127.0.0.1/export?version=3&nfsport=${NFS}&mountport=${MOUNT}`,
        small,
        smallUrl: `nfs://127.0.0.1/small?version=3&nfsport=${NFS}&mountport=${MOUNT}`,
        urlByRpcbind: 'nfs://127.0.0.1/export',
        async restart() {
            ganesha = start('ganesha.nfsd', ['-F', '-f', settings, '-L', log, '-p', join(folder, 'pid')], { ...(bus ? env : process.env), ...(preload && { LD_PRELOAD: preload }) });
            await until('the NFS server', async () => {
                if (ganesha.child.exitCode !== null) throw fatal(`nfs-ganesha ended: ${readFileSync(log, 'utf8').slice(-2000)}`);
                return await listens(NFS) && await listens(MOUNT) && (!bus || answers());
            }, { seconds: 60 });
        },
        kill: () => ganesha.end('SIGKILL'),
        stall: () => ganesha.child.kill('SIGSTOP'),
        resume: () => ganesha.child.kill('SIGCONT'),
    };
    const answers = () => {
        try {
            return Boolean(server.call('ShowExports'));
        } catch {
            return false;
        }
    };
    t.after(async () => {
        await ganesha?.end('SIGKILL');
        await daemon?.end();
        await rpcbind?.end();
        if (limited) execFileSync('umount', [small]);
        rmSync(folder, { recursive: true, force: true });
    });
    await server.restart();
    return server;
}
