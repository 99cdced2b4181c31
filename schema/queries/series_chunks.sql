-- store_series, first: every chunk in the range by its plain columns; the arrays stay in TOAST, so
-- that a zoomed-out chart of millions of samples reads a few thousand short rows.
-- $2: run, 0 for all; $4: x; $5: y; $6, $7: range of x, NULL for open.
-- The mean is y_sum / weight; NULL: / count. A rate follows from these columns only where one lane worked and all
-- batches of the chunk had the same number of operations, which is what they count, not bytes; elsewhere y is NULL: look at the samples.
SELECT seq, count,
       CASE $4 WHEN 'load' THEN load_min ELSE at_first END AS x_min,
       CASE $4 WHEN 'load' THEN load_max ELSE at_last END AS x_max,
       CASE $5 WHEN 'elapsed' THEN elapsed_min
               WHEN 'cpu' THEN cpu_min
               WHEN 'switches' THEN switches_min
               WHEN 'ops' THEN ops_min
               WHEN 'bytes' THEN bytes_min
               WHEN 'errors' THEN errors_min
               WHEN 'p50' THEN p50_min
               WHEN 'p99' THEN p99_min
               WHEN 'max' THEN max_min
               WHEN 'rate' THEN CASE WHEN ops_min = ops_max AND elapsed_min > 0
                                     AND (SELECT max(lanes) = 1 AND min(unit) <> 'bytes'
                                            FROM phase WHERE job = $1 AND name = $3)
                                     THEN ops_min * 1e9::double precision / elapsed_max END
               END::double precision AS y_min,
       CASE $5 WHEN 'elapsed' THEN elapsed_max
               WHEN 'cpu' THEN cpu_max
               WHEN 'switches' THEN switches_max
               WHEN 'ops' THEN ops_max
               WHEN 'bytes' THEN bytes_max
               WHEN 'errors' THEN errors_max
               WHEN 'p50' THEN p50_max
               WHEN 'p99' THEN p99_max
               WHEN 'max' THEN max_max
               WHEN 'rate' THEN ops_max * 1e9::double precision / nullif(elapsed_min, 0)
               END::double precision AS y_max,
       CASE $5 WHEN 'elapsed' THEN elapsed_sum
               WHEN 'cpu' THEN cpu_sum
               WHEN 'switches' THEN switches_sum
               WHEN 'ops' THEN ops_sum
               WHEN 'bytes' THEN bytes_sum
               WHEN 'errors' THEN errors_sum
               WHEN 'p50' THEN p50_sum
               WHEN 'p99' THEN p99_sum
               WHEN 'max' THEN max_sum
               WHEN 'rate' THEN ops_sum * 1e9
               END AS y_sum,
       CASE $5 WHEN 'rate' THEN elapsed_sum END AS weight
  FROM chunk
 WHERE job = $1
   AND ($2::integer = 0 OR run = $2)
   AND phase = $3
   AND ($6::double precision IS NULL OR CASE $4 WHEN 'load' THEN load_max ELSE at_last END >= $6)
   AND ($7::double precision IS NULL OR CASE $4 WHEN 'load' THEN load_min ELSE at_first END <= $7)
 ORDER BY run, leg, seq
