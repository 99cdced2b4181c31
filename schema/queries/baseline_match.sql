-- store_baseline_match: whose history a job belongs to, once it has succeeded.
SELECT baseline.id, baseline.name, baseline.workload, baseline.target, baseline.host, baseline.labels::text, phase, y,
       direction, minimum_effect, runs, confirm, baseline.created_by, baseline.created_at, baseline.revision
  FROM baseline
  JOIN job USING (host, workload, target)
 WHERE job.id = $1
   AND job.state = 'succeeded'
   AND job.labels @> baseline.labels
 ORDER BY baseline.id
