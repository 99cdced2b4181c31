-- What phases that move bytes tell besides: how far all lanes were when the first one was done, what making data
-- stable took within the phase, what of its files was in memory before, and whether a rate was kept.

ALTER TABLE phase
    ADD COLUMN first_ops   bigint NOT NULL DEFAULT 0,
    ADD COLUMN first_bytes bigint NOT NULL DEFAULT 0,
    ADD COLUMN sync_ns     bigint NOT NULL DEFAULT 0,
    ADD COLUMN resident    bigint NOT NULL DEFAULT 0,
    ADD COLUMN paced       boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN phase.first_ops IS 'Operations of all lanes until first_done; 0: not known';
COMMENT ON COLUMN phase.first_bytes IS 'Bytes of all lanes until first_done';
COMMENT ON COLUMN phase.sync_ns IS 'The most that a lane spent on making data stable, within the phase';
COMMENT ON COLUMN phase.resident IS 'Bytes of its files in the host''s memory when it began';
COMMENT ON COLUMN phase.paced IS 'Its rate was bounded: latencies count from when an operation was due';
