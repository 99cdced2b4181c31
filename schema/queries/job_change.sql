-- store_job_change: what people write about a job. NULL leaves it as it is; $6: only at that revision.
UPDATE job
   SET note = coalesce($2, note),
       labels = coalesce($3::jsonb, labels),
       external_ref = coalesce($4, external_ref),
       pinned = coalesce($5, pinned)
 WHERE id = $1
   AND ($6::bigint IS NULL OR revision = $6)
