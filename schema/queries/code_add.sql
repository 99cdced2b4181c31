-- store_code_add: a code for the browser; those that nobody used in time go away here.
WITH old AS (DELETE FROM code WHERE expires_at < now())
INSERT INTO code (token, hash, expires_at) VALUES ($1, $2, $3)
