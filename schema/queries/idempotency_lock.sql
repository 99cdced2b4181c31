-- store_job_add: held to the end of the transaction; false while the same request is in flight.
SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 7117))
