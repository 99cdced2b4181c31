-- store_session_add: a browser signed in; sessions that ran out go away here.
WITH old AS (DELETE FROM session WHERE expires_at < now())
INSERT INTO session (token, hash, expires_at) VALUES ($1, $2, $3)
