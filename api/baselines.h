/* What the routes of baselines and alerts take in and answer. */
#pragma once
#include "api/reply.h"

struct baseline_body {
    char *name, *workload, *target, *phase;
    struct map labels;
    int y, direction;
    double minimum_effect;
    uint64_t window;
    bool confirm;
};
struct baseline_patch {
    char *name;
    int direction;
    double minimum_effect;
    uint64_t window;
    bool confirm;
};
struct baseline_post_query {
    bool dry_run;
};
struct baselines_query {
    uint64_t limit;
    char *cursor, *workload, *target;
};
struct baseline_history_query {
    uint64_t like, run;
};
extern const struct field baseline_body[], baseline_patch[], baseline_post_query[],
    baselines_query[], baseline_history_query[];
extern const struct field baseline_answer[], baselines_answer[], baseline_history_answer[];

struct alerts_query {
    uint64_t limit, state, baseline;
    char *cursor;
};
struct alert_body {
    char *note;
};
extern const struct field alerts_query[], alert_body[], alert_answer[], alerts_answer[];
/* NULL without memory. */
json_t *alert_json(const struct alert *alert);
