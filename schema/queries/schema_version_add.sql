-- store_migrate, in the transaction of the migration itself.
INSERT INTO schema_version (version, name) VALUES ($1, $2)
