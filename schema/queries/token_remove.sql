-- store_token_remove: its sessions and codes go with it.
DELETE FROM token WHERE name = $1
