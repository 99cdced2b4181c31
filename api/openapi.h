/* OpenAPI 3.1, made from routes[] and the field tables they name. */
#pragma once
#include "api/route.h"

/* The document as text, owned by the caller. */
must_check int openapi_text(char **ret, struct problem *why);
