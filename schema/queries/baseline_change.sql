-- store_baseline_change: only at the revision that was read.
UPDATE baseline
   SET name = $3, direction = $4, minimum_effect = $5, runs = $6, confirm = $7
 WHERE id = $1
   AND revision = $2
