// A client of the HTTP interface, as a script would write one.
import { until, fatal } from './wait.mjs';

export const FINAL = new Set(['succeeded', 'failed', 'cancelled']);

export class Client {
    /* `url` may be a function: a daemon that was restarted listens elsewhere. */
    constructor(url, token) {
        this.at = typeof url === 'function' ? url : () => url;
        this.token = token;
    }

    /* → { status, headers, text, json }. `body` that is no string is sent as JSON. */
    async request(method, path, { body, headers = {}, seconds = 60 } = {}) {
        const all = { ...(this.token ? { authorization: `Bearer ${this.token}` } : {}), ...headers };
        if (body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array)) {
            body = JSON.stringify(body);
            all['content-type'] ??= 'application/json';
        }
        const response = await fetch(this.at() + path, {
            method,
            body,
            headers: all,
            redirect: 'manual',
            signal: AbortSignal.timeout(seconds * 1000),
        });
        const text = await response.text();
        const type = response.headers.get('content-type') ?? '';
        return {
            status: response.status,
            headers: response.headers,
            text,
            json: /json/.test(type) && !/ndjson/.test(type) && text ? JSON.parse(text) : null,
        };
    }

    get(path, options) {
        return this.request('GET', path, options);
    }

    post(path, body, options = {}) {
        return this.request('POST', path, { ...options, body });
    }

    async expect(status, method, path, options) {
        const answer = await this.request(method, path, options);
        if (answer.status !== status)
            throw new Error(`${method} ${path}: ${answer.status}, expected ${status}: ${answer.text.slice(0, 800)}`);
        return answer;
    }

    async submit(job) {
        return (await this.expect(201, 'POST', '/api/v1/jobs', { body: job })).json;
    }

    async job(id, query = '') {
        return (await this.expect(200, 'GET', `/api/v1/jobs/${id}${query}`)).json;
    }

    /* The job once it has ended. */
    finished(id, { seconds = 120 } = {}) {
        return until(`job ${id} to end`, async () => {
            const job = await this.job(id, '?wait=5');
            return FINAL.has(job.state) && job;
        }, { seconds });
    }

    /* The job once it has ended and nothing of it is being removed any more. */
    async settled(id, { seconds = 120 } = {}) {
        await this.finished(id, { seconds });
        return until(`the clean-up of job ${id}`, async () => {
            const job = await this.job(id);
            return ['done', 'blocked', 'none', 'kept'].includes(job.cleanup) && job;
        }, { seconds });
    }

    /* The job while it runs, once at least `done` operations of `phase` are done. */
    reached(id, phase, done, { seconds = 60 } = {}) {
        return until(`job ${id} to reach ${done} in ${phase}`, async () => {
            const job = await this.job(id);
            if (FINAL.has(job.state))
                throw fatal(`job ${id} was ${job.state} before it reached ${done} in ${phase}: ${JSON.stringify(job.problem)}`);
            return job.progress?.phase === phase && job.progress.done >= done && job;
        }, { seconds, every: 20 });
    }

    /* Every sample of the job as objects of numbers (phase as text), from the CSV, whose columns of
     * nanoseconds are named here as in the journal. */
    async samples(id, phase, run = 0) {
        const query = phase ? `?phase=${phase}&run=${run}&format=csv` : `?run=${run}&format=csv`;
        const { text } = await this.expect(200, 'GET', `/api/v1/jobs/${id}/series${query}`);
        const [head, ...lines] = text.trimEnd().split(/\r?\n/);
        const names = head.split(',').map((name) => name.replace(/_ns$/, ''));
        return lines.map((line) => {
            const row = {};
            line.split(',').forEach((value, i) => {
                row[names[i]] = names[i] === 'phase' ? value : Number(value);
            });
            return row;
        });
    }
}
