-- What counts as a regression, and what was found to be one.

CREATE TABLE baseline (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text NOT NULL UNIQUE CHECK (name <> ''),
    workload       text NOT NULL CHECK (workload <> ''),
    target         text NOT NULL,
    host           text NOT NULL CHECK (host <> ''),
    labels         jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
    phase          text NOT NULL CHECK (phase <> ''),
    y              text NOT NULL CHECK (y IN ('rate', 'rate_with_flush', 'bytes_per_second', 'seconds',
                   'p50', 'p90', 'p99', 'p999', 'max')),
    direction      text NOT NULL CHECK (direction IN ('worse', 'lower', 'higher', 'both')),
    minimum_effect double precision NOT NULL CHECK (minimum_effect BETWEEN 0 AND 1),
    runs           integer NOT NULL CHECK (runs BETWEEN 6 AND 2000),
    confirm        boolean NOT NULL,
    created_by     text NOT NULL DEFAULT '',
    created_at     timestamptz NOT NULL DEFAULT now(),
    revision       bigint NOT NULL DEFAULT 1
);
CREATE INDEX baseline_jobs ON baseline (host, workload, target);
COMMENT ON TABLE baseline IS 'Figures whose history is watched: a change for the worse opens an alert';
COMMENT ON COLUMN baseline.target IS 'Empty: results that were handed in';
COMMENT ON COLUMN baseline.labels IS 'Only of jobs that have all of these';
COMMENT ON COLUMN baseline.minimum_effect IS 'A share: smaller changes are none';
COMMENT ON COLUMN baseline.runs IS 'How many of the newest runs are looked at';
COMMENT ON COLUMN baseline.confirm IS 'Whether a single bad run is measured once more at once';

CREATE TABLE alert (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint     text NOT NULL CHECK (fingerprint <> ''),
    baseline        bigint NOT NULL REFERENCES baseline ON DELETE CASCADE,
    job             bigint NOT NULL,
    run             integer NOT NULL,
    state           text NOT NULL DEFAULT 'opened' CHECK (state IN ('opened', 'acknowledged', 'resolved')),
    sentence        text NOT NULL CHECK (sentence <> ''),
    unit            text NOT NULL,
    level_before    double precision NOT NULL,
    level_after     double precision NOT NULL,
    effect          double precision NOT NULL,
    p               double precision NOT NULL,
    runs_before     integer NOT NULL,
    runs_after      integer NOT NULL,
    opened_at       timestamptz NOT NULL DEFAULT now(),
    acknowledged_at timestamptz,
    acknowledged_by text NOT NULL DEFAULT '',
    resolved_at     timestamptz,
    resolved_by     text NOT NULL DEFAULT '',
    resolution      text NOT NULL DEFAULT '',
    note            text NOT NULL DEFAULT '',
    revision        bigint NOT NULL DEFAULT 1,
    CONSTRAINT alert_resolved_when_final CHECK ((resolved_at IS NOT NULL) = (state = 'resolved')),
    CONSTRAINT alert_acknowledged_at CHECK (acknowledged_at IS NOT NULL OR state <> 'acknowledged')
);
CREATE UNIQUE INDEX alert_one_open ON alert (fingerprint) WHERE state <> 'resolved';
CREATE INDEX alert_baseline ON alert (baseline, id);
COMMENT ON TABLE alert IS 'Changes for the worse that a baseline''s history has shown: opened, acknowledged, resolved';
COMMENT ON COLUMN alert.fingerprint IS 'Of baseline, phase, y and job: the same however often it is found';
COMMENT ON COLUMN alert.job IS 'The first of the new level; it may have been deleted since';
COMMENT ON COLUMN alert.level_before IS 'Median of the runs before it, in unit; likewise level_after';
COMMENT ON COLUMN alert.effect IS 'New level over old level, less 1';
COMMENT ON COLUMN alert.p IS 'Mann-Whitney, of the runs on either side';
COMMENT ON COLUMN alert.resolved_by IS 'Empty: by the history itself';
COMMENT ON COLUMN alert.resolution IS 'Why it was resolved, in words';

-- A repeat that was queued to see whether a bad run was chance. No reference: the number stays when the
-- run itself is deleted, so that the repeat is never taken for a run of its own.
ALTER TABLE job ADD COLUMN confirms bigint;
COMMENT ON COLUMN job.confirms IS 'The job whose result it was queued to confirm; NULL: nobody''s';
CREATE UNIQUE INDEX job_confirmed_once ON job (confirms) WHERE confirms IS NOT NULL;

CREATE FUNCTION alert_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.revision := OLD.revision + 1;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER alert_change BEFORE UPDATE ON alert FOR EACH ROW EXECUTE FUNCTION alert_changes();
CREATE TRIGGER baseline_change BEFORE UPDATE ON baseline FOR EACH ROW EXECUTE FUNCTION alert_changes();

-- ---- what happens, for those who listen to the whole service ----

CREATE TABLE event (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL CHECK (kind IN ('state', 'findings', 'gone', 'alert')),
    data json NOT NULL CHECK (json_typeof(data) = 'object')
);
COMMENT ON TABLE event IS 'Changes of jobs and alerts, their ids in the order of their commits; the newest 100,000';
COMMENT ON COLUMN event.data IS 'As it is told';

-- Ids in the order of the commits: called at the end of a transaction, by deferred triggers, it lets no other
-- add until that transaction is over and can be seen. Nothing is waited for after it, so it blocks nobody.
CREATE FUNCTION event_add(kind text, data json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    added bigint;
BEGIN
    PERFORM pg_advisory_xact_lock('event'::regclass::oid::bigint);
    INSERT INTO event (kind, data) VALUES (kind, data) RETURNING id INTO added;
    DELETE FROM event WHERE id <= added - 100000;
END
$$;

CREATE FUNCTION job_happens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM event_add('gone', json_build_object('job', OLD.id));
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' OR (OLD.state, OLD.cleanup, OLD.stuck) IS DISTINCT FROM (NEW.state, NEW.cleanup, NEW.stuck) THEN
        PERFORM event_add('state', json_build_object(
            'job', NEW.id, 'revision', NEW.revision, 'workload', NEW.workload, 'target', nullif(NEW.target, ''),
            'state', NEW.state, 'cleanup', NEW.cleanup, 'stuck', NEW.stuck));
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.analysis <> NEW.analysis AND NEW.analysis > 0 THEN
        PERFORM event_add('findings', json_build_object('job', NEW.id, 'analysis', NEW.analysis));
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER job_happens_first AFTER INSERT OR DELETE ON job DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION job_happens();
CREATE CONSTRAINT TRIGGER job_happens_next AFTER UPDATE ON job DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN ((OLD.state, OLD.cleanup, OLD.stuck, OLD.analysis)
                       IS DISTINCT FROM (NEW.state, NEW.cleanup, NEW.stuck, NEW.analysis))
    EXECUTE FUNCTION job_happens();

CREATE FUNCTION alert_happens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM event_add('alert', json_build_object(
        'alert', NEW.id, 'revision', NEW.revision, 'baseline', NEW.baseline, 'job', NEW.job, 'state', NEW.state,
        'sentence', NEW.sentence));
    -- 0: any may have changed; those who listen look.
    PERFORM pg_notify('plimsoll_job', '0');
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER alert_happens_first AFTER INSERT ON alert DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION alert_happens();
CREATE CONSTRAINT TRIGGER alert_happens_next AFTER UPDATE ON alert DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION alert_happens();
