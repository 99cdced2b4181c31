-- ingest_open: the small chunks that are still to be gathered into one.
SELECT run, leg, phase, seq, seq_last, count, lane, at, load, elapsed, ops, bytes, errors, cpu,
       switches, p50, p99, max
  FROM chunk
 WHERE job = $1 AND small
 ORDER BY run, leg, phase, seq
