-- store_alert_get.
SELECT alert.id, fingerprint, alert.baseline, baseline.name, baseline.target, baseline.phase, baseline.y, alert.job, run, state, sentence,
       unit, level_before, level_after, effect, p, runs_before, runs_after, opened_at, acknowledged_at,
       acknowledged_by, resolved_at, resolved_by, resolution, note, alert.revision
  FROM alert
  JOIN baseline ON baseline.id = alert.baseline
 WHERE alert.id = $1
