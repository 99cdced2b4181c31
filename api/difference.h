/* Where two JSON values differ. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/* A list of {"pointer","a","b"} of leaves (RFC 6901; null: not there), in the order of a; NULL without
 * memory. `passing`: pointers left out with all below them, NULL-terminated; NULL: none. */
json_t *differences(const json_t *a, const json_t *b, const char *const *passing);
