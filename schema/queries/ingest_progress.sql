-- Last in every ingest transaction: how far the journal is stored. No row means that another
-- ingester has stored more meanwhile ($4 is what this one started from), and all of it is undone.
-- The journal is the truth until the server has written this down, so the commit need not wait.
UPDATE job
   SET journal_seq = $2, journal_offset = $3
 WHERE id = $1 AND journal_seq = $4
RETURNING set_config('synchronous_commit', 'off', true)
