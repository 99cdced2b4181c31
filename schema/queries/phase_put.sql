-- Ingest: a phase began, went on, met its limit or ended.
INSERT INTO phase (job, run, leg, name, began_seq, unit, lanes, batch, total, ops, bytes, errors,
                   first_start, first_done, last_done, flush_ns, dirty_before, finished,
                   latency_count, latency_sum,
                   latency_min, latency_max, latency_p50, latency_p90, latency_p99, latency_p999,
                   histogram, limit_at, limit_reason, limit_errno, limit_detail, cache, at_load,
                   first_ops, first_bytes, sync_ns, resident, paced, paused_ns)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39)
ON CONFLICT (job, run, leg, name) DO UPDATE
   SET unit = excluded.unit, lanes = excluded.lanes, batch = excluded.batch,
       total = excluded.total, ops = excluded.ops, bytes = excluded.bytes,
       errors = excluded.errors, first_start = excluded.first_start,
       first_done = excluded.first_done, last_done = excluded.last_done,
       flush_ns = excluded.flush_ns, dirty_before = excluded.dirty_before,
       finished = excluded.finished, latency_count = excluded.latency_count,
       latency_sum = excluded.latency_sum, latency_min = excluded.latency_min,
       latency_max = excluded.latency_max, latency_p50 = excluded.latency_p50,
       latency_p90 = excluded.latency_p90, latency_p99 = excluded.latency_p99,
       latency_p999 = excluded.latency_p999,
       histogram = coalesce(excluded.histogram, phase.histogram), limit_at = excluded.limit_at,
       limit_reason = excluded.limit_reason, limit_errno = excluded.limit_errno,
       limit_detail = excluded.limit_detail, cache = excluded.cache, at_load = excluded.at_load,
       first_ops = excluded.first_ops, first_bytes = excluded.first_bytes,
       sync_ns = excluded.sync_ns, resident = excluded.resident, paced = excluded.paced,
       paused_ns = excluded.paused_ns
