/* Small pieces that several pages show. */
import { attribute, h, svg, text } from './dom.js';
import { localTime, utcTime } from './format.js';
import { STATES } from './words.js';

/** The state of a job: a shape and a word, so that colour is not the only sign. */
export function badge() {
    const element = h('span', { class: 'badge' });
    element.update = (state, note = '') => {
        attribute(element, 'class', `badge ${state}`);
        text(element, STATES[state] ? STATES[state] + note : state);
    };
    return element;
}

/** A moment, in local time; the tooltip says it in UTC. */
export function time() {
    const element = h('time', { class: 'num' });
    element.update = (at) => {
        text(element, localTime(at));
        attribute(element, 'datetime', at);
        attribute(element, 'title', at ? utcTime(at) : null);
    };
    return element;
}

/** How much is done, 0 to 1; null: not known. */
export function bar(label) {
    const inner = h('div', { class: 'bar-done' });
    const element = h('div', {
        class: 'bar', role: 'progressbar', 'aria-label': label,
        'aria-valuemin': 0, 'aria-valuemax': 100,
    }, inner);
    element.update = (share) => {
        const percent = share === null ? 0 : Math.max(0, Math.min(100, share * 100));
        inner.style.width = `${percent}%`;
        attribute(element, 'aria-valuenow', share === null ? null : Math.floor(percent));
        element.classList.toggle('unsure', share === null);
    };
    return element;
}

/** Names and values, one under the other. */
export function facts(rows) {
    return h('dl', { class: 'facts' }, rows.map(([name, value, tip]) =>
        [h('dt', {}, name), h('dd', { title: tip ?? null }, value)]));
}

export function mark() {
    return svg('svg', { class: 'mark', viewBox: '0 0 32 32', 'aria-hidden': 'true' },
        svg('circle', { cx: 16, cy: 16, r: 9.5 }), svg('path', { d: 'M1 16h30' }));
}

/** A page's whole content when there is nothing better to show. */
export function empty(heading, ...more) {
    return h('div', { class: 'empty' }, h('h2', {}, heading), ...more);
}

/** The same, as a page of its own. */
export function emptyPage(heading, ...more) {
    return h('div', { class: 'empty' }, h('h1', {}, heading), ...more);
}
