-- After every reading of jobs with phases of several legs: how the latencies of such a phase were spread over all of
-- them, as bucket and count.
WITH parted AS (
    SELECT job, run, name
      FROM phase
     WHERE job = ANY ($1::bigint[])
     GROUP BY job, run, name
    HAVING count(*) > 1
)
SELECT job, run, name, (bucket->>0)::integer, sum((bucket->>1)::bigint)::bigint
  FROM phase
  JOIN parted USING (job, run, name)
 CROSS JOIN LATERAL jsonb_array_elements(histogram) AS bucket
 GROUP BY 1, 2, 3, 4
 ORDER BY 1, 2, 3, 4
