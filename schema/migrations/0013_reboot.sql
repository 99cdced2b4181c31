-- A job that restarts its machine.

ALTER TABLE job ADD COLUMN reboot_by timestamptz;
COMMENT ON COLUMN job.reboot_by IS 'When the machine is to be up again that the job restarts; NULL: it does not';
