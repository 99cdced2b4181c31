-- store_findings_put: an earlier analysis gives way, in the same transaction.
DELETE FROM finding WHERE job = $1
