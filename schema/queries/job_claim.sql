-- store_job_claim: takes the oldest job of highest priority whose target is free. Claimers do not
-- wait for each other (SKIP LOCKED); the index job_one_per_target refuses a second job of a target. While a job
-- restarts the machine none is begun there, which would be interrupted at once.
UPDATE job
   SET state = 'running', started_at = now()
 WHERE id = (SELECT id
               FROM job AS next
              WHERE host = $1
                AND state = 'queued'
                AND target = ANY (string_to_array($2, ','))
                AND NOT EXISTS (SELECT FROM job AS busy
                                 WHERE busy.host = next.host
                                   AND (busy.state = 'rebooting'
                                        OR (busy.target = next.target
                                            AND (busy.state IN ('running', 'cancelling')
                                                 OR busy.cleanup IN ('pending', 'running', 'blocked')))))
              ORDER BY priority DESC, id
              LIMIT 1
                FOR UPDATE SKIP LOCKED)
   AND state = 'queued'
RETURNING job.id, workload, target, host, nonce, state, cleanup, stuck, params::text, labels::text, note,
       external_ref, created_by, priority, created_at, started_at, finished_at, revision,
       environment::text, problem_code, problem_field, problem_message, removed,
       foreign_entries::text, boot_id, pid, pid_start, journal_offset, job_findings(job.id), pinned, analysis,
       imported, name,
       matrix::text, repeat, seed,
       cleanup_reason, kept_workspace, kept_files, kept_bytes, deleting, confirms, reboot_by
