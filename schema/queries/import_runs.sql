-- store_import, last: its runs have ended as the job has, also those that never said that they began.
INSERT INTO run (job, run, state, started_at, finished_at)
SELECT DISTINCT job.id, phase.run, job.state, job.started_at, job.finished_at
  FROM job
  JOIN phase ON phase.job = job.id
 WHERE job.id = $1
ON CONFLICT (job, run) DO UPDATE
   SET state = CASE run.state WHEN 'running' THEN excluded.state ELSE run.state END,
       finished_at = coalesce(run.finished_at, excluded.finished_at)
