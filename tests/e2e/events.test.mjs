// What happens to a job, heard by a hundred at once while the daemon restarts in the middle of it.
import test from 'node:test';
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { readdirSync, readFileSync } from 'node:fs';
import { startDaemon } from './daemon.mjs';
import { until } from './wait.mjs';

const LISTENERS = 100;
const RSS_MORE = 4 * 1024; // KiB, after 1000 streams: 4 KiB each, less than what the text of one takes

/* One who listens as an EventSource does: it keeps the last id, comes again with it when the stream
 * breaks, and does not when it is answered 204. */
class Listener {
    constructor(daemon, token, id) {
        Object.assign(this, { daemon, token, path: `/api/v1/jobs/${id}/events` });
        this.last = null;
        this.states = []; // of the events that have ids, after the snapshot
        this.snapshots = 0;
        this.findings = 0;
        this.connections = 0;
        this.away = null; // a promise: until then it does not come again
        this.over = this.listen();
    }

    async listen() {
        const deadline = performance.now() + 120_000;
        while (performance.now() < deadline) {
            try {
                if ((await this.connect()) === 204) return;
            } catch (error) {
                if (!error.code) throw error; // no network error
                this.broken = error.code;
            }
            await new Promise((resolve) => setTimeout(resolve, 100)); // an EventSource waits, too
            await this.away;
        }
        throw new Error(`no end within 120 s; ${this.broken}; ${JSON.stringify(this.states)}`);
    }

    /* → the status, when the answer has ended. */
    connect() {
        const headers = { authorization: `Bearer ${this.token}`, accept: 'text/event-stream' };
        if (this.last !== null) headers['last-event-id'] = this.last;
        return new Promise((done, fail) => {
            const asked = request(this.daemon.url + this.path, { headers, agent: false }, (answer) => {
                let text = '';
                this.connections += answer.statusCode === 200;
                answer.setEncoding('utf8');
                answer.on('data', (piece) => {
                    const blocks = (text + piece).split('\n\n');
                    text = blocks.pop();
                    for (const block of blocks) this.hear(block);
                });
                answer.on('error', fail);
                answer.on('end', () => {
                    if ([200, 204, 503].includes(answer.statusCode)) done(answer.statusCode);
                    else fail(new Error(`${answer.statusCode}: ${text}`));
                });
            });
            asked.on('error', fail);
            asked.end();
        });
    }

    hear(block) {
        const fields = Object.fromEntries(block.split('\n').filter((line) => /^\w+: /.test(line)).map((line) => line.split(/: (.*)/s)));
        if (!fields.event) return;
        const data = JSON.parse(fields.data);
        if (fields.event === 'snapshot') this.snapshots++;
        if (fields.event === 'findings') this.findings++;
        if (fields.event === 'state') {
            assert.equal(data.revision, Number(fields.id));
            this.states.push({ id: data.revision, is: `${data.state}/${data.cleanup}` });
        }
        if (fields.id !== undefined) this.last = fields.id;
    }
}

function held(pid) {
    return {
        descriptors: readdirSync(`/proc/${pid}/fd`).length,
        rss: Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]),
    };
}

/* Established ones, at the daemon's end. */
function connections(daemon) {
    const port = Number(new URL(daemon.url).port).toString(16).toUpperCase().padStart(4, '0');
    return readFileSync('/proc/net/tcp', 'utf8').split('\n').filter((line) => {
        const [, local, , state] = line.trim().split(/\s+/);
        return local === `0100007F:${port}` && state === '01';
    }).length;
}

/* All listen to the same job, from before it begins to after its findings. */
async function hearJob(daemon, client, token, params, meanwhile = async () => {}) {
    const job = await client.submit({ workload: 'create-scaling', target: 'scratch', params });
    const listeners = Array.from({ length: LISTENERS }, () => new Listener(daemon, token, job.id));
    await until('all to have a snapshot', () => listeners.every((one) => one.snapshots > 0));
    await meanwhile(job.id, listeners);
    await Promise.all(listeners.map((one) => one.over));
    return { id: job.id, listeners };
}

test(`${LISTENERS} listeners hear one history through a restart`, async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const token = await daemon.token('viewer');
    const blocker = await client.submit({ workload: 'create-scaling', target: 'scratch', params: { files: 100_000_000, batch: 10, sync: 'fsync', operations: ['create'] } });
    await client.reached(blocker.id, 'create', 20);

    /* Queued behind the other one, so that every listener is there when it begins. */
    const { id, listeners } = await hearJob(daemon, client, token, { files: 100_000_000, batch: 10, sync: 'fsync', operations: ['create'], max_seconds: 10 }, async (id, all) => {
        await client.expect(202, 'POST', `/api/v1/jobs/${blocker.id}/cancel`);
        await client.reached(id, 'create', 20);
        await until('all to hear that it runs', () => all.every((one) => one.states.some((state) => state.is === 'running/none')));
        /* Half of them miss all that follows, until there is nothing more to come. */
        let back;
        const away = new Promise((resolve) => (back = resolve));
        for (const one of all.filter((_, i) => i % 2)) one.away = away;
        await daemon.restart();
        await client.settled(id);
        back();
    });

    await t.test('all heard the same, in order, once', async () => {
        const job = await client.settled(id);
        assert.equal(job.state, 'succeeded', JSON.stringify(job.problem));
        const history = daemon.psql(`SELECT revision, state || '/' || cleanup FROM job_event WHERE job = ${id} ORDER BY revision`)
            .map(([revision, is]) => ({ id: Number(revision), is }));
        assert.deepEqual(history.slice(0, 3).map((state) => state.is), ['queued/none', 'running/none', 'succeeded/pending']);
        assert.equal(history.at(-1).is, 'succeeded/done');
        for (const [i, one] of listeners.entries()) {
            assert.deepEqual(one.states, history.slice(1));
            assert.ok(one.connections >= 2, 'it came again after the restart');
            assert.equal(one.snapshots, one.connections);
            if (i % 2 === 0) assert.ok(one.findings >= 1, 'it heard what was found');
        }
    });
});

/* By a build without sanitizers, which keep what was freed. */
test(`crowds of ${LISTENERS} that came and went leave nothing behind`, async (t) => {
    const daemon = await startDaemon({ build: 'release' });
    t.after(() => daemon.close());
    const client = daemon.client(await daemon.token('operator'));
    const token = await daemon.token('viewer');
    const crowd = () => hearJob(daemon, client, token, { files: 2000 });
    const idle = async () => {
        await until('the connections to be closed', () => connections(daemon) <= 2); // our own client keeps some
        return held(daemon.pid);
    };
    for (let i = 0; i < 5; i++) await crowd(); // what stays: threads, connections of the database, caches
    const before = await idle();
    for (let i = 0; i < 10; i++) await crowd();
    const after = await idle();
    t.diagnostic(`${before.rss} then ${after.rss} KiB, ${before.descriptors} then ${after.descriptors} descriptors`);
    assert.ok(after.descriptors <= before.descriptors + 4, `${before.descriptors} then ${after.descriptors} descriptors`);
    assert.ok(after.rss <= before.rss + RSS_MORE, `${before.rss} then ${after.rss} KiB`);
});
