// The server of a target is asked by the daemon what it does: a real node exporter, shown beside this host; and
// exporters that say nothing, too much, or something else, which no job notices.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertSound, close, codeAddress, launch, open } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { startExporter } from './exporter.mjs';
import { until } from './wait.mjs';

/* Servers that are none: what each of them does to whoever asks. */
const HOSTILE = {
    endless(request, response) {
        const more = () => { while (!response.destroyed && response.write('# '.padEnd(65536, 'x') + '\n')); };
        response.on('drain', more);
        more();
    },
    redirecting: (request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end(),
    silent() {},
    chatting: (request, response) => response.end('<!doctype html>\n<title>Not an exporter</title>\n'),
    torn: (request, response) => response.end('node_load1 0.5\nnode_load5 0.'),
};
const TOLD = {
    endless: /its answer is longer than 4194304 bytes/, redirecting: /it answers with status 302, not 200/, silent: /timed out|timeout/i,
    chatting: /line 1 of the figures: it does not begin with the name of a metric/, torn: /line 2 of the figures: the text ends within it/,
    refusing: /connect/i,
};

async function startHostile(t) {
    const targets = {};
    for (const [name, answer] of Object.entries(HOSTILE)) {
        const server = createServer(answer);
        await new Promise((done) => server.listen(0, '127.0.0.1', done));
        t.after(() => { server.closeAllConnections(); server.close(); });
        targets[name] = { observe: `http://127.0.0.1:${server.address().port}/metrics` };
    }
    targets.refusing = { observe: 'http://somebody:s3cret@127.0.0.1:1/metrics' }; // nobody listens there
    return targets;
}

test('what the server does is read while a job runs, and stands beside what this host does', { timeout: 180_000 }, async (t) => {
    const scratch = mkdtempSync(join(tmpdir(), 'plm-observe-'));
    const exporter = await startExporter(), hostile = await startHostile(t);
    const targets = Object.fromEntries(Object.entries({ observed: { observe: exporter.url }, alone: {}, ...hostile })
        .map(([name, keys]) => [name, { path: scratch, concurrent: 'yes', ...keys }]));
    const daemon = await startDaemon({ targets, env: { http_proxy: 'http://127.0.0.1:1', no_proxy: '' } });
    const browser = await launch();
    t.after(async () => {
        await browser.close();
        await daemon.close();
        await exporter.close();
        rmSync(scratch, { recursive: true, force: true });
    });
    const client = daemon.client(await daemon.token('operator'));
    const host = async (id, of) => (await client.expect(200, 'GET', `/api/v1/jobs/${id}/host${of}`)).json;
    /* Some minutes of work, if nobody ended it. */
    const params = { file_bytes: '64MiB', record_bytes: '64KiB', rate_limit: '256KiB', operations: ['write'] };
    const ids = {};
    for (const target of Object.keys(targets)) ids[target] = (await client.submit({ workload: 'throughput', target, params })).id;

    const server = await until('three readings of the server', async () => {
        const series = await host(ids.observed, '?of=server');
        return series.points.cpu_user.filter(Number.isFinite).length >= 3 && series;
    }, { seconds: 90, every: 250 });
    for (const name of ['load1', 'cpu_idle', 'memory_available', 'disk_written', 'net_received'])
        assert.ok(server.points[name].some((value) => value >= 0), name);
    for (const column of ['cpu_user', 'cpu_system', 'cpu_idle', 'disk_busy'])
        assert.ok(server.points[column].every((value) => value === null || value >= 0 && value <= 1), column);
    const at = server.points.at;
    assert.ok(at[0] > 0 && at.every((value, i) => i === 0 || value > at[i - 1]), `moments of the run: ${at}`);
    const running = await client.job(ids.observed);
    assert.ok(at.at(-1) <= (Date.now() - Date.parse(running.started_at)) / 1000 + 60, 'counted from when the run began');
    const mine = await until('the readings of this host', async () => {
        const series = await host(ids.observed, '');
        return series.count > 0 && series;
    });
    assert.deepEqual((await host(ids.observed, '?of=client')).units, mine.units);
    assert.notDeepEqual(mine.points.at, at.slice(0, mine.count), 'the host of a job is this one, unless asked');

    const log = () => readFileSync(daemon.log, 'utf8').split('\n').filter((line) => line.includes('reading what the server does'));
    const lines = (id) => log().filter((line) => new RegExp(`\\bjob ${id}\\b`).test(line));
    for (const [name, told] of Object.entries(TOLD))
        await until(`${name} to be told`, () => lines(ids[name]).some((line) => told.test(line)), { seconds: 60 });
    for (const id of Object.values(ids)) await client.expect(202, 'POST', `/api/v1/jobs/${id}/cancel`);
    for (const [name, id] of Object.entries(ids)) {
        const job = await client.settled(id);
        assert.deepEqual([job.state, job.problem?.code], ['cancelled', 'cancelled'], name);
        if (name !== 'observed') assert.equal((await host(id, '?of=server')).count, 0, name);
        /* A machine that stands still may let another failure be told between; the same is not told twice. */
        if (TOLD[name]) lines(id).forEach((line, i, all) => assert.ok(i === 0 || TOLD[name].test(line) !== TOLD[name].test(all[i - 1]), `${name} is told once:\n${all.join('\n')}`));
    }
    assert.deepEqual(lines(ids.alone), []);
    assert.deepEqual(lines(ids.observed).filter((line) => !/timed out|works again/i.test(line)), []);
    assert.doesNotMatch(readFileSync(daemon.log, 'utf8'), /s3cret/);

    const visit = await open(browser, daemon.url), { page } = visit;
    await page.goto(codeAddress(daemon, 'viewer'));
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await page.goto(`${daemon.url}/jobs/${ids.observed}`);
    const panel = page.getByRole('region', { name: 'The machine meanwhile' });
    await panel.getByRole('heading', { name: 'The server meanwhile' }).waitFor();
    const figures = (await panel.locator('figure:visible').allInnerTexts()).map((words) => words.replace(/\s+/g, ' '));
    const figure = (heading) => figures.find((words) => words.startsWith(heading)) ?? assert.fail(`no ${heading}: ${figures.join(' | ')}`);
    assert.match(figure('Load'), /Load 1 min \S+ 5 min \S+ the server, 1 min [\d.–]/);
    assert.match(figure('CPU '), /user .*the server, busy [\d.–]/);
    assert.match(figure('CPU of the server'), /user .*system .*I\/O wait/);
    assert.match(figure('Disks of the server'), /read .*written/);
    const every = page.getByRole('region', { name: 'Every batch' });
    for (const words of ['load of this machine (right scale)', 'load of the server (right scale)', 'CPUs of the server in use'])
        await every.getByText(words).waitFor();
    await assertSound(visit, 'the page of a job whose server is observed');
    if (process.env.PLIMSOLL_PICTURE) await page.screenshot({ path: process.env.PLIMSOLL_PICTURE, fullPage: true });
    await every.getByLabel('With load and CPUs').uncheck();
    await every.getByText('load of the server (right scale)').waitFor({ state: 'detached' });
    await page.goto(`${daemon.url}/jobs/${ids.alone}`);
    await panel.locator('figure:visible').first().waitFor();
    assert.equal(await panel.getByRole('heading', { name: 'The server meanwhile' }).count(), 0, 'a server that nobody asked');
    assert.doesNotMatch(await panel.innerText(), /the server/);
    assert.doesNotMatch(await page.content(), /127\.0\.0\.1:\d+\/metrics/);
    await close(visit);
});
