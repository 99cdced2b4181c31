/* The one sentence of each kind of finding, from its numbers. Private to engine/finding*.c. */
#pragma once
#include "engine/finding.h"

void say_rate(struct finding *finding, const struct phase_total *phase);
void say_fit(struct finding *finding, const struct phase_total *phase);
/* usual: seconds of a batch before it, on average */
void say_knee(struct finding *finding, const struct phase_total *phase, double usual);
void say_zones(struct finding *finding, const struct phase_total *phase);
void say_warm_up(struct finding *finding, const struct phase_total *phase);
void say_growth(struct finding *finding, const struct phase_total *phase);
void say_limit(struct finding *finding, const struct phase_total *phase);
void say_load(struct finding *finding, const struct phase_total *phase);
void say_disturbed(struct finding *finding, const struct phase_total *phase);
void say_repeats(struct finding *finding, const char *unit);
void say_cache(struct finding *finding, const struct phase_total *phase);
void say_shared_device(struct finding *finding);
void say_saturation(struct finding *finding, const struct phase_total *phase);
