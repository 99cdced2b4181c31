-- store_job_cleanup: the launcher starts a clean-up, or gives one up. A job that was to be deleted and could
-- not be is told so by its old state, and stays.
UPDATE job
   SET cleanup = $2, cleanup_reason = $3, deleting = deleting AND $2 NOT IN ('kept', 'done')
 WHERE id = $1 AND (cleanup <> $2 OR deleting AND $2 IN ('kept', 'done'))
