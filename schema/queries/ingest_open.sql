-- ingest_open: where reading the journal goes on.
SELECT journal_seq, journal_offset, environment IS NOT NULL FROM job WHERE id = $1
