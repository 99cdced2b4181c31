/* Sign in: a token, or a one-time code, for a session cookie that scripts cannot read. */
import { post } from '../api.js';
import { fill, h } from '../dom.js';
import { sentence } from '../format.js';
import { mark } from '../parts.js';

/** @param done ({name, role}) => void */
export function signInView({ main, words, done }) {
    const input = h('input', {
        id: 'secret', type: 'password', autocomplete: 'current-password', spellcheck: 'false',
        required: true, 'aria-describedby': 'secret-wrong secret-doc',
    });
    const wrong = h('p', { class: 'wrong', id: 'secret-wrong', role: 'alert' }, words);
    const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in');
    const send = async (event) => {
        event.preventDefault();
        const secret = input.value.trim();
        button.disabled = true;
        try {
            done(await post('/session', secret.startsWith('plm_') ? { token: secret } : { code: secret }));
        } catch (error) {
            fill(wrong, error.status === 401 ? 'That token or code is not valid here, or no longer.' : sentence(error.message));
            input.setAttribute('aria-invalid', 'true');
            input.select();
        } finally {
            button.disabled = false;
        }
    };
    fill(main, h('form', { class: 'card signin', onsubmit: send },
        h('div', { class: 'signin-head' }, mark(), h('h1', {}, 'Sign in')),
        h('label', { for: 'secret' }, 'Token or one-time code'),
        input, wrong,
        h('p', { class: 'doc', id: 'secret-doc' }, 'A token starts with plm_. Whoever runs the server makes one with ',
            h('code', {}, 'plimsolld token add NAME --role operator'), ', or a code that works once with ',
            h('code', {}, 'plimsolld code'), '.'),
        button));
    input.focus();
}
