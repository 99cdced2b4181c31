-- store_job_list: a page at a time, newest first unless $9. NULL filters accept all; $4 is the cursor;
-- $6 is an object of labels, each with the values that will do, separated by commas.
SELECT job.id, workload, target, host, nonce, state, cleanup, stuck, params::text, labels::text, note,
       external_ref, created_by, priority, created_at, started_at, finished_at, revision,
       environment::text, problem_code, problem_field, problem_message, removed,
       foreign_entries::text, boot_id, pid, pid_start, journal_offset, job_findings(job.id), pinned, analysis,
       imported, name,
       matrix::text, repeat, seed,
       cleanup_reason, kept_workspace, kept_files, kept_bytes, deleting, confirms, reboot_by
  FROM job
 WHERE ($1::text[] IS NULL OR state = ANY ($1))
   AND ($2::text IS NULL OR workload = ANY (string_to_array($2, ',')))
   AND ($3::text IS NULL OR target = ANY (string_to_array($3, ',')))
   AND ($4::bigint = 0 OR CASE WHEN $9::boolean THEN id > $4 ELSE id < $4 END)
   AND ($6::json IS NULL OR NOT EXISTS (
         SELECT FROM json_each_text($6) AS wanted
          WHERE NOT coalesce(labels ->> wanted.key = ANY (string_to_array(wanted.value, ',')), false)))
   AND ($7::timestamptz IS NULL OR created_at >= $7)
   AND ($8::timestamptz IS NULL OR created_at < $8)
 ORDER BY CASE WHEN $9::boolean THEN id END, id DESC
 LIMIT $5
