/* Talks to the daemon. Every failure is an ApiError with the daemon's own words. */

const BASE = '/api/v1';

/** What went wrong: RFC 9457, or the network (status 0). */
export class ApiError extends Error {
    constructor(status, problem, retryAfter = null) {
        super(problem.detail || problem.title || `The server answered ${status}`);
        this.status = status;
        this.code = problem.code ?? '';
        this.errors = Array.isArray(problem.errors) ? problem.errors : [];
        this.requestId = problem.request_id ?? null;
        this.retryAfter = retryAfter;
    }
    /** The server, or something before it, is away for now: trying again makes sense. */
    get away() {
        return this.status === 0 || this.status === 502 || this.status === 503 ||
            this.status === 504 || this.status === 429;
    }
}

async function failure(response) {
    let problem = { title: `The server answered ${response.status} ${response.statusText}` };
    try {
        problem = await response.json();
    } catch {
        /* not JSON: a proxy's page, perhaps; the status says enough */
    }
    const after = Number(response.headers.get('Retry-After'));
    return new ApiError(response.status, problem, after > 0 ? after : null);
}

/**
 * @param path below /api/v1, or a whole path that starts with "//"-less "/healthz" when `root`
 * @returns {Promise<{status: number, body: any, etag: string|null}>} body null for 304 and 204
 */
export async function call(method, path, { body, etag, key, signal } = {}) {
    const headers = { Accept: 'application/json' };
    if (body !== undefined)
        headers['Content-Type'] = 'application/json';
    if (etag)
        headers['If-None-Match'] = etag;
    if (key)
        headers['Idempotency-Key'] = key;
    let response, answer = null;
    try {
        response = await fetch(BASE + path, {
            method, headers, signal, cache: 'no-store', credentials: 'same-origin',
            body: body === undefined ? undefined : JSON.stringify(body),
        });
        if (response.status === 304)
            return { status: 304, body: null, etag };
        if (!response.ok)
            throw await failure(response);
        if (response.status !== 204)
            answer = await response.json();
    } catch (error) {
        if (error instanceof ApiError || error.name === 'AbortError')
            throw error;
        throw new ApiError(0, { title: 'The server cannot be reached' });
    }
    return { status: response.status, body: answer, etag: response.headers.get('ETag') };
}

export const get = async (path, options) => (await call('GET', path, options)).body;
export const post = async (path, body, options) =>
    (await call('POST', path, { ...options, body })).body;
export const patch = async (path, body, options) =>
    (await call('PATCH', path, { ...options, body })).body;
export const remove = async (path, options) => (await call('DELETE', path, options)).body;

/** A query string from what is set: `query({ state: 'running', cursor: null })`. */
export function query(values) {
    const set = Object.entries(values).filter(([, v]) => v !== null && v !== undefined && v !== '');
    const search = new URLSearchParams(set.map(([k, v]) => [k, String(v)])).toString();
    return search ? `?${search}` : '';
}

/** Names one POST, so that sending it again after a lost answer makes no second job. Not
 *  randomUUID: that exists only where the page came by TLS or from this machine. */
export function newKey() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

/** An address to link to. */
export const address = (path) => BASE + path;
