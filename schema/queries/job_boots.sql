-- After the reading of jobs with several legs: what each restart of the machine came to, as its leg told.
SELECT job, json_agg(boot || jsonb_build_object('run', run, 'leg', leg) ORDER BY run, leg)::text
  FROM leg
 WHERE job = ANY ($1::bigint[])
   AND boot IS NOT NULL
 GROUP BY job
 ORDER BY job
