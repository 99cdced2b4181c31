-- store_alert_acknowledge: somebody has seen it.
UPDATE alert
   SET state = 'acknowledged', acknowledged_at = now(), acknowledged_by = $2, note = coalesce($3, note)
 WHERE id = $1
   AND state = 'opened'
