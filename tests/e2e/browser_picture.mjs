// Takes the README's picture, web/picture.png, of a real run: node tests/e2e/browser_picture.mjs [FOLDER [FILES]]
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeAddress, launch, open } from './browser.mjs';
import { repository, startDaemon } from './daemon.mjs';

const MOST = 200 * 1024; // bytes: it is loaded with the README
const [folder, files = '1000000'] = process.argv.slice(2);
const path = mkdtempSync(join(folder ?? tmpdir(), 'plm-picture-'));
const daemon = await startDaemon({ targets: { scratch: { path } }, build: 'release' });
const browser = await launch();
try {
    const client = daemon.client(await daemon.token('operator'));
    const { id } = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: Number(files) }, note: `${Number(files).toLocaleString('en')} files in one directory` });
    const job = await client.settled(id, { seconds: 900 });
    if (job.state !== 'succeeded') throw new Error(`the job ended ${job.state}: ${JSON.stringify(job.problem)}`);
    const { page } = await open(browser, daemon.url, { width: 1240, height: 980 });
    await page.goto(codeAddress(daemon, 'viewer', `/jobs/${id}`));
    await page.locator('.chart .u-over').first().waitFor();
    await page.locator('.host .u-over').first().waitFor();
    await page.waitForLoadState('networkidle');
    const picture = await page.screenshot();
    if (picture.length > MOST) throw new Error(`the picture has ${picture.length} bytes, more than ${MOST}`);
    writeFileSync(join(repository, 'web/picture.png'), picture);
    console.log(`web/picture.png: ${statSync(join(repository, 'web/picture.png')).size} bytes`);
} finally {
    await browser.close();
    await daemon.close();
    rmSync(path, { recursive: true, force: true });
}
