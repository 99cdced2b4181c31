-- store_import: a run that began elsewhere. It tells which point it is ($7), or what it was asked for does:
-- runs that were asked for the same are runs of one.
INSERT INTO run (job, run, params, state, started_at, used_bytes, used_inodes, point)
SELECT $1, $2, $3::json, 'running', $4, $5, $6,
       coalesce($7::bigint, min(point) FILTER (WHERE params::jsonb = $3::jsonb), max(point) + 1, 0)
  FROM run
 WHERE job = $1
ON CONFLICT (job, run) DO NOTHING
