/* Starts the page: who is signed in, the top line, and which view an address shows. */
import { get, post, remove } from './api.js';
import { announce, fill, h } from './dom.js';
import { sentence } from './format.js';
import { emptyPage, mark } from './parts.js';
import { draw, go, listen, otherwise, route } from './router.js';
import { compareView } from './views/compare.js';
import { jobView } from './views/job.js';
import { jobsView } from './views/jobs.js';
import { newView } from './views/new.js';
import { signInView } from './views/signin.js';

let session = null; /* {"name","role"} */

const may = (what) => what === 'run' && (session?.role === 'operator' || session?.role === 'admin');

/** Adds to a view's context what it needs from here. */
const page = (view, name) => (context, ...groups) => {
    document.title = name ? `${name} · plimsoll` : 'plimsoll';
    top();
    view({
        ...context, may,
        title: (words) => { document.title = `${words} · plimsoll`; },
        failed: (error) => failed(context, error),
    }, ...groups);
};

/** A failure that trying again by itself does not help. */
function failed({ main }, error) {
    if (error.status === 401) {
        session = null;
        signIn('Your session has ended. Sign in to go on where you were.');
        return;
    }
    const heading = error.status === 404 ? 'There is no such thing here' : error.message;
    fill(main, emptyPage(heading,
        h('p', {}, error.status === 404 ? error.message : null,
            error.requestId ? ` Request ${error.requestId}.` : null),
        h('p', {}, h('a', { href: '/' }, 'All jobs'), ' · ',
            h('button', { type: 'button', class: 'link', onclick: () => draw() }, 'Try again'))));
    announce(heading);
}

function top() {
    const here = (path) => (location.pathname === path ? 'page' : null);
    fill(document.getElementById('top'),
        h('a', { class: 'brand', href: '/' }, mark(), 'plimsoll'),
        session && h('nav', { 'aria-label': 'Main' },
            h('a', { href: '/', 'aria-current': here('/') }, 'Jobs'),
            may('run') && h('a', { href: '/new', 'aria-current': here('/new') }, 'New job')),
        session && h('div', { class: 'who' },
            h('span', { title: `Role: ${session.role}` }, session.name),
            h('button', { type: 'button', class: 'link', onclick: signOut }, 'Sign out')));
}

function signIn(words = '') {
    const main = document.getElementById('main');
    document.title = 'Sign in · plimsoll';
    top();
    fill(main);
    signInView({ main, words, done: (who) => {
        session = who;
        announce(`Signed in as ${who.name}`);
        draw({ focus: true });
    } });
}

async function signOut() {
    try {
        await remove('/session');
    } catch (error) {
        if (error.status !== 401) {
            announce(error.message);
            return;
        }
    }
    session = null;
    go('/', { replace: true });
}

/** The one-time code of the address, which leaves the address bar and the history at once. */
function takeCode() {
    const code = /^#code=(.+)$/.exec(location.hash)?.[1] ?? null;
    if (code)
        history.replaceState(null, '', location.pathname + location.search);
    return code && decodeURIComponent(code);
}

async function start() {
    const code = takeCode();
    try {
        session = code ? await post('/session', { code }) : await get('/session');
    } catch (error) {
        signIn(startWords(code, error));
        return;
    }
    draw();
}

function startWords(code, error) {
    if (error.away)
        return `${sentence(error.message)} Try again in a moment.`;
    return code ? `${sentence(error.message)} A one-time code works once, for ten minutes.` : '';
}

const gate = (view, name) => (context, ...groups) =>
    (session ? page(view, name)(context, ...groups) : signIn());

route(/^\/$/, gate(jobsView, 'Jobs'));
route(/^\/new$/, gate(newView, 'New job'));
route(/^\/compare$/, gate(compareView, 'Comparison'));
route(/^\/jobs\/(\d+)$/, gate(jobView, 'Job'));
otherwise(gate(({ main }) => fill(main, emptyPage('There is no page here',
    h('p', {}, h('a', { href: '/' }, 'All jobs'))))));
addEventListener('hashchange', () => location.hash.startsWith('#code=') && start());
listen();
start();
