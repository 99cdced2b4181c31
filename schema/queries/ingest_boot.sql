-- A boot record: what the restart of the machine before this leg came to.
UPDATE leg
   SET boot = $4::jsonb
 WHERE job = $1
   AND run = $2
   AND leg = $3
