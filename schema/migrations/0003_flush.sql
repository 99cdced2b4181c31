-- What a phase left to be written out, and how long that took after it.

ALTER TABLE phase
    ADD COLUMN flush_ns     bigint NOT NULL DEFAULT 0 CHECK (flush_ns >= 0),
    ADD COLUMN dirty_before bigint NOT NULL DEFAULT 0 CHECK (dirty_before >= 0);
COMMENT ON COLUMN phase.flush_ns IS 'Duration of the syncfs after it, which is in no other time; 0: none was timed';
COMMENT ON COLUMN phase.dirty_before IS 'Bytes that the machine had still to write when it began, for all its devices';
