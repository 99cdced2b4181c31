// A figure that is watched: a lasting change opens one alert, a single bad run is measured once more, and a level
// that returns resolves what it opened; heard on the service's own stream of events.
import test from 'node:test';
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { startDaemon } from './daemon.mjs';
import { analysed } from './imports.mjs';
import { recordsOf } from './journal.mjs';
import { canMount, makeFilesystem } from './loop.mjs';
import { until } from './wait.mjs';

const NOISE = [0, 0.004, -0.007, 0.009, -0.003, 0.006, -0.008, 0.002];

/* Hears GET /events until it is closed. */
function listen(daemon, token) {
    const heard = { events: [], ids: [] };
    const asked = request(`${daemon.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` }, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece) => {
            const blocks = (text + piece).split('\n\n');
            text = blocks.pop();
            for (const block of blocks) {
                const fields = Object.fromEntries(block.split('\n').filter((line) => /^\w+: /.test(line)).map((line) => line.split(/: (.*)/s)));
                if (!fields.event) continue;
                heard.events.push({ event: fields.event, data: JSON.parse(fields.data) });
                if (fields.id && fields.event !== 'snapshot') heard.ids.push(Number(fields.id));
            }
        });
        answer.on('error', () => {});
    });
    asked.on('error', () => {});
    asked.end();
    heard.close = () => asked.destroy();
    return heard;
}

/* A run of so many files per second, measured elsewhere. */
async function handIn(client, rate, labels = { suite: 'nightly' }) {
    const load = Array.from({ length: 20 }, (_, i) => 100 * (i + 1));
    const body = { workload: 'create-scaling', name: 'filer', labels, phases: [{ name: 'create', unit: 'files', samples: { load, elapsed: load.map(() => 100 / rate) } }] };
    const { json } = await client.expect(201, 'POST', '/api/v1/imports', { body });
    return analysed(client, json.id);
}

/* Jobs are looked at one after the other: when this one is analysed, those before have been. */
const settle = (client) => handIn(client, 1, { suite: 'other' });

const alertsOf = async (client, query = '') => (await client.expect(200, 'GET', `/api/v1/alerts?${query}`)).json.items;

test('a lasting change opens one alert, which is acknowledged and resolved', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const token = await daemon.token('operator');
    const client = daemon.client(token);
    const heard = listen(daemon, token);
    t.after(() => heard.close());
    const baseline = (await client.expect(201, 'POST', '/api/v1/baselines', { body: { name: 'nightly', workload: 'create-scaling', phase: 'create', labels: { suite: 'nightly' } } })).json;
    const runs = [];
    const run = async (rate) => runs.push(await handIn(client, rate * (1 + NOISE[runs.length % NOISE.length])));

    for (let i = 0; i < 8; i++) await run(1000);
    await run(700); // one bad run
    await settle(client);
    assert.deepEqual(await alertsOf(client), [], 'a single run opens no alert');
    const suspect = (await client.get(`/api/v1/baselines/${baseline.id}/history`)).json;
    assert.equal(suspect.suspect, true);
    assert.equal(suspect.changes.length, 0);
    assert.equal((await client.get('/api/v1/jobs?state=queued,running')).json.items.length, 0, 'what was handed in cannot be measured again');

    await run(700);
    await run(700);
    const [alert] = await until('an alert', async () => ((await alertsOf(client)).length ? alertsOf(client) : null));
    assert.equal(alert.state, 'opened');
    assert.equal(alert.job, runs[8].id);
    assert.equal(alert.fingerprint, `baseline-${baseline.id}-create-rate-job-${runs[8].id}-1`);
    assert.ok(Math.abs(alert.effect + 0.3) < 0.02, `${alert.effect}`);
    assert.match(alert.sentence, /^create: the rate is \d+ files per second since job \d+, \d\d % less than the [\d,]+ files per second before it \(3 runs since, 8 runs before, p = 0\.0\d+\)\.$/);

    await run(700);
    await settle(client);
    const still = await alertsOf(client);
    assert.equal(still.length, 1, 'found again, it is the same');
    assert.equal(still[0].id, alert.id);
    assert.equal(still[0].runs_after, 4);
    assert.equal((await client.post(`/api/v1/jobs/${runs[10].id}/analyse`)).status, 202);
    await until('it to be analysed again', async () => (await client.get(`/api/v1/jobs/${runs[10].id}/findings`)).json.analysis > 0);
    await settle(client);
    assert.equal((await alertsOf(client)).length, 1, 'analysed again, it is the same');

    const seen = (await client.expect(200, 'POST', `/api/v1/alerts/${alert.id}/acknowledge`, { body: { note: 'a new switch' } })).json;
    assert.equal(seen.state, 'acknowledged');
    assert.equal(seen.note, 'a new switch');

    for (let i = 0; i < 3; i++) await run(1000);
    const over = await until('it to be resolved', async () => (await alertsOf(client, 'state=resolved'))[0]);
    assert.equal(over.id, alert.id);
    assert.equal(over.resolution, 'the level has returned');
    assert.equal(over.resolved_by, null);
    assert.equal((await alertsOf(client, 'state=opened,acknowledged')).length, 0);
    const history = (await client.get(`/api/v1/baselines/${baseline.id}/history`)).json;
    assert.equal(history.values.length, 15);
    assert.deepEqual(history.changes.map((change) => [change.job, change.regression]), [[runs[8].id, true], [runs[12].id, false]]);

    const states = () => heard.events.filter(({ event }) => event === 'alert').map(({ data }) => data.state);
    await until('the stream to tell it', () => states().length === 3);
    assert.deepEqual(states(), ['opened', 'acknowledged', 'resolved']);
    assert.deepEqual(heard.ids, [...heard.ids].sort((a, b) => a - b));
    assert.equal(new Set(heard.ids).size, heard.ids.length);
});

test('a single bad run is measured once more, once', { skip: !canMount && 'needs root to mount a tmpfs' }, async (t) => {
    /* In memory: what other tests write to the disk is not felt there. */
    const filesystem = makeFilesystem('tmpfs', { megabytes: 512 });
    t.after(() => filesystem.close());
    const daemon = await startDaemon({ targets: { scratch: { path: filesystem.path } } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const job = { workload: 'create-scaling', target: 'scratch', params: { files: 30_000, operations: ['create'] }, labels: { suite: 'smoke' }, external_ref: 'OPS-7' };
    /* Only what takes five times as long is bad, and takes some tenths of a second: other tests may be running on
     * this machine, and a stall of theirs must not look like a bad run. */
    const body = { name: 'smoke', workload: 'create-scaling', target: 'scratch', phase: 'create', labels: { suite: 'smoke' }, minimum_effect: 0.8 };
    const baseline = (await client.expect(201, 'POST', '/api/v1/baselines', { body })).json;
    const times = [];
    for (let i = 0; i < 6; i++) {
        const ended = await client.finished((await client.submit(job)).id);
        assert.equal(ended.state, 'succeeded');
        times.push(ended.phases.find((phase) => phase.name === 'create').seconds);
    }
    /* The runner is frozen while it creates: a machine that stood still. It may be too quick for that, and is then
     * one more usual run. */
    const seconds = times.sort((a, b) => a - b)[3];
    let bad, runs = 6;
    for (let frozen = false; !frozen; runs++) {
        bad = await client.submit(job);
        const pid = await until('the runner to create', () => recordsOf(daemon.journal(bad.id), 'phase').length && daemon.runner(bad.id), { every: 2 });
        process.kill(pid, 'SIGSTOP');
        if (recordsOf(daemon.journal(bad.id), 'phase_end').length === 0) await new Promise((resolve) => setTimeout(resolve, 12_000 * seconds));
        process.kill(pid, 'SIGCONT');
        const ended = await client.finished(bad.id);
        assert.equal(ended.state, 'succeeded');
        frozen = ended.phases.find((phase) => phase.name === 'create').seconds > 12 * seconds;
    }

    const repeats = async () => (await client.get('/api/v1/jobs?limit=100')).json.items.filter((each) => each.confirms !== null);
    const [repeat] = await until('a repeat', async () => ((await repeats()).length ? repeats() : null));
    assert.equal(repeat.confirms, bad.id);
    assert.equal(repeat.created_by, 'baseline smoke');
    assert.match(repeat.note, /^Repeats job \d+ to see whether it was chance: in create, the rate was .* files per second, \d\d % less than usual$/);
    assert.deepEqual(repeat.params, bad.params);
    assert.deepEqual(repeat.labels, bad.labels);
    assert.equal(repeat.external_ref, 'OPS-7');
    assert.equal((await client.finished(repeat.id)).state, 'succeeded');
    await settle(client);
    assert.equal((await repeats()).length, 1, 'nothing follows a repeat');
    assert.deepEqual(await alertsOf(client), []);
    const history = (await client.get(`/api/v1/baselines/${baseline.id}/history`)).json;
    assert.equal(history.values.length, runs + 1);
    assert.deepEqual(history.values.map((value) => value.confirms), [...Array(runs).fill(false), true]);
    assert.equal(history.changes.length, 0);
});
