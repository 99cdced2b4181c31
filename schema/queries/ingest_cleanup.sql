-- A cleanup record, second: the job's is done when all its runs' are. While the job goes on it has none.
-- $3 is why it is blocked, $4 to $6 what it was asked to leave, which is forgotten once it is removed.
UPDATE job
   SET cleanup = CASE WHEN finished_at IS NULL THEN cleanup
                      WHEN $2 = 'running' OR of.unclean THEN 'running'
                      WHEN of.blocked THEN 'blocked'
                      ELSE 'done' END,
       cleanup_reason = CASE WHEN $2 = 'blocked' THEN coalesce($3, cleanup_reason)
                             WHEN of.blocked THEN cleanup_reason END,
       kept_workspace = CASE $2 WHEN 'kept' THEN $4 WHEN 'done' THEN NULL ELSE kept_workspace END,
       kept_files = CASE $2 WHEN 'kept' THEN $5 WHEN 'done' THEN NULL ELSE kept_files END,
       kept_bytes = CASE $2 WHEN 'kept' THEN $6 WHEN 'done' THEN NULL ELSE kept_bytes END,
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
