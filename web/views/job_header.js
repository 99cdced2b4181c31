/* The head of a job's page: its state, how far it is, and what can be done with it. */
import { post } from '../api.js';
import { announce, attribute, fill, h, text } from '../dom.js';
import { UNKNOWN, count, duration, number, percent, rate, sentence } from '../format.js';
import { badge, bar, time } from '../parts.js';
import { STATES, isFinal } from '../words.js';

/** @param again () => void: look at the job now */
export function jobHeader({ id, may, again, failed }) {
    const state = badge(), created = time(), started = time(), finished = time();
    const what = h('p', { class: 'what' });
    const cancel = h('button', { type: 'button', class: 'danger', onclick: ask, hidden: true }, 'Cancel');
    const rerun = h('a', { class: 'button', href: `/new?from=${id}`, hidden: true }, 'Run again');
    const progress = bar('Progress of this phase');
    const figures = h('p', { class: 'figures num' });
    const doing = h('div', { class: 'doing', hidden: true }, progress, figures);
    const took = h('dd', { class: 'num' });
    const element = h('header', { class: 'job-head' },
        h('div', { class: 'head' }, h('h1', {}, `Job ${id}`), state, h('span', { class: 'gap' }), cancel, rerun),
        what, doing,
        h('dl', { class: 'times' },
            h('div', {}, h('dt', {}, 'Created'), h('dd', {}, created)),
            h('div', {}, h('dt', {}, 'Started'), h('dd', {}, started)),
            h('div', {}, h('dt', {}, 'Finished'), h('dd', {}, finished)),
            h('div', {}, h('dt', {}, 'Took'), took)));
    let last = null;

    function ask() {
        const wrong = h('p', { class: 'wrong', role: 'alert' });
        const yes = h('button', { type: 'button', class: 'danger', onclick: stop }, 'Cancel the job');
        const dialog = h('dialog', { 'aria-labelledby': 'cancel-head', onclose: () => dialog.remove() },
            h('h2', { id: 'cancel-head' }, `Cancel job ${id}?`),
            h('p', {}, 'What it has measured is kept. What it made on the target is removed. It cannot be resumed.'),
            wrong,
            h('div', { class: 'submit' },
                h('button', { type: 'button', onclick: () => dialog.close() }, 'Let it run'), yes));
        document.body.append(dialog);
        dialog.showModal();

        async function stop() {
            yes.disabled = true;
            try {
                await post(`/jobs/${id}/cancel`);
                announce('The job is being cancelled');
                dialog.close();
                again();
            } catch (error) {
                if (error.status === 401) {
                    dialog.close();
                    failed(error);
                    return;
                }
                text(wrong, sentence(error.message));
                yes.disabled = false;
            }
        }
    }

    function update(job) {
        if (last && last.state !== job.state)
            announce(`Job ${id}: ${STATES[job.state] ?? job.state}`);
        last = job;
        state.update(job.state, job.stuck ? ', stuck' : '');
        fill(what, h('b', {}, job.workload), ' on ', h('b', {}, job.target), job.note ? `: ${job.note}` : null);
        created.update(job.created_at);
        started.update(job.started_at);
        finished.update(job.finished_at);
        const end = job.finished_at ? Date.parse(job.finished_at) : Date.now();
        text(took, job.started_at ? duration(Math.max(0, end - Date.parse(job.started_at)) / 1000) : UNKNOWN);
        cancel.hidden = !may('run') || isFinal(job.state) || job.state === 'cancelling';
        rerun.hidden = !may('run') || !isFinal(job.state);
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

function progressWords(p) {
    const of = p.total > 0 ? ` of ${number(p.total)} ${p.unit} (${percent(p.done / p.total, 1)})` : ` ${p.unit}`;
    const parts = [`${p.phase}: ${number(p.done)}${of}`];
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
