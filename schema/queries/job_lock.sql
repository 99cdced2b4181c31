-- store_job_delete, first: whether it may go, held until it has gone.
SELECT state, cleanup, pinned, deleting FROM job WHERE id = $1 FOR UPDATE
