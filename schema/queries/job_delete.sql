-- store_job_delete: with all that was measured, concluded and answered about it (ON DELETE CASCADE).
DELETE FROM job WHERE id = $1
