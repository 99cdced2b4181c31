-- store_ping, for /readyz: does the database answer?
SELECT 1
