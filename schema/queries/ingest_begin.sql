-- A begin record: who runs it. Environment and time of start are those of the first one; a leg
-- after a reboot makes the job running again.
UPDATE job
   SET started_at = CASE WHEN environment IS NULL THEN $2 ELSE started_at END,
       environment = coalesce(environment, $3),
       boot_id = $4, pid = $5, pid_start = $6,
       state = CASE state WHEN 'rebooting' THEN 'running' ELSE state END,
       reboot_by = NULL
 WHERE id = $1
