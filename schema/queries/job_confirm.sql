-- store_job_confirm: one run of a job once more, as a job of its own; none when it is being confirmed already.
INSERT INTO job (workload, target, host, nonce, params, labels, note, external_ref, created_by, priority, seed, confirms)
SELECT workload, target, host, right(replace(gen_random_uuid()::text, '-', ''), 16),
       (job.params::jsonb || run.params::jsonb)::json, labels, $4, external_ref, $3, priority, seed, id
  FROM job
  JOIN run ON run.job = job.id
 WHERE job.id = $1
   AND run.run = $2
   AND confirms IS NULL
   AND NOT imported
ON CONFLICT (confirms) WHERE confirms IS NOT NULL DO NOTHING
RETURNING id
