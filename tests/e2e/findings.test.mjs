// What is said of real jobs: each kind of finding that a short run can have, and runs beside each other.
import test, { after } from 'node:test';
import assert from 'node:assert/strict';
import { startDaemon } from './daemon.mjs';
import { analysed, finding } from './imports.mjs';

const daemon = await startDaemon();
after(() => daemon.close());
const client = daemon.client(await daemon.token('operator'));

async function measured(job) {
    const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', ...job });
    assert.equal((await client.finished(id)).state, 'succeeded');
    return analysed(client, id);
}

test('a ladder of threads says how the rate grows with them', async () => {
    const job = await measured({ params: { files: 2000, operations: ['create'] }, matrix: { threads: [1, 2, 4, 8] }, repeat: 2 });
    const saturation = finding(job, 'saturation');
    assert.ok(saturation, JSON.stringify(job.findings.map((each) => each.kind)));
    assert.equal(saturation.run, null);
    assert.equal(saturation.low_confidence, true, 'four numbers of threads are few');
    assert.ok(['linear', 'amdahl', 'usl'].includes(saturation.data.model));
    assert.ok(saturation.data.gamma > 0);
    assert.deepEqual([saturation.data.from, saturation.data.to], [1, 8]);
    assert.match(saturation.sentence, /^Creating with 1 to 8 threads (grows|loses) .*files\/s.*; low confidence, from few numbers of threads\.$/);
    assert.equal(job.findings.filter((each) => each.kind === 'saturation').length, 1);
});

test('what was cut short on the device of the state directory says so, and what the host did', async () => {
    const job = await measured({ params: { files: 100_000_000, batch: 10, operations: ['create'], max_seconds: 5 } });
    for (const [kind, phase] of [['rate', 'create'], ['fit', 'create'], ['limit', 'create'], ['load', 'create'], ['shared-device', '']]) {
        const found = finding(job, kind, phase);
        assert.ok(found, `${kind} is not among ${JSON.stringify(job.findings.map((each) => each.kind))}`);
        assert.match(found.sentence, /^[A-Z].*\.$/);
        if (phase) assert.match(found.sentence, /\d/);
    }
    assert.equal(finding(job, 'limit').data.reason, 'deadline');
});

test('first batches that cost more are a warm-up', async () => {
    const load = Array.from({ length: 400 }, (_, i) => 100 * (i + 1));
    const elapsed = load.map((_, i) => (i < 40 ? 0.3 : 0.1) * (1 + 0.02 * Math.sin(i * i)));
    const { json } = await client.expect(201, 'POST', '/api/v1/imports', { body: { workload: 'create-scaling', name: 'filer', phases: [{ name: 'create', unit: 'files', samples: { load, elapsed } }] } });
    const warmUp = finding(await analysed(client, json.id), 'warm-up');
    assert.ok(warmUp);
    assert.ok(Math.abs(warmUp.data.until - 4000) <= 200, `${warmUp.data.until}`);
});

test('four runs a side are compared as whole runs', async () => {
    const job = { params: { files: 1000, operations: ['create'] }, repeat: 4 };
    const [a, b] = [await measured(job), await measured(job)];
    const compared = async (query) => (await client.expect(200, 'GET', `/api/v1/comparisons?${query}`)).json.comparisons[0].phases;
    const phases = await compared(`jobs=${a.id},${b.id}`);
    assert.equal(phases.length, 1, 'one for all runs of the phase');
    const [phase] = phases;
    assert.equal(phase.within_run, false);
    assert.deepEqual([phase.runs_a.runs, phase.runs_b.runs], [4, 4]);
    const rates = a.phases.map((each) => each.rate);
    assert.ok(Math.abs(phase.runs_a.low / Math.min(...rates) - 1) < 1e-6);
    assert.ok(Math.abs(phase.runs_a.high / Math.max(...rates) - 1) < 1e-6);
    assert.ok(phase.low <= phase.ratio && phase.ratio <= phase.high);
    assert.match(phase.sentence, /by whole runs, 4 against 4\. Of the runs, those of job \d+ lie between/);
});
