/* The head of a job's page: its state, how far it is, and what can be done with it. */
import { patch, post, query, remove } from '../api.js';
import { confirm } from '../dialog.js';
import { announce, attribute, fill, h, text } from '../dom.js';
import { UNKNOWN, bytes, count, duration, number, percent, rate } from '../format.js';
import { badge, bar, time } from '../parts.js';
import { go } from '../router.js';
import { STATES, isFinal } from '../words.js';

/** @param again () => void: look at the job now */
export function jobHeader({ id, may, again, failed }) {
    const state = badge(), created = time(), started = time(), finished = time();
    const what = h('p', { class: 'what' });
    const cancel = h('button', { type: 'button', class: 'danger', onclick: ask, hidden: true }, 'Cancel');
    const rerun = h('a', { class: 'button', href: `/new?from=${id}`, hidden: true }, 'Run again');
    const pin = h('button', { type: 'button', onclick: togglePin, hidden: true, title: 'A pinned job cannot be deleted' }, 'Pin');
    const erase = h('button', { type: 'button', class: 'danger', onclick: forget, hidden: true }, 'Delete');
    const compare = compareForm(id);
    const progress = bar('Progress of this phase');
    const figures = h('p', { class: 'figures num' });
    const doing = h('div', { class: 'doing', hidden: true }, progress, figures);
    const took = h('dd', { class: 'num' });
    const element = h('header', { class: 'job-head' },
        h('div', { class: 'head' }, h('h1', {}, `Job ${id}`), state, h('span', { class: 'gap' }), compare, cancel, rerun, pin, erase),
        what, doing,
        h('dl', { class: 'times' },
            h('div', {}, h('dt', {}, 'Created'), h('dd', {}, created)),
            h('div', {}, h('dt', {}, 'Started'), h('dd', {}, started)),
            h('div', {}, h('dt', {}, 'Finished'), h('dd', {}, finished)),
            h('div', {}, h('dt', {}, 'Took'), took)));
    let last = null;

    function ask() {
        confirm({
            id: 'cancel-head', heading: `Cancel job ${id}?`, no: 'Let it run', yes: 'Cancel the job', failed,
            words: 'What it has measured is kept. What it made on the target is removed. It cannot be resumed.',
            async act() {
                await post(`/jobs/${id}/cancel`);
                announce('The job is being cancelled');
                again();
            },
        });
    }

    function forget() {
        confirm({
            id: 'delete-head', heading: `Delete job ${id}?`, no: 'Keep it', yes: 'Delete the job', failed,
            words: 'Its samples, findings and journal go for good. To keep the figures, take the report or the CSV first.',
            async act() {
                await remove(`/jobs/${id}`);
                announce(`Job ${id} is deleted`);
                go('/', { replace: true });
            },
        });
    }

    async function togglePin() {
        pin.disabled = true;
        try {
            const { pinned } = await patch(`/jobs/${id}`, { pinned: !last.pinned });
            announce(pinned ? 'The job is pinned: it cannot be deleted' : 'The job is no longer pinned');
            again();
        } catch (error) {
            if (error.status === 401)
                failed(error);
            else
                announce(error.message);
        }
        pin.disabled = false;
    }

    function update(job) {
        if (last && last.state !== job.state)
            announce(`Job ${id}: ${STATES[job.state] ?? job.state}`);
        last = job;
        state.update(job.state, job.stuck ? ', stuck' : '');
        fill(what, h('b', {}, job.workload), job.target ? [' on ', h('b', {}, job.target)] : [', imported: ', h('b', {}, job.name)], job.note ? `: ${job.note}` : null);
        created.update(job.created_at);
        started.update(job.started_at);
        finished.update(job.finished_at);
        const end = job.finished_at ? Date.parse(job.finished_at) : Date.now();
        text(took, job.started_at ? duration(Math.max(0, end - Date.parse(job.started_at)) / 1000) : UNKNOWN);
        cancel.hidden = !may('run') || isFinal(job.state) || job.state === 'cancelling';
        rerun.hidden = !may('run') || !isFinal(job.state);
        compare.hidden = !isFinal(job.state);
        pin.hidden = !may('run');
        text(pin, job.pinned ? 'Unpin' : 'Pin');
        attribute(pin, 'aria-pressed', job.pinned ? 'true' : 'false');
        erase.hidden = !may('run') || !isFinal(job.state) || job.pinned;
        doing.hidden = isFinal(job.state);
        if (isFinal(job.state))
            return;
        const p = job.progress;
        progress.update(p && p.total > 0 ? p.done / p.total : null);
        attribute(progress, 'aria-valuetext', p ? `${p.phase}: ${count(p.done, p.unit)}` : 'waiting');
        text(figures, p ? progressWords(p) : waitingWords(job));
    }

    return { element, update };
}

/** Beside which other job it is to be seen. */
function compareForm(id) {
    const other = h('input', { type: 'text', inputmode: 'numeric', size: 6, id: 'compare-with', placeholder: 'number' });
    return h('form', { class: 'compare', hidden: true, onsubmit: (event) => {
        event.preventDefault();
        const number = Number(other.value.replace(/^#/, ''));
        if (Number.isInteger(number) && number > 0)
            go(`/compare${query({ jobs: `${number},${id}` })}`);
        other.setAttribute('aria-invalid', String(!(number > 0)));
    } }, h('label', { for: 'compare-with' }, 'Compare with job'), other, h('button', {}, 'Compare'));
}

function progressWords(p) {
    const done = p.unit === 'bytes' ? bytes(p.done) : number(p.done), total = count(p.total, p.unit);
    const of = p.total > 0 ? ` of ${total} (${percent(p.done / p.total, 1)})` : p.unit === 'bytes' ? '' : ` ${p.unit}`;
    const parts = [`${p.runs > 1 ? `run ${number(p.run)} of ${number(p.runs)}, ` : ''}${p.phase}: ${done}${of}`];
    if (Number.isFinite(p.rate))
        parts.push(rate(p.rate, `${p.unit}/s`));
    if (Number.isFinite(p.eta_seconds))
        parts.push(`about ${duration(p.eta_seconds)} left in this phase`);
    return parts.join(' · ');
}

function waitingWords(job) {
    if (job.state === 'rebooting')
        return 'The machine is starting again; the run goes on after that.';
    if (job.state === 'queued')
        return 'Waiting for its target to be free.';
    return job.state === 'cancelling' ? 'Ending what is under way.' : 'Getting ready.';
}
