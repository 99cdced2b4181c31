/* A new job: what, where, how. The form is the schema's; the server judges it while it is filled in. */
import { get, newKey, post, query } from '../api.js';
import { announce, fill, h, text } from '../dom.js';
import { bytes, number, percent, sentence, title } from '../format.js';
import { fieldElement, fieldsOf, problemBox, showErrors } from '../form.js';
import { empty, emptyPage } from '../parts.js';
import { go } from '../router.js';
import { valueWords } from './environment.js';

const SETTLE = 350; /* ms without a key before the server is asked */

/* What a job has beside its workload's parameters. */
const ABOUT = [
    { name: 'note', kind: 'text', unit: '', doc: 'What this measurement is for.', choices: [] },
    { name: 'labels', kind: 'map', unit: '', doc: 'To find and compare jobs by: kernel=6.1, site=north.', choices: [] },
    { name: 'external_ref', title: 'Reference', kind: 'text', unit: '', doc: 'A ticket or build it belongs to.', choices: [] },
    { name: 'repeat', kind: 'number', unit: '', doc: 'How often it is measured, one run after the other.', preset: 1, choices: [] },
    { name: 'priority', kind: 'number', unit: '', doc: 'Higher goes first on its target.', preset: 0, choices: [] },
];

export async function newView(context) {
    const { main, signal, search, failed, may } = context;
    if (!may('run')) {
        fill(main, emptyPage('Your token reads only', h('p', {}, 'An operator\u2019s token is needed to run jobs.')));
        return;
    }
    fill(main, h('h1', {}, 'New job'), h('p', { class: 'doc' }, 'Asking what can be measured …'));
    const from = search.get('from');
    let workloads, targets, model = null;
    try {
        [workloads, targets, model] = await Promise.all([
            get('/workloads', { signal }), get('/targets', { signal }),
            from && /^\d+$/.test(from) ? get(`/jobs/${from}`, { signal }) : null,
        ]);
    } catch (error) {
        if (error.name !== 'AbortError')
            failed(error);
        return;
    }
    draw(context, workloads.items, targets.items, model);
}

function draw({ main, signal, failed }, workloads, targets, model) {
    const about = ABOUT.map((field) => fieldElement(field, `/${field.name}`, field.title));
    const params = h('div', { class: 'fields' }), varied = h('p', { class: 'doc' });
    const places = targetChoice(targets, model?.target);
    const trouble = h('div');
    const verdict = h('p', { class: 'doc verdict', 'aria-live': 'polite' });
    const button = h('button', { type: 'submit', class: 'primary' }, 'Run');
    const summary = h('p', { class: 'doc' });
    const workload = h('select', { id: 'workload', onchange: drawParams }, workloads.map(({ name }) =>
        h('option', { value: name, selected: name === model?.workload }, name)));
    let fields = [], timer = null, asking = null, key = null, keyFor = null;

    const form = h('form', { onsubmit: send, oninput: later, onchange: later, novalidate: true },
        h('section', { class: 'card' }, h('h2', {}, 'What'),
            h('div', { class: 'field' }, h('label', { for: 'workload' }, 'Workload'), workload, summary)),
        h('section', { class: 'card' }, h('h2', { id: 'where' }, 'Where'), places.element),
        h('section', { class: 'card' }, h('h2', {}, 'How'), varied, params),
        h('section', { class: 'card' }, h('h2', {}, 'About it'), h('div', { class: 'fields' }, about.map((f) => f.element))),
        trouble, h('div', { class: 'submit' }, button, verdict));
    fill(main, h('h1', {}, model ? `New job, like job ${model.id}` : 'New job'), form);
    for (const field of about)
        field.set(model?.[field.pointer.slice(1)]);
    drawParams();
    signal.addEventListener('abort', () => clearTimeout(timer));

    function drawParams() {
        const kind = workloads.find(({ name }) => name === workload.value);
        text(summary, kind?.summary);
        fields = fieldsOf(kind?.params ?? kind?.schema ?? {}).map((f) => fieldElement(f, `/params/${f.name}`));
        fill(params, fields.map((f) => f.element));
        if (model?.workload === workload.value)
            for (const field of fields)
                if (model.params[field.pointer.slice('/params/'.length)] !== undefined)
                    field.set(model.params[field.pointer.slice('/params/'.length)]);
        text(varied, Object.keys(matrix()).length
            ? `Its runs vary ${Object.entries(matrix()).map(([name, values]) => `${title(name)}: ${values.map((v) => valueWords(name, v)).join(', ')}`).join('; ')}, as those of job ${model.id} do.` : '');
        places.offer(workload.value);
        later();
    }

    /** What the job that this one is like varies. */
    function matrix() {
        return model?.workload === workload.value ? model.matrix ?? {} : {};
    }

    function body() {
        const collect = (all, skip) => Object.fromEntries(all
            .map((f) => [f.pointer.slice(skip.length), f.value()]).filter(([, v]) => v !== undefined));
        return {
            workload: workload.value, target: places.value() ?? '',
            params: collect(fields, '/params/'), ...collect(about, '/'),
            ...(Object.keys(matrix()).length ? { matrix: matrix() } : {}),
        };
    }

    function later() {
        clearTimeout(timer);
        timer = setTimeout(check, SETTLE);
    }

    /** Asks what the server would say, and shows it beside the fields. */
    async function check() {
        asking?.abort();
        asking = new AbortController();
        if (!places.value()) {
            text(verdict, 'Choose a target.');
            return;
        }
        try {
            await post(`/jobs${query({ dry_run: 1 })}`, body(), { signal: AbortSignal.any([signal, asking.signal]) });
            show([]);
            text(verdict, 'The server would take this job.');
        } catch (error) {
            report(error);
        }
    }

    function show(errors) {
        const left = showErrors([places, ...fields, ...about], errors);
        fill(trouble, left.map((error) => problemBox(sentence(error.detail))));
    }

    function report(error) {
        if (error.name === 'AbortError')
            return false;
        if (error.status === 401) {
            failed(error);
            return false;
        }
        show(error.errors.length ? error.errors : [{ pointer: '', detail: error.message }]);
        text(verdict, error.errors.length ? 'One thing is to be put right first.' : '');
        return true;
    }

    async function send(event) {
        event.preventDefault();
        clearTimeout(timer);
        asking?.abort();
        if (!places.value()) {
            places.error('Choose where to measure');
            places.focus();
            return;
        }
        const job = body();
        /* Sent again after a lost answer, the same job keeps its key; a changed one gets its own. */
        if (keyFor !== JSON.stringify(job))
            [key, keyFor] = [newKey(), JSON.stringify(job)];
        button.disabled = true;
        try {
            const made = await post('/jobs', job, { key });
            announce(`Job ${made.id} is queued`);
            go(`/jobs/${made.id}`);
        } catch (error) {
            if (report(error))
                [places, ...fields, ...about].find((f) => f.element.classList.contains('bad'))?.focus();
        } finally {
            button.disabled = false;
        }
    }
}

/** Targets as cards of a radio group, each with what it is and, if it cannot be used, why. */
function targetChoice(targets, chosen) {
    const wrong = h('p', { class: 'wrong', id: 'target-wrong' });
    const cards = targets.map((target) => {
        const radio = h('input', {
            type: 'radio', name: 'target', value: target.name, id: `target-${target.name}`,
            checked: target.name === chosen || (targets.length === 1 && target.usable),
            disabled: !target.usable, 'aria-describedby': `target-${target.name}-facts`,
        });
        const reason = h('p', { class: 'wrong' });
        return { target, radio, reason, element: h('div', { class: 'target' }, radio,
            h('label', { for: radio.id }, target.name),
            h('div', { id: `target-${target.name}-facts`, class: 'doc' }, targetFacts(target), reason)) };
    });
    const element = h('div', { class: 'field' },
        h('div', { class: 'targets', role: 'radiogroup', 'aria-labelledby': 'where', 'aria-describedby': wrong.id },
            cards.length ? cards.map((c) => c.element)
                : empty('No target is configured', h('p', {}, 'An administrator adds a [target] section to the settings.'))),
        wrong);
    return {
        element, pointer: '/target',
        value: () => cards.find(({ radio }) => radio.checked)?.target.name,
        offer(workload) {
            for (const { target, radio, reason } of cards) {
                const fits = !target.workloads || target.workloads.includes(workload);
                radio.disabled = !target.usable || !fits;
                if (radio.disabled)
                    radio.checked = false;
                text(reason, target.usable ? (fits ? '' : `It cannot run ${workload}.`) : `Cannot be used: ${target.reason}`);
            }
        },
        error(sentence) {
            text(wrong, sentence ?? '');
            element.classList.toggle('bad', Boolean(sentence));
        },
        focus: () => cards.find(({ radio }) => !radio.disabled)?.radio.focus(),
    };
}

function targetFacts(target) {
    const left = (available, total) => (total > 0 ? ` (${percent(available / total)})` : '');
    return h('ul', { class: 'inline' },
        h('li', {}, target.filesystem && target.filesystem !== target.kind ? `${title(target.kind)} on ${target.filesystem}` : title(target.kind)),
        target.space_total > 0 && h('li', {}, `${bytes(target.space_available)} free${left(target.space_available, target.space_total)}`),
        target.inodes_total > 0
            ? h('li', {}, `${number(target.inodes_available)} inodes free${left(target.inodes_available, target.inodes_total)}`)
            : target.usable && h('li', {}, 'no inode count'),
        target.reserve > 0 && h('li', {}, `${percent(target.reserve, 1)} of it is left alone`),
        target.workloads?.length > 0 && h('li', {}, `runs ${target.workloads.join(', ')}`),
        target.busy && h('li', { class: 'busy' }, 'busy now: the job will wait'),
        target.mount_options && h('li', { class: 'options', title: target.mount_options }, target.mount_options));
}
