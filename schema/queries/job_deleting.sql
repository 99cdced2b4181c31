-- store_job_delete, of a job that keeps files on its target: the daemon removes them, and then the job.
UPDATE job SET deleting = true WHERE id = $1 AND NOT deleting
