/* The log of the programs: one line a failure, to standard error; where systemd's journal
 * reads that, to it, with the priority and the job's number (PLIMSOLL_JOB) as fields. Libraries do not log. */
#pragma once
#include "engine/base/problem.h"

enum log_level { LOG_ERROR = 3, LOG_WARNING = 4, LOG_NOTICE = 5, LOG_INFO = 6, LOG_DEBUG = 7 };

void log_line(enum log_level level, const char *fmt, ...) printf_like(2, 3);
/* With the job's id; 0: none. */
void log_job(enum log_level level, long long job, const char *fmt, ...) printf_like(3, 4);
/* "<what>: <message>", once; clears nothing. */
void log_problem(enum log_level level, const char *what, const struct problem *why);
