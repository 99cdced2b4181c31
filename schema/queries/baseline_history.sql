-- store_baseline_history: the newest runs of a baseline's jobs that did what run $3 of job $2 did (0: what the
-- newest of them did), oldest first. A phase that ended early did something else, unless its time was up. Between
-- two boots (legs) a phase's parts add up.
WITH alike AS (
    SELECT job.id, job.finished_at, job.confirms IS NOT NULL AS confirms, run.run,
           job.params::jsonb || run.params::jsonb AS params
      FROM baseline
      JOIN job USING (host, workload, target)
      JOIN run ON run.job = job.id
     WHERE baseline.id = $1
       AND job.state = 'succeeded'
       AND job.labels @> baseline.labels
), newest AS (
    SELECT alike.id, alike.finished_at, alike.confirms, alike.run, min(unit) AS unit,
           sum(ops)::float8 AS ops, sum(bytes)::float8 AS bytes,
           sum(last_done - first_start)::float8 / 1e9 AS seconds, sum(flush_ns)::float8 / 1e9 AS flush,
           max(latency_p50)::float8 AS p50, max(latency_p90)::float8 AS p90, max(latency_p99)::float8 AS p99,
           max(latency_p999)::float8 AS p999, max(latency_max)::float8 AS longest
      FROM alike
      JOIN phase ON phase.job = alike.id AND phase.run = alike.run
     WHERE phase.name = $4
       AND params = (SELECT params
                       FROM alike
                      WHERE ($2::bigint = 0 OR id = $2)
                        AND ($3::bigint = 0 OR run = $3)
                      ORDER BY id DESC, run
                      LIMIT 1)
     GROUP BY alike.id, alike.finished_at, alike.confirms, alike.run
    HAVING bool_and(finished AND coalesce(limit_reason = 'deadline', true))
     ORDER BY alike.finished_at DESC, alike.id DESC, alike.run DESC
     LIMIT $5
)
SELECT newest.*, EXISTS (SELECT FROM finding
                          WHERE finding.job = newest.id
                            AND finding.run = newest.run
                            AND finding.phase = $4
                            AND finding.kind = 'disturbed')
  FROM newest
 ORDER BY finished_at, id, run
