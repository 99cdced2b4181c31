/* `run SPEC.json --settings FILE` and `clean ...`: what the service starts. */
#pragma once
#include "engine/cli/session.h"

enum runner_exit job_run(const char *spec, const char *settings);
enum runner_exit job_clean(const char *spec, const char *settings);
