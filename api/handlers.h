/* The handlers that routes.c names, each beside its noun. */
#pragma once
#include "api/route.h"

handle_fn session_post, session_get, session_delete; /* session.c */
handle_fn workloads_get, workload_get;               /* workloads.c */
handle_fn targets_get, target_get;                   /* targets.c */
handle_fn jobs_post, jobs_get, job_get, job_cancel;  /* jobs.c */
handle_fn job_change, job_delete;                    /* job_change.c */
handle_fn job_series;                                /* series.c */
handle_fn job_host;                                  /* host.c */
handle_fn job_findings, job_analyse;                 /* findings.c */
handle_fn job_chart;                                 /* chart.c */
handle_fn job_report;                                /* report.c */
handle_fn job_events;                                /* job_events.c */
handle_fn service_events;                            /* service_events.c */
handle_fn job_journal;                               /* journal.c */
handle_fn comparisons_get;                           /* comparisons.c */
handle_fn imports_post;                              /* imports.c */
handle_fn baselines_post, baselines_get, baseline_get, baseline_change,
    baseline_delete;                                               /* baselines.c */
handle_fn baseline_history;                                        /* baseline_history.c */
handle_fn alerts_get, alert_get, alert_acknowledge, alert_resolve; /* alerts.c */
handle_fn openapi_get;                                             /* openapi.c */
handle_fn health_get, ready_get, version_get;                      /* system.c */
