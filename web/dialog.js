/* Asks before something that cannot be undone. */
import { h, text } from './dom.js';
import { sentence } from './format.js';

/**
 * @param act async () => void: does it; what it throws is told in the dialog, which stays open
 * @param failed (error) => void: a session that has ended
 */
export function confirm({ id, heading, words, no, yes, act, failed }) {
    const wrong = h('p', { class: 'wrong', role: 'alert' });
    const agree = h('button', { type: 'button', class: 'danger', onclick: run }, yes);
    const dialog = h('dialog', { 'aria-labelledby': id, onclose: () => dialog.remove() },
        h('h2', { id }, heading), h('p', {}, words), wrong,
        h('div', { class: 'submit' },
            h('button', { type: 'button', onclick: () => dialog.close() }, no), agree));
    document.body.append(dialog);
    dialog.showModal();

    async function run() {
        agree.disabled = true;
        try {
            await act();
            dialog.close();
        } catch (error) {
            if (error.status === 401) {
                dialog.close();
                failed(error);
                return;
            }
            text(wrong, sentence(error.message));
            agree.disabled = false;
        }
    }
}
