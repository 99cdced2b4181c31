// The dashboard in a real Chromium, on a real daemon that measures a real directory.
import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertSound, close, codeAddress, launch, open } from './browser.mjs';
import { repository, startDaemon } from './daemon.mjs';
import { until } from './wait.mjs';

/* A port that stays the same when the daemon is started again. */
async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

test('the dashboard', { timeout: 600_000 }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'plm-web-'));
    const scratch = join(folder, 'scratch');
    const visited = join(folder, 'visited');
    mkdirSync(scratch);
    mkdirSync(visited);
    const daemon = await startDaemon({
        targets: { scratch: { path: scratch }, visited: { path: visited }, gone: { path: join(folder, 'not-there') } },
        service: { listen: `127.0.0.1:${await freePort()}` },
    });
    const browser = await launch();
    t.after(async () => {
        await browser.close();
        await daemon.close();
        rmSync(folder, { recursive: true, force: true });
    });
    const { url } = daemon;
    const client = daemon.client(await daemon.token('operator'));
    const submit = (params, target = 'scratch') => client.submit({ workload: 'create-scaling', target, params });

    /* A window that is signed in, handed to `look`, and closed with nothing to complain of. */
    const visiting = (name, look, options) => t.test(name, async () => {
        const visit = await open(browser, url, options);
        try {
            await visit.page.goto(codeAddress(daemon));
            await visit.page.getByRole('heading', { name: 'Jobs' }).waitFor();
            await look(visit.page, visit);
        } catch (error) {
            await visit.page.screenshot({ path: join(repository, 'build/tests', `browser-${name.replace(/\W+/g, '-').slice(0, 40)}.png`), fullPage: true }).catch(() => {});
            await visit.context.close();
            for (const { id } of (await client.get('/api/v1/jobs?state=queued,running')).json.items) await client.post(`/api/v1/jobs/${id}/cancel`);
            throw error;
        }
        await close(visit);
    });
    const shown = (page, id) => page.goto(`${url}/jobs/${id}`).then(() => page.locator('.chart .u-over').first().waitFor());
    const badge = (page, text) => page.locator('.job-head .badge', { hasText: text }).waitFor({ timeout: 60_000 });

    await t.test('signs in by the code of the address, which leaves the address at once and works once', async () => {
        const visit = await open(browser, url);
        const { page } = visit;
        const address = codeAddress(daemon);
        await page.goto(address);
        await page.getByRole('heading', { name: 'Nothing has been measured yet' }).waitFor();
        assert.equal(page.url(), `${url}/`);
        assert.equal(await page.evaluate(() => document.cookie), '', 'no script can read the session');
        assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0, 'nothing secret is stored');
        visit.expected.push('401 /api/v1/session', '403 /api/v1/session');
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByLabel('Token or one-time code').waitFor();
        await page.goto('about:blank');
        await page.goto(address);
        await page.getByText('A one-time code works once').waitFor();
        assert.equal(page.url(), `${url}/`);
        await close(visit);
    });

    await t.test('signs in by token; who only reads is not offered to run', async () => {
        const visit = await open(browser, url);
        const { page } = visit;
        visit.expected.push('401 /api/v1/session');
        await page.goto(`${url}/new`);
        await page.getByLabel('Token or one-time code').fill('plm_notatoken');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByText('not valid here').waitFor();
        await page.getByLabel('Token or one-time code').fill(await daemon.token('viewer'));
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { name: 'Your token reads only' }).waitFor();
        assert.equal(page.url(), `${url}/new`, 'sign-in returns to where one was');
        assert.equal(await page.getByRole('link', { name: 'New job' }).count(), 0);
        await close(visit);
    });

    let first;
    await visiting('a new job of 20,000 files from the form to its chart', async (page, visit) => {
        await page.getByRole('link', { name: 'New job' }).first().click();
        assert.equal(await page.getByRole('radio', { name: 'gone' }).isDisabled(), true);
        await page.getByText('Cannot be used').waitFor();
        await page.getByRole('radio', { name: 'scratch' }).check();
        await page.getByLabel('Files', { exact: true }).fill('20 000');
        await page.getByLabel('Note').fill('from the form');
        await page.getByLabel('Labels').fill('kernel=6.1, site=north');
        await page.getByText('The server would take this job.').waitFor();
        await page.getByRole('button', { name: 'Run' }).click();
        await page.waitForURL(/\/jobs\/\d+/);
        first = Number(/\d+/.exec(new URL(page.url()).pathname)[0]);
        await badge(page, 'Succeeded');
        const job = await client.settled(first);
        assert.deepEqual(job.phases.map((phase) => phase.ops), [20000, 20000, 20000, 20000]);
        assert.deepEqual([job.note, job.labels, job.params.files], ['from the form', { kernel: '6.1', site: 'north' }, 20000]);
        await page.getByText(/^Creating 20,000 files ran at [0-9,.]+ per second; 100 of them take /).waitFor();
        await page.goto(`${url}/jobs/${first}?phase=create`);
        await page.getByText('200 batches, each of them drawn.').waitFor();
        const answer = await visit.answers.at(-1).json();
        assert.equal(answer.points.x.length, 200);
        assert.equal(answer.points.x.at(-1), 20000);
        const cells = await page.locator('table.phases tbody tr').first().locator('td').allTextContents();
        assert.match(cells[0].replace(/\s/g, ''), /^20000$/);
        assert.match(cells[2], /files\/s$/);
        for (const name of ['Kernel', 'Filesystem', 'CPU']) assert.ok(await page.locator('.environment').getByText(name, { exact: true }).count(), `the environment tells ${name}`);
        const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'create', exact: true }).click()]);
        const csv = (await (await download.createReadStream()).toArray()).join('').trimEnd().split('\n');
        assert.equal(csv.length, 201, 'a head and every sample');
        await page.goto(url);
        await page.getByRole('link', { name: `#${first}` }).waitFor();
    });

    await visiting('tabs, measures and axes change what is asked, and the address says so', async (page, visit) => {
        await shown(page, first);
        for (const [act, part, unit] of [
            [() => page.getByRole('tab', { name: 'Stat' }).click(), 'phase=stat', 's'],
            [() => page.getByLabel('Show').selectOption('rate'), 'y=rate', 'files/s'],
            [() => page.getByLabel('Show').selectOption('p99'), 'y=p99', 'ns'],
            [() => page.getByLabel('Show').selectOption('cpu'), 'y=cpu', 'ns'],
            [() => page.getByLabel('Show').selectOption('switches'), 'y=switches', 'switches'],
            [() => page.getByLabel('against').selectOption('at'), 'x=at', 'switches'],
        ]) {
            const [response] = await Promise.all([page.waitForResponse((r) => r.url().includes('/series?') && r.url().includes(part)), act()]);
            const answer = await response.json();
            assert.equal(answer.unit, unit, part);
            assert.equal(answer.count, 200, part);
            assert.ok(page.url().includes(part), `${page.url()} says ${part}`);
        }
        await page.reload();
        await page.locator('.chart .u-over').first().waitFor();
        assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'Stat');
        assert.match(visit.requests.filter((r) => r.includes('/series?')).at(-1), /phase=stat.*y=switches.*x=at/);
    });

    await visiting('zoom fetches detail, a double click and keys go back', async (page, visit) => {
        const job = await submit({ files: 20000, batch: 2, operations: ['create'] });
        await client.settled(job.id);
        await shown(page, job.id);
        await page.getByText(/10.000 batches, drawn in/).waitFor();
        await page.getByRole('heading', { name: 'What the numbers say' }).waitFor(); // nothing moves under the mouse any more
        const whole = await visit.answers.at(-1).json();
        assert.equal(whole.count, 10000);
        assert.equal(whole.thinned, true);
        await page.locator('.chart .u-over').first().scrollIntoViewIfNeeded(); // many findings push it below the window
        const box = await page.locator('.chart .u-over').first().boundingBox();
        await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.44, box.y + 90, { steps: 4 });
        const [response] = await Promise.all([page.waitForResponse((r) => /\/series\?.*from=.*to=/.test(r.url())), page.mouse.up()]);
        const part = await response.json();
        const asked = new URL(response.url()).searchParams;
        assert.ok(Math.abs(asked.get('from') - 8000) < 300 && Math.abs(asked.get('to') - 8800) < 300, `the part that was drawn over: ${asked}`);
        const step = ({ points: { x } }) => (x.at(-1) - x[0]) / (x.length - 1);
        assert.ok(step(part) < step(whole), `${step(part)} files a column, before ${step(whole)}`);
        assert.equal(part.thinned, false, 'so near that each batch is drawn');
        assert.deepEqual(part.points.min, part.points.max);
        const within = whole.points.x.map((x, i) => [x, whole.points.min[i], whole.points.max[i]]).filter(([x]) => x > part.points.x[0] && x < part.points.x.at(-1));
        assert.ok(within.some(([, min, max]) => min < max), 'the band that it was before');
        await page.getByText(/batches in this part, each of them drawn/).waitFor();
        await page.mouse.move(box.x + box.width / 2, box.y + 70);
        assert.match(await page.locator('.readout').textContent(), /files.*(µs|ms|ns)/);
        await Promise.all([page.waitForResponse((r) => r.url().includes('/series?') && !r.url().includes('from=')), page.mouse.dblclick(box.x + box.width / 2, box.y + 70)]);
        assert.equal(await page.getByRole('button', { name: 'Whole phase' }).isDisabled(), true);
        await page.locator('.chart').first().focus();
        await Promise.all([page.waitForResponse((r) => r.url().includes('from=')), page.keyboard.press('+')]);
        await Promise.all([page.waitForResponse((r) => r.url().includes('/series?') && !r.url().includes('from=')), page.keyboard.press('0')]);
        assert.equal(new URL(page.url()).searchParams.get('from'), null);
    });

    await visiting('a running job grows before the eye, and can be cancelled', async (page, visit) => {
        const { id } = await submit({ files: 5_000_000 });
        await shown(page, id);
        await badge(page, 'Running');
        const done = async () => Number((await page.locator('.figures').textContent()).replace(/[^\d]*([\d\u202f]+) of.*/s, '$1').replace(/\u202f/g, ''));
        const before = await until('progress', done);
        await until('more progress', async () => (await done()) > before);
        const counts = async () => (await Promise.all(visit.answers.map((answer) => answer.json()))).map((answer) => answer.count);
        await until('the chart to be read again', async () => new Set(await counts()).size > 1);
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('button', { name: 'Let it run' }).click();
        await page.locator('dialog').waitFor({ state: 'detached' });
        assert.equal((await client.job(id)).state, 'running', 'asking is not cancelling');
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('button', { name: 'Cancel the job' }).click();
        await badge(page, 'Cancelled');
        await client.settled(id);
        await page.getByText('Nothing the run made is left on the target.').waitFor();
        assert.deepEqual(readdirSync(scratch), []);
        assert.ok(await page.locator('.chart .u-over').count(), 'what was measured is still drawn');
    });

    await visiting('what stands in the way of clean-up is listed', async (page) => {
        const { id } = await submit({ files: 5_000_000 }, 'visited');
        await client.reached(id, 'create', 200);
        writeFileSync(join(visited, readdirSync(visited)[0], '<b>not ours'), 'x');
        await client.expect(202, 'POST', `/api/v1/jobs/${id}/cancel`);
        await client.settled(id);
        await page.goto(`${url}/jobs/${id}`);
        await page.getByRole('heading', { name: 'Clean-up is blocked' }).waitFor();
        assert.ok((await page.locator('.names code').allTextContents()).includes('<b>not ours'), 'a name is text, never markup');
    });

    await visiting('a limit is shown as a result', async (page) => {
        const { id } = await submit({ files: 50_000_000, max_seconds: '200ms', operations: ['create', 'remove'] });
        await client.settled(id);
        await page.goto(`${url}/jobs/${id}`);
        await badge(page, 'Succeeded');
        await page.getByRole('heading', { name: 'Limit found while creating' }).waitFor();
        assert.match(await page.locator('.notice.result').first().textContent(), /the time given to the phase ran out/);
        assert.equal(await page.locator('.notice.bad').count(), 0);
    });

    await visiting('an error stands beside its field, and nothing is queued', async (page, visit) => {
        visit.expected.push('422 /api/v1/jobs');
        const before = (await client.get('/api/v1/jobs')).json.items.length;
        await page.goto(`${url}/new`);
        await page.getByRole('radio', { name: 'scratch' }).check();
        const field = page.getByLabel('Threads');
        await field.fill('5000');
        await page.locator('.field.bad').waitFor();
        assert.equal(await field.getAttribute('aria-invalid'), 'true');
        const told = await page.evaluate((ids) => ids.split(' ').map((id) => document.getElementById(id).textContent).join(' '), await field.getAttribute('aria-describedby'));
        assert.match(told, /1024/);
        await page.getByRole('button', { name: 'Run' }).click();
        await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
        await field.fill('1');
        await page.getByLabel('File bytes').fill('8 parsecs');
        await page.locator('.field.size.bad').waitFor();
        assert.equal(await page.locator('.field.bad').count(), 1, 'and the first is put right');
        await page.getByLabel('File bytes').fill('8KiB');
        await page.getByText('The server would take this job.').waitFor();
        assert.equal((await client.get('/api/v1/jobs')).json.items.length, before);
    });

    await visiting('the list follows, filters and turns its pages', async (page) => {
        await page.getByLabel('State').selectOption('cancelled');
        await page.waitForFunction(() => [...document.querySelectorAll('table.jobs .badge')].every((e) => e.textContent === 'Cancelled'));
        assert.match(page.url(), /state=cancelled/);
        await page.goBack();
        await page.getByRole('link', { name: `#${first}` }).waitFor();
        const { id } = await submit({ files: 100 });
        await page.getByRole('link', { name: `#${id}` }).waitFor();
        for (let i = 0; i < 26; i++) await submit({ files: 1, batch: 1, operations: ['create'] });
        await page.getByRole('link', { name: 'Older' }).click();
        await page.getByRole('link', { name: `#${first}` }).waitFor();
        await page.getByRole('link', { name: 'Newest' }).click();
        await page.getByRole('link', { name: `#${id + 26}` }).waitFor();
    });

    let second;
    await visiting('two jobs ticked in the list are compared, phase by phase and curve on curve', async (page, visit) => {
        ({ id: second } = await submit({ files: 20000 }));
        await client.settled(second);
        const { id: third } = await submit({ files: 20000 });
        await client.settled(third);
        await page.goto(`${url}/?state=succeeded`);
        for (const id of [second, third]) await page.getByLabel(`Compare job ${id}`, { exact: true }).check();
        await page.getByText(`#${third} against #${second}`).waitFor();
        await page.getByRole('link', { name: 'Compare', exact: true }).click();
        await page.getByRole('heading', { name: `Job ${third} against job ${second}` }).waitFor();
        await page.goto(`${url}/compare?jobs=${first},${second}`);
        await page.getByRole('heading', { name: `Job ${second} against job ${first}` }).waitFor();
        const told = (await client.get(`/api/v1/comparisons?jobs=${first},${second}`)).json;
        assert.deepEqual(await page.locator('.sentences li').allTextContents(), told.comparisons[0].phases.map((p) => p.sentence));
        await page.getByText('each line is the mean of at most').waitFor();
        assert.equal(await page.locator('.chart .u-over').count(), 1);
        assert.deepEqual((await page.locator('.legend li').allTextContents()).map((words) => words.trim()), [`job ${first}`, `job ${second}`]);
        const before = visit.answers.length;
        await page.getByLabel('Phase').selectOption('remove');
        await until('both curves of the other phase', () => visit.answers.slice(before).filter((r) => r.url().includes('phase=remove')).length === 2);
        await page.getByText('Time per batch against files').waitFor();
        const box = await page.locator('.chart .u-over').boundingBox();
        await page.mouse.move(box.x + box.width / 2, box.y + 70);
        assert.match(await page.locator('.legend li').first().textContent(), /job \d+ .*(µs|ms|ns)/);
        assert.match(page.url(), /phase=remove/);
    });

    await visiting('other amounts of work are compared only when asked again', async (page, visit) => {
        visit.expected.push('409 /api/v1/comparisons');
        const { id } = await submit({ files: 10000 });
        await client.settled(id);
        await page.goto(`${url}/jobs/${id}`);
        await page.getByLabel('Compare with job').fill(`#${first}`);
        await page.getByRole('button', { name: 'Compare' }).click();
        await page.getByRole('heading', { name: 'These jobs are not alike' }).waitFor();
        await page.getByRole('link', { name: 'Compare nevertheless' }).click();
        await page.getByRole('heading', { name: 'Compared although parameters differ' }).waitFor();
        await page.getByRole('row', { name: /Parameter Files/ }).waitFor();
        assert.equal(await page.locator('.verdict', { hasNotText: 'Cannot tell' }).count(), 0, 'no verdict');
    });

    await visiting('a job of several runs: each can be looked at, and those of one point stand side by side', async (page, visit) => {
        const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 1000, batch: 50 }, matrix: { threads: [1, 2] }, repeat: 2 });
        await client.settled(id);
        await page.goto(`${url}/jobs/${id}`);
        await page.getByText(/^Creating ran at .* with threads .*, the slowest and the fastest of 2 points/).waitFor();
        const job = await client.job(id);
        assert.equal(await page.locator('table.runs tbody tr').count(), 4);
        const points = page.locator('table.points').first();
        assert.deepEqual((await points.locator('tbody th').allTextContents()), ['Threads 1', 'Threads 2']);
        assert.deepEqual(await points.locator('tbody tr td:nth-child(2)').allTextContents(), ['2', '2']);
        assert.equal(await page.locator('table.phases tbody tr').count(), 4, 'the phases of one run');
        const [response] = await Promise.all([page.waitForResponse((r) => /\/series\?.*run=3/.test(r.url())), page.getByRole('button', { name: 'Run 3' }).click()]);
        assert.equal((await response.json()).run, 3);
        assert.match(page.url(), /[?&]run=3/);
        const lanes = job.phases.find((phase) => phase.run === 3 && phase.name === 'create').lanes;
        assert.equal(lanes, job.runs[2].params.threads);
        await assertSound(visit, 'a job of several runs');
        await page.reload();
        await page.locator('button[aria-pressed="true"]', { hasText: 'Run 3' }).waitFor();
        await page.getByRole('link', { name: 'Run again' }).click();
        await page.getByText(`Its runs vary Threads: 1, 2, as those of job ${id} do.`).waitFor();
        assert.equal(await page.getByLabel('Repeat').inputValue(), '2');
        await page.getByText('The server would take this job.').waitFor();
    });

    await visiting('a job is pinned, let go and deleted', async (page, visit) => {
        const { id } = await submit({ files: 100 });
        await client.settled(id);
        await shown(page, id);
        await page.getByRole('button', { name: 'Pin', exact: true }).click();
        await page.getByRole('button', { name: 'Unpin' }).waitFor();
        assert.equal((await client.job(id)).pinned, true);
        assert.equal(await page.getByRole('button', { name: 'Delete' }).isVisible(), false);
        await page.getByRole('button', { name: 'Unpin' }).click();
        await page.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('button', { name: 'Keep it' }).click();
        await page.locator('dialog').waitFor({ state: 'detached' });
        assert.equal((await client.job(id)).id, id, 'asking is not deleting');
        await page.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('button', { name: 'Delete the job' }).click();
        await page.getByRole('heading', { name: 'Jobs' }).waitFor();
        assert.equal((await client.get(`/api/v1/jobs/${id}`)).status, 404);
    });

    for (const scheme of ['light', 'dark'])
        for (const width of [1280, 400])
            await visiting(`every page is sound, ${scheme}, ${width} px wide`, async (page, visit) => {
                visit.expected.push('404 /api/v1/jobs/999999', '401 /api/v1/session');
                await assertSound(visit, 'jobs');
                await shown(page, first);
                await assertSound(visit, 'job');
                await page.goto(`${url}/new`);
                await page.getByRole('radio', { name: 'scratch' }).check();
                await assertSound(visit, 'new job');
                await page.goto(`${url}/compare?jobs=${first},${second}`);
                await page.getByText('each line is the mean of at most').waitFor();
                await assertSound(visit, 'comparison');
                await page.goto(`${url}/jobs/999999`);
                await page.getByRole('heading', { name: 'There is no such thing here' }).waitFor();
                await assertSound(visit, 'missing job');
                await page.goto(`${url}/?state=rebooting`);
                await page.getByRole('heading', { name: 'No job matches' }).waitFor();
                await assertSound(visit, 'empty list');
                await page.getByRole('button', { name: 'Sign out' }).click();
                await page.getByRole('heading', { name: 'Sign in' }).waitFor();
                await assertSound(visit, 'sign in');
            }, { scheme, width });

    await visiting('an ended session asks to sign in, and comes back', async (page, visit) => {
        visit.expected.push('401 /api/v1/jobs', `401 /api/v1/jobs/${first}`, '401 /api/v1/session', `401 /api/v1/jobs/${first}/series`, `401 /api/v1/jobs/${first}/host`);
        await shown(page, first);
        await visit.context.clearCookies();
        await page.getByLabel('Show').selectOption('rate');
        await page.getByText('Your session has ended').waitFor();
        await page.getByLabel('Token or one-time code').fill(await daemon.token('operator'));
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.locator('.chart .u-over').first().waitFor();
        assert.ok(page.url().startsWith(`${url}/jobs/${first}`));
    });

    await visiting('a server that goes away is told, and found again', async (page, visit) => {
        visit.expected.push('away /api/v1/jobs', '503 /api/v1/jobs');
        await daemon.stop();
        await page.getByText('The server cannot be reached').waitFor();
        await page.getByRole('link', { name: /^#\d+$/ }).first().waitFor();
        await Promise.all([page.waitForEvent('requestfailed'), page.getByRole('button', { name: 'Try now' }).click()]);
        await page.getByText('The server cannot be reached').waitFor();
        await daemon.start();
        await page.getByText('The server cannot be reached').waitFor({ state: 'detached', timeout: 40_000 });
        const { id } = await submit({ files: 100 });
        await page.getByRole('link', { name: `#${id}` }).waitFor();
    });
});
