#include "api/gzip.h"

#include <zlib.h>

enum {
    GZIP_WINDOW = 15 + 16, /* zlib: the largest window, and gzip's frame */
    GZIP_LEVEL = 4,        /* half the time of 6 for a tenth more bytes, on series */
    GZIP_INPUT = 32 * 1024,
};

static int gzip_start(z_stream *z, struct problem *why)
{
    if (deflateInit2(z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return problem_memory(why);
    return 0;
}

int gzip_whole(const char *bytes, size_t n, char **ret, size_t *ret_n, struct problem *why)
{
    z_stream z = { 0 };
    if (gzip_start(&z, why))
        return -1;
    size_t room = deflateBound(&z, n);
    scoped_free char *out = malloc(room);
    scoped_free char *copy = malloc(n); /* zlib's input is not const */
    if (out && copy) {
        memcpy(copy, bytes, n);
        z.next_in = (Bytef *)copy;
        z.avail_in = (uInt)n;
        z.next_out = (Bytef *)out;
        z.avail_out = (uInt)room;
    }
    int result = out && copy ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
    size_t made = z.total_out;
    deflateEnd(&z);
    if (result != Z_STREAM_END)
        return problem_memory(why);
    *ret = steal(&out);
    *ret_n = made;
    return 0;
}

struct gzip {
    struct stream inner;
    z_stream z;
    bool ended; /* the inner stream */
    bool finished;
    char input[GZIP_INPUT];
};

static int gzip_read(void *arg, char *bytes, size_t size, size_t *ret, struct problem *why)
{
    struct gzip *gzip = arg;
    z_stream *z = &gzip->z;
    z->next_out = (Bytef *)bytes;
    z->avail_out = (uInt)size;
    while (z->avail_out == size && !gzip->finished) {
        if (z->avail_in == 0 && !gzip->ended) {
            size_t n = 0;
            if (gzip->inner.read(gzip->inner.arg, gzip->input, sizeof gzip->input, &n, why))
                return -1;
            z->next_in = (Bytef *)gzip->input;
            z->avail_in = (uInt)n;
            gzip->ended = n == 0;
        }
        int result = deflate(z, gzip->ended ? Z_FINISH : Z_NO_FLUSH);
        if (result == Z_STREAM_END)
            gzip->finished = true;
        else if (result != Z_OK && result != Z_BUF_ERROR)
            return problem_set(why, PROBLEM_INTERNAL, "zlib answers %d", result);
    }
    *ret = size - z->avail_out;
    return 0;
}

static void gzip_done(void *arg)
{
    struct gzip *gzip = arg;
    if (gzip->inner.done)
        gzip->inner.done(gzip->inner.arg);
    deflateEnd(&gzip->z);
    free(gzip);
}

int gzip_stream(struct stream *stream, struct problem *why)
{
    scoped_free struct gzip *gzip = calloc(1, sizeof *gzip);
    if (!gzip)
        return problem_memory(why);
    if (gzip_start(&gzip->z, why))
        return -1;
    gzip->inner = *stream;
    *stream = (struct stream){ gzip_read, gzip_done, steal(&gzip) };
    return 0;
}
