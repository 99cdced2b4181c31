-- A reboot record: the runner is about to restart the machine, which is to be up again at $2.
UPDATE job
   SET state = CASE state WHEN 'running' THEN 'rebooting' ELSE state END,
       reboot_by = $2
 WHERE id = $1
   AND state IN ('running', 'cancelling')
