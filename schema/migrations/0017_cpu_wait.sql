-- How long the lanes waited for a CPU: what involuntary switches alone only hint at.

ALTER TABLE host_sample ADD COLUMN job_cpu_wait double precision;
COMMENT ON COLUMN host_sample.job_cpu_wait IS 'Lanes that waited in the queue for a CPU: 1 is one of them all the time';
