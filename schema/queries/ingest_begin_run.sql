-- A begin record, second: the run goes on, and there will be something to clean up if it has a folder ($6).
-- A journal that was imported has runs that nobody asked for.
INSERT INTO run (job, run, state, started_at, used_bytes, used_inodes, cleanup)
VALUES ($1, $2, 'running', $3, $4, $5, CASE WHEN $6 THEN 'pending' ELSE 'none' END)
ON CONFLICT (job, run) DO UPDATE
   SET state = CASE run.state WHEN 'queued' THEN 'running' ELSE run.state END,
       started_at = coalesce(run.started_at, excluded.started_at),
       used_bytes = coalesce(run.used_bytes, excluded.used_bytes),
       used_inodes = coalesce(run.used_inodes, excluded.used_inodes),
       cleanup = CASE run.cleanup WHEN 'none' THEN excluded.cleanup ELSE run.cleanup END
