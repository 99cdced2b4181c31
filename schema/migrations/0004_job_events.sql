-- What may be changed of a job and how its states are followed.

ALTER TABLE job ADD COLUMN pinned boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN job.pinned IS 'Somebody wants to keep it: it cannot be deleted';

-- The states that a job went through, in the order of their commits: a job's row is locked from its
-- change to the commit, so that its revisions rise in that order.
CREATE TABLE job_event (
    job      bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    revision bigint NOT NULL,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    state    text NOT NULL,
    cleanup  text NOT NULL,
    stuck    boolean NOT NULL,
    PRIMARY KEY (job, revision)
);
COMMENT ON TABLE job_event IS 'Changes of state, cleanup or stuck, written with them by trigger job_event';
COMMENT ON COLUMN job_event.revision IS 'Of the job, when it had just changed: names the event';

INSERT INTO job_event (job, revision, at, state, cleanup, stuck)
SELECT id, revision, coalesce(finished_at, started_at, created_at), state, cleanup, stuck FROM job;

CREATE FUNCTION job_event_add() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_event (job, revision, state, cleanup, stuck)
    VALUES (NEW.id, NEW.revision, NEW.state, NEW.cleanup, NEW.stuck);
    RETURN NULL;
END
$$;
CREATE TRIGGER job_event_first AFTER INSERT ON job
    FOR EACH ROW EXECUTE FUNCTION job_event_add();
CREATE TRIGGER job_event_next AFTER UPDATE ON job
    FOR EACH ROW WHEN ((OLD.state, OLD.cleanup, OLD.stuck) IS DISTINCT FROM (NEW.state, NEW.cleanup, NEW.stuck))
    EXECUTE FUNCTION job_event_add();

-- A deleted job is hinted at, too.
CREATE FUNCTION job_goes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('plimsoll_job', OLD.id::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER job_gone AFTER DELETE ON job FOR EACH ROW EXECUTE FUNCTION job_goes();
