-- What the runner alone used, where it has a cgroup of its own.

ALTER TABLE host_sample
    ADD COLUMN job_cpu             double precision,
    ADD COLUMN job_memory          double precision,
    ADD COLUMN job_read            double precision,
    ADD COLUMN job_written         double precision,
    ADD COLUMN job_pressure_cpu    double precision,
    ADD COLUMN job_pressure_io     double precision,
    ADD COLUMN job_pressure_memory double precision;
COMMENT ON COLUMN host_sample.job_cpu IS 'CPUs that the runner used: 1 is one of them all the time';
COMMENT ON COLUMN host_sample.job_memory IS 'Bytes of the runner''s cgroup, its page cache included';
COMMENT ON COLUMN host_sample.job_read IS 'Bytes per second that the runner made devices read; likewise job_written';
COMMENT ON COLUMN host_sample.job_pressure_cpu IS 'PSI of its cgroup, some avg10, 0 to 1; likewise the others';
