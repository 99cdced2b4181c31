-- store_baseline_remove: its alerts go with it.
DELETE FROM baseline WHERE id = $1
