-- Files that a job leaves on its target because it was asked to, until it is deleted; and why a clean-up is
-- blocked.

ALTER TABLE job
    ADD COLUMN cleanup_reason text,
    ADD COLUMN kept_workspace text,
    ADD COLUMN kept_files     bigint CHECK (kept_files >= 0),
    ADD COLUMN kept_bytes     bigint CHECK (kept_bytes >= 0),
    ADD COLUMN deleting       boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT job_cleanup_check,
    ADD CONSTRAINT job_cleanup_check
        CHECK (cleanup IN ('none', 'pending', 'running', 'done', 'blocked', 'kept')),
    ADD CONSTRAINT job_kept_whole
        CHECK (cleanup <> 'kept' OR kept_workspace IS NOT NULL AND kept_files IS NOT NULL AND kept_bytes IS NOT NULL),
    ADD CONSTRAINT job_deleting_when_final
        CHECK (NOT deleting OR state IN ('succeeded', 'failed', 'cancelled'));
ALTER TABLE run
    DROP CONSTRAINT run_cleanup_check,
    ADD CONSTRAINT run_cleanup_check
        CHECK (cleanup IN ('none', 'pending', 'running', 'done', 'blocked', 'kept'));
COMMENT ON COLUMN job.cleanup IS 'Goes on beside a final state; until it is done, or the files are kept, the target is busy';
COMMENT ON COLUMN job.cleanup_reason IS 'Why clean-up is blocked, or why kept files could not be removed';
COMMENT ON COLUMN job.kept_workspace IS 'Name of the folder on the target that holds the kept files';
COMMENT ON COLUMN job.kept_files IS 'How many there are; likewise kept_bytes';
COMMENT ON COLUMN job.deleting IS 'It goes as soon as its kept files are removed';

CREATE INDEX job_kept ON job (host, target) WHERE cleanup = 'kept';
CREATE INDEX job_deleting ON job (host) WHERE deleting;
