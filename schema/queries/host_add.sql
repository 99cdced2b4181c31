-- Ingest, and store_host_add: what a host did in one interval, in the order of HOST_COLUMNS.
INSERT INTO host_sample (job, run, leg, origin, at, load1, load5, load15, cpu_user, cpu_system,
                         cpu_iowait, cpu_steal, cpu_idle, memory_available, dirty, writeback, disk_read,
                         disk_written, disk_reads, disk_writes, disk_busy, net_received, net_sent,
                         pressure_cpu, pressure_io, pressure_memory, job_cpu, job_memory,
                         job_read, job_written, job_pressure_cpu, job_pressure_io,
                         job_pressure_memory, job_cpu_wait)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34)
ON CONFLICT (job, run, leg, origin, at) DO NOTHING
