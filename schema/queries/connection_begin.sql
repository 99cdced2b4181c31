-- On every new connection, before anything else: what no statement may exceed, and how dates and
-- text are written. $1: most that a statement may take; $2: most that a transaction may idle.
SELECT set_config('statement_timeout', $1, false),
       set_config('idle_in_transaction_session_timeout', $2, false),
       set_config('lock_timeout', $1, false),
       set_config('timezone', 'UTC', false),
       set_config('datestyle', 'ISO', false)
