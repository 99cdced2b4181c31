-- store_token_list, for `plimsolld token list` and the API.
SELECT id, name, role, targets, expires_at, last_used_at FROM token ORDER BY name
