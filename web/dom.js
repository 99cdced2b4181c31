/* Making and changing elements. Data only ever becomes text or an attribute, never markup. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element: `h('a', { href: '/new', class: 'button', onclick: go }, 'New job')`.
 * Properties that start with "on" are listeners; true sets an empty attribute; null, undefined
 * and false leave it out. Children may be nodes, text, numbers, arrays, or nothing.
 */
export function h(tag, props = {}, ...children) {
    return dress(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
    return dress(document.createElementNS(SVG, tag), props, children);
}

function dress(element, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (name.startsWith('on'))
            element.addEventListener(name.slice(2), value);
        else
            attribute(element, name, value);
    }
    element.append(...nodes(children));
    return element;
}

function nodes(children) {
    return children.flat(Infinity)
        .filter((child) => child !== null && child !== undefined && child !== false)
        .map((child) => (child instanceof Node ? child : String(child)));
}

export function attribute(element, name, value) {
    if (value === null || value === undefined || value === false)
        element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value === true ? '' : value))
        element.setAttribute(name, value === true ? '' : value);
}

/** Replaces what an element holds. */
export function fill(element, ...children) {
    element.replaceChildren(...nodes(children));
    return element;
}

/** Sets text only if it differs, so that a selection in it survives a refresh. */
export function text(element, value) {
    const words = value === null || value === undefined ? '' : String(value);
    if (element.textContent !== words)
        element.textContent = words;
    return element;
}

/**
 * Keeps children of `parent` in step with `items`, each known by `key`: elements that stay are
 * kept, and so are focus and selection in them.
 * @param make (item) => element, with an `update(item)` of its own
 */
export function keyed(parent, items, key, make) {
    const had = new Map([...parent.children].map((child) => [child.dataset.key, child]));
    let at = parent.firstElementChild;
    for (const item of items) {
        const name = String(key(item));
        let child = had.get(name);
        had.delete(name);
        if (!child) {
            child = make(item);
            child.dataset.key = name;
        }
        child.update?.(item);
        if (child === at)
            at = at.nextElementSibling;
        else
            parent.insertBefore(child, at);
    }
    for (const gone of had.values())
        gone.remove();
}

/**
 * A function that draws again only when what it is given changed.
 * @param draw (value) => void
 */
export function onChange(draw) {
    let last;
    return (value) => {
        const now = JSON.stringify(value);
        if (now !== last) {
            last = now;
            draw(value);
        }
    };
}

/** Says something to those who listen to the page instead of looking at it. */
export function announce(sentence) {
    text(document.getElementById('announce'), sentence);
}
