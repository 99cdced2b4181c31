-- samples_next: the next chunks of a phase, a few at a time, so that a reader of any speed needs
-- little memory here and in the server.
SELECT seq, lane, at, load, elapsed, ops, bytes, errors, cpu, switches, p50, p99, max
  FROM chunk
 WHERE job = $1 AND run = $2 AND leg = $3 AND phase = $4 AND seq > $5
 ORDER BY seq
 LIMIT 16
