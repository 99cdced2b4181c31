/* Signing in a browser. */
#pragma once
#include "api/reply.h"

struct session_body {
    char *token, *code;
};
extern const struct field session_body[], session_answer[];
