-- Last in every ingest transaction: how far the journal is stored.
UPDATE job SET journal_seq = $2, journal_offset = $3 WHERE id = $1
