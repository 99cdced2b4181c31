-- store_baseline_list: a page at a time, newest first; $1 is the cursor. NULL filters accept all.
SELECT id, name, workload, target, host, labels::text, phase, y, direction, minimum_effect, runs, confirm, created_by,
       created_at, revision
  FROM baseline
 WHERE ($1::bigint = 0 OR id < $1)
   AND ($2::text IS NULL OR workload = ANY (string_to_array($2, ',')))
   AND ($3::text IS NULL OR target = ANY (string_to_array($3, ',')))
 ORDER BY id DESC
 LIMIT $4
