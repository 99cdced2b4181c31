-- store_job_revision: asked often, for ETag and wait.
SELECT revision, state FROM job WHERE id = $1
