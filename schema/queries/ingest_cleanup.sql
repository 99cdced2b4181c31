-- A cleanup record: how far it came, and what it left because the job had not made it.
UPDATE job SET cleanup = $2, removed = $3, foreign_entries = $4 WHERE id = $1
