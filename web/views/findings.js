/* What the numbers mean, in the service's own sentences, phase by phase. */
import { fill, h, onChange } from '../dom.js';
import { title } from '../format.js';

/* Told elsewhere on the page: limits as notices, the shared device beside them, runs of one point with the
 * runs; a fit proves nothing. */
const ELSEWHERE = ['limit', 'shared-device', 'fit', 'repeats'];

/** A phase's findings, in the order that the service tells them. */
export function byPhase(findings) {
    const groups = new Map();
    for (const finding of findings.filter((f) => !ELSEWHERE.includes(f.kind))) {
        const key = `${finding.phase ?? ''}/${finding.run ?? 1}`;
        const group = groups.get(key) ?? { phase: finding.phase, run: finding.run ?? 1, findings: [] };
        group.findings.push(finding);
        groups.set(key, group);
    }
    return [...groups.values()];
}

/** Loads where the picture of a phase is to be marked. */
export function marksOf(findings, phase) {
    return findings
        .filter((f) => f.phase === phase.name && (f.run ?? 1) === (phase.run ?? 1))
        .flatMap(({ kind, data }) => {
            if (kind === 'knee')
                return [{ at: data.at, label: 'knee' }];
            if (kind === 'zones')
                return data.zones.slice(0, -1).map((zone) => ({ at: zone.to, label: 'zone' }));
            return [];
        });
}

export function findingsPanel() {
    const list = h('dl', { class: 'findings' });
    const element = h('section', { class: 'card', 'aria-labelledby': 'findings-head', hidden: true },
        h('h2', { id: 'findings-head' }, 'What the numbers say'), list);
    const draw = onChange((findings) => {
        const groups = byPhase(findings);
        element.hidden = groups.length === 0;
        fill(list, groups.map(({ phase, run, findings: told }) => h('div', {},
            h('dt', {}, phase ? title(phase) : 'The job', run > 1 ? ` ${run}` : ''),
            told.map((f) => h('dd', { class: ['knee', 'disturbed'].includes(f.kind) ? 'strong' : '', 'data-kind': f.kind }, f.sentence)))));
    });
    return { element, update: (job) => draw(job.findings ?? []) };
}
