-- store_leg: the stretch of a job that is under way, and from when its times count.
SELECT run, leg, began_at
  FROM leg
 WHERE job = $1
 ORDER BY run DESC, leg DESC
 LIMIT 1
