/* Real addresses, drawn here: "/", "/new", "/jobs/42". The server answers index.html for each. */

const routes = [];

/** @param pattern RegExp over the path; its groups are passed to `show(context, ...groups)` */
export function route(pattern, show) {
    routes.push({ pattern, show });
}

let leave = null;
let missing = () => {};

export function otherwise(show) {
    missing = show;
}

/** Goes to an address of ours. */
export function go(address, { replace = false } = {}) {
    history[replace ? 'replaceState' : 'pushState'](null, '', address);
    draw({ focus: true });
}

/** Draws what the address bar says; what was there before is told to stop. */
export function draw({ focus = false } = {}) {
    leave?.abort();
    leave = new AbortController();
    const main = document.getElementById('main');
    const context = { main, signal: leave.signal, search: new URLSearchParams(location.search) };
    main.replaceChildren();
    const found = routes.map((r) => [r, r.pattern.exec(location.pathname)]).find(([, m]) => m);
    if (found)
        found[0].show(context, ...found[1].slice(1));
    else
        missing(context);
    if (focus) {
        main.focus({ preventScroll: true });
        scrollTo(0, 0);
    }
}

/** Follows links to our own pages without loading them anew. */
export function listen() {
    addEventListener('popstate', () => draw());
    document.addEventListener('click', (event) => {
        const link = event.target.closest?.('a[href]');
        if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey ||
            event.shiftKey || event.altKey || link.target || link.hasAttribute('download'))
            return;
        const to = new URL(link.href);
        if (to.origin !== location.origin || to.pathname.startsWith('/api/') ||
            to.pathname === '/openapi.json' || (to.hash && to.pathname === location.pathname))
            return;
        event.preventDefault();
        go(to.pathname + to.search);
    });
}
