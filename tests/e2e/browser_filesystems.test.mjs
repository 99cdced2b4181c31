// The page of many filesystems: seconds of every batch and of bringing all back, in the tables of the old report; and
// two such jobs beside each other.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { figure } from '../../web/format.js';
import { assertSound, close, codeAddress, launch, open } from './browser.mjs';
import { repository, startDaemon } from './daemon.mjs';
import { canMount, makeFilesystem } from './loop.mjs';

test('filesystems are drawn and told batch by batch, with what bringing them back takes', { timeout: 180_000 }, async (t) => {
    const scratch = mkdtempSync(join(tmpdir(), 'plm-web-'));
    const btrfs = canMount ? makeFilesystem('btrfs', { megabytes: 256 }) : null;
    const daemon = await startDaemon({
        targets: btrfs ? { many: { kind: 'btrfs', path: btrfs.path, reserve: '1%' } } : { many: { path: scratch } },
    });
    const browser = await launch();
    t.after(async () => {
        await browser.close();
        await daemon.close();
        btrfs?.close();
        rmSync(scratch, { recursive: true, force: true });
    });
    const client = daemon.client(await daemon.token('operator'));
    const params = { filesystems: 60, batch: 10, ...(btrfs ? { cycle: 'remount', cycle_every: 2 } : {}) };
    const { id } = await client.submit({ workload: 'filesystem-scaling', target: 'many', params });
    const job = await client.settled(id);
    assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
    const samples = async (phase) => {
        const series = async (y) => (await client.expect(200, 'GET', `/api/v1/jobs/${id}/series?phase=${phase}&y=${y}&points=100`)).json.points;
        const [elapsed, ops] = [await series('elapsed'), await series('ops')];
        return elapsed.x.map((load, i) => ({ load, elapsed: elapsed.mean[i], ops: ops.mean[i] }));
    };

    const visit = await open(browser, daemon.url), { page } = visit;
    await page.goto(codeAddress(daemon));
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await page.goto(`${daemon.url}/jobs/${id}`);
    const part = page.getByRole('region', { name: 'With every filesystem' });
    const table = part.locator('table.filesystems');
    const cells = () => table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    await table.waitFor();
    const heads = await table.locator('thead th').allTextContents();
    assert.deepEqual([heads[0], heads[1], heads[2]], ['Filesystems', 'Create, s', 'Create, s each']);
    /* A row where all were brought back, with the seconds of the batches since the one before. */
    const created = await samples('create'), every = btrfs ? 20 : 10, column = (name) => heads.indexOf(name);
    const rows = await cells();
    assert.deepEqual(rows.map((row) => row[0]), Array.from({ length: 60 / every }, (_, i) => String((i + 1) * every)));
    const cycled = btrfs ? await samples('cycle') : [];
    rows.forEach((row, i) => {
        const batches = created.filter(({ load }) => load > i * every && load <= (i + 1) * every);
        const [taken, made] = [batches.reduce((sum, b) => sum + b.elapsed, 0), batches.reduce((sum, b) => sum + b.ops, 0)];
        assert.equal(made, every);
        assert.equal(row[column('Create, s')], figure(taken), `created to ${row[0]}`);
        assert.equal(row[column('Create, s each')], figure(taken / made), `each of them, to ${row[0]}`);
        if (btrfs) assert.equal(row[column('Cycle, s')], figure(cycled[i].elapsed), `brought back at ${row[0]}`);
    });
    for (const gone of ['List', 'Destroy']) assert.ok(!heads.some((head) => head.startsWith(gone)), `${gone} has no place on this axis`);
    const picture = part.getByRole('img');
    assert.match(await picture.getAttribute('aria-label'), /^Seconds for a batch, and to bring all back against filesystems: Create a batch of 10 up to .* s/);
    if (btrfs) assert.match(await picture.getAttribute('aria-label'), /, Cycle all up to .* s$/);
    await part.getByLabel('Seconds', { exact: true }).selectOption('one');
    assert.match(await picture.getAttribute('aria-label'), /^Seconds for one of the filesystems against filesystems: Create one up to /);
    await assertSound(visit, 'the page of many filesystems');
    if (process.env.PLIMSOLL_PICTURE) await page.screenshot({ path: process.env.PLIMSOLL_PICTURE, fullPage: true });

    /* The old report: shared beside unshared, in one table. */
    const text = readFileSync(join(repository, 'tests/seeds/zfs-create-reboot.csv'), 'utf8');
    const imported = async (how) => (await client.expect(201, 'POST', `/api/v1/imports?${new URLSearchParams({
        workload: 'filesystem-scaling', name: how, x: 'filesystems', y: `create:create_seconds_${how},cycle:reboot_seconds_${how}`, at_load: 'cycle',
    })}`, { body: text, headers: { 'content-type': 'text/csv' } })).json.id;
    const pair = [await imported('unshared'), await imported('shared')];
    await page.goto(`${daemon.url}/compare?jobs=${pair}`);
    await table.waitFor();
    const told = await table.locator('thead th').allTextContents();
    const of = (words) => told.indexOf(words);
    const [names, ...lines] = text.trim().split('\n').map((line) => line.split(','));
    const shown = await cells();
    const plain = (words) => words.replace(/\u202f/g, '');
    assert.equal(shown.length, lines.length);
    for (const [i, line] of lines.entries()) {
        const value = Object.fromEntries(names.map((name, k) => [name, line[k]]));
        assert.deepEqual(
            [shown[i][0], ...[`job ${pair[0]}, create, s`, `job ${pair[0]}, cycle, s`, `job ${pair[1]}, create, s`, `job ${pair[1]}, cycle, s`].map((words) => shown[i][of(words)])].map(plain),
            [value.filesystems, value.create_seconds_unshared, value.reboot_seconds_unshared, value.create_seconds_shared, value.reboot_seconds_shared]);
    }
    assert.match(await part.getByRole('img').getAttribute('aria-label'), new RegExp(`job ${pair[1]}, create a batch of 1.?000 up to 38.?322 s, job ${pair[1]}, cycle all up to 2.?899 s$`));
    await page.getByText('each line is the mean of at most').waitFor();
    await assertSound(visit, 'two jobs of many filesystems beside each other');
    if (process.env.PLIMSOLL_PICTURE) await page.screenshot({ path: `${process.env.PLIMSOLL_PICTURE}.compared.png`, fullPage: true });
    await close(visit);
});
