-- store_import: a job that has ended elsewhere. It is visible when all that it measured is, too.
INSERT INTO job (workload, target, host, nonce, params, labels, note, external_ref, created_by, priority,
                 state, started_at, finished_at, environment, problem_code, problem_field,
                 problem_message, imported, name)
VALUES ($1, '', $2, '', $3, $4, $5, $6, $7, 0, $8, $9, $10, $11, $12, $13, $14, true, $15)
RETURNING id
