// What somebody measured elsewhere, through POST /imports: the vectors whose truth is known, the three old
// reports, and jobs of our own that come back as they went.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { repository, startDaemon } from './daemon.mjs';
import { analysed, assertNear, compared, csvOf, fileOf, finding, imported, rowsOf } from './imports.mjs';

const vectors = join(repository, 'tests', 'vectors');

/* --- vectors: what is asked, against what is found --- */

/* Lines are found in seconds per batch at its end; vectors ask for seconds per unit at its middle. */
const perUnit = (line, batch) => ({ slope: line.slope / batch, intercept: line.intercept / batch + line.slope / 2 });

function checkKnee(job, asked, batch) {
    const knee = finding(job, 'knee');
    assert.equal(knee !== undefined, asked.present, knee?.sentence ?? 'no knee');
    if (!knee) return;
    const { at, low, high, effect, shape, before, after } = knee.data;
    for (const [key, value] of Object.entries(asked)) {
        if (key === 'kind_in') assert.ok(value.includes(shape), shape);
        else if (key === 'n') assertNear(at, value, 'knee');
        else if (key === 'ci_contains') assert.ok(low <= value && value <= high, `${low} to ${high}`);
        else if (key === 'ci_max_width_rel') assert.ok(high - low <= value * asked.n.value, `${low} to ${high}`);
        else if (key === 'effect') assertNear(effect, value, 'effect');
        else if (key === 'min_effect') assert.ok(effect >= value, `effect ${effect}`);
        else if (key === 'lines') {
            const a = perUnit(before, batch), b = perUnit(after, batch);
            const got = { pre_a: a.intercept, pre_b: a.slope, post_a: b.intercept, post_b: b.slope };
            for (const [name, line] of Object.entries(value)) assertNear(got[name], line, name);
        } else assert.ok(['present', 'why'].includes(key), `a key that is not known here: knee.${key}`);
    }
}

function checkZones(job, asked) {
    const zones = finding(job, 'zones')?.data.zones ?? [{ from: 0, to: Infinity }];
    const edges = zones.slice(0, -1).map((zone) => zone.to);
    for (const [key, value] of Object.entries(asked)) {
        if (key === 'count') assertNear(zones.length, value, 'zones');
        else if (key === 'boundaries') for (const each of value) assert.ok(edges.some((edge) => Math.abs(edge - each.value) <= (each.abs ?? each.rel * each.value)), `${edges}: none near ${each.value}`);
        else if (key === 'boundary_within') for (const [low, high] of value) assert.ok(edges.some((edge) => edge >= low && edge <= high), `${edges}: none from ${low} to ${high}`);
        else assert.fail(`a key that is not known here: zones.${key}`);
    }
}

function checkGrowth(growth, asked, lowConfidence) {
    assert.ok(growth, 'no growth');
    for (const [key, value] of Object.entries(asked)) {
        if (key === 'class_in') assert.ok(value.includes(growth.class), growth.class);
        else if (key === 'p') assertNear(growth.exponent, value, 'exponent');
        else if (key === 'factor') assertNear(growth.factor, value, 'factor');
        else if (key === 'plausible_at_least') assert.ok(growth.plausible.length >= value, `${growth.plausible}`);
        else if (key === 'low_confidence') assert.equal(lowConfidence, value);
        else assert.ok(['x'].includes(key), `a key that is not known here: growth.${key}`);
    }
}

function checkRun(job, expect, batch) {
    const rate = finding(job, 'rate').data, fit = finding(job, 'fit').data, growth = finding(job, 'growth');
    for (const [key, value] of Object.entries(expect)) {
        if (key === 'total_seconds') assertNear(job.phases[0].seconds, value, key);
        else if (key === 'rate') assertNear(rate.ops_per_second, value, key);
        else if (key === 'secant') assertNear(fit.secant, value, key);
        else if (key === 'ols_slope') assertNear(fit.slope, value, key);
        else if (key === 'ols_intercept') assertNear(fit.intercept, value, key);
        else if (key === 'r2') assertNear(fit.r2, value, key);
        else if (key === 'knee') checkKnee(job, value, batch);
        else if (key === 'zones') checkZones(job, value);
        else if (key === 'growth') checkGrowth(growth?.data, value, growth?.low_confidence);
        else if (key === 'growth_pre') checkGrowth(growth?.data.before, value, growth?.low_confidence);
        else if (key === 'growth_post') checkGrowth(growth?.data.after, value, growth?.low_confidence);
        else if (key === 'warmup') assert.equal(finding(job, 'warm-up') !== undefined, value);
        else assert.fail(`a key that is not known here: ${key}`);
    }
}

/* A vector's words for verdicts, and the interface's. */
const verdictOf = (phase) => ({ same: 'equivalent', 'cannot-tell': 'inconclusive' })[phase.verdict] ?? phase.verdict + (phase.small ? '-small' : '');

function checkComparison(phase, asked) {
    for (const [key, value] of Object.entries(asked)) {
        if (key === 'verdict_in') assert.ok(value.includes(verdictOf(phase)), verdictOf(phase));
        else if (key === 'ci_contains') assert.ok(phase.low <= value && value <= phase.high, `${phase.low} to ${phase.high}`);
        else if (key === 'p_max') assert.ok(phase.p <= value, `p ${phase.p}`);
        else if (key === 'confidence_max') assert.ok(phase.confidence <= value, `${phase.confidence}`);
        else if (['ratio', 'ratio_total', 'tau', 'cross'].includes(key)) assertNear(phase[key], value, key);
        else if (key === 'lo' || key === 'hi') assertNear(key === 'lo' ? phase.low : phase.high, value, key);
        else assert.ok(['a', 'b', 'note'].includes(key), `a key that is not known here: ${key}`);
    }
}

const kinds = {
    async run(client, { input, expect }) {
        const job = await imported(client, 'text/csv', fileOf('vectors', input.file), { workload: 'create-scaling', y: 'create:seconds', batch: input.batch, start: input.n_start });
        checkRun(job, expect, input.batch);
    },
    async tables(client, { input, expect }) {
        const rows = rowsOf(fileOf('vectors', input.file));
        const jobs = {};
        for (const name of new Set(rows.map((row) => row.series))) {
            const text = csvOf(['n', 'seconds'], rows.filter((row) => row.series === name).map((row) => [row.n, row.seconds]));
            const atLoad = expect.growth[name]?.x === 'end' ? { at_load: 'create' } : {};
            jobs[name] = await imported(client, 'text/csv', text, { workload: 'filesystem-scaling', name, x: 'n', y: 'create:seconds', ...atLoad });
        }
        for (const [name, asked] of Object.entries(expect.growth)) {
            const growth = finding(jobs[name], 'growth');
            checkGrowth(growth?.data, asked, growth?.low_confidence);
        }
        for (const [name, asked] of Object.entries(expect.knee)) checkKnee(jobs[name], asked);
        for (const [name, asked] of Object.entries(expect.rate)) assertNear(finding(jobs[name], 'rate').data.ops_per_second, asked, name);
        for (const pair of expect.compare) checkComparison((await compared(client, jobs[pair.a], jobs[pair.b]))[0].phases[0], pair);
    },
    async compare(client, { input, expect }) {
        const [a, b] = [await series(input.a), await series(input.b)];
        checkComparison((await compared(client, a, b))[0].phases[0], expect);
        function series(file) {
            return imported(client, 'text/csv', fileOf('vectors', file), { workload: 'create-scaling', y: 'create:seconds', batch: input.batch, start: input.n_start });
        }
    },
    async rates(client, { input, expect }) {
        const once = (seconds) => imported(client, 'application/json', {
            workload: 'throughput',
            phases: [{ name: 'create', samples: { load: [input.bytes], elapsed: [seconds], ops: [25600], bytes: [input.bytes] } }],
        });
        const jobs = {};
        for (const [name, seconds] of Object.entries(input.seconds)) jobs[name] = await once(seconds);
        for (const [name, asked] of Object.entries(expect.rate)) assertNear(finding(jobs[name], 'rate').data.bytes_per_second, asked, name);
        const [{ phases: [phase] }] = await compared(client, jobs.linux229_read, await once(input.bytes / input.read_rate_linux226));
        assertNear(phase.ratio, expect.ratio.read_229_over_226, 'ratio');
        assert.equal(phase.verdict, 'cannot-tell');
    },
};

/* One run a figure: so many operations per second, by so many lanes. */
const runsOf = (rates, lanes) => rates.map((rate, i) => ({ name: 'create', run: i + 1, lanes: lanes?.[i] ?? 1, samples: { load: [1e6], elapsed: [1e6 / rate] } }));
const pointsOf = (lanes) => lanes.map((threads, i) => ({ run: i + 1, point: i, params: { threads } }));

Object.assign(kinds, {
    async repeats(client, { input, expect }) {
        const once = (rates) => imported(client, 'application/json', { workload: 'create-scaling', phases: runsOf(rates) });
        const [{ phases: [phase] }] = await compared(client, await once(input.a), await once(input.b));
        assertNear(phase.p, expect.p, 'p');
        assertNear(1 / phase.ratio, expect.ratio, 'ratio of rates');
        // The interval that is told is of 99 %: it reaches beyond the vector's, of 95 %.
        assert.ok(1 / phase.high <= expect.lo.value && 1 / phase.low >= expect.hi.value, `${phase.low} to ${phase.high}`);
    },
    async usl(client, { input, expect }) {
        for (const [name, { threads, throughput }] of Object.entries(input.sets)) {
            const job = await imported(client, 'application/json', { workload: 'create-scaling', name, runs: pointsOf(threads), phases: runsOf(throughput, threads) });
            const { data } = job.findings.find((each) => each.kind === 'saturation');
            for (const [key, value] of Object.entries(expect[name]))
                if (key === 'model') assert.equal(data.model, value);
                else assertNear(data[{ n_peak: 'peak_at' }[key] ?? key], value, `${name} ${key}`);
        }
    },
    async history(client, { input, expect }) {
        for (const [name, { changes }] of Object.entries(expect)) {
            const labels = { history: name };
            const body = { name, workload: 'create-scaling', phase: 'create', labels };
            const baseline = (await client.expect(201, 'POST', '/api/v1/baselines', { body })).json;
            let last;
            for (const rate of input[name]) last = (await client.expect(201, 'POST', '/api/v1/imports', { body: { workload: 'create-scaling', labels, phases: runsOf([rate]) } })).json;
            await analysed(client, last.id);
            const { json } = await client.expect(200, 'GET', `/api/v1/baselines/${baseline.id}/history`);
            assert.equal(json.changes.length, changes.length, JSON.stringify(json.changes));
            json.changes.forEach((change, i) => {
                assert.ok(Math.abs(change.at - changes[i].at) <= changes[i].within, `a change at ${change.at}`);
                assertNear(change.after / change.before - 1, changes[i].effect, 'effect');
            });
        }
    },
});

test('every vector, through the interface', async (t) => {
    const daemon = await startDaemon({ build: 'release' });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    for (const file of readdirSync(vectors).filter((name) => /^P\d+\.json$/.test(name))) {
        const vector = JSON.parse(readFileSync(join(vectors, file), 'utf8'));
        const check = kinds[vector.kind];
        await t.test(`${vector.id} (${vector.kind})`, () => check(client, vector));
    }
});

/* --- the three reports --- */

test('the three reports say what they said', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));

    await t.test('files in one directory over NFSv4: a knee at 1,620,093 and three zones', async () => {
        const job = await imported(client, 'text/csv', fileOf('vectors', 'P01.csv'), { workload: 'create-scaling', name: 'NFSv4, 2005', y: 'create:seconds', batch: 100, start: 0 });
        const knee = finding(job, 'knee');
        assertNear(knee.data.at, { value: 1_620_093, rel: 0.005 }, 'knee');
        assert.match(knee.sentence, /^Creating 100 files takes .* up to 1,6\d\d,\d\d\d files and grows by 1\.89 ms per further file after that/);
        const zones = finding(job, 'zones').data.zones;
        assert.ok(zones.length >= 3, `${zones.length} zones`);
        for (const edge of [160_300, 734_500]) assert.ok(zones.some((zone) => Math.abs(zone.to - edge) < 0.05 * edge), `${zones.map((zone) => zone.to)}: none near ${edge}`);
    });

    await t.test('ZFS filesystems and reboots: quadratic, shared 3.65 times unshared; crossing the older release near 1,036', async () => {
        const text = fileOf('seeds', 'zfs-create-reboot.csv');
        const query = (how) => ({ workload: 'filesystem-scaling', name: `newer release, ${how}`, x: 'filesystems', y: `create:create_seconds_${how},cycle:reboot_seconds_${how}`, at_load: 'cycle', 'label.sharing': how });
        const unshared = await imported(client, 'text/csv', text, query('unshared'));
        const shared = await imported(client, 'text/csv', text, query('shared'));
        const older = await imported(client, 'text/csv', fileOf('seeds', 'zfs-older-release.csv'), { workload: 'filesystem-scaling', name: 'older release', x: 'filesystems', y: 'create:create_seconds' });
        for (const job of [unshared, shared]) {
            assert.equal(finding(job, 'growth').data.class, 'quadratic', finding(job, 'growth').sentence);
            assert.equal(job.phases[0].unit, 'filesystems');
            assert.equal(job.phases[0].ops, 6000);
            assert.ok(job.phases[1].at_load);
            assert.equal(finding(job, 'rate', 'cycle'), undefined, 'a reboot has no rate');
        }
        assert.match(finding(shared, 'growth', 'cycle').sentence, /^Bringing back takes a time that grows/);
        const growth = finding(older, 'growth').data;
        assert.ok(['log', 'sqrt'].includes(growth.class) && growth.exponent < 1, `${growth.class}, ${growth.exponent}`);
        const [sharing] = await compared(client, unshared, shared);
        const create = sharing.phases.find((phase) => phase.phase === 'create');
        assertNear(create.ratio_total, { value: 3.6466, abs: 0.005 }, 'shared over unshared');
        assert.equal(create.verdict, 'slower');
        const [releases] = await compared(client, older, unshared);
        assert.equal(releases.phases.length, 1);
        assertNear(releases.phases[0].cross, { value: 1036, abs: 10 }, 'crossing');
        assert.equal(releases.phases[0].verdict, 'cannot-tell');
        assert.match(releases.phases[0].sentence, /rises with the load and passes 1 near 1,03\d filesystems/);
    });

    await t.test('clients over NFS: ratios, and no verdict from one measurement each', async () => {
        const bytes = 200 << 20;
        const clients = {};
        for (const { client: name, operation, seconds, bytes_per_second } of rowsOf(fileOf('seeds', 'nfs-client-throughput.csv')))
            (clients[name] ??= []).push({ name: operation, unit: 'bytes', samples: { load: [bytes], elapsed: [Number(seconds || bytes / bytes_per_second)], ops: [25600], bytes: [bytes] } });
        const jobs = {};
        for (const [name, phases] of Object.entries(clients)) jobs[name] = await imported(client, 'application/json', { workload: 'throughput', name, phases });
        assertNear(finding(jobs['linux-2.2.9'], 'rate', 'read').data.bytes_per_second, { value: 1_029_934, abs: 1 }, 'read');
        const all = await compared(client, jobs['linux-2.2.9'], jobs['linux-2.2.6'], jobs.freebsd);
        const [before, freebsd] = all;
        assertNear(before.phases[0].ratio, { value: 1_029_934 / 4_298_323, rel: 1e-5 }, 'read, 2.2.6 over 2.2.9');
        assertNear(freebsd.phases.find((phase) => phase.phase === 'write').ratio, { value: 24.476562 / 33.51, rel: 1e-6 }, 'write, FreeBSD');
        for (const { phases } of all) for (const phase of phases) assert.equal(phase.verdict, 'cannot-tell', phase.sentence);
    });
});

/* --- there and back --- */

/* Samples come in groups, whose sizes are nobody's business. */
const ungrouped = (whole) => ({ ...whole, phases: whole.phases.map((phase) => ({ ...phase, samples: Object.fromEntries(Object.keys(phase.samples[0] ?? {}).map((name) => [name, phase.samples.flatMap((group) => group[name])])) })) });
const told = async (client, id) => (await client.get(`/api/v1/jobs/${id}/findings`)).json.items;

test('a job comes back as it went', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 20_000, batch: 20, threads: 2, sync: 'none' }, labels: { kernel: 'ours' }, note: 'a | b' });
    await client.settled(id);
    const job = await analysed(client, id);
    assert.ok(job.findings.length > 4, `${job.findings.length} findings`);

    await t.test('as a report in JSON', async () => {
        const report = await client.expect(200, 'GET', `/api/v1/jobs/${id}/report?format=json`);
        assert.ok(report.headers.get('etag'));
        assert.equal((await client.get(`/api/v1/jobs/${id}/report?format=json`, { headers: { 'if-none-match': report.headers.get('etag') } })).status, 304);
        const back = await imported(client, 'application/json', report.text);
        assert.deepEqual(await told(client, back.id), await told(client, id));
        for (const member of ['workload', 'params', 'labels', 'note', 'environment', 'phases']) assert.deepEqual(back[member], job[member], member);
        const again = (await client.get(`/api/v1/jobs/${back.id}/report?format=json`)).json.import;
        assert.deepEqual(ungrouped(again), ungrouped(report.json.import));
    });
    await t.test('as its journal', async () => {
        const journal = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/journal`)).text;
        const back = await imported(client, 'application/x-ndjson', journal);
        assert.equal(back.name, 'scratch');
        assert.deepEqual(await told(client, back.id), await told(client, id));
        assert.equal((await client.get(`/api/v1/jobs/${back.id}/journal`)).text, journal);
    });
    await t.test('as its samples in CSV, to the figures that those hold', async () => {
        const samples = (await client.expect(200, 'GET', `/api/v1/jobs/${id}/report?format=csv`)).text;
        const back = await imported(client, 'text/csv', samples, { workload: 'create-scaling', unit: 'files' });
        assert.equal((await client.get(`/api/v1/jobs/${back.id}/report?format=csv`)).text, samples);
    });
    await t.test('and is removed with its files', async () => {
        const back = await imported(client, 'application/json', (await client.get(`/api/v1/jobs/${id}/report?format=json`)).text);
        await client.expect(204, 'DELETE', `/api/v1/jobs/${back.id}`);
        assert.equal(readdirSync(daemon.journals).includes(String(back.id)), false);
        assert.deepEqual(readdirSync(join(daemon.state, 'imports')), []);
    });
});

test('a job of several runs comes back as it went', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 2000, batch: 20, operations: ['create', 'list'] }, matrix: { threads: [1, 2] }, repeat: 2 });
    await client.settled(id);
    const job = await analysed(client, id);
    assert.ok(job.findings.some((each) => each.kind === 'repeats'), 'there is something to be said of its runs together');
    const report = await client.expect(200, 'GET', `/api/v1/jobs/${id}/report?format=json`);
    const journal = await client.expect(200, 'GET', `/api/v1/jobs/${id}/journal`);
    for (const [type, body] of [['application/json', report.text], ['application/x-ndjson', journal.text]]) {
        const back = await imported(client, type, body);
        assert.deepEqual(await told(client, back.id), await told(client, id), type);
        assert.deepEqual({ ...back.params, threads: 1 }, job.params, type); // what runs vary is theirs
        assert.deepEqual(back.phases, job.phases, type);
        assert.deepEqual(back.runs.map(({ run, point, params }) => ({ run, point, params })), job.runs.map(({ run, point, params }) => ({ run, point, params })), type);
    }
});

/* --- size --- */

test('a million samples are taken in, analysed and reported in little memory and time', async (t) => {
    const daemon = await startDaemon({ build: 'release', service: { imports: '24MiB' } });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const seconds = () => {
        const fields = readFileSync(`/proc/${daemon.pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
        return (Number(fields[11]) + Number(fields[12])) / 100; // 100 ticks a second, everywhere
    };
    const megabytes = () => (Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))[1]) * 1024) / 1e6;
    const n = 1_000_000;
    const load = [], elapsed = [];
    for (let i = 1, state = 7; i <= n; i++) {
        state = (state * 1103515245 + 12345) % 2 ** 31; // a plain generator: any noise will do
        load.push(100 * i);
        elapsed.push(((0.9 + (0.2 * state) / 2 ** 31) * (i < 0.9 * n ? 0.004 : 0.0064)).toFixed(6));
    }
    const body = `{"workload":"create-scaling","phases":[{"name":"create","samples":{"load":[${load}],"elapsed":[${elapsed}]}}]}`;
    const answer = await client.expect(201, 'POST', '/api/v1/imports', { body, headers: { 'content-type': 'application/json' } });
    const [before, taken] = [seconds(), megabytes()];
    const job = await analysed(client, answer.json.id);
    const used = seconds() - before;
    t.diagnostic(`${(body.length / 1e6).toFixed(0)} MB taken in with ${taken.toFixed(0)} MB; analysed in ${used.toFixed(2)} s of CPU time with ${megabytes().toFixed(0)} MB`);
    assert.equal(job.phases[0].ops, 100 * n);
    assertNear(finding(job, 'knee').data.at, { value: 0.9 * 100 * n, rel: 0.001 }, 'knee');
    assert.ok(taken < 60, `${taken} MB to take it in`);
    assert.ok(used < 10, `${used} s to analyse it`); // seconds, not minutes; tests/bench measures it
    assert.ok(megabytes() < 200, `${megabytes()} MB to analyse it`);
    for (const format of ['html', 'markdown']) {
        const report = await client.expect(200, 'GET', `/api/v1/jobs/${job.id}/report?format=${format}`);
        assert.ok(report.text.length < 1e6, `${report.text.length} bytes of ${format}`);
    }
    // And what is larger than it may be is refused, announced or not.
    const large = await client.request('POST', '/api/v1/imports', { body: `${body}${' '.repeat(25 << 20)}`, headers: { 'content-type': 'application/json' } });
    assert.equal(large.status, 413, large.text);
    assert.equal((await client.get('/api/v1/jobs')).json.items.length, 1);
});
