-- store_job_reanalyse: the analyst finds it again. What was found stands until it is replaced.
UPDATE job SET analysis = 0
 WHERE id = $1
   AND state IN ('succeeded', 'failed', 'cancelled')
