-- store_alert_resolve: by hand ($2: whose), or by the history itself.
UPDATE alert
   SET state = 'resolved', resolved_at = now(), resolved_by = $2, resolution = $3, note = coalesce($4, note)
 WHERE id = $1
   AND state <> 'resolved'
