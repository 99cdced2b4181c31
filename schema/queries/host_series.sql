-- store_host: what the host of origin $5 did; of a run ($3) and a leg ($4), 0 for all, at most $2 rows, each the mean of neighbours; `at` is the end of the last of them.
-- The columns are those of HOST_COLUMNS, in its order.
SELECT max(at), avg(load1), avg(load5), avg(load15), avg(cpu_user), avg(cpu_system),
       avg(cpu_iowait), avg(cpu_steal), avg(cpu_idle), avg(memory_available), avg(dirty),
       avg(writeback), avg(disk_read), avg(disk_written), avg(disk_reads), avg(disk_writes),
       avg(disk_busy), avg(net_received), avg(net_sent), avg(pressure_cpu), avg(pressure_io),
       avg(pressure_memory), avg(job_cpu), avg(job_memory), avg(job_read), avg(job_written),
       avg(job_pressure_cpu), avg(job_pressure_io), avg(job_pressure_memory),
       avg(job_cpu_wait)
  FROM (SELECT *, (row_number() OVER (ORDER BY run, leg, at) - 1) * $2::bigint
                  / greatest(count(*) OVER (), $2::bigint) AS place
          FROM host_sample
         WHERE job = $1
           AND ($3::integer = 0 OR run = $3)
           AND ($4::integer = 0 OR leg = $4)
           AND origin = $5) AS placed
 GROUP BY place
 ORDER BY place
