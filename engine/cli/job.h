/* `run SPEC.json` or `run --job NUMBER`, and `clean ...`: what the service and systemd start. */
#pragma once
#include "engine/cli/session.h"

struct job_named {
    const char *spec; /* NULL: by its number */
    job_id job;
    const char *settings;
};

enum runner_exit job_run(const struct job_named *named);
enum runner_exit job_clean(const struct job_named *named);
