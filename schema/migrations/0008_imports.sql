-- What somebody measured elsewhere, as jobs that have ended.

ALTER TABLE job
    ADD COLUMN imported boolean NOT NULL DEFAULT false,
    ADD COLUMN name     text NOT NULL DEFAULT '',
    DROP CONSTRAINT job_target_check,
    ADD CONSTRAINT job_target_unless_imported CHECK ((target = '') = imported),
    ADD CONSTRAINT job_imported_is_named CHECK ((name <> '') = imported),
    ADD CONSTRAINT job_imported_is_final
        CHECK (NOT imported OR state IN ('succeeded', 'failed', 'cancelled') AND cleanup = 'none');
COMMENT ON COLUMN job.imported IS 'It did not run here: somebody handed its results in';
COMMENT ON COLUMN job.name IS 'What an imported job was measured on, in its importer''s words; otherwise empty';

ALTER TABLE phase ADD COLUMN at_load boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN phase.at_load IS 'Each value was measured at its load, not for the batch that ends there';
