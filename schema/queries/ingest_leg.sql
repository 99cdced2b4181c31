-- A begin record: from when the times of this leg count.
INSERT INTO leg (job, run, leg, began_at, boot_id) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (job, run, leg) DO NOTHING
