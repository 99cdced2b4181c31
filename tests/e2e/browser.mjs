// A real Chromium on the dashboard of a real daemon, watched for what must never happen.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export function launch() {
    return chromium.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
    });
}

/* A window of its own, with its own cookies. `visit.expected` holds statuses ("401 /api/v1/session") that this
 * test provokes: the browser itself writes a console error for each. */
export async function open(browser, url, { scheme = 'light', width = 1280, height = 900 } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const visit = { context, page, expected: [], faults: [], requests: [], answers: [] };
    await page.addInitScript(() => {
        globalThis.violations = [];
        document.addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    });
    page.on('pageerror', (error) => visit.faults.push(`exception: ${error.stack}`));
    page.on('console', (message) => {
        if (message.type() !== 'error' && message.type() !== 'warning') return;
        const text = `${message.text()} ${message.location().url}`;
        const status = /responded with a status of (\d+)/.exec(text)?.[1] ?? (/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(text) ? 'away' : null);
        const path = message.location().url.replace(url, '').replace(/\?.*/, '');
        if (!visit.expected.includes(`${status} ${path}`)) visit.faults.push(`console: ${text}`);
    });
    page.on('request', (request) => {
        visit.requests.push(request.url());
        if (!request.url().startsWith(`${url}/`) && request.url() !== 'about:blank') visit.faults.push(`asked another host: ${request.url()}`);
    });
    page.on('response', (response) => {
        if (response.url().includes('/series?') && response.ok()) visit.answers.push(response);
    });
    return visit;
}

export async function close(visit) {
    const violations = await visit.page.evaluate(() => globalThis.violations ?? []).catch(() => []);
    await visit.context.close();
    assert.deepEqual([...violations, ...visit.faults], [], 'nothing in the console, no policy violated, no other host asked');
}

/* Accessible in every way that a program can tell, and no wider than the window. */
export async function assertSound(visit, name) {
    await visit.page.evaluate(axe);
    const found = await visit.page.evaluate(async (rules) => {
        const { violations, passes } = await globalThis.axe.run(document, { runOnly: rules });
        return { passed: passes.length, violations: violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`) };
    }, RULES);
    assert.deepEqual(found.violations, [], name);
    assert.ok(found.passed > 10, `${name}: axe looked at something`);
    const over = await visit.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `${name} is ${over} px wider than the window`);
}

/* A one-time code, and the address that signs in with it. */
export function codeAddress(daemon, role = 'operator', path = '/') {
    const code = /([A-Za-z0-9_-]{16,})\s*$/.exec(daemon.command('code', '--role', role))[1];
    return `${daemon.url}${path}#code=${code}`;
}
