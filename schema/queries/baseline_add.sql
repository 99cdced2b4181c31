-- store_baseline_add.
INSERT INTO baseline (name, workload, target, host, labels, phase, y, direction, minimum_effect, runs, confirm,
                      created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
RETURNING id, name, workload, target, host, labels::text, phase, y, direction, minimum_effect, runs, confirm, created_by,
       created_at, revision
