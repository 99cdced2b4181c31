/* The whole surface. To add an address: a row here, and its handler in the file of its noun. What a
 * row takes and answers is in the field tables it names; /openapi.json is made from the same rows. */
#include "api/baselines.h"
#include "api/chart.h"
#include "api/comparisons.h"
#include "api/events.h"
#include "api/handlers.h"
#include "api/imports.h"
#include "api/job_answer.h"
#include "api/jobs.h"
#include "api/journal.h"
#include "api/listing.h"
#include "api/report.h"
#include "api/series.h"
#include "api/session.h"
#include "api/system.h"

#define API "/api/v1"
#define IN(of)                \
    {                         \
        of, sizeof(struct of) \
    }
#define NONE    \
    {           \
        NULL, 0 \
    }

/* clang-format off */
const struct route routes[] = {
/*  method         path                        least role     handler          on success  */
{ METHOD_POST,   API "/session",             ROLE_OPEN,     session_post,    200,
  "Sign in: a token or one-time code for a cookie.",        NONE, IN(session_body), session_answer },
{ METHOD_GET,    API "/session",             ROLE_VIEWER,   session_get,     200,
  "Who am I.",                                              NONE, NONE, session_answer },
{ METHOD_DELETE, API "/session",             ROLE_VIEWER,   session_delete,  204,
  "Sign out.",                                              NONE, NONE, NULL },

{ METHOD_GET,    API "/workloads",           ROLE_VIEWER,   workloads_get,   200,
  "What can be measured.",                                  IN(listing_query), NONE, workloads_answer },
{ METHOD_GET,    API "/workloads/{name}",    ROLE_VIEWER,   workload_get,    200,
  "One workload and its parameters.",                       NONE, NONE, workload_answer },
{ METHOD_GET,    API "/targets",             ROLE_VIEWER,   targets_get,     200,
  "Where it can be measured.",                              IN(listing_query), NONE, targets_answer },
{ METHOD_GET,    API "/targets/{name}",      ROLE_VIEWER,   target_get,      200,
  "One target.",                                            NONE, NONE, target_answer },

{ METHOD_POST,   API "/jobs",                ROLE_OPERATOR, jobs_post,       201,
  "Queue a job.",                                           IN(job_post_query), IN(job_body), job_answer, NULL, KEYED },
{ METHOD_GET,    API "/jobs",                ROLE_VIEWER,   jobs_get,        200,
  "Jobs, newest first.",                                    IN(jobs_get_query), NONE, jobs_answer },
{ METHOD_GET,    API "/jobs/{id}",           ROLE_VIEWER,   job_get,         200,
  "One job.",                                               IN(job_get_query), NONE, job_answer },
{ METHOD_PATCH,  API "/jobs/{id}",           ROLE_OPERATOR, job_change,      200,
  "Change what people write about a job.",                  NONE, IN(job_patch), job_answer },
{ METHOD_DELETE, API "/jobs/{id}",           ROLE_OPERATOR, job_delete,      204,
  "Forget a job that has ended, and what it measured; one that keeps files on its target goes after them (202).",
                                                            NONE, NONE, job_answer },
{ METHOD_POST,   API "/jobs/{id}/cancel",    ROLE_OPERATOR, job_cancel,      202,
  "Stop a job; again: the same.",                           NONE, NONE, job_answer },
{ METHOD_GET,    API "/jobs/{id}/series",    ROLE_VIEWER,   job_series,      200,
  "Samples of a phase, thinned for a chart, or all of them as CSV.",
                                                            IN(series_get_query), NONE, series_answer, series_types },
{ METHOD_GET,    API "/jobs/{id}/host",      ROLE_VIEWER,   job_host,        200,
  "What the machine did meanwhile.",                        IN(host_get_query), NONE, host_answer },
{ METHOD_GET,    API "/jobs/{id}/findings",  ROLE_VIEWER,   job_findings,    200,
  "What the numbers mean, in words and figures.",           IN(findings_query), NONE, findings_answer },
{ METHOD_GET,    API "/jobs/{id}/report",    ROLE_VIEWER,   job_report,      200,
  "The job as a report: for a ticket, a browser, a program.", IN(report_query), NONE, report_answer, report_types },
{ METHOD_POST,   API "/jobs/{id}/analyse",   ROLE_OPERATOR, job_analyse,     202,
  "Analyse it again, after an upgrade.",                    NONE, NONE, job_answer },
{ METHOD_GET,    API "/jobs/{id}/chart.svg", ROLE_VIEWER,   job_chart,       200,
  "A picture of a phase, with what was found of it.",       IN(chart_query), NONE, NULL, chart_types },
{ METHOD_GET,    API "/jobs/{id}/events",    ROLE_VIEWER,   job_events,      200,
  "What happens to a job, as it happens (SSE).",            NONE, NONE, NULL, events_types },
{ METHOD_GET,    API "/events",              ROLE_VIEWER,   service_events,  200,
  "What happens to jobs and alerts, as it happens (SSE).",  NONE, NONE, NULL, events_types },
{ METHOD_GET,    API "/jobs/{id}/journal",   ROLE_VIEWER,   job_journal,     200,
  "The journal as it is.",                                  NONE, NONE, NULL, journal_types },
{ METHOD_GET,    API "/comparisons",         ROLE_VIEWER,   comparisons_get, 200,
  "Jobs beside each other, phase by phase.",                IN(comparisons_query), NONE, comparisons_answer, comparisons_types },

{ METHOD_POST,   API "/imports",             ROLE_OPERATOR, imports_post,    201,
  "Take in what was measured elsewhere, as a job that has ended.", IN(imports_query), NONE, job_answer, NULL, KEYED, imports_takes },

{ METHOD_POST,   API "/baselines",           ROLE_OPERATOR, baselines_post,  201,
  "Watch the history of a figure.",                         IN(baseline_post_query), IN(baseline_body), baseline_answer },
{ METHOD_GET,    API "/baselines",           ROLE_VIEWER,   baselines_get,   200,
  "What is watched, newest first.",                         IN(baselines_query), NONE, baselines_answer },
{ METHOD_GET,    API "/baselines/{id}",      ROLE_VIEWER,   baseline_get,    200,
  "One baseline.",                                          NONE, NONE, baseline_answer },
{ METHOD_PATCH,  API "/baselines/{id}",      ROLE_OPERATOR, baseline_change, 200,
  "Change what counts as a regression.",                    NONE, IN(baseline_patch), baseline_answer },
{ METHOD_DELETE, API "/baselines/{id}",      ROLE_OPERATOR, baseline_delete, 204,
  "Watch it no longer; its alerts go with it.",             NONE, NONE, NULL },
{ METHOD_GET,    API "/baselines/{id}/history", ROLE_VIEWER, baseline_history, 200,
  "Its values, their levels, and where they changed.",      IN(baseline_history_query), NONE, baseline_history_answer },
{ METHOD_GET,    API "/alerts",              ROLE_VIEWER,   alerts_get,      200,
  "What has become worse, newest first.",                   IN(alerts_query), NONE, alerts_answer },
{ METHOD_GET,    API "/alerts/{id}",         ROLE_VIEWER,   alert_get,       200,
  "One alert.",                                             NONE, NONE, alert_answer },
{ METHOD_POST,   API "/alerts/{id}/acknowledge", ROLE_OPERATOR, alert_acknowledge, 200,
  "Somebody has seen it; again: the same.",                 NONE, IN(alert_body), alert_answer },
{ METHOD_POST,   API "/alerts/{id}/resolve", ROLE_OPERATOR, alert_resolve,   200,
  "It is over; again: the same.",                           NONE, IN(alert_body), alert_answer },

/* Outside the API's base, and open to everybody. */
{ METHOD_GET,    "/openapi.json",            ROLE_OPEN,     openapi_get,     200,
  "This interface, for programs.",                          NONE, NONE, NULL },
{ METHOD_GET,    "/healthz",                 ROLE_OPEN,     health_get,      200,
  "Whether the process answers.",                           NONE, NONE, health_answer },
{ METHOD_GET,    "/readyz",                  ROLE_OPEN,     ready_get,       200,
  "Whether jobs can be taken.",                             NONE, NONE, ready_answer },
{ METHOD_GET,    "/version",                 ROLE_OPEN,     version_get,     200,
  "Which plimsoll this is.",                                NONE, NONE, version_answer },
{ .path = NULL },
};
