-- After every reading of jobs: their runs, in order.
SELECT job, run, point, params::text, state, started_at, finished_at, used_bytes, used_inodes, cleanup
  FROM run
 WHERE job = ANY ($1::bigint[])
 ORDER BY job, run
