-- Jobs, what they measured, and who may ask. Applied by store_migrate in one transaction.

CREATE TABLE schema_version (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE schema_version IS 'The migrations applied to this database, one row each';

-- ---- who may ask ----

CREATE TABLE token (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL UNIQUE CHECK (name <> ''),
    role         text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    targets      text NOT NULL DEFAULT '',
    hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    last_used_at timestamptz
);
COMMENT ON TABLE token IS 'Who may use the service; the secret itself is not kept';
COMMENT ON COLUMN token.targets IS 'Names of the targets it may use, comma-separated; empty: all';
COMMENT ON COLUMN token.hash IS 'Hash of the secret';
COMMENT ON COLUMN token.expires_at IS 'NULL: never';
COMMENT ON COLUMN token.last_used_at IS 'To the minute';

CREATE TABLE session (
    hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    token      bigint NOT NULL REFERENCES token ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX session_token ON session (token);
CREATE INDEX session_expires_at ON session (expires_at);
COMMENT ON TABLE session IS 'Browsers that are signed in, by the hash of their cookie';

CREATE TABLE code (
    hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    token      bigint NOT NULL REFERENCES token ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX code_token ON code (token);
COMMENT ON TABLE code IS 'One-time codes that sign a browser in; redeeming one deletes it';

-- ---- jobs: the row is the queue ----

CREATE TABLE job (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workload        text NOT NULL CHECK (workload <> ''),
    target          text NOT NULL CHECK (target <> ''),
    host            text NOT NULL CHECK (host <> ''),
    nonce           text NOT NULL,
    state           text NOT NULL DEFAULT 'queued' CHECK (state IN
                    ('queued', 'running', 'cancelling', 'rebooting', 'succeeded', 'failed', 'cancelled')),
    cleanup         text NOT NULL DEFAULT 'none' CHECK (cleanup IN
                    ('none', 'pending', 'running', 'done', 'blocked')),
    stuck           boolean NOT NULL DEFAULT false,
    params          json NOT NULL DEFAULT '{}' CHECK (json_typeof(params) = 'object'),
    labels          jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
    note            text NOT NULL DEFAULT '',
    external_ref    text NOT NULL DEFAULT '',
    created_by      text NOT NULL DEFAULT '',
    priority        bigint NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL DEFAULT now(),
    started_at      timestamptz,
    finished_at     timestamptz,
    revision        bigint NOT NULL DEFAULT 1,
    environment     json,
    problem_code    text,
    problem_field   text,
    problem_message text,
    removed         bigint NOT NULL DEFAULT 0 CHECK (removed >= 0),
    foreign_entries json NOT NULL DEFAULT '[]' CHECK (json_typeof(foreign_entries) = 'array'),
    boot_id         text,
    pid             integer,
    pid_start       bigint,
    journal_seq     bigint NOT NULL DEFAULT 0 CHECK (journal_seq >= 0),
    journal_offset  bigint NOT NULL DEFAULT 0 CHECK (journal_offset >= 0),
    CONSTRAINT job_finished_when_final
        CHECK ((finished_at IS NOT NULL) = (state IN ('succeeded', 'failed', 'cancelled'))),
    CONSTRAINT job_started_when_running
        CHECK (started_at IS NOT NULL OR state NOT IN ('running', 'cancelling', 'rebooting')),
    CONSTRAINT job_queued_is_clean CHECK (cleanup = 'none' OR state <> 'queued'),
    CONSTRAINT job_stuck_while_cancelling CHECK (NOT stuck OR state IN ('running', 'cancelling')),
    CONSTRAINT job_problem_whole
        CHECK ((problem_code IS NULL) = (problem_message IS NULL))
);
COMMENT ON TABLE job IS 'Requests to run a workload on a target; a queued row is the queue''s entry';
COMMENT ON COLUMN job.host IS 'Whose target it is; only that host''s daemon claims the job';
COMMENT ON COLUMN job.nonce IS 'Makes the name of the job''s folder on the target unguessable';
COMMENT ON COLUMN job.state IS 'A final state (succeeded, failed, cancelled) never changes again';
COMMENT ON COLUMN job.cleanup IS 'Goes on beside a final state; until it is done the target is busy';
COMMENT ON COLUMN job.stuck IS 'The kernel holds a lane, so that the job cannot be cancelled yet';
COMMENT ON COLUMN job.revision IS 'Rises with every change of the row (trigger job_change)';
COMMENT ON COLUMN job.environment IS 'Software and hardware as found when the first run began';
COMMENT ON COLUMN job.removed IS 'Entries that clean-up removed';
COMMENT ON COLUMN job.foreign_entries IS 'Names in the job''s folder that it had not made, and that were left';
COMMENT ON COLUMN job.boot_id IS 'The boot that the runner belongs to; with pid and pid_start it names one process';
COMMENT ON COLUMN job.journal_seq IS 'Sequence number of the last journal record stored here';
COMMENT ON COLUMN job.journal_offset IS 'Where in the journal to go on reading; only a hint';

-- One job at a time per target, held even against several claimers at once.
CREATE UNIQUE INDEX job_one_per_target ON job (host, target)
    WHERE state IN ('running', 'cancelling', 'rebooting')
       OR cleanup IN ('pending', 'running', 'blocked');
CREATE INDEX job_queue ON job (host, priority DESC, id) WHERE state = 'queued';
CREATE INDEX job_labels ON job USING gin (labels jsonb_path_ops);
CREATE INDEX job_target ON job (target, id);
CREATE INDEX job_external_ref ON job (external_ref) WHERE external_ref <> '';

-- Every change of a job raises its revision and hints at it to the daemons that listen.
CREATE FUNCTION job_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.revision := OLD.revision + 1;
    END IF;
    PERFORM pg_notify('plimsoll_job', NEW.id::text);
    RETURN NEW;
END
$$;
CREATE TRIGGER job_change BEFORE INSERT OR UPDATE ON job
    FOR EACH ROW EXECUTE FUNCTION job_changes();

CREATE TABLE idempotency (
    token      bigint NOT NULL REFERENCES token ON DELETE CASCADE,
    key        text NOT NULL,
    body_hash  bytea NOT NULL CHECK (octet_length(body_hash) = 32),
    job        bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    answer     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (token, key)
);
CREATE INDEX idempotency_created_at ON idempotency (created_at);
CREATE INDEX idempotency_job ON idempotency (job);
COMMENT ON TABLE idempotency IS 'First answers to requests with an Idempotency-Key, kept 24 hours';

-- ---- what was measured ----

CREATE TABLE leg (
    job      bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    run      integer NOT NULL CHECK (run >= 1),
    leg      integer NOT NULL CHECK (leg >= 1),
    began_at timestamptz NOT NULL,
    boot_id  text,
    PRIMARY KEY (job, run, leg)
);
COMMENT ON TABLE leg IS 'Stretches of runs between two boots; times of samples count from began_at';

CREATE TABLE phase (
    job           bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    run           integer NOT NULL CHECK (run >= 1),
    leg           integer NOT NULL CHECK (leg >= 1),
    name          text NOT NULL CHECK (name <> ''),
    began_seq     bigint NOT NULL,
    unit          text NOT NULL,
    lanes         bigint NOT NULL,
    batch         bigint NOT NULL,
    total         bigint NOT NULL,
    ops           bigint NOT NULL,
    bytes         bigint NOT NULL,
    errors        bigint NOT NULL,
    first_start   bigint NOT NULL,
    first_done    bigint NOT NULL,
    last_done     bigint NOT NULL,
    finished      boolean NOT NULL,
    latency_count bigint NOT NULL,
    latency_sum   double precision NOT NULL,
    latency_min   bigint NOT NULL,
    latency_max   bigint NOT NULL,
    latency_p50   bigint NOT NULL,
    latency_p90   bigint NOT NULL,
    latency_p99   bigint NOT NULL,
    latency_p999  bigint NOT NULL,
    histogram     jsonb,
    limit_at      bigint,
    limit_reason  text CHECK (limit_reason IN ('space', 'inodes', 'quota', 'links',
                  'directory-index', 'name', 'permission', 'deadline', 'reserve')),
    limit_errno   integer,
    limit_detail  text,
    PRIMARY KEY (job, run, leg, name),
    CONSTRAINT phase_limit_whole CHECK ((limit_reason IS NULL) = (limit_at IS NULL)
        AND (limit_reason IS NULL) = (limit_errno IS NULL)
        AND (limit_reason IS NULL) = (limit_detail IS NULL))
);
COMMENT ON TABLE phase IS 'Phases with their totals: so far while they run, exact once finished';
COMMENT ON COLUMN phase.began_seq IS 'Journal record that began it: orders the phases of a leg';
COMMENT ON COLUMN phase.unit IS 'What load counts';
COMMENT ON COLUMN phase.batch IS 'Operations timed together';
COMMENT ON COLUMN phase.total IS 'Operations planned';
COMMENT ON COLUMN phase.first_start IS 'ns since the leg began; the rate is ops over last_done - first_start';
COMMENT ON COLUMN phase.first_done IS 'ns since the leg began, when the first lane had no more to do';
COMMENT ON COLUMN phase.last_done IS 'ns since the leg began, when the last lane had no more to do';
COMMENT ON COLUMN phase.latency_p50 IS 'ns; all latency columns are, and latency_count is a count of operations';
COMMENT ON COLUMN phase.histogram IS 'All latencies: [[bucket, count], ...]';
COMMENT ON COLUMN phase.limit_at IS 'The load at which the phase ended early; NULL: it did not';
COMMENT ON COLUMN phase.limit_errno IS 'What the target answered; 0: a floor or deadline of ours';

CREATE TABLE chunk (
    job           bigint NOT NULL,
    run           integer NOT NULL,
    leg           integer NOT NULL,
    phase         text NOT NULL,
    seq           bigint NOT NULL,
    seq_last      bigint NOT NULL,
    small         boolean NOT NULL,
    count         integer NOT NULL CHECK (count BETWEEN 1 AND 512),
    at_first      bigint NOT NULL,
    at_last       bigint NOT NULL,
    load_first    bigint NOT NULL,
    load_last     bigint NOT NULL,
    load_min      bigint NOT NULL,
    load_max      bigint NOT NULL,
    load_sum      double precision NOT NULL,
    elapsed_first bigint NOT NULL,
    elapsed_last  bigint NOT NULL,
    elapsed_min   bigint NOT NULL,
    elapsed_max   bigint NOT NULL,
    elapsed_sum   double precision NOT NULL,
    ops_min       bigint NOT NULL,
    ops_max       bigint NOT NULL,
    ops_sum       double precision NOT NULL,
    bytes_min     bigint NOT NULL,
    bytes_max     bigint NOT NULL,
    bytes_sum     double precision NOT NULL,
    errors_min    bigint NOT NULL,
    errors_max    bigint NOT NULL,
    errors_sum    double precision NOT NULL,
    cpu_min       bigint NOT NULL,
    cpu_max       bigint NOT NULL,
    cpu_sum       double precision NOT NULL,
    switches_min  bigint NOT NULL,
    switches_max  bigint NOT NULL,
    switches_sum  double precision NOT NULL,
    p50_min       bigint NOT NULL,
    p50_max       bigint NOT NULL,
    p50_sum       double precision NOT NULL,
    p99_min       bigint NOT NULL,
    p99_max       bigint NOT NULL,
    p99_sum       double precision NOT NULL,
    max_min       bigint NOT NULL,
    max_max       bigint NOT NULL,
    max_sum       double precision NOT NULL,
    lane          integer[] NOT NULL,
    load          bigint[] NOT NULL,
    at            bigint[] NOT NULL,
    elapsed       bigint[] NOT NULL,
    ops           bigint[] NOT NULL,
    bytes         bigint[] NOT NULL,
    errors        bigint[] NOT NULL,
    cpu           bigint[] NOT NULL,
    switches      bigint[] NOT NULL,
    p50           bigint[] NOT NULL,
    p99           bigint[] NOT NULL,
    max           bigint[] NOT NULL,
    PRIMARY KEY (job, run, leg, phase, seq),
    FOREIGN KEY (job, run, leg, phase) REFERENCES phase (job, run, leg, name) ON DELETE CASCADE,
    CONSTRAINT chunk_seq_range CHECK (seq_last >= seq),
    -- Few nodes: the server reads a check's expression anew for every INSERT.
    CONSTRAINT chunk_arrays_whole CHECK (count = ALL (ARRAY[
        cardinality(lane), cardinality(load), cardinality(at), cardinality(elapsed),
        cardinality(ops), cardinality(bytes), cardinality(errors), cardinality(cpu),
        cardinality(switches), cardinality(p50), cardinality(p99), cardinality(max)]))
);
COMMENT ON TABLE chunk IS 'Samples in groups of at most 512, ordered by at; see the view sample';
COMMENT ON COLUMN chunk.seq IS 'Journal record of its first samples';
COMMENT ON COLUMN chunk.seq_last IS 'Journal record of its last samples';
COMMENT ON COLUMN chunk.small IS 'To be replaced by a fuller one when more samples have come';
COMMENT ON COLUMN chunk.at_first IS 'Of the arrays, so that a chart need not read them; likewise the columns below';
COMMENT ON COLUMN chunk.load IS 'Units in place or done, all lanes together, when the batch ended';
COMMENT ON COLUMN chunk.at IS 'When the batch ended, ns since the leg began';
COMMENT ON COLUMN chunk.elapsed IS 'What the lane spent on the batch, ns';
COMMENT ON COLUMN chunk.cpu IS 'CPU time of the lane during the batch, ns';
COMMENT ON COLUMN chunk.switches IS 'Involuntary context switches of the lane during the batch';
COMMENT ON COLUMN chunk.p50 IS 'Latency of one operation within the batch, ns; likewise p99 and max';

CREATE TABLE host_sample (
    job              bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    run              integer NOT NULL,
    leg              integer NOT NULL,
    at               bigint NOT NULL,
    load1            double precision,
    load5            double precision,
    load15           double precision,
    cpu_user         double precision,
    cpu_system       double precision,
    cpu_iowait       double precision,
    cpu_steal        double precision,
    cpu_idle         double precision,
    memory_available double precision,
    dirty            double precision,
    writeback        double precision,
    disk_read        double precision,
    disk_written     double precision,
    disk_reads       double precision,
    disk_writes      double precision,
    disk_busy        double precision,
    net_received     double precision,
    net_sent         double precision,
    pressure_cpu     double precision,
    pressure_io      double precision,
    pressure_memory  double precision,
    PRIMARY KEY (job, run, leg, at)
);
COMMENT ON TABLE host_sample IS 'What the machine did meanwhile, about once a second; NULL: it does not tell';
COMMENT ON COLUMN host_sample.at IS 'End of the interval, ns since the leg began';
COMMENT ON COLUMN host_sample.cpu_user IS 'Share of all CPUs, 0 to 1; likewise the other cpu columns';
COMMENT ON COLUMN host_sample.memory_available IS 'Bytes; likewise dirty and writeback';
COMMENT ON COLUMN host_sample.disk_read IS 'Bytes per second on the target''s device; likewise disk_written';
COMMENT ON COLUMN host_sample.disk_reads IS 'Operations per second; likewise disk_writes';
COMMENT ON COLUMN host_sample.disk_busy IS 'Share of time, 0 to 1';
COMMENT ON COLUMN host_sample.net_received IS 'Bytes per second without loopback; likewise net_sent';
COMMENT ON COLUMN host_sample.pressure_cpu IS 'PSI some avg10 as a share, 0 to 1; likewise the others';

-- A build of PostgreSQL without lz4 keeps pglz: slower, not wrong.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['lane', 'load', 'at', 'elapsed', 'ops', 'bytes', 'errors', 'cpu',
                                'switches', 'p50', 'p99', 'max']
    LOOP
        EXECUTE format('ALTER TABLE chunk ALTER COLUMN %I SET COMPRESSION lz4', name);
    END LOOP;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;

CREATE VIEW sample AS
SELECT c.job, c.run, c.leg, c.phase,
       l.began_at + s.at / 1000 * interval '1 microsecond' AS time,
       s.lane, s.load, s.at, s.elapsed, s.ops, s.bytes, s.errors, s.cpu, s.switches,
       s.p50, s.p99, s.max
  FROM chunk c
  LEFT JOIN leg l USING (job, run, leg)
 CROSS JOIN LATERAL unnest(c.lane, c.load, c.at, c.elapsed, c.ops, c.bytes, c.errors, c.cpu,
                           c.switches, c.p50, c.p99, c.max)
       AS s (lane, load, at, elapsed, ops, bytes, errors, cpu, switches, p50, p99, max);
COMMENT ON VIEW sample IS 'One row per batch, for psql and Grafana; durations in ns as in chunk';
