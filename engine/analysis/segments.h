/* Exact least-squares segmentation of at most SEGMENT_POINTS weighted points into pieces of constant
 * level or straight line (Bai & Perron's dynamic programme, O(K n^2)). */
#pragma once
#include "engine/analysis/series.h"

#include <stdint.h>

enum { SEGMENT_POINTS = 513, SEGMENT_BREAKS = 6 };

/* Prefix sums of weight, w x, w y, w x x, w x y, w y y; slot i is the sum over points before i. */
struct moments {
    size_t n;
    double at[SEGMENT_POINTS + 1][6];
};
void moments_of(const double *x, const double *y, const double *w, size_t n, struct moments *ret);

enum piece { PIECE_LEVEL, PIECE_LINE };

/* The weighted residual sum of squares of points [from, to) about their own level or line. */
double piece_rss(const struct moments *m, size_t from, size_t to, enum piece piece);
struct line piece_line(const struct moments *m, size_t from, size_t to, enum piece piece);

/* For each number of breaks up to `most`: the best residual sum and where its pieces begin. */
struct segmentation {
    unsigned most; /* breaks for which there was room */
    double rss[SEGMENT_BREAKS + 1];
    uint16_t first[SEGMENT_BREAKS + 1][SEGMENT_BREAKS + 2]; /* [k][0] = 0 .. [k][k + 1] = n */
};
/* shortest: points in a piece at least. ret_n points at most SEGMENT_POINTS. */
void segmentation_of(const struct moments *m, enum piece piece, unsigned most, size_t shortest,
                     struct segmentation *ret);
/* y - fit, times sqrt(w), for k breaks. */
void segmentation_residuals(const struct segmentation *s, const struct moments *m, enum piece piece,
                            unsigned k, const double *x, const double *y, const double *w,
                            double *ret);
