-- A phase may end because it has become slower than its first batches were.

ALTER TABLE phase DROP CONSTRAINT phase_limit_reason_check;
ALTER TABLE phase ADD CONSTRAINT phase_limit_reason_check CHECK (limit_reason IN ('space', 'inodes', 'quota',
    'links', 'directory-index', 'name', 'permission', 'deadline', 'reserve', 'slower'));
