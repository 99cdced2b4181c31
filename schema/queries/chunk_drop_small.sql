-- Ingest: the small chunks that one full one replaces, in the same transaction.
DELETE FROM chunk
 WHERE job = $1 AND run = $2 AND leg = $3 AND phase = $4 AND seq BETWEEN $5 AND $6 AND small
