/* What counts as a regression of one figure, and whether the history of its runs shows one (ANALYSIS 10). */
#pragma once
#include "engine/analysis/history.h"
#include "engine/job.h"

/* One value a run, of one phase. */
#define BASELINE_FIGURES(X)               \
    X(RATE, "rate")                       \
    X(RATE_WITH_FLUSH, "rate_with_flush") \
    X(BYTES, "bytes_per_second")          \
    X(SECONDS, "seconds")                 \
    X(P50, "p50")                         \
    X(P90, "p90")                         \
    X(P99, "p99")                         \
    X(P999, "p999")                       \
    X(MAX, "max")

enum baseline_figure {
#define X(code, name) FIGURE_##code,
    BASELINE_FIGURES(X)
#undef X
};
/* worse: lower for a rate, higher for a time. */
enum baseline_direction { DIRECTION_WORSE, DIRECTION_LOWER, DIRECTION_HIGHER, DIRECTION_BOTH };
extern const char *const baseline_figures[], *const baseline_directions[]; /* NULL-terminated */

struct baseline_rule {
    int figure, direction;
    double minimum_effect; /* a share */
};

/* What a run's phase did, its parts between two boots added up. */
struct baseline_run {
    job_id job;
    unsigned run;
    nsec at; /* wall: when its job ended */
    char unit[32];
    double ops, bytes, seconds, flush; /* flush: seconds, 0: none was timed */
    double latency[5];                 /* ns: p50, p90, p99, p999, max; 0: not known */
    double value;                      /* of the figure; NAN: it has none */
    bool disturbed;                    /* other work had its CPUs */
    bool confirms;                     /* it was queued to see whether the one before was chance */
};
/* The figure; NAN when the run does not tell. Latencies in ns, seconds in s, rates per second. */
double baseline_value(int figure, const struct baseline_run *run);
/* "files/s", "bytes/s", "s", "ns". */
char *baseline_unit(int figure, const struct baseline_run *run, char text[40]);

enum { LEVELS_MOST = CHANGES_MOST + 1 };
struct baseline_level {
    size_t from, n;   /* which runs */
    double level;     /* their median */
    double effect, p; /* of the change that began it; NAN for the first */
    bool regression;  /* that change is one by the rule */
};
struct baseline_history {
    size_t n;
    struct baseline_level at[LEVELS_MOST];
    /* The last run alone is so much worse than the level it belongs to that chance is to be ruled out. */
    bool suspect;
    double suspect_effect;
};
/* runs: oldest first, all with a value. A single bad run is no change; a change needs three. Nothing is
 * suspected within three runs of a repeat that was queued to confirm. */
void baseline_judge(const struct baseline_rule *rule, const struct baseline_run *runs, size_t n,
                    struct baseline_history *ret);
/* Whether the last three runs are no longer worse than `before` by the rule. */
bool baseline_returned(const struct baseline_rule *rule, const struct baseline_run *runs, size_t n,
                       double before, double effect);

enum { BASELINE_SENTENCE = 400 };
/* "create on scratch: the rate is 812 files per second since job 31, 22 % less than the 1,040 before it ...".
 * place: the target, or "". */
char *say_regression(int figure, const char *phase, const char *place,
                     const struct baseline_run *runs, const struct baseline_history *history,
                     size_t level, char text[BASELINE_SENTENCE]);
/* Why a run is measured once more: the note of that job. */
char *say_suspect(int figure, const char *phase, const struct baseline_run *run,
                  const struct baseline_history *history, char text[BASELINE_SENTENCE]);
