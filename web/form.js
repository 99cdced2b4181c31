/* A form drawn from the JSON Schema of a workload's parameters, and back to JSON. The rules
 * themselves (ranges, units) are the server's: it is asked, and its answers stand beside the fields.
 * The first half is pure, for tests; the second makes elements. */
import { attribute, h, text } from './dom.js';
import { bytes, duration, number, sentence, title } from './format.js';

/** The types a schema allows: "integer", ["integer","string"], or an anyOf of them. */
function types(schema) {
    if (Array.isArray(schema.type))
        return schema.type;
    if (schema.type)
        return [schema.type];
    return (schema.anyOf ?? schema.oneOf ?? []).flatMap(types);
}

/** The first schema in an anyOf that says `name`, or the schema itself. */
function said(schema, name) {
    return schema[name] ??
        (schema.anyOf ?? schema.oneOf ?? []).map((s) => s[name]).find((v) => v !== undefined);
}

function kindOf(schema, unit) {
    const may = types(schema);
    if (may.includes('array'))
        return said(schema, 'items')?.enum ? 'set' : 'list';
    if (said(schema, 'enum'))
        return 'choice';
    if (may.includes('boolean'))
        return 'flag';
    if (unit === 'bytes')
        return 'size';
    if (unit === 's' || unit === 'seconds')
        return 'time';
    if (may.includes('integer') || may.includes('number'))
        return unit === 'share' ? 'share' : 'number';
    if (may.includes('object'))
        return 'map';
    return 'text';
}

/** Properties of an object's schema → what a form needs to know of each, in order. */
export function fieldsOf(schema) {
    const required = new Set(schema.required ?? []);
    return Object.entries(schema.properties ?? {}).map(([name, s]) => {
        const unit = s.unit ?? s['x-unit'] ?? '';
        return {
            name, unit, kind: kindOf(s, unit), doc: s.description ?? '',
            required: required.has(name), preset: s.default,
            choices: said(s, 'enum') ?? said(s, 'items')?.enum ?? [],
            min: said(s, 'minimum'), max: said(s, 'maximum'),
        };
    });
}

const shown = (field, n) => {
    if (field.kind === 'size')
        return bytes(n);
    if (field.kind === 'time')
        return duration(n);
    return number(n, 6);
};

/** What a field takes, in words: "1 to 10 000 000 000 files; 100 000 if left empty". */
export function hint(field) {
    const parts = [];
    const { min, max, preset } = field;
    if (['number', 'size', 'time', 'share', 'list'].includes(field.kind)) {
        const unit = field.kind === 'number' && field.unit ? ` ${field.unit}` : '';
        if (typeof min === 'number' && typeof max === 'number' && max > min)
            parts.push(`${min === 0 ? 'up' : shown(field, min)} to ${shown(field, max)}${unit}`);
        else if (typeof min === 'number' && min > 0)
            parts.push(`at least ${shown(field, min)}${unit}`);
    }
    if (field.kind === 'size')
        parts.push('such as 8KiB or 200MiB');
    if (field.kind === 'time')
        parts.push('in seconds, or such as 250ms or 1h30m');
    if (field.kind === 'list')
        parts.push('numbers, with commas between');
    if (preset !== undefined && preset !== null && preset !== '' &&
        !['flag', 'set', 'choice'].includes(field.kind))
        parts.push(`${Array.isArray(preset) ? preset.join(', ') : presetWords(field)} if left empty`);
    return parts.join('; ');
}

function presetWords(field) {
    if (typeof field.preset !== 'number')
        return String(field.preset);
    if (field.kind === 'time' && field.preset === 0)
        return 'no limit';
    return shown(field, field.preset);
}

const SPACES = /[\s\u202f\u00a0]/g;

/** "1 750 000" → 1750000; what is not a plain number stays text, and the server says what is wrong. */
export function numberOrText(words) {
    const tight = words.replace(SPACES, '');
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(tight) ? Number(tight) : words.trim();
}

/**
 * What was entered → JSON; undefined: leave it out, the default holds.
 * @param entered text; boolean for a flag; an array of names for a set
 */
export function valueOf(field, entered) {
    if (field.kind === 'flag')
        return entered;
    if (field.kind === 'set')
        return [...entered];
    const words = String(entered ?? '').trim();
    if (words === '')
        return undefined;
    switch (field.kind) {
    case 'number': case 'share':
        return numberOrText(words);
    case 'size': case 'time':
        return numberOrText(words);
    case 'list':
        return words.split(',').map((one) => numberOrText(one));
    case 'map':
        return pairs(words);
    default:
        return words;
    }
}

/** "kernel=6.1, site=north" → {"kernel": "6.1", "site": "north"}. */
export function pairs(words) {
    const object = {};
    for (const part of words.split(',').map((p) => p.trim()).filter(Boolean)) {
        const at = part.indexOf('=');
        object[at < 0 ? part : part.slice(0, at).trim()] = at < 0 ? '' : part.slice(at + 1).trim();
    }
    return object;
}

/** The field a JSON pointer is about: the longest known pointer that it equals or lies below. */
export function pointerOwner(pointer, known) {
    return known
        .filter((p) => pointer === p || pointer.startsWith(`${p}/`))
        .sort((a, b) => b.length - a.length)[0] ?? null;
}

/* ---- elements ---- */

let serial = 0;

/**
 * One labelled field.
 * @returns {{element, pointer, value: () => any, set: (any) => void, error: (string|null) => void,
 *            focus: () => void}}
 */
export function fieldElement(field, pointer, label = title(field.name)) {
    const id = `f${++serial}`;
    const input = inputFor(field, id);
    const wrong = h('p', { class: 'wrong', id: `${id}-wrong` });
    const docs = h('p', { class: 'doc', id: `${id}-doc` }, field.doc,
        hint(field) ? h('span', { class: 'hint' }, sentence(hint(field))) : null);
    const group = field.kind === 'set';
    const name = group ? h('legend', {}, label) : h('label', { for: id }, label);
    const element = h(group ? 'fieldset' : 'div', { class: `field ${field.kind}` },
        name, input.element, wrong, docs);
    for (const control of input.controls)
        attribute(control, 'aria-describedby', `${id}-wrong ${id}-doc`);
    return {
        element, pointer,
        value: () => valueOf(field, input.get()),
        set: input.set,
        error(words) {
            text(wrong, words ?? '');
            element.classList.toggle('bad', Boolean(words));
            for (const control of input.controls)
                attribute(control, 'aria-invalid', words ? 'true' : null);
        },
        focus: () => input.controls[0].focus(),
    };
}

function inputFor(field, id) {
    if (field.kind === 'set')
        return boxes(field, id);
    if (field.kind === 'flag') {
        const box = h('input', { type: 'checkbox', id, checked: field.preset === true });
        return { element: box, controls: [box], get: () => box.checked, set: (v) => { box.checked = v === true; } };
    }
    if (field.kind === 'choice') {
        const select = h('select', { id }, field.choices.map((choice) =>
            h('option', { value: choice, selected: choice === field.preset }, choice)));
        return { element: select, controls: [select], get: () => select.value, set: (v) => { select.value = v; } };
    }
    const numeric = field.kind === 'number' || field.kind === 'share';
    const box = h('input', {
        type: 'text', id, autocomplete: 'off', spellcheck: 'false',
        inputmode: numeric ? 'decimal' : null, required: field.required,
        placeholder: placeholder(field),
    });
    const unit = field.kind === 'number' ? field.unit : '';
    return {
        element: h('div', { class: 'entry' }, box, unit ? h('span', { class: 'unit' }, unit) : null),
        controls: [box], get: () => box.value,
        set: (v) => { box.value = entryText(field, v); },
    };
}

function placeholder(field) {
    const { preset } = field;
    if (preset === undefined || preset === null)
        return null;
    return typeof preset === 'number' ? presetWords(field) : String(preset);
}

/** A stored value as one would enter it. */
function entryText(field, value) {
    if (value === undefined || value === null)
        return '';
    if (Array.isArray(value))
        return value.join(', ');
    if (typeof value === 'object')
        return Object.entries(value).map(([k, v]) => `${k}=${v}`).join(', ');
    return field.kind === 'number' && typeof value === 'number' ? number(value, 6) : String(value);
}

function boxes(field, id) {
    const preset = new Set(Array.isArray(field.preset) ? field.preset : field.choices);
    const all = field.choices.map((choice, i) =>
        h('input', { type: 'checkbox', id: `${id}-${i}`, value: choice, checked: preset.has(choice) }));
    const element = h('div', { class: 'boxes' }, all.map((box) =>
        h('label', { class: 'box', for: box.id }, box, box.value)));
    return {
        element, controls: all,
        get: () => all.filter((box) => box.checked).map((box) => box.value),
        set: (v) => all.forEach((box) => { box.checked = v.includes(box.value); }),
    };
}

/** Puts each error beside its field; what belongs to none is returned. */
export function showErrors(fields, errors) {
    const left = [];
    const said = new Map();
    for (const error of errors) {
        const owner = pointerOwner(error.pointer ?? '', fields.map((f) => f.pointer));
        if (owner === null)
            left.push(error);
        else
            said.set(owner, [...(said.get(owner) ?? []), error.detail]);
    }
    for (const field of fields)
        field.error(said.get(field.pointer)?.join('; ') ?? null);
    return left;
}

/** A box of words about something that went wrong. */
export function problemBox(words, ...more) {
    return h('div', { class: 'notice bad', role: 'alert' }, h('p', {}, words), ...more);
}
