-- store_findings_put: the findings are there. Only of a job that has ended: it changes no more.
UPDATE job SET analysis = $2
 WHERE id = $1
   AND state IN ('succeeded', 'failed', 'cancelled')
