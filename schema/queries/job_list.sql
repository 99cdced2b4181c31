-- store_job_list: newest first, a page at a time. NULL filters accept all; $4 is the cursor.
SELECT job.id, workload, target, host, nonce, state, cleanup, stuck, params::text, labels::text, note,
       external_ref, created_by, priority, created_at, started_at, finished_at, revision,
       environment::text, problem_code, problem_field, problem_message, removed,
       foreign_entries::text, boot_id, pid, pid_start, journal_offset
  FROM job
 WHERE ($1::text[] IS NULL OR state = ANY ($1))
   AND ($2::text IS NULL OR workload = ANY (string_to_array($2, ',')))
   AND ($3::text IS NULL OR target = ANY (string_to_array($3, ',')))
   AND ($4::bigint = 0 OR id < $4)
 ORDER BY id DESC
 LIMIT $5
