-- What the server did meanwhile, where a target names its exporter, beside what this host did.

ALTER TABLE host_sample
    ADD COLUMN origin text NOT NULL DEFAULT 'client' CHECK (origin IN ('client', 'server')),
    DROP CONSTRAINT host_sample_pkey,
    ADD PRIMARY KEY (job, run, leg, origin, at);
COMMENT ON COLUMN host_sample.origin IS 'client: the host that measured, told by the runner; server: the target''s server, asked by the daemon';
