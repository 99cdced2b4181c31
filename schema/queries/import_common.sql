-- store_import, last of a job with several runs: what all of them were asked for is the job's, and what sets
-- a run apart is its own, as in a job that ran here.
WITH common AS (
    SELECT key, min(value::text)::json AS value
      FROM run, json_each(run.params)
     WHERE job = $1
     GROUP BY key
    HAVING count(*) = (SELECT count(*) FROM run WHERE job = $1)
       AND count(DISTINCT value::text) = 1
), apart AS (
    UPDATE run
       SET params = (SELECT coalesce(json_object_agg(key, value), '{}')
                       FROM json_each(run.params)
                      WHERE key NOT IN (SELECT key FROM common))
     WHERE job = $1
)
UPDATE job
   SET params = (SELECT coalesce(json_object_agg(key, value), '{}')
                   FROM json_each(job.params)
                  WHERE key IN (SELECT key FROM common))
 WHERE id = $1
