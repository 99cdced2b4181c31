-- store_job_unanalysed: the oldest job of this host that has ended and whose findings are not written,
-- beyond those already tried.
SELECT id, coalesce((environment ->> 'shared_device')::boolean, false)
  FROM job
 WHERE host = $1
   AND analysis = 0
   AND state IN ('succeeded', 'failed', 'cancelled')
   AND id > $2
 ORDER BY id
 LIMIT 1
