-- store_token_add.
INSERT INTO token (name, role, targets, hash, expires_at) VALUES ($1, $2, $3, $4, $5) RETURNING id
