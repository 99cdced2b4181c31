/* `run KIND --on DIR [name=value ...]`: a measurement with no service at all. */
#pragma once
#include "engine/cli/session.h"

/* The arguments after `run`: the kind comes first. */
enum runner_exit by_hand(char **argv);
