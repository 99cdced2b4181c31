// The page of a throughput job: bytes per second over what was moved, until the first lane ended, what was memory.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertSound, close, codeAddress, launch, open } from './browser.mjs';
import { startDaemon } from './daemon.mjs';
import { bytes, nanoseconds, rate } from '../../web/format.js';

test('a throughput job is drawn over time, in bytes, and its ladder as a surface', { timeout: 180_000 }, async (t) => {
    const scratch = mkdtempSync(join(tmpdir(), 'plm-web-'));
    const daemon = await startDaemon({ targets: { scratch: { path: scratch } } });
    const browser = await launch();
    t.after(async () => {
        await browser.close();
        await daemon.close();
        rmSync(scratch, { recursive: true, force: true });
    });
    const client = daemon.client(await daemon.token('operator'));
    const { id } = await client.submit({
        workload: 'throughput', target: 'scratch',
        params: { file_bytes: '32MiB', record_bytes: '64KiB', threads: 2, interval: 0.05, sync: 'data', rate_limit: '64MiB' },
    });
    const job = await client.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    const visit = await open(browser, daemon.url), { page } = visit;
    await page.goto(codeAddress(daemon));
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await page.goto(`${daemon.url}/jobs/${id}`);
    await page.locator('.chart .u-over').first().waitFor();
    assert.equal(await page.locator('#chart-y').inputValue(), 'rate');
    const [answer] = await Promise.all(visit.answers.slice(-1).map((each) => each.json()));
    assert.deepEqual([answer.y, answer.unit, answer.x, answer.x_unit], ['rate', 'bytes/s', 'at', 's']);
    await page.getByText('Rate against seconds since the run began').waitFor();
    await page.getByLabel('against').selectOption('load');
    await page.getByText('Rate against bytes done').waitFor();
    assert.match(page.url(), /[?&]x=load/);
    await page.getByLabel('Show').selectOption('p50');
    await page.getByText('Median latency (p50) against bytes done').waitFor();
    const table = await page.locator('table.phases').innerText();
    for (const words of [/64\sMiB/, /MiB\/s/, /p50\s+p90\s+p99\s+p99\.9\s+longest/i, /Rate until then/i, /Of it syncing/i, /In memory before/i]) assert.match(table, words);
    await page.getByText(/latencies count from when an operation was due/).first().waitFor();
    await page.getByText(/this measured memory/).first().waitFor();
    await assertSound(visit, 'the page of a throughput job');
    assert.equal(await page.getByRole('heading', { name: 'Point by point' }).isVisible(), false, 'one run has no ladder');

    const ladder = await client.submit({
        workload: 'throughput', target: 'scratch',
        params: { file_bytes: '512KiB', record_bytes: '16KiB', threads: 2, ladder: 'both', operations: ['write', 'random-read'] },
    });
    const climbed = await client.settled(ladder.id);
    assert.equal(climbed.state, 'succeeded', JSON.stringify(climbed.problem));
    const runs = Object.fromEntries(climbed.runs.map(({ run, params }) => [`${params.record_bytes}/${params.threads}`, run]));
    assert.equal(Object.keys(runs).length, 6, 'three record sizes, two numbers of threads');
    await page.goto(`${daemon.url}/jobs/${ladder.id}`);
    const part = page.getByRole('region', { name: 'Point by point' });
    await part.getByRole('img').waitFor();
    const grid = () => part.locator('table.ladder tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    /* What a rate in the table should be is what the API says of that run, in the same words. */
    const expected = (name, words) => ['4096', '8192', '16384'].map((size) => [words.bytes(Number(size)), ...['1', '2'].map((threads) =>
        words.of(climbed.phases.find((p) => p.name === name && p.run === runs[`${size}/${threads}`])))]);
    const rates = { bytes, of: (p) => rate(p.rate, 'bytes/s') };
    assert.deepEqual(await grid(), expected('write', rates));
    assert.deepEqual(await part.locator('table.ladder thead th').allTextContents(), ['Threads', 'Record bytes', '1', '2']);
    assert.equal(await part.locator('svg polygon:not(.floor)').count(), 2, 'faces between six points');
    assert.equal(await part.locator('svg circle').count(), 6);
    assert.match(await part.getByRole('img').getAttribute('aria-label'), /^Rate of write over record bytes and threads: from .*B\/s to .*B\/s$/);
    await part.getByLabel('Operation').selectOption('random-read');
    assert.deepEqual(await grid(), expected('random-read', rates));
    await part.getByLabel('Figure').selectOption('p99');
    assert.deepEqual(await grid(), expected('random-read', { bytes, of: (p) => nanoseconds(p.latency_ns.p99) }));
    await part.getByLabel('Figure').selectOption('rate');
    await assertSound(visit, 'the page of a ladder');
    await page.screenshot({ path: process.env.PLIMSOLL_PICTURE ?? join(scratch, 'page.png'), fullPage: true });
    /* In the dark and on a telephone its colours and its width are sound as well. */
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 400, height: 900 });
    await assertSound(visit, 'the page of a ladder in the dark');
    await close(visit);
});
