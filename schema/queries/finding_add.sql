-- store_findings_put: one conclusion.
INSERT INTO finding (job, place, kind, run, phase, sentence, low_confidence, data)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
