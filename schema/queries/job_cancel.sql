-- store_job_cancel: a queued job is over at once, a running one is asked to stop.
UPDATE job
   SET state = CASE state WHEN 'queued' THEN 'cancelled' ELSE 'cancelling' END,
       finished_at = CASE state WHEN 'queued' THEN now() END
 WHERE id = $1
   AND state IN ('queued', 'running', 'rebooting')
RETURNING state
