-- A job's runs: the points of its matrix, each as often as it is repeated.

ALTER TABLE job
    ADD COLUMN matrix json NOT NULL DEFAULT '{}' CHECK (json_typeof(matrix) = 'object'),
    ADD COLUMN repeat bigint NOT NULL DEFAULT 1 CHECK (repeat BETWEEN 1 AND 100),
    ADD COLUMN seed   bigint NOT NULL DEFAULT 0 CHECK (seed >= 0);
COMMENT ON COLUMN job.params IS 'Of the workload, but for those that the matrix varies';
COMMENT ON COLUMN job.matrix IS 'Names of parameters, each with the values that runs try';
COMMENT ON COLUMN job.repeat IS 'How often each point of the matrix is measured';
COMMENT ON COLUMN job.seed IS 'Fixes the order of the runs';
COMMENT ON COLUMN job.removed IS 'Entries that clean-up removed, of all runs';
COMMENT ON COLUMN job.foreign_entries IS
    'Names in the runs'' folders that they had not made, and that were left; of several runs, after RUN/';

CREATE TABLE run (
    job             bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    run             integer NOT NULL CHECK (run >= 1),
    point           bigint NOT NULL DEFAULT 0 CHECK (point >= 0),
    params          json NOT NULL DEFAULT '{}' CHECK (json_typeof(params) = 'object'),
    state           text NOT NULL DEFAULT 'queued' CHECK (state IN
                    ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped')),
    started_at      timestamptz,
    finished_at     timestamptz,
    used_bytes      bigint CHECK (used_bytes >= 0),
    used_inodes     bigint CHECK (used_inodes >= 0),
    cleanup         text NOT NULL DEFAULT 'none' CHECK (cleanup IN
                    ('none', 'pending', 'running', 'done', 'blocked')),
    removed         bigint NOT NULL DEFAULT 0 CHECK (removed >= 0),
    foreign_entries json NOT NULL DEFAULT '[]' CHECK (json_typeof(foreign_entries) = 'array'),
    PRIMARY KEY (job, run)
);
COMMENT ON TABLE run IS 'Passes through the phases of a job, in the order they run';
COMMENT ON COLUMN run.point IS 'Which point of the matrix: runs of one point measured the same';
COMMENT ON COLUMN run.params IS 'What that point sets';
COMMENT ON COLUMN run.state IS 'skipped: the job ended before its turn came';
COMMENT ON COLUMN run.used_bytes IS 'Of the target''s filesystem when the run began; likewise used_inodes; NULL: not known';

INSERT INTO run (job, run, state, started_at, finished_at, cleanup, removed, foreign_entries)
SELECT id, 1,
       CASE WHEN state = 'queued' OR state = 'succeeded' OR state = 'failed' THEN state
            WHEN state <> 'cancelled' THEN 'running'
            WHEN started_at IS NULL THEN 'skipped' ELSE 'cancelled' END,
       started_at, CASE WHEN started_at IS NOT NULL THEN finished_at END, cleanup, removed,
       foreign_entries
  FROM job;

-- Whoever ends a job ends its runs.
CREATE FUNCTION job_ends_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run
       SET state = CASE state WHEN 'running' THEN NEW.state ELSE 'skipped' END,
           finished_at = CASE state WHEN 'running' THEN NEW.finished_at END
     WHERE job = NEW.id
       AND state IN ('queued', 'running');
    RETURN NULL;
END
$$;
CREATE TRIGGER job_ended AFTER UPDATE ON job
    FOR EACH ROW WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL)
    EXECUTE FUNCTION job_ends_runs();
