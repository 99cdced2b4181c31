// Results that were measured elsewhere, and what the service says of them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './daemon.mjs';
import { until } from './wait.mjs';

export const fileOf = (...path) => readFileSync(join(repository, 'tests', ...path), 'utf8');

/* Imports a body and waits until it is analysed; → the job with its findings. */
export async function imported(client, type, body, query = {}) {
    const answer = await client.expect(201, 'POST', `/api/v1/imports?${new URLSearchParams(query)}`, { body, headers: { 'content-type': type } });
    return analysed(client, answer.json.id);
}

export async function analysed(client, id) {
    await until(`the findings of job ${id}`, async () => (await client.get(`/api/v1/jobs/${id}/findings`)).json.analysis > 0);
    return client.job(id);
}

/* A table as CSV, the columns named. */
export const csvOf = (names, rows) => `${names.join(',')}\n${rows.map((row) => row.join(',')).join('\n')}\n`;

export function rowsOf(text) {
    const [head, ...lines] = text.trim().split(/\r?\n/);
    const names = head.split(',');
    return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [names[i], cell])));
}

export const finding = (job, kind, phase = 'create') => job.findings.find((each) => each.kind === kind && (each.phase ?? '') === phase);

export async function compared(client, ...jobs) {
    const { json } = await client.expect(200, 'GET', `/api/v1/comparisons?jobs=${jobs.map((job) => job.id).join(',')}`);
    return json.comparisons;
}

/* Whether a figure is what a vector expects of it: {value, rel | abs}, {min, max}, or the figure. */
export function assertNear(got, asked, what) {
    const { value, rel, abs = 0, min = -Infinity, max = Infinity } = typeof asked === 'number' ? { value: asked } : asked;
    const reach = rel === undefined ? abs : Math.abs(value) * rel;
    assert.ok(got >= min && got <= max, `${what}: ${got} is not from ${min} to ${max}`);
    if (value !== undefined) assert.ok(Math.abs(got - value) <= reach, `${what}: ${got} is not within ${reach} of ${value}`);
}
