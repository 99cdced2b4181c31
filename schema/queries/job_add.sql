-- store_job_add: a new entry of the queue; the trigger job_change tells the daemons.
INSERT INTO job (workload, target, host, nonce, params, labels, note, external_ref, created_by, priority,
                 matrix, repeat, seed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
RETURNING job.id, workload, target, host, nonce, state, cleanup, stuck, params::text, labels::text, note,
       external_ref, created_by, priority, created_at, started_at, finished_at, revision,
       environment::text, problem_code, problem_field, problem_message, removed,
       foreign_entries::text, boot_id, pid, pid_start, journal_offset, job_findings(job.id), pinned, analysis,
       imported, name,
       matrix::text, repeat, seed,
       cleanup_reason, kept_workspace, kept_files, kept_bytes, deleting, confirms, reboot_by
