/* What one must know of a job before its figures: a failure, a limit, what is left on the target. */
import { fill, h, onChange } from '../dom.js';
import { number, sentence } from '../format.js';
import { PROBLEMS, cleanupWords, limitWords } from '../words.js';

export function noticesPanel() {
    const element = h('div', { class: 'notices' });
    const draw = onChange((job) => fill(element, problem(job), stuck(job), limits(job), shared(job), cleanup(job)));
    return {
        element,
        update: ({ state, problem: wrong, stuck: held, phases, cleanup: cleaning, removed, foreign, environment }) =>
            draw({ state, shared: environment?.shared_device === true, problem: wrong, stuck: held, cleanup: cleaning, removed, foreign,
                limits: (phases ?? []).filter((p) => p.limited_by).map((p) => ({ phase: p.name, unit: p.unit, ...p.limited_by })) }),
    };
}

function problem({ state, problem: wrong }) {
    if (!wrong || state === 'cancelled')
        return null;
    return h('div', { class: 'notice bad' },
        h('h2', {}, 'The job failed'),
        PROBLEMS[wrong.code] && h('p', {}, PROBLEMS[wrong.code]),
        h('p', {}, sentence(wrong.message), wrong.field ? [' (', h('code', {}, wrong.field), ')'] : null));
}

function stuck({ stuck: held }) {
    return held && h('div', { class: 'notice bad' },
        h('h2', {}, 'The kernel does not let go'),
        h('p', {}, 'A system call of this job has not returned. Its target takes no other job until it does.'));
}

/** A limit is what was looked for: told as a result. */
function limits({ limits: met }) {
    return met.map((limit) => h('div', { class: 'notice result' },
        h('h2', {}, `Limit found while ${phaseVerb(limit.phase)}`),
        h('p', {}, limitWords(limit, limit.unit)),
        limit.detail && h('p', { class: 'doc' }, sentence(limit.detail))));
}

function shared({ shared: same }) {
    return same && h('p', { class: 'doc' },
        'The service keeps its own files on the device that was measured: its writing is part of the figures.');
}

const VERBS = { create: 'creating', list: 'listing', stat: 'asking for attributes', remove: 'removing', write: 'writing', read: 'reading' };
const phaseVerb = (name) => VERBS[name] ?? name;

function cleanup(job) {
    const words = cleanupWords(job);
    if (!words || job.cleanup === 'done')
        return words && h('p', { class: 'doc cleaned' }, words);
    const names = job.foreign ?? [];
    const shown = names.slice(0, 20);
    return h('div', { class: `notice ${job.cleanup === 'blocked' ? 'bad' : 'plain'}` },
        h('h2', {}, job.cleanup === 'blocked' ? 'Clean-up is blocked' : 'Clean-up'),
        h('p', {}, words),
        shown.length > 0 && h('ul', { class: 'names' }, shown.map((name) => h('li', {}, h('code', {}, name)))),
        names.length > shown.length && h('p', { class: 'doc' }, `and ${number(names.length - shown.length)} more`));
}
