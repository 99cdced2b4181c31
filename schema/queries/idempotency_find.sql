-- store_job_add: did this key come before, with the same body ($3), and what was answered?
SELECT body_hash = $3, job, answer
  FROM idempotency
 WHERE token = $1 AND key = $2
