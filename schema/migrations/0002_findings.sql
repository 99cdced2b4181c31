-- What the numbers of a job mean, as its analysis said.

ALTER TABLE job ADD COLUMN analysis integer NOT NULL DEFAULT 0 CHECK (analysis >= 0);
COMMENT ON COLUMN job.analysis IS 'Version of the analysis that wrote its findings; 0: not analysed yet';
CREATE INDEX job_unanalysed ON job (host, id)
    WHERE analysis = 0 AND state IN ('succeeded', 'failed', 'cancelled');

CREATE TABLE finding (
    job            bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    place          integer NOT NULL CHECK (place >= 0),
    kind           text NOT NULL CHECK (kind <> ''),
    run            integer NOT NULL CHECK (run >= 0),
    phase          text NOT NULL,
    sentence       text NOT NULL CHECK (sentence <> ''),
    low_confidence boolean NOT NULL,
    data           json NOT NULL CHECK (json_typeof(data) = 'object'),
    PRIMARY KEY (job, place)
);
COMMENT ON TABLE finding IS 'Named conclusions about a job, in the order they are told';
COMMENT ON COLUMN finding.run IS '0, with an empty phase: about the whole job';
COMMENT ON COLUMN finding.sentence IS 'The finding in plain words';
COMMENT ON COLUMN finding.data IS 'The numbers behind the sentence';

-- As they are answered: a JSON list.
CREATE FUNCTION job_findings(bigint) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(json_build_object(
                        'kind', kind, 'run', nullif(run, 0), 'phase', nullif(phase, ''),
                        'sentence', sentence, 'low_confidence', low_confidence, 'data', data)
                    ORDER BY place), '[]')::text
      FROM finding
     WHERE job = $1
$$;
