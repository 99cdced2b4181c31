/* A job as a report: for a ticket, for a browser, for a program. */
#pragma once
#include "api/api.h"

struct report_query {
    int format;
};
extern const struct field report_query[], report_answer[];
extern const char *const report_types[];

struct document_kind;
/* The whole text of the report, of this kind; the caller frees *ret. */
must_check int report_text(struct api *api, const struct job *job, const struct document_kind *kind,
                           char **ret, struct problem *why);
