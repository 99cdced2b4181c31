-- store_job_add: answers are kept for 24 hours.
DELETE FROM idempotency WHERE created_at < now() - interval '24 hours'
