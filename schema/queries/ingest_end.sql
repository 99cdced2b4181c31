-- An end record: the final state is final at once, and clean-up is due if anything was made ($4).
UPDATE job
   SET state = $2, finished_at = $3, stuck = false,
       cleanup = CASE WHEN $4 THEN 'pending' ELSE cleanup END,
       problem_code = $5, problem_field = $6, problem_message = $7
 WHERE id = $1
   AND state NOT IN ('succeeded', 'failed', 'cancelled')
