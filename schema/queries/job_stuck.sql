-- store_job_stuck: a lane does not come back from the kernel (or has come back).
UPDATE job SET stuck = $2 WHERE id = $1 AND stuck <> $2 AND state IN ('running', 'cancelling')
