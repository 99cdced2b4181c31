-- store_job_finish: ends a job whose journal cannot (its runner never started, or died).
UPDATE job
   SET state = $2, cleanup = $3, stuck = false, finished_at = now(),
       problem_code = $4, problem_field = $5, problem_message = $6
 WHERE id = $1
   AND state NOT IN ('succeeded', 'failed', 'cancelled')
