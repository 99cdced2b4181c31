-- A cleanup record: how far the run's came, and what it left because the run had not made it. One that is
-- repeated finds less to remove.
INSERT INTO run (job, run, state, cleanup, removed, foreign_entries)
VALUES ($1, $2, 'skipped', $3, $4, $5)
ON CONFLICT (job, run) DO UPDATE
   SET cleanup = excluded.cleanup, removed = greatest(run.removed, excluded.removed),
       foreign_entries = excluded.foreign_entries
