-- A reboot record: the runner is about to restart the machine.
UPDATE job SET state = 'rebooting' WHERE id = $1 AND state = 'running'
