-- A run_end record: this run is over, and others follow.
UPDATE run SET state = 'succeeded', finished_at = $3
 WHERE job = $1
   AND run = $2
   AND state = 'running'
