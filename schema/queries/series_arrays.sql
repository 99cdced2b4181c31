-- store_series, second: the arrays of those chunks ($3) that the chart shows in detail. A CASE reads
-- only the array that it chooses. Rates are of what the load counts, bytes or operations, and need the times
-- of the batches besides.
SELECT run, leg,
       CASE $4 WHEN 'load' THEN load ELSE at END AS x,
       CASE $5 WHEN 'elapsed' THEN elapsed
               WHEN 'cpu' THEN cpu
               WHEN 'switches' THEN switches
               WHEN 'bytes' THEN bytes
               WHEN 'errors' THEN errors
               WHEN 'p50' THEN p50
               WHEN 'p99' THEN p99
               WHEN 'max' THEN max
               WHEN 'rate' THEN CASE (SELECT min(unit) FROM phase WHERE job = $1 AND name = $2)
                                WHEN 'bytes' THEN bytes ELSE ops END
               ELSE ops END AS y,
       CASE $5 WHEN 'rate' THEN at END AS at,
       CASE $5 WHEN 'rate' THEN elapsed END AS elapsed
  FROM chunk
 WHERE job = $1
   AND phase = $2
   AND seq = ANY ($3::bigint[])
 ORDER BY run, leg, seq
