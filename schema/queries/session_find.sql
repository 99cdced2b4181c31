-- store_session_find, on requests with a cookie: the session ends with its token.
SELECT token.id, name, role, targets, least(session.expires_at, token.expires_at)
  FROM session
  JOIN token ON token.id = session.token
 WHERE session.hash = $1
   AND session.expires_at > now()
   AND (token.expires_at IS NULL OR token.expires_at > now())
