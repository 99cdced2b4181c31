-- store_import: a job that has ended elsewhere. It is visible when all that it measured is, too.
INSERT INTO job (workload, target, host, nonce, params, labels, note, external_ref, created_by, priority,
                 state, started_at, finished_at, environment, problem_code, problem_field,
                 problem_message, imported, name)
VALUES ($1, '', $2, '', $3, $4, $5, $6, $7, 0, $8, $9, $10, $11, $12, $13, $14, true, $15)
RETURNING job.id, workload, target, host, nonce, state, cleanup, stuck, params::text, labels::text, note,
       external_ref, created_by, priority, created_at, started_at, finished_at, revision,
       environment::text, problem_code, problem_field, problem_message, removed,
       foreign_entries::text, boot_id, pid, pid_start, journal_offset, job_findings(job.id), pinned, analysis,
       imported, name,
       matrix::text, repeat, seed,
       cleanup_reason, kept_workspace, kept_files, kept_bytes, deleting, confirms, reboot_by
