// The page of a throughput job: bytes per second over what was moved, until the first lane ended, what was memory.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertSound, close, codeAddress, launch, open } from './browser.mjs';
import { startDaemon } from './daemon.mjs';

test('a throughput job has bytes on every axis and in every figure', { timeout: 120_000 }, async (t) => {
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
    assert.deepEqual([answer.y, answer.unit, answer.x_unit], ['rate', 'bytes/s', 'bytes']);
    const table = await page.locator('table.phases').innerText();
    for (const words of [/64\sMiB/, /MiB\/s/, /Rate until then/i, /Of it syncing/i, /In memory before/i]) assert.match(table, words);
    await page.getByText(/latencies count from when an operation was due/).first().waitFor();
    await page.getByText(/this measured memory/).first().waitFor();
    await assertSound(visit, 'the page of a throughput job');
    await page.screenshot({ path: process.env.PLIMSOLL_PICTURE ?? join(scratch, 'page.png'), fullPage: true });
    await close(visit);
});
