-- ingest_open: where reading the journal goes on.
SELECT journal_seq, journal_offset FROM job WHERE id = $1
