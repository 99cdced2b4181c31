-- store_job_events: the states that a job went through after revision $2, at most $3 of them.
SELECT revision, at, state, cleanup, stuck
  FROM job_event
 WHERE job = $1
   AND revision > $2
 ORDER BY revision
 LIMIT $3
