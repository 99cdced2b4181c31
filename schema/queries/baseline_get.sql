-- store_baseline_get.
SELECT id, name, workload, target, host, labels::text, phase, y, direction, minimum_effect, runs, confirm, created_by,
       created_at, revision
  FROM baseline
 WHERE id = $1
