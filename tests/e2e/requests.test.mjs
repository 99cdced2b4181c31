// What the HTTP interface refuses, and how; and its conventions.
import test from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { startDaemon } from './daemon.mjs';
import { Client } from './client.mjs';

const good = { workload: 'create-scaling', target: 'scratch', params: { files: 100 } };
const but = (changes) => ({ ...good, ...changes });
const params = (changes) => but({ params: { files: 100, ...changes } });

test('the HTTP interface', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const operator = daemon.client(await daemon.token('operator'));
    const viewer = daemon.client(await daemon.token('viewer'));
    const admin = daemon.client(await daemon.token('admin'));
    const stranger = daemon.client(null);
    const count = async () => (await viewer.get('/api/v1/jobs?limit=500')).json.items.length;

    const refused = [
        // what is wrong, the body, the status, the pointer of the field
        ['an unknown field', but({ wrkload: 1 }), 422, '/wrkload'],
        ['an unknown parameter', params({ fils: 1 }), 422, '/params/fils'],
        ['a text for a number', params({ files: 'many' }), 422, '/params/files'],
        ['a list for a number', params({ threads: [1] }), 422, '/params/threads'],
        ['a fraction of a file', params({ files: 1.5 }), 422, '/params/files'],
        ['no files', params({ files: 0 }), 422, '/params/files'],
        ['less than no files', params({ files: -1 }), 422, '/params/files'],
        ['too many lanes', params({ threads: 1_000_000 }), 422, '/params/threads'],
        ['an unknown choice', params({ sync: 'sometimes' }), 422, '/params/sync'],
        ['an unknown choice in a set', params({ operations: ['create', 'burn'] }), 422, '/params/operations'],
        ['an unknown target', but({ target: 'nowhere' }), 422, '/target'],
        ['an unknown workload', but({ workload: 'nothing' }), 422, '/workload'],
        ['no target', { workload: 'create-scaling', params: {} }, 422, '/target'],
        ['no workload', { target: 'scratch', params: {} }, 422, '/workload'],
        ['a path for a target', but({ target: '../scratch' }), 422, '/target'],
        ['a path for a workload', but({ workload: '../../etc/passwd' }), 422, '/workload'],
        ['a control character in a target', but({ target: 'scr\u0000atch' }), [400, 422], null],
        ['a control character in a note', but({ note: 'a\u0007b' }), 422, '/note'],
        ['a control character in a reference', but({ external_ref: 'a\u001bb' }), 422, '/external_ref'],
        ['a control character in a choice', params({ sync: 'none\u0001' }), 422, '/params/sync'],
        ['a control character in a label', but({ labels: { kernel: '6\u00021' } }), 422, '/labels/kernel'],
        ['a label that is no text', but({ labels: { kernel: {} } }), 422, '/labels/kernel'],
        ['a body that is no object', [good], [400, 422], null],
        ['broken JSON', '{"workload": "create-scaling", ', 400, null],
        ['JSON and something after it', `${JSON.stringify(good)}}`, 400, null],
        ['a key twice', '{"workload":"create-scaling","workload":"create-scaling","target":"scratch"}', 400, null],
        ['an empty body', '', [400, 422], null],
        ['a body of 2 MiB', `{"note":"${'x'.repeat(2 << 20)}"}`, 413, null],
    ];
    for (const [what, body, status, pointer] of refused)
        await t.test(`refuses ${what}`, async () => {
            const before = await count();
            const answer = await operator.post('/api/v1/jobs', body, { headers: { 'content-type': 'application/json' } });
            assert.ok([status].flat().includes(answer.status), `${answer.status}, expected ${status}: ${answer.text}`);
            assert.match(answer.headers.get('content-type'), /application\/problem\+json/);
            for (const name of ['type', 'title', 'status', 'detail', 'code', 'request_id']) assert.ok(name in answer.json, `no ${name} in ${answer.text}`);
            assert.equal(answer.json.status, answer.status);
            if (pointer) {
                // An entry of a set is named by its place.
                const pointers = answer.json.errors.map((error) => error.pointer);
                assert.ok(pointers.some((each) => each === pointer || each.startsWith(`${pointer}/`)), `${pointer} not in ${pointers}`);
                assert.ok(answer.json.errors[0].detail.length > 0);
            }
            assert.equal(await count(), before, 'nothing changed');
        });

    await t.test('every text with ../ or a control character is refused or kept as a text', async () => {
        for (const text of ['../../../etc/passwd', '\u0000', '\u001b[31m', 'a\nb', '\u007f', '%2e%2e%2f', '\ud800'])
            for (const body of [but({ target: text }), but({ workload: text }), params({ layout: text }), params({ sync: text })]) {
                const before = await count();
                const answer = await operator.post('/api/v1/jobs', body);
                assert.ok([400, 422].includes(answer.status), `${JSON.stringify(body)}: ${answer.status}`);
                assert.equal(await count(), before);
            }
        for (const path of ['/../../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/..%2f..%2fetc%2fpasswd', '/vendor/../../README.md', '/%00', '/index.html%00.js']) {
            const status = await raw(daemon, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
            assert.match(status, /^HTTP\/1\.1 (400|404)/, `${path}: ${status}`);
        }
    });

    await t.test('a close field name is suggested', async () => {
        const answer = await operator.post('/api/v1/jobs', params({ thread: 2 }));
        assert.match(answer.text, /threads/);
    });

    const sorts = [
        // method, path, headers, body, status
        ['POST', '/api/v1/jobs', { 'content-type': 'text/plain' }, JSON.stringify(good), 415],
        ['GET', '/api/v1/jobs/999999', {}, undefined, 404],
        ['GET', '/api/v1/jobs/seven', {}, undefined, 404],
        ['GET', '/api/v1/jobs/-1', {}, undefined, 404],
        ['GET', '/api/v1/nothing', {}, undefined, 404],
        ['GET', '/api/v1/targets/nowhere', {}, undefined, 404],
        ['GET', '/api/v1/workloads/nothing', {}, undefined, 404],
        ['GET', '/api/v1/jobs?limit=0', {}, undefined, [400, 422]],
        ['GET', '/api/v1/jobs?limit=many', {}, undefined, [400, 422]],
        ['GET', '/api/v1/jobs?stat=running', {}, undefined, [400, 422]],
        ['GET', '/api/v1/jobs?state=asleep', {}, undefined, [400, 422]],
        ['GET', '/api/v1/jobs?cursor=nonsense', {}, undefined, [400, 422]],
        ['PUT', '/api/v1/jobs', { 'content-type': 'application/json' }, '{}', 405],
        ['DELETE', '/api/v1/workloads', {}, undefined, 405],
    ];
    for (const [method, path, headers, body, status] of sorts)
        await t.test(`${method} ${path} ${headers['content-type'] ?? ''} → ${status}`, async () => {
            const answer = await operator.request(method, path, { headers, body });
            assert.ok([status].flat().includes(answer.status), `${answer.status}: ${answer.text}`);
            assert.match(answer.headers.get('content-type'), /application\/problem\+json/);
            if (status === 405) assert.match(answer.headers.get('allow') ?? '', /GET/);
        });

    await t.test('who may do what', async () => {
        const paths = ['/api/v1/jobs', '/api/v1/targets', '/api/v1/workloads', '/api/v1/jobs/1', '/api/v1/session'];
        for (const path of paths) {
            const answer = await stranger.get(path);
            assert.equal(answer.status, 401, path);
            assert.ok(answer.headers.get('www-authenticate'), path);
            assert.equal((await new Client(daemon.url, 'plm_wrong').get(path)).status, 401, path);
        }
        for (const path of ['/healthz', '/readyz', '/version', '/openapi.json', '/']) assert.equal((await stranger.get(path)).status, 200, path);
        assert.equal((await stranger.post('/api/v1/jobs', good)).status, 401);
        const before = await count();
        assert.equal((await viewer.post('/api/v1/jobs', good)).status, 403, 'a viewer only reads');
        assert.equal(await count(), before);
        const elsewhere = daemon.client(await daemon.token('operator', '--targets', 'elsewhere'));
        assert.equal((await elsewhere.post('/api/v1/jobs', good)).status, 403, 'a token for other targets');
        assert.equal(await count(), before);
        assert.equal((await admin.post('/api/v1/jobs?dry_run=1', good)).status, 200, 'an admin may do all');
        assert.equal(await count(), before, 'a dry run changes nothing');
        const { id } = await operator.submit(good);
        assert.equal((await viewer.post(`/api/v1/jobs/${id}/cancel`)).status, 403);
        await operator.settled(id);
    });

    await t.test('a token that was removed is one no more', async () => {
        const secret = await daemon.token('viewer', '--expires', '1d');
        const client = daemon.client(secret);
        assert.equal((await client.get('/api/v1/jobs')).status, 200);
        const name = daemon.psql('select name from token order by id desc limit 1')[0][0];
        daemon.command('token', 'remove', name);
        process.kill(daemon.pid, 'SIGHUP');
        const { until } = await import('./wait.mjs');
        await until('the token to be refused', async () => (await client.get('/api/v1/jobs')).status === 401);
    });

    await t.test('a browser: token or one-time code for a cookie, writes need an Origin of ours', async () => {
        const answer = await stranger.post('/api/v1/session', { token: await daemon.token('operator') });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.json.role, 'operator');
        const cookie = answer.headers.get('set-cookie');
        for (const part of [/^plimsoll_session=/, /HttpOnly/i, /SameSite=Strict/i, /Path=\//i]) assert.match(cookie, part);
        const session = { cookie: cookie.split(';')[0] };
        assert.equal((await stranger.get('/api/v1/session', { headers: session })).json.role, 'operator');
        assert.equal((await stranger.post('/api/v1/jobs', good, { headers: session })).status, 403, 'no Origin');
        assert.equal((await stranger.post('/api/v1/jobs', good, { headers: { ...session, origin: 'http://evil.example' } })).status, 403, 'another Origin');
        const made = await stranger.post('/api/v1/jobs', good, { headers: { ...session, origin: daemon.url } });
        assert.equal(made.status, 201, made.text);
        await operator.settled(made.json.id);
        assert.ok((await stranger.request('DELETE', '/api/v1/session', { headers: { ...session, origin: daemon.url } })).status < 300);
        assert.equal((await stranger.get('/api/v1/jobs', { headers: session })).status, 401, 'signed out');

        const code = /[A-Za-z0-9_-]{8,}/.exec(daemon.command('code', '--role', 'viewer').trim().split('\n').at(-1))[0];
        const first = await stranger.post('/api/v1/session', { code });
        assert.equal(first.status, 200, first.text);
        assert.equal(first.json.role, 'viewer');
        assert.equal((await stranger.post('/api/v1/session', { code })).status, 401, 'a code works once');
        assert.equal((await stranger.post('/api/v1/session', { token: 'plm_wrong' })).status, 401);
    });

    await t.test('lists come in pages', async () => {
        for (let i = 0; i < 5; i++) await operator.settled((await operator.submit(good)).id);
        const all = (await viewer.get('/api/v1/jobs?limit=500')).json.items.map((job) => job.id);
        assert.ok(all.length >= 5);
        assert.deepEqual(all, [...all].sort((a, b) => b - a), 'the newest first');
        const seen = [];
        let cursor = null;
        do {
            const page = await viewer.expect(200, 'GET', `/api/v1/jobs?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
            assert.ok(page.json.items.length <= 2);
            seen.push(...page.json.items.map((job) => job.id));
            cursor = page.json.next_cursor;
            if (cursor) assert.match(page.headers.get('link') ?? '', /rel="?next"?/);
        } while (cursor);
        assert.deepEqual(seen, all);
        assert.equal((await viewer.get('/api/v1/jobs?state=failed,running')).json.items.length, 0);
        assert.equal((await viewer.get('/api/v1/jobs?state=succeeded&target=scratch&workload=create-scaling&limit=500')).json.items.length, all.length);
    });

    await t.test('ETag, If-None-Match, HEAD', async () => {
        const { id } = (await viewer.get('/api/v1/jobs?limit=1')).json.items[0];
        for (const path of [`/api/v1/jobs/${id}`, '/api/v1/jobs', '/api/v1/workloads', `/api/v1/jobs/${id}/series?phase=create&points=100`]) {
            const first = await viewer.expect(200, 'GET', path);
            const etag = first.headers.get('etag');
            assert.ok(etag, `${path} has an ETag`);
            const again = await viewer.get(path, { headers: { 'if-none-match': etag } });
            assert.equal(again.status, 304, path);
            assert.equal(again.text, '');
            assert.equal((await viewer.get(path, { headers: { 'if-none-match': '"other"' } })).status, 200);
            const head = await viewer.request('HEAD', path);
            assert.equal(head.status, 200, path);
            assert.equal(head.text, '');
            assert.equal(head.headers.get('etag'), etag);
        }
    });

    await t.test('wait holds the answer until the state changes', async () => {
        const { id } = await operator.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 100_000_000, sync: 'fsync', operations: ['create'], max_seconds: 60 } });
        await operator.reached(id, 'create', 1);
        const asked = performance.now();
        const waiting = operator.job(id, '?wait=30');
        const short = await operator.job(id, '?wait=1');
        assert.equal(short.state, 'running', 'nothing changed within its second');
        assert.ok(performance.now() - asked > 900, `it held ${performance.now() - asked} ms`);
        await operator.post(`/api/v1/jobs/${id}/cancel`);
        const woken = await waiting;
        assert.match(woken.state, /cancel/);
        assert.ok(performance.now() - asked < 10_000, 'long before its 30 s');
        await operator.settled(id);
    });

    await t.test('targets tell what may be measured, and never a path', async () => {
        const { items } = (await viewer.expect(200, 'GET', '/api/v1/targets')).json;
        assert.deepEqual(items.map((target) => target.name), ['scratch']);
        const [target] = items;
        assert.equal(target.usable, true, JSON.stringify(target));
        assert.ok(target.space_total > 0 && target.space_available <= target.space_total);
        assert.deepEqual(target.workloads, ['create-scaling', 'filesystem-scaling', 'throughput']);
        assert.ok(!JSON.stringify(items).includes(daemon.scratch), 'the path is the administrator\'s');
    });

    await t.test('the OpenAPI document describes every route that answers', async () => {
        const document = (await stranger.expect(200, 'GET', '/openapi.json')).json;
        assert.match(document.openapi, /^3\.1/);
        for (const path of ['/jobs', '/jobs/{id}', '/jobs/{id}/cancel', '/jobs/{id}/series', '/jobs/{id}/host', '/jobs/{id}/journal', '/targets', '/workloads', '/session'])
            assert.ok(Object.keys(document.paths).some((known) => known === path || known === `/api/v1${path}`), `${path} is not described`);
    });

    await t.test('what is no HTTP gets an answer or a closed connection, and the next request its own', async () => {
        for (const bytes of ['\x16\x03\x01\x02\x01\r\n\r\n', 'GET\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(1 << 20)}\r\n\r\n`, `POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n`]) {
            const answer = await raw(daemon, bytes);
            assert.ok(answer === '' || /^HTTP\/1\.[01] [45]\d\d/.test(answer), JSON.stringify(answer.slice(0, 100)));
        }
        assert.equal((await stranger.get('/healthz')).status, 200);
    });
});

/* Sends bytes as they are; → what came back before the connection ended. */
function raw(daemon, bytes) {
    return new Promise((resolve, reject) => {
        const { hostname, port } = new URL(daemon.url);
        const socket = net.connect(Number(port), hostname);
        let text = '';
        socket.setTimeout(20_000, () => socket.destroy(new Error(`no answer to ${JSON.stringify(bytes.slice(0, 60))}`)));
        socket.on('connect', () => socket.end(bytes, 'latin1'));
        socket.on('data', (chunk) => (text += chunk.toString('latin1')));
        socket.on('close', () => resolve(text));
        socket.on('error', (error) => (['ECONNRESET', 'EPIPE'].includes(error.code) ? resolve(text) : reject(error)));
    });
}
