-- store_token_find, on requests with a bearer token. The time of use is kept to the minute, so that
-- most requests write nothing.
WITH used AS (
    UPDATE token
       SET last_used_at = now()
     WHERE hash = $1
       AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
)
SELECT id, name, role, targets, expires_at
  FROM token
 WHERE hash = $1
   AND (expires_at IS NULL OR expires_at > now())
