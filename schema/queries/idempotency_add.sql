-- store_job_add: in the transaction of the new job.
INSERT INTO idempotency (token, key, body_hash, job, answer) VALUES ($1, $2, $3, $4, $5)
