/* Inside this folder only: rows of the table job become struct job. */
#pragma once
#include "schema/database.h"

#define scoped_job scoped(job_done) struct job

/* A row of a query that returns jobs; without phases. */
must_check int job_read(const PGresult *result, int row, struct job *ret, struct problem *why);
/* Reads the runs of all these jobs. */
must_check int jobs_runs(struct connection *connection, struct job *jobs, size_t n,
                         struct problem *why);
/* Reads the runs and the phases of all these jobs. */
must_check int jobs_parts(struct connection *connection, struct job *jobs, size_t n,
                          struct problem *why);
/* Runs a query that returns jobs and calls `each` with every one, phases included. */
must_check int jobs_each(struct store *store, enum query query, const struct params *params,
                         job_fn *each, void *arg, struct problem *why);

/* ---- job_add.c ---- */
/* Takes an Idempotency-Key for this transaction. Returns 1 and the first answer if there was one, else 0. */
must_check int key_take(struct connection *connection, const struct idempotency *key,
                        job_id *ret_id, char **ret_answer, struct problem *why);
must_check int key_keep(struct connection *connection, const struct idempotency *key, job_id id,
                        const char *answer, struct problem *why);
