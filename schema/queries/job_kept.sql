-- store_kept: what finished jobs keep on each target of a host.
SELECT target, count(*), sum(kept_files)::bigint, sum(kept_bytes)::bigint
  FROM job
 WHERE host = $1 AND cleanup = 'kept'
 GROUP BY target
