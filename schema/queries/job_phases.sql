-- After every reading of jobs, and by ingest_open: their phases, in the order they began; the legs of a phase stand
-- together.
SELECT job, run, leg, name, unit, lanes, batch, total, ops, bytes, errors, first_start, first_done,
       last_done, flush_ns, dirty_before, cache, finished, at_load,
       first_ops, first_bytes, sync_ns, resident, paced, paused_ns, latency_count, latency_sum, latency_min, latency_max, latency_p50,
       latency_p90, latency_p99, latency_p999, limit_at, limit_reason, limit_errno, limit_detail,
       began_seq
  FROM phase
 WHERE job = ANY ($1::bigint[])
 ORDER BY job, run, min(began_seq) OVER (PARTITION BY job, run, name), name, leg
