-- store_job_cleanup: the launcher starts a clean-up, or gives one up.
UPDATE job SET cleanup = $2 WHERE id = $1 AND cleanup <> $2
