-- store_alert_open: nothing happens when one with its fingerprint is open.
INSERT INTO alert (fingerprint, baseline, job, run, sentence, unit, level_before, level_after, effect, p, runs_before,
                   runs_after)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (fingerprint) WHERE state <> 'resolved' DO NOTHING
RETURNING id
