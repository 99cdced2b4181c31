/* Keeps asking, gently: conditional GETs, slower while the page is hidden, and with growing gaps and
 * a banner while the server is away. */
import { ApiError, call } from './api.js';
import { fill, h } from './dom.js';
import { sentence } from './format.js';

const AWAY_FIRST = 1, AWAY_MOST = 30; /* seconds */

/** The gap before try number `n` (0, 1, …): doubles to 30 s; `spread` 0…1 keeps clients apart. */
export function backoff(n, spread = Math.random()) {
    return Math.min(AWAY_MOST, AWAY_FIRST * 2 ** n) * (0.75 + spread / 2);
}

function pause(seconds, signal) {
    return new Promise((resolve) => {
        if (signal.aborted) {
            resolve();
            return;
        }
        const done = () => {
            clearTimeout(timer);
            signal.removeEventListener('abort', done);
            document.removeEventListener('visibilitychange', seen);
            resolve();
        };
        const seen = () => !document.hidden && done();
        const timer = setTimeout(done, seconds * 1000);
        signal.addEventListener('abort', done);
        document.addEventListener('visibilitychange', seen);
    });
}

const ended = (signal) => new Promise((resolve) => {
    if (signal.aborted)
        resolve();
    else
        signal.addEventListener('abort', resolve);
});

const away = new Set();

function bannerShow(who, sentence, seconds, retry) {
    away.add(who);
    const banner = document.getElementById('banner');
    const count = h('span', { class: 'num' });
    const ends = performance.now() + seconds * 1000;
    const tick = () => {
        count.textContent = `${Math.max(0, Math.ceil((ends - performance.now()) / 1000))} s`;
    };
    tick();
    const timer = setInterval(tick, 500);
    fill(banner, h('p', {},
        h('strong', {}, sentence), ' Next try in ', count, '. ',
        h('button', { type: 'button', class: 'small', onclick: retry }, 'Try now')));
    return () => clearInterval(timer);
}

function bannerHide(who) {
    away.delete(who);
    if (!away.size)
        fill(document.getElementById('banner'));
}

/**
 * Asks until `signal` ends, or until `each` says to stop.
 * @param address () => path: asked anew each time, so it may change
 * @param hold () => seconds that the server may hold an unchanged answer back, or 0
 * @param each (body, fresh) => seconds to wait before the next, or null to stop. `fresh` is false
 *        after a 304; body is then the last one.
 * @param failed (ApiError) => void: what trying again does not help
 * @returns {{again: () => void}} asks at once
 */
export function poll({ address, hold = () => 0, each, failed, signal }) {
    const who = {};
    let nudge = new AbortController(), restart = false;
    const again = () => {
        restart = true;
        nudge.abort();
    };
    (async () => {
        let etag = null, last = null, path = null, tries = 0;
        while (!signal.aborted) {
            nudge = new AbortController();
            const either = AbortSignal.any([signal, nudge.signal]);
            let wait = null;
            try {
                const now = address();
                if (now !== path)
                    etag = null;
                path = now;
                restart = false;
                const answer = await call('GET', now + held(now, etag && hold()), { etag, signal: either });
                tries = 0;
                bannerHide(who);
                const fresh = answer.status !== 304;
                if (fresh)
                    ({ body: last, etag } = answer);
                wait = each(last, fresh);
            } catch (error) {
                if (error.name === 'AbortError')
                    continue;
                if (!(error instanceof ApiError) || !error.away) {
                    bannerHide(who);
                    failed(error);
                    return;
                }
                wait = error.retryAfter ?? backoff(tries++);
                const still = bannerShow(who, awayWords(error), wait, again);
                either.addEventListener('abort', still);
                await pause(wait, either);
                still();
                continue;
            }
            if (wait === null && !restart) {
                /* Nothing will change by itself; stay ready for again(). */
                await ended(either);
                continue;
            }
            await pause(document.hidden ? Math.max(wait, 30) : wait, either);
        }
        bannerHide(who);
    })();
    return { again };
}

const held = (path, seconds) => (seconds ? `${path.includes('?') ? '&' : '?'}wait=${seconds}` : '');

function awayWords(error) {
    if (error.status === 0)
        return 'The server cannot be reached. What you see is what it last said.';
    return sentence(error.message);
}
