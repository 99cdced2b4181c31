-- store_events: what happened after event $1, at most $2 of it.
SELECT id, at, kind, data::text
  FROM event
 WHERE id > $1
 ORDER BY id
 LIMIT $2
