-- store_alert_refresh: what further runs say of it. The job that it began with stays.
UPDATE alert
   SET sentence = $2, level_before = $3, level_after = $4, effect = $5, p = $6, runs_before = $7, runs_after = $8
 WHERE id = $1
   AND state <> 'resolved'
   AND runs_after <> $8
