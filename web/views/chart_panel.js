/* The chart of a job: which phase, what of it, how near; it fetches what it shows and nothing more. */
import { get, query } from '../api.js';
import { attribute, fill, h, text } from '../dom.js';
import { seriesChart } from '../chart.js';
import { count, number, percent, quantity, sentence, title } from '../format.js';
import { gaps, rangeOf, readOff, zoomed } from '../range.js';
import { MEASURES, isFinal } from '../words.js';
import { marksOf } from './findings.js';

const HOST_POINTS = 400;
const busy = (points) => points.cpu_user.map((user, i) => (user === null ? null : user + points.cpu_system[i]));
const loadWords = (n) => quantity(n, ''), shareWords = (n) => percent(n, 1);
/* Drawn beside what is measured, over the same time. */
const HOST_LINES = [
    { of: 'client', values: (p) => p.load1, label: 'load of this machine (right scale)', short: 'load', scale: 'load', colour: 'c2', dash: [], words: loadWords },
    { of: 'server', values: (p) => p.load1, label: 'load of the server (right scale)', short: 'load of the server', scale: 'load', colour: 'c3', dash: [], words: loadWords },
    { of: 'client', values: busy, label: 'CPUs of this machine in use, from none to all', short: 'CPUs', scale: 'share', colour: 'c4', dash: [3, 3], words: shareWords },
    { of: 'server', values: busy, label: 'CPUs of the server in use', short: 'CPUs of the server', scale: 'share', colour: 'c5', dash: [3, 3], words: shareWords },
];

const key = (phase) => `${phase.run ?? 1}/${phase.name}`;

/** @returns {{element, update: (job) => void}} */
export function chartPanel({ id, signal, search, failed }) {
    const want = {
        phase: search.get('phase'), run: Number(search.get('run')) || null, y: MEASURES[search.get('y')] ? search.get('y') : 'elapsed',
        x: ['at', 'load'].includes(search.get('x')) ? search.get('x') : 'load', log: search.get('log') === '1', range: rangeOf(search),
    };
    /* By the reader: what is shown, and against what. */
    const chosen = { y: MEASURES[search.get('y')] !== undefined, x: ['at', 'load'].includes(search.get('x')) };
    let host = null; /* what the machine did, and the server; read where time is the axis */
    let job = null, phase = null, series = null, whole = null, asking = null, seen = '', shownLines = [];

    const tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Phase' });
    const readout = h('p', { class: 'readout num' });
    const state = h('p', { class: 'doc', id: 'chart-state' });
    const reset = h('button', { type: 'button', class: 'small', onclick: () => zoom(null) }, 'Whole phase');
    const chart = seriesChart({ zoom, cursor: read }, signal);
    const nothing = h('p', { class: 'nothing' });
    const pick = (name, label, choices, value) => {
        const select = h('select', { id: `chart-${name}`, onchange: () => choose(name, select.value) },
            choices.map(([v, words]) => h('option', { value: v, selected: v === value }, words)));
        return h('span', { class: 'pick' }, h('label', { for: select.id }, label), select);
    };
    const legend = h('ul', { class: 'legend' });
    const log = h('input', { type: 'checkbox', id: 'chart-log', checked: want.log, onchange: () => { want.log = log.checked; note(); show(); } });
    const beside = h('input', { type: 'checkbox', id: 'chart-host', checked: true, onchange: () => show() });
    const hostBox = h('label', { class: 'box', for: 'chart-host', hidden: true }, beside, 'With load and CPUs');
    const near = (by) => () => {
        const shown = want.range ?? bounds();
        if (shown)
            zoom(zoomed(shown, (shown.from + shown.to) / 2, by, bounds()));
    };
    const panel = h('div', { role: 'tabpanel', id: 'chart-panel' },
        h('div', { class: 'tools' },
            pick('y', 'Show', Object.entries(MEASURES).map(([name, { name: words }]) => [name, words]), want.y),
            pick('x', 'against', [['load', 'load'], ['at', 'time']], want.x), hostBox,
            h('label', { class: 'box', for: 'chart-log' }, log, 'Logarithmic'),
            h('span', { class: 'zoom' },
                h('button', { type: 'button', class: 'small', onclick: near(0.5) }, 'Nearer'),
                h('button', { type: 'button', class: 'small', onclick: near(2) }, 'Wider'), reset)),
        readout, legend, h('div', { class: 'stage' }, chart.element, nothing), state,
        h('p', { class: 'doc', id: 'chart-help' }, 'Drag over the chart to see a part in detail; double-click shows all again. ' +
            'With the keyboard: arrows move the cursor, + and \u2212 zoom, 0 shows all.'));
    const element = h('section', { class: 'card', 'aria-labelledby': 'chart-head' },
        h('div', { class: 'card-head' }, h('h2', { id: 'chart-head' }, 'Every batch'), tabs), panel);

    function choose(name, value) {
        if (name === 'x')
            want.range = null;
        want[name] = value;
        chosen[name] = true;
        whole = null;
        note();
        load();
    }

    function zoom(range) {
        const changed = JSON.stringify(range) !== JSON.stringify(want.range);
        want.range = range;
        if (!changed)
            return;
        note();
        show();
        load();
    }

    /** The address says what is shown, so that it can be passed on. */
    function note() {
        const { from, to } = want.range ?? {};
        history.replaceState(null, '', location.pathname + query({
            phase: want.phase ?? (want.range ? phase?.name : null), run: want.run > 1 ? want.run : null, y: want.y === usual().y ? null : want.y, x: want.x === usual().x ? null : want.x,
            log: want.log ? 1 : null, from: from === undefined ? null : +from.toPrecision(9),
            to: to === undefined ? null : +to.toPrecision(9),
        }));
    }

    /* What moves bytes has batches that are stretches of time, all alike. */
    const usual = () => (phase?.unit === 'bytes' ? { y: 'rate', x: 'at' } : { y: 'elapsed', x: 'load' });

    /* Several legs count their times anew, and what stood still in between has none. */
    async function readHost(asked, until) {
        if (asked.x !== 'at' || phase.legs > 1)
            return;
        const ask = (of) => get(`/jobs/${id}/host${query({ points: HOST_POINTS, run: phase.run, of })}`, { signal: until });
        const [{ points: client }, { points: server }] = await Promise.all([ask(null), ask('server')]);
        host = { run: phase.run, client, server };
    }

    const bounds = () => (whole?.x.length ? { from: whole.x[0], to: whole.x.at(-1) } : null);

    async function load() {
        if (!phase)
            return;
        asking?.abort();
        const mine = asking = new AbortController();
        const asked = { phase: key(phase), y: want.y, x: want.x, range: want.range };
        try {
            const until = AbortSignal.any([signal, mine.signal]);
            const [answer] = await Promise.all([get(`/jobs/${id}/series${query({
                phase: phase.name, run: job.phases.some((p) => p.run > 1) ? phase.run : null, y: want.y, x: want.x,
                points: chart.columns(), from: want.range?.from, to: want.range?.to,
            })}`, { signal: until }), readHost(asked, until)]);
            const { x, min, max, mean } = answer.points;
            series = { ...answer, asked, x, min: gaps(min), max: gaps(max), mean: gaps(mean) };
            if (!asked.range)
                whole = series;
            show();
        } catch (error) {
            if (error.name === 'AbortError')
                return;
            if (error.status === 401)
                failed(error);
            else
                text(state, `${sentence(error.message)} What is shown is the last that was read.`);
        } finally {
            if (asking === mine)
                asking = null;
        }
    }

    function show() {
        attribute(reset, 'disabled', !want.range);
        const one = MEASURES[want.y];
        const batch = phase?.batch ?? job?.params?.batch;
        if (!series || series.asked.phase !== key(phase) || series.asked.y !== want.y || series.asked.x !== want.x) {
            text(state, phase ? 'Reading …' : '');
            return;
        }
        text(nothing, nothingWords());
        const name = one.per && batch ? `${one.name} of ${count(batch, phase.unit)}` : one.name;
        const xUnit = want.x === 'at' ? 's' : phase.unit;
        const limit = phase.limited_by, lines = besideLines();
        chart.show({
            ...series, xUnit, yUnit: series.unit, log: want.log, range: want.range,
            bounds: bounds() ?? { from: -Infinity, to: Infinity },
            marks: want.x === 'load'
                ? [...marksOf(job.findings ?? [], phase), ...(limit ? [{ at: limit.at, label: `limit: ${limit.reason}` }] : [])] : [],
            label: summary(name, xUnit),
            beside: lines,
        });
        drawLegend(lines);
        read(null);
        text(state, drawnWords());
    }

    /* The load of the machines on a scale at the right, their CPUs between nothing and all. */
    function besideLines() {
        const told = series && host && want.x === 'at' && host.run === phase.run && !(phase.legs > 1);
        const lines = !told ? [] : HOST_LINES.map(({ of, values, ...line }) => ({ ...line, y: readOff(host[of].at, values(host[of]), series.x) }))
            .filter((line) => line.y.some((v) => v !== null));
        hostBox.hidden = lines.length === 0;
        return beside.checked ? lines : [];
    }

    function drawLegend(lines) {
        fill(legend, lines.map((line) => {
            const swatch = h('i');
            swatch.style.background = `var(--${line.colour})`;
            return h('li', {}, swatch, line.label);
        }));
        shownLines = lines;
    }

    function nothingWords() {
        if (series.x.length)
            return want.log && !series.max.some((v) => v > 0) ? 'Nothing above zero, which a logarithmic scale could show.' : '';
        if (want.range)
            return 'No batch lies in this part.';
        return isFinal(job.state) ? 'This phase has no batches.' : 'The first batch is under way.';
    }

    function summary(name, xUnit) {
        if (!series.x.length)
            return `${name}, ${phase.name}: nothing measured yet`;
        const real = (values) => values.filter((v) => v !== null);
        return `${name}, ${phase.name}, ${count(series.count, 'batches')} from ${quantity(series.x[0], xUnit)} to ` +
            `${quantity(series.x.at(-1), xUnit)}: least ${quantity(Math.min(...real(series.min)), series.unit)}, ` +
            `most ${quantity(Math.max(...real(series.max)), series.unit)}`;
    }

    function drawnWords() {
        if (!series.x.length)
            return '';
        const part = series.asked.range ? ' in this part' : '';
        return series.thinned
            ? `${number(series.count)} batches${part}, drawn in ${number(series.x.length)} columns: the line is their mean, the band reaches from the least to the most.`
            : `${count(series.count, 'batches')}${part}, each of them drawn.`;
    }

    function read(index) {
        if (!series?.x.length) {
            text(readout, '');
            return;
        }
        const unit = series.unit, at = index === null || index === undefined ? null : index;
        if (at === null || at >= series.x.length) {
            fill(readout, h('span', { class: 'hint' }, `${MEASURES[want.y].name} against ${want.x === 'at' ? 'seconds since the run began' : `${phase.unit} ${phase.name === 'create' ? 'in place' : 'done'}`}`));
            return;
        }
        const values = [['mean', series.mean[at]], ['least', series.min[at]], ['most', series.max[at]]];
        const single = series.min[at] === series.max[at];
        fill(readout, h('b', {}, quantity(series.x[at], want.x === 'at' ? 's' : phase.unit)),
            (single ? [['', series.mean[at]]] : values).map(([name, v]) => [' ', h('span', {}, name ? h('i', {}, name) : null, ' ', h('b', {}, quantity(v, unit)))]),
            shownLines.map((line) => [' ', h('span', {}, h('i', {}, line.short), ' ', h('b', {}, line.words(line.y[at])))]));
    }

    function drawTabs() {
        const focused = tabs.contains(document.activeElement) ? document.activeElement.id : null;
        fill(tabs, job.phases.map((p) => {
            const on = key(p) === key(phase);
            return h('button', {
                type: 'button', role: 'tab', id: `tab-${key(p)}`, 'aria-selected': on ? 'true' : 'false',
                'aria-controls': 'chart-panel', tabindex: on ? '0' : '-1',
                onclick: () => take(p), onkeydown: (event) => along(event, p),
            }, title(p.name), p.run > 1 ? ` ${p.run}` : '');
        }));
        if (focused)
            document.getElementById(focused)?.focus();
        attribute(panel, 'aria-labelledby', `tab-${key(phase)}`);
    }

    function take(p) {
        want.phase = p.name;
        want.run = p.run;
        want.range = null;
        whole = null;
        phase = p;
        note();
        drawTabs();
        load();
    }

    function along(event, p) {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step)
            return;
        const at = job.phases.findIndex((other) => key(other) === key(p)) + step;
        const next = job.phases[(at + job.phases.length) % job.phases.length];
        event.preventDefault();
        take(next);
        document.getElementById(`tab-${key(next)}`)?.focus();
    }

    return {
        element,
        update(now) {
            job = now;
            want.run = job.run ?? want.run; /* one of several is shown */
            element.hidden = job.phases.length === 0;
            if (!job.phases.length)
                return;
            /* Unless somebody chose, the running phase is shown, and in the end the first. */
            const picked = job.phases.find((p) => p.name === want.phase && (!want.run || p.run === want.run));
            const running = job.phases.find((p) => p.name === job.progress?.phase);
            const before = phase && key(phase);
            phase = picked ?? running ?? job.phases[0];
            for (const name of ['y', 'x'])
                if (!chosen[name]) {
                    want[name] = usual()[name];
                    panel.querySelector(`#chart-${name}`).value = want[name];
                }
            const look = JSON.stringify([job.phases.map(key), key(phase)]);
            if (look !== seen)
                drawTabs();
            const grown = JSON.stringify([look, phase.ops, isFinal(job.state), Boolean(phase.limited_by), job.findings?.length]);
            if (before !== key(phase)) {
                whole = null;
                want.range = before ? null : want.range;
            }
            if (element.dataset.grown !== grown && !asking) {
                element.dataset.grown = grown;
                load();
            }
            seen = look;
        },
    };
}
