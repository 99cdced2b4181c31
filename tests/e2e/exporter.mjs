// The real Prometheus node exporter, on loopback, for as long as a test lasts.
import { spawn } from 'node:child_process';
import { until, fatal } from './wait.mjs';

/* → { url, close() }. It serves only what is read, so that it takes little of the machine. */
export async function startExporter() {
    const collectors = ['loadavg', 'cpu', 'meminfo', 'diskstats', 'netdev', 'pressure'].map((name) => `--collector.${name}`);
    const child = spawn('prometheus-node-exporter', ['--web.listen-address=127.0.0.1:0', '--collector.disable-defaults', ...collectors],
        { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '', gone = null;
    child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    const exited = new Promise((done) => {
        child.once('exit', done);
        child.once('error', (error) => done((gone = error)));
    });
    exited.then((how) => (gone ??= how ?? 'ended'));
    const end = () => child.kill('SIGKILL');
    process.once('exit', end);
    const address = await until('the node exporter to listen', () => {
        if (gone !== null) throw fatal(`prometheus-node-exporter: ${gone}: ${said.slice(-500)}`);
        return /msg="Listening on" address=(\S+)/.exec(said)?.[1];
    }, { every: 20 });
    return {
        url: `http://${address}/metrics`,
        async close() {
            child.kill('SIGTERM');
            await exited;
            process.removeListener('exit', end);
        },
    };
}
