-- An end record: the final state is final at once, and clean-up is due if any run left something.
UPDATE job
   SET state = $2, finished_at = $3, stuck = false,
       cleanup = coalesce((SELECT CASE WHEN bool_or(run.cleanup IN ('pending', 'running')) THEN 'pending'
                                       WHEN bool_or(run.cleanup = 'blocked') THEN 'blocked'
                                       WHEN bool_or(run.cleanup = 'kept') THEN 'kept'
                                       WHEN bool_or(run.cleanup = 'done') THEN 'done' END
                             FROM run
                            WHERE run.job = $1), cleanup),
       problem_code = $4, problem_field = $5, problem_message = $6
 WHERE id = $1
   AND state NOT IN ('succeeded', 'failed', 'cancelled')
