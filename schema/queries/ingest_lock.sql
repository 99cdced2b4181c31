-- First in every ingest transaction: holds the job against a second ingester and tells how far it
-- came. The journal is the truth until the server has written this down, so its commit need not wait.
SELECT journal_seq, set_config('synchronous_commit', 'off', true)
  FROM job
 WHERE id = $1
   FOR UPDATE
