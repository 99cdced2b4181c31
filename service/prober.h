/* The targets as last read, and what is known of the places they name. A filesystem may hang for ever,
 * so each target has a thread of its own for looking, and nobody waits for it. */
#pragma once
#include "engine/target.h"

struct prober;

/* Takes the targets' contents over. */
must_check int prober_start(struct targets *targets, struct prober **ret, struct problem *why);
/* Other targets instead; what is known of those that stay is kept until it is looked at anew. */
must_check int prober_reload(struct prober *prober, struct targets *targets, struct problem *why);
/* Held until released, whatever is reloaded meanwhile. */
const struct targets *prober_hold(struct prober *prober);
void prober_release(struct prober *prober, const struct targets *targets);
/* What was learnt at the last look; a place that does not answer is told as not usable. false: it has
 * not been seen yet. */
bool prober_facts(struct prober *prober, const char *name, struct target_facts *ret);
/* Look at all of them soon: something was written or removed. */
void prober_look(struct prober *prober);
struct prober *prober_stop(struct prober *prober);
