-- A cleanup record, second: the job's is done when all its runs' are. While the job goes on it has none.
UPDATE job
   SET cleanup = CASE WHEN finished_at IS NULL THEN cleanup
                      WHEN $2 = 'running' OR of.unclean THEN 'running'
                      WHEN of.blocked THEN 'blocked'
                      ELSE 'done' END,
       removed = of.removed,
       foreign_entries = of.names
  FROM (SELECT bool_or(cleanup IN ('pending', 'running')) AS unclean,
               bool_or(cleanup = 'blocked') AS blocked,
               sum(removed) AS removed,
               (SELECT coalesce(json_agg(CASE WHEN several.runs > 1 THEN run || '/' || name ELSE name END
                                         ORDER BY run, place), '[]')
                  FROM run, json_array_elements_text(foreign_entries) WITH ORDINALITY AS left_ (name, place),
                       (SELECT count(*) AS runs FROM run WHERE job = $1) AS several
                 WHERE job = $1) AS names
          FROM run
         WHERE job = $1) AS of
 WHERE id = $1
