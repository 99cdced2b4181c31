-- How a phase found the caches, which is part of its result.

ALTER TABLE phase ADD COLUMN cache text NOT NULL DEFAULT '';
COMMENT ON COLUMN phase.cache IS 'warm, or by what the caches were emptied before it; empty: not said';
