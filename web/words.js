/* What codes mean, in sentences for people. */
import { count, number } from './format.js';

export const STATES = {
    queued: 'Queued', running: 'Running', cancelling: 'Cancelling', rebooting: 'Rebooting',
    succeeded: 'Succeeded', failed: 'Failed', cancelled: 'Cancelled',
};
export const isFinal = (state) =>
    state === 'succeeded' || state === 'failed' || state === 'cancelled';

const LIMITS = {
    space: 'the space that may be used was used up',
    inodes: 'the inodes that may be used were used up',
    quota: 'the quota was used up',
    links: 'the most links that one entry may have were reached',
    'directory-index': 'the directory\u2019s index is full, while space and inodes are left',
    name: 'the filesystem takes no longer name',
    permission: 'the target does not permit more',
    deadline: 'the time given to the phase ran out',
    reserve: 'the reserve that the target keeps was reached',
    slower: 'batches had become as much slower than the first ones as was allowed',
};

const CLOCKS = { synchronised: 'was synchronised', unsynchronised: 'was not synchronised', unknown: 'does not tell whether it was synchronised' };

/** What restarts of the machine are to be read with; '' without any. */
export function bootWords(boots) {
    if (!boots.length)
        return '';
    const clocks = [...new Set(boots.flatMap((boot) => [boot.clock_then, boot.clock_now]))].map((kept) => CLOCKS[kept]).filter(Boolean);
    const back = boots.at(-1).brought_back;
    return `The machine was restarted to bring all back, ${boots.length === 1 ? 'once' : `${boots.length} times`}: seconds count from then by its clock, which ${clocks.join(' or ')}.`
        + (boots.every((boot) => boot.kernel === null) ? ' It is a container, whose kernel goes on.' : '')
        + (back ? ` At the last start nothing mounted ${back === 1 ? 'one' : `${number(back)} of them`}, and the runner did.` : '');
}

/** What ended a phase early, which is a result: {"at","reason","errno","detail"} → one sentence. */
export function limitWords(limit, unit) {
    if (!limit)
        return '';
    const why = LIMITS[limit.reason] ?? limit.reason;
    return `Ended at ${count(limit.at, unit)}: ${why}.`;
}

/** What is going on with what the run made on the target. */
export function cleanupWords(job) {
    const removed = job.removed > 0 ? ` ${number(job.removed)} removed.` : '';
    switch (job.cleanup) {
    case 'pending':
        return 'What the run made waits to be removed; the target stays busy until then.';
    case 'running':
        return `What the run made is being removed.${removed}`;
    case 'done':
        return `Nothing the run made is left on the target.${removed}`;
    case 'kept':
        return `${number(job.kept?.files ?? 0)} files are kept on the target, as was asked; deleting the job removes them.` +
            (job.cleanup_reason ? ` They could not be removed yet: ${job.cleanup_reason}.` : '');
    case 'blocked':
        return `Clean-up is blocked${job.cleanup_reason ? `: ${job.cleanup_reason}` : ''}. The target takes no other job until it is done.${removed} ` +
            'It is tried again by itself, with growing gaps.';
    default:
        return '';
    }
}

/** A moment of the chart's y axis: what it measures, for one batch of `batch`. */
export const MEASURES = {
    elapsed: { name: 'Time per batch', per: true },
    rate: { name: 'Rate', per: false },
    p50: { name: 'Median latency (p50)', per: false },
    p99: { name: 'Slowest 1 % (p99)', per: false },
    max: { name: 'Slowest operation', per: false },
    cpu: { name: 'CPU time per batch', per: true },
    switches: { name: 'Involuntary switches per batch', per: true },
};

export const PROBLEMS = {
    interrupted: 'The program that measured ended before its job did. What it had measured is kept.',
    'io-failed': 'The target failed while it was measured.',
    internal: 'This is a defect in plimsoll. The journal helps to find it.',
};
