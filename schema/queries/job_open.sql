-- store_job_open: what a daemon of this host has to look after, also after a restart.
SELECT job.id, workload, target, host, nonce, state, cleanup, stuck, params::text, labels::text, note,
       external_ref, created_by, priority, created_at, started_at, finished_at, revision,
       environment::text, problem_code, problem_field, problem_message, removed,
       foreign_entries::text, boot_id, pid, pid_start, journal_offset, job_findings(job.id), pinned, analysis,
       imported, name,
       matrix::text, repeat, seed,
       cleanup_reason, kept_workspace, kept_files, kept_bytes, deleting, confirms, reboot_by
  FROM job
 WHERE host = $1
   AND (state IN ('queued', 'running', 'cancelling', 'rebooting')
        OR cleanup IN ('pending', 'running', 'blocked')
        OR deleting)
 ORDER BY id
