/* Answers about the service itself, open to everybody. */
#pragma once
#include "api/reply.h"

extern const struct field health_answer[], ready_answer[], version_answer[];
