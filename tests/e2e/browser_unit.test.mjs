// The parts of the dashboard that need no browser: numbers and units, forms from schemas, ranges.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { axis, bytes, count, duration, figure, localTime, number, percent, quantity, rate, seconds, title, utcTime } from '../../web/format.js';
import { fieldsOf, hint, numberOrText, pairs, pointerOwner, valueOf } from '../../web/form.js';
import { backoff } from '../../web/poll.js';
import { aligned, gaps, positive, rangeOf, readOff, zoomed } from '../../web/range.js';
import { levelOf } from '../../web/surface.js';
import { axesOf, gridOf, median } from '../../web/views/ladder.js';
import { bootWords, cleanupWords, limitWords } from '../../web/words.js';
import { buildsUp, rowsOf } from '../../web/views/filesystem_rows.js';
import { byPhase, marksOf } from '../../web/views/findings.js';

/* Narrow and ordinary no-break spaces are told apart by the eye only: in tables both are written "_". */
const plain = (text) => text.replace(/[\u202f\u00a0]/g, '_').replace('\u2212', '-');

function table(format, rows) {
    for (const [input, expected] of rows)
        assert.equal(plain(format(...[input].flat())), expected, `of ${JSON.stringify(input)}`);
}

test('groups big numbers and keeps small ones whole', () => table(number, [
    [0, '0'], [999, '999'], [1234, '1234'], [12345, '12_345'], [1750000, '1_750_000'], [-1750000, '-1_750_000'],
    [[2.5, 1], '2.5'], [[2.50001, 2], '2.5'], [[-0.001, 1], '0'],
]));

test('shows what is unknown as a dash and never as 0', () => {
    for (const format of [number, figure, seconds, duration, bytes, percent])
        for (const unknown of [null, undefined, NaN, Infinity])
            assert.equal(format(unknown), '–', `${format.name} of ${unknown}`);
    assert.equal(rate(null, 'files/s'), '–');
    assert.equal(quantity(undefined, 'ns'), '–');
    assert.equal(localTime(null), '–');
    assert.deepEqual(gaps([1, null, undefined, NaN, 0]), [1, null, null, null, 0]);
});

test('sets the columns of two hosts beside each other, over the moments of both', () => {
    const joined = aligned({ at: [1, 3], load1: [5, null] }, { at: [2, 3], load1: [7, 8], x: [0, 0] }, [['server', (other) => other.load1]]);
    assert.deepEqual(joined, { at: [1, 2, 3], load1: [5, undefined, null], server: [undefined, 7, 8] });
    assert.deepEqual(aligned({ at: [], load1: [] }, { at: [2], load1: [7] }, [['server', (other) => other.load1]]),
        { at: [2], load1: [undefined], server: [7] });
});

test('reads a column off at other moments, between its neighbours and nowhere else', () => {
    assert.deepEqual(readOff([1, 2, 4, 5], [10, 20, 40, null], [0, 1, 1.5, 3, 4, 4.5, 5, 6]), [null, 10, 15, 30, 40, null, null, null]);
    assert.deepEqual(readOff([], [], [1]), [null]);
});

test('tells the seconds of filesystems between the loads at which all were brought back', () => {
    const create = { phase: { name: 'create' }, x: [10, 20, 30, 40, 50], elapsed: [1, 2, 3, 4, 5], ops: [10, 10, 10, 10, 10] };
    const cycle = { phase: { name: 'cycle', at_load: true }, x: [20, 40], elapsed: [7, 8], ops: [1, 1] };
    const cell = (seconds, each) => ({ seconds, each });
    assert.deepEqual(rowsOf([create, cycle]), [
        { load: 20, cells: [cell(3, 0.15), cell(7, 0.35)] }, { load: 40, cells: [cell(7, 0.35), cell(8, 0.2)] }, { load: 50, cells: [cell(5, 0.5), cell(null, null)] },
    ]);
    assert.deepEqual(rowsOf([create]).map((row) => [row.load, row.cells[0].seconds]), [[10, 1], [20, 2], [30, 3], [40, 4], [50, 5]]);
    assert.deepEqual(rowsOf([create], 2).map((row) => [row.load, row.cells[0].seconds]), [[30, 6], [50, 9]]);
    assert.deepEqual(rowsOf([{ ...create, thinned: true }], 1), [{ load: 50, cells: [cell(null, 0.3)] }]);
    const kinds = ['create', 'mount', 'share', 'cycle', 'cycle-kernel', 'list', 'unshare', 'destroy', 'share-again'].filter((name) => buildsUp({ name, ops: 1 }));
    assert.deepEqual(kinds, ['create', 'mount', 'share', 'cycle', 'cycle-kernel', 'share-again']);
});

test('says what restarts of the machine are to be read with', () => {
    const boot = (more) => ({ load: 100, kernel: 3, daemon: 5, all: 6, brought_back: 0, clock_then: 'synchronised', clock_now: 'synchronised', ...more });
    assert.equal(bootWords([]), '');
    assert.equal(bootWords([boot()]), 'The machine was restarted to bring all back, once: seconds count from then by its clock, which was synchronised.');
    assert.match(bootWords([boot({ kernel: null, clock_now: 'unknown' }), boot({ kernel: null, brought_back: 12 })]),
        /2 times: .* was synchronised or does not tell .*container.*nothing mounted 12 of them/);
});

test('finds what a ladder varies, and the middle of the runs of each point', () => {
    const run = (number, params) => ({ run: number, params });
    const runs = [run(1, { threads: 2, record_bytes: 8 }), run(2, { threads: 1, record_bytes: 8 }), run(3, { threads: 1, record_bytes: 4 }), run(4, { threads: 1, record_bytes: 8 })];
    assert.deepEqual(axesOf(runs), { axes: ['record_bytes', 'threads'], rest: [] });
    const phases = [[1, 20], [2, 10], [3, 5], [4, 12]].map(([number, rate]) => ({ run: number, rate }));
    assert.deepEqual(gridOf(runs, phases, ['record_bytes', 'threads'], (p) => p.rate), { rows: [4, 8], columns: [1, 2], grid: [[5, null], [11, 20]] });
    assert.deepEqual(gridOf(runs, phases, ['threads'], (p) => p.rate).grid, [[10], [20]]);
    assert.deepEqual(axesOf([run(1, { sync: 'none', threads: 1 }), run(2, { sync: 'full', threads: 1 })]), { axes: [], rest: ['sync'] });
    assert.deepEqual(axesOf([run(1, {}), run(2, {})]), { axes: [], rest: [] });
    assert.deepEqual([median([3, null, 1, 2]), median([1, 2]), median([null])], [2, 1.5, null]);
    assert.deepEqual([[0, 0, 7], [7, 0, 7], [3.5, 0, 7], [5, 5, 5], [null, 0, 1]].map((row) => levelOf(...row)), [0, 6, 3, 3, null]);
});

test('gives measured times three digits in the unit that fits', () => table(seconds, [
    [0, '0_s'], [0.00375, '3.75_ms'], [1.5e-5, '15_µs'], [2.34e-7, '234_ns'], [12.345, '12.3_s'], [599, '599_s'], [3600, '1_h'],
    [0.9999, '1_s'], [9.999e-4, '1_ms'],
]));

test('says long times in their two largest units', () => table(duration, [
    [0, '0_s'], [3.14, '3.1_s'], [42, '42_s'], [59.99, '1_min'], [61.4, '1_min 1_s'], [3600, '1_h'], [61163, '16_h 59_min'], [86400 * 3 + 7200, '3_d 2_h'],
    [3599.7, '1_h'], [-90, '-1_min 30_s'],
]));

test('names sizes by IEC units', () => table(bytes, [
    [0, '0_B'], [1000, '1000_B'], [1024, '1_KiB'], [8192, '8_KiB'], [200 * 2 ** 20, '200_MiB'], [1.5 * 2 ** 30, '1.5_GiB'], [1048575, '1_MiB'],
]));

test('gives rates four digits and a unit', () => table(rate, [
    [[26.65, 'files/s'], '26.65_files/s'], [[41234.567, 'files/s'], '41_235_files/s'], [[0.5, 'files/s'], '0.5_files/s'], [[6.3e6, 'bytes/s'], '6.01_MiB/s'],
]));

test('reads the units that the API names', () => table(quantity, [
    [[17300, 'ns'], '17.3_µs'], [[0.004, 's'], '4_ms'], [[0.004, 'seconds'], '4_ms'], [[4096, 'bytes'], '4_KiB'], [[0.05, 'share'], '5_%'], [[3, ''], '3'], [[120000, 'files'], '120_000_files'],
]));

test('gives all ticks of an axis one unit', () => {
    const ticks = (unit, values) => values.map(axis(unit, Math.max(...values), values[1] - values[0])).map(plain);
    assert.deepEqual(ticks('s', [0, 0.005, 0.01]), ['0_ms', '5_ms', '10_ms']);
    assert.deepEqual(ticks('ns', [0, 500, 1000]), ['0_µs', '0.5_µs', '1_µs']);
    assert.deepEqual(ticks('bytes', [0, 2 ** 26, 2 ** 27]), ['0_MiB', '64_MiB', '128_MiB']);
    assert.deepEqual(ticks('files', [0, 500000, 1000000]), ['0', '500_000', '1_000_000']);
    assert.deepEqual(ticks('share', [0, 0.5, 1]), ['0_%', '50_%', '100_%']);
    assert.equal(axis('s', 1, 0.5)(null), '');
});

test('shows times here and says them in UTC', () => {
    assert.match(localTime('2026-03-02T14:05:09Z'), /^2026-03-0[123] \d\d:\d\d:09$/);
    assert.equal(utcTime('2026-03-02T14:05:09.25Z'), '2026-03-02 14:05:09 UTC');
});

test('makes names readable', () => {
    table(title, [['create-scaling', 'Create scaling'], ['mount_options', 'Mount options'], ['cpu', 'CPU'], ['host_before', 'Host before']]);
    table(count, [[[1, 'files'], '1 file'], [[20000, 'files'], '20_000 files'], [[1, 'batches'], '1 batch'], [[1, 'entries'], '1 entry']]);
});

/* As GET /workloads answers. */
const schema = {
    type: 'object', required: ['files'],
    properties: {
        files: { type: 'integer', 'x-unit': 'files', minimum: 1, maximum: 9999999999, description: 'Files to create in all.' },
        threads: { type: 'integer', minimum: 1, maximum: 1024, default: 1 },
        layout: { type: 'string', enum: ['shared', 'private'], default: 'shared' },
        file_bytes: { type: ['integer', 'string'], 'x-unit': 'bytes', minimum: 0, maximum: 2 ** 30, default: 0 },
        operations: { type: 'array', items: { type: 'string', enum: ['create', 'list'] }, default: ['create', 'list'] },
        max_seconds: { type: ['number', 'string'], 'x-unit': 's', minimum: 0, maximum: 2592000, default: 0 },
        ladder: { type: 'array', items: { type: 'integer', minimum: 1 } },
        direct: { type: 'boolean', default: false },
        reserve: { type: ['number', 'string'], 'x-unit': 'share', minimum: 0, maximum: 1, default: 0.05 },
        name: { type: 'string', maxLength: 64 },
    },
};
const fields = Object.fromEntries(fieldsOf(schema).map((field) => [field.name, field]));

test('knows each kind of field from its schema', () => assert.deepEqual(
    Object.fromEntries(Object.values(fields).map((field) => [field.name, field.kind])),
    { files: 'number', threads: 'number', layout: 'choice', file_bytes: 'size', operations: 'set', max_seconds: 'time', ladder: 'list', direct: 'flag', reserve: 'share', name: 'text' },
));

test('tells what a field takes', () => table((name) => hint(fields[name]), [
    ['files', '1 to 9_999_999_999 files'], ['threads', '1 to 1024; 1 if left empty'],
    ['file_bytes', 'up to 1_GiB; such as 8KiB or 200MiB; 0_B if left empty'],
    ['max_seconds', 'up to 30_d; in seconds, or such as 250ms or 1h30m; no limit if left empty'],
    ['layout', ''], ['operations', ''], ['direct', ''], ['name', ''],
]));

test('sends what was entered, and leaves out what was not', () => {
    for (const [name, entered, value] of [
        ['files', '1 750 000', 1750000], ['files', '1\u202f750\u202f000', 1750000], ['files', 'many', 'many'], ['files', '2k', '2k'], ['files', '', undefined], ['files', '-3', -3],
        ['file_bytes', '8KiB', '8KiB'], ['file_bytes', '8 KiB', '8 KiB'], ['file_bytes', '8192', 8192], ['max_seconds', '1h30m', '1h30m'], ['max_seconds', '2.5', 2.5],
        ['operations', ['create'], ['create']], ['operations', [], []], ['ladder', '1,2, x', [1, 2, 'x']], ['direct', false, false],
        ['reserve', '5%', '5%'], ['name', ' a ', 'a'], ['layout', 'private', 'private'],
    ])
        assert.deepEqual(valueOf(fields[name], entered), value, `${name} = ${JSON.stringify(entered)}`);
    assert.equal(numberOrText('1e3'), 1000);
    assert.deepEqual(pairs('kernel=6.1, site = north,flag'), { kernel: '6.1', site: 'north', flag: '' });
});

test('finds the field that an error is about', () => {
    const known = ['/target', '/params/files', '/params/ladder', '/note'];
    for (const [pointer, owner] of [
        ['/params/files', '/params/files'], ['/params/ladder/2', '/params/ladder'], ['/params/filesystem', null], ['/target', '/target'], ['', null],
    ])
        assert.equal(pointerOwner(pointer, known), owner, pointer);
});

test('zooms about a point and stays within the phase', () => {
    const bounds = { from: 0, to: 1000 };
    assert.deepEqual(zoomed({ from: 0, to: 1000 }, 500, 0.5, bounds), { from: 250, to: 750 });
    assert.deepEqual(zoomed({ from: 800, to: 1000 }, 900, 2, bounds), { from: 700, to: 1000 });
    assert.equal(zoomed({ from: 250, to: 750 }, 500, 2, bounds), null, 'the whole phase is no zoom');
    assert.deepEqual(positive([1, 0, -1, null]), [1, null, null, null]);
    const range = (text) => rangeOf(new URLSearchParams(text));
    assert.deepEqual(range('from=100&to=200.5'), { from: 100, to: 200.5 });
    for (const none of ['', 'from=1', 'from=2&to=1', 'from=x&to=1'])
        assert.equal(range(none), null, none);
});

test('asks an absent server ever more rarely, but never gives up', () => {
    const gaps = Array.from({ length: 12 }, (_, n) => backoff(n, 0.5));
    assert.deepEqual(gaps.slice(0, 6), [1, 2, 4, 8, 16, 30]);
    assert.ok(gaps.every((gap) => gap <= 30));
    assert.ok(backoff(3, 0) < backoff(3, 1), 'clients spread');
});

test('tells a limit as a result, and a blocked clean-up as work to do', () => {
    assert.equal(plain(limitWords({ at: 269132, reason: 'directory-index' }, 'files')),
        'Ended at 269_132 files: the directory’s index is full, while space and inodes are left.');
    assert.match(cleanupWords({ cleanup: 'blocked', removed: 12, cleanup_reason: 'something new appeared' }), /blocked: something new appeared\. .* 12 removed/);
    assert.match(cleanupWords({ cleanup: 'kept', removed: 0, kept: { files: 12000 }, cleanup_reason: null }), /^12\s000 files are kept/);
    assert.equal(cleanupWords({ cleanup: 'none', removed: 0 }), '');
});

test('makes no markup from data and asks no other host', () => {
    const web = new URL('../../web/', import.meta.url).pathname;
    const own = [...readdirSync(web), ...readdirSync(join(web, 'views')).map((name) => `views/${name}`)].filter((name) => /\.(js|html|css)$/.test(name));
    assert.ok(own.length > 15);
    for (const name of own) {
        const text = readFileSync(join(web, name), 'utf8');
        assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name);
        assert.doesNotMatch(text.replaceAll('http://www.w3.org/2000/svg', ''), /https?:\/\//, name);
        assert.doesNotMatch(text, /<style|style="|<script(?![^>]*src=)/, name);
        assert.ok(text.split('\n').length <= 330, `${name} is too long to read`);
    }
});

const found = [
    { kind: 'rate', run: 1, phase: 'create', sentence: 'a', data: {} },
    { kind: 'knee', run: 1, phase: 'create', sentence: 'b', data: { at: 120000 } },
    { kind: 'zones', run: 1, phase: 'create', sentence: 'c', data: { zones: [{ to: 1000 }, { to: 2000 }, { to: 3000 }] } },
    { kind: 'fit', run: 1, phase: 'create', sentence: 'd', data: {} },
    { kind: 'limit', run: 1, phase: 'create', sentence: 'e', data: {} },
    { kind: 'rate', run: 1, phase: 'stat', sentence: 'f', data: {} },
    { kind: 'rate', run: 2, phase: 'create', sentence: 'g', data: {} },
];

test('gathers findings by phase and run, without those that stand elsewhere', () => {
    assert.deepEqual(byPhase(found).map(({ phase, run, findings }) => [phase, run, findings.map((f) => f.sentence).join('')]),
        [['create', 1, 'abc'], ['stat', 1, 'f'], ['create', 2, 'g']]);
    assert.deepEqual(byPhase([]), []);
});

test('marks the knee and the borders between zones in the chart of their phase and run', () => {
    assert.deepEqual(marksOf(found, { name: 'create', run: 1 }).map((m) => [m.at, m.label]),
        [[120000, 'knee'], [1000, 'zone'], [2000, 'zone']]);
    assert.deepEqual(marksOf(found, { name: 'create', run: 2 }), []);
});
