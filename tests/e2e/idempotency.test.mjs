// One Idempotency-Key, one job: asked twice, with another body, at the same time, and across a kill -9.
import test from 'node:test';
import assert from 'node:assert/strict';
import { startDaemon } from './daemon.mjs';

const job = (files = 100) => ({ workload: 'create-scaling', target: 'scratch', params: { files } });
const keyed = (key) => ({ headers: { 'idempotency-key': key } });

test('Idempotency-Key', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const jobs = async () => (await client.get('/api/v1/jobs?limit=500')).json.items.length;

    await t.test('the same key and body: the first answer again', async () => {
        const first = await client.post('/api/v1/jobs', job(), keyed('one'));
        const second = await client.post('/api/v1/jobs', job(), keyed('one'));
        assert.equal(first.status, 201, first.text);
        assert.equal(second.status, 201);
        assert.equal(second.text, first.text);
        assert.equal(second.headers.get('location'), first.headers.get('location'));
        assert.equal(await jobs(), 1);
    });

    await t.test('the same key and another body: 422', async () => {
        const answer = await client.post('/api/v1/jobs', job(200), keyed('one'));
        assert.equal(answer.status, 422, answer.text);
        assert.equal(await jobs(), 1);
    });

    await t.test('another token has keys of its own', async () => {
        const other = daemon.client(await daemon.token('operator', '--targets', 'scratch'));
        const answer = await other.post('/api/v1/jobs', job(), keyed('one'));
        assert.equal(answer.status, 201);
        assert.equal(await jobs(), 2);
    });

    await t.test('at the same time: one job; the others get its answer or 409', async () => {
        const before = await jobs();
        const answers = await Promise.all(Array.from({ length: 8 }, () => client.post('/api/v1/jobs', job(), keyed('many'))));
        const made = answers.filter((answer) => answer.status === 201);
        assert.ok(made.length >= 1, answers.map((answer) => answer.status).join());
        assert.equal(new Set(made.map((answer) => answer.json.id)).size, 1);
        for (const answer of answers) assert.ok([201, 409].includes(answer.status), `${answer.status} ${answer.text}`);
        assert.equal(await jobs(), before + 1);
    });

    await t.test('across a kill -9 while requests are under way: one job for each key', async () => {
        const before = await jobs();
        const keys = Array.from({ length: 20 }, (_, i) => `killed-${i}`);
        const first = keys.map((key) => client.post('/api/v1/jobs', job(), keyed(key)).catch(() => null));
        await Promise.any(first.map(async (answer) => (await answer)?.status === 201 || Promise.reject()));
        await daemon.kill9();
        const told = await Promise.all(first);
        await daemon.start();
        const then = await Promise.all(keys.map((key) => client.post('/api/v1/jobs', job(), keyed(key))));
        then.forEach((answer, i) => {
            assert.equal(answer.status, 201, answer.text);
            if (told[i]?.status === 201) assert.equal(answer.json.id, told[i].json.id, keys[i]);
        });
        assert.equal(new Set(then.map((answer) => answer.json.id)).size, keys.length);
        assert.equal(await jobs(), before + keys.length);
    });

    for (const { id } of (await client.get('/api/v1/jobs?limit=500')).json.items) await client.settled(id);
});
