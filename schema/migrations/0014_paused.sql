-- A phase that is worked in stretches, with others between them.

ALTER TABLE phase ADD COLUMN paused_ns bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN phase.paused_ns IS 'What lay between its stretches; the rate is ops over last_done - first_start - paused_ns';
