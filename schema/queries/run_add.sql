-- store_job_add, second: its runs, from a list of {"point", "params"} in the order they will run.
INSERT INTO run (job, run, point, params)
SELECT $1, place, (entry ->> 'point')::bigint, entry -> 'params'
  FROM json_array_elements($2) WITH ORDINALITY AS listed (entry, place)
