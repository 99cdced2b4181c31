-- store_migrate: is this database new?
SELECT to_regclass('schema_version') IS NOT NULL
