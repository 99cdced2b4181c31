-- What a restart of the machine came to.

ALTER TABLE leg ADD COLUMN boot jsonb;
COMMENT ON COLUMN leg.boot IS 'What the restart before this leg came to: load, and seconds until the kernel, the daemon and all was up; NULL: there was none, or it has not told';
