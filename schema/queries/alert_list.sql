-- store_alert_list: a page at a time, newest first; $1 is the cursor. NULL or 0 accepts all.
SELECT alert.id, fingerprint, alert.baseline, baseline.name, baseline.target, baseline.phase, baseline.y, alert.job, run, state, sentence,
       unit, level_before, level_after, effect, p, runs_before, runs_after, opened_at, acknowledged_at,
       acknowledged_by, resolved_at, resolved_by, resolution, note, alert.revision
  FROM alert
  JOIN baseline ON baseline.id = alert.baseline
 WHERE ($1::bigint = 0 OR alert.id < $1)
   AND ($2::text[] IS NULL OR state = ANY ($2))
   AND ($3::bigint = 0 OR alert.baseline = $3)
 ORDER BY alert.id DESC
 LIMIT $4
