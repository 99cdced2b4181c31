-- store_series, first: every chunk in the range by its plain columns; the arrays stay in TOAST, so
-- that a zoomed-out chart of millions of samples reads a few thousand short rows.
-- $2: run, 0 for all; $4: x; $5: y; $6, $7: range of x, NULL for open.
SELECT seq, count,
       CASE $4 WHEN 'load' THEN load_min ELSE at_first END AS x_min,
       CASE $4 WHEN 'load' THEN load_max ELSE at_last END AS x_max,
       CASE $5 WHEN 'elapsed' THEN elapsed_min
               WHEN 'cpu' THEN cpu_min
               WHEN 'switches' THEN switches_min
               WHEN 'bytes' THEN bytes_min
               WHEN 'errors' THEN errors_min
               WHEN 'p50' THEN p50_min
               WHEN 'p99' THEN p99_min
               WHEN 'max' THEN max_min
               ELSE ops_min END AS y_min,
       CASE $5 WHEN 'elapsed' THEN elapsed_max
               WHEN 'cpu' THEN cpu_max
               WHEN 'switches' THEN switches_max
               WHEN 'bytes' THEN bytes_max
               WHEN 'errors' THEN errors_max
               WHEN 'p50' THEN p50_max
               WHEN 'p99' THEN p99_max
               WHEN 'max' THEN max_max
               ELSE ops_max END AS y_max,
       CASE $5 WHEN 'elapsed' THEN elapsed_sum
               WHEN 'cpu' THEN cpu_sum
               WHEN 'switches' THEN switches_sum
               WHEN 'bytes' THEN bytes_sum
               WHEN 'errors' THEN errors_sum
               WHEN 'p50' THEN p50_sum
               WHEN 'p99' THEN p99_sum
               WHEN 'max' THEN max_sum
               ELSE ops_sum END AS y_sum
  FROM chunk
 WHERE job = $1
   AND ($2::integer = 0 OR run = $2)
   AND phase = $3
   AND ($6::double precision IS NULL OR CASE $4 WHEN 'load' THEN load_max ELSE at_last END >= $6)
   AND ($7::double precision IS NULL OR CASE $4 WHEN 'load' THEN load_min ELSE at_first END <= $7)
 ORDER BY run, leg, seq
