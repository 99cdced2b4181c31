/* Compression of what is sent, with zlib. */
#pragma once
#include "api/reply.h"

/* A new block of memory with the compressed bytes. */
must_check int gzip_whole(const char *bytes, size_t n, char **ret, size_t *ret_n,
                          struct problem *why);
/* Wraps a stream, which it then owns. On failure the stream is as before. */
must_check int gzip_stream(struct stream *stream, struct problem *why);
