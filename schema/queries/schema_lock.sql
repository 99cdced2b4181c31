-- store_migrate, first in each transaction: one migrates at a time, and a migration may take long.
-- The number only has to differ from other users of advisory locks in this database.
SELECT set_config('statement_timeout', '30min', true),
       set_config('lock_timeout', '30min', true),
       pg_advisory_xact_lock(7117, 1)
