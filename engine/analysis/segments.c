#include "engine/analysis/segments.h"

#include <math.h>

void moments_of(const double *x, const double *y, const double *w, size_t n, struct moments *ret)
{
    ret->n = n;
    for (unsigned k = 0; k < 6; k++)
        ret->at[0][k] = 0;
    for (size_t i = 0; i < n; i++) {
        double terms[6] = { w[i],
                            w[i] * x[i],
                            w[i] * y[i],
                            w[i] * x[i] * x[i],
                            w[i] * x[i] * y[i],
                            w[i] * y[i] * y[i] };
        for (unsigned k = 0; k < 6; k++)
            ret->at[i + 1][k] = ret->at[i][k] + terms[k];
    }
}

/* Weight, means, and the central sums of one stretch of points. */
struct stretch {
    double w, mx, my, xx, xy, yy;
};

static struct stretch stretch_of(const struct moments *m, size_t from, size_t to)
{
    double s[6];
    for (unsigned k = 0; k < 6; k++)
        s[k] = m->at[to][k] - m->at[from][k];
    struct stretch r = { .w = s[0], .mx = s[1] / s[0], .my = s[2] / s[0] };
    r.xx = fmax(0, s[3] - s[1] * r.mx);
    r.xy = s[4] - s[1] * r.my;
    r.yy = fmax(0, s[5] - s[2] * r.my);
    return r;
}

double piece_rss(const struct moments *m, size_t from, size_t to, enum piece piece)
{
    struct stretch s = stretch_of(m, from, to);
    if (piece == PIECE_LEVEL || s.xx <= 0)
        return s.yy;
    return fmax(0, s.yy - s.xy * s.xy / s.xx);
}

struct line piece_line(const struct moments *m, size_t from, size_t to, enum piece piece)
{
    struct stretch s = stretch_of(m, from, to);
    double slope = piece == PIECE_LEVEL || s.xx <= 0 ? 0 : s.xy / s.xx;
    return (struct line){ .intercept = s.my - slope * s.mx, .slope = slope };
}

void segmentation_of(const struct moments *m, enum piece piece, unsigned most, size_t shortest,
                     struct segmentation *ret)
{
    /* best[k][j]: the least sum for the points before j in k + 1 pieces; from[k][j]: where the last of
     * them begins. Row by row, so two rows of sums are enough. */
    double best[2][SEGMENT_POINTS + 1];
    uint16_t from[SEGMENT_BREAKS + 1][SEGMENT_POINTS + 1];
    size_t n = m->n;
    while (most > 0 && n < (most + 1) * shortest)
        most--;
    ret->most = most;
    for (unsigned k = 0; k <= most; k++) {
        double *now = best[k % 2], *before = best[(k + 1) % 2];
        for (size_t j = 0; j <= n; j++) {
            now[j] = INFINITY;
            from[k][j] = 0;
            if (j < (k + 1) * shortest)
                continue;
            if (k == 0) {
                now[j] = piece_rss(m, 0, j, piece);
                continue;
            }
            for (size_t i = k * shortest; i + shortest <= j; i++) {
                double sum = before[i] + piece_rss(m, i, j, piece);
                if (sum < now[j]) {
                    now[j] = sum;
                    from[k][j] = (uint16_t)i;
                }
            }
        }
        ret->rss[k] = now[n];
        ret->first[k][k + 1] = (uint16_t)n;
        for (unsigned p = k + 1; p-- > 0;)
            ret->first[k][p] = from[p][ret->first[k][p + 1]];
    }
}

void segmentation_residuals(const struct segmentation *s, const struct moments *m, enum piece piece,
                            unsigned k, const double *x, const double *y, const double *w,
                            double *ret)
{
    for (unsigned p = 0; p <= k; p++) {
        size_t from = s->first[k][p], to = s->first[k][p + 1];
        struct line line = piece_line(m, from, to, piece);
        for (size_t i = from; i < to; i++)
            ret[i] = (y[i] - line_at(line, x[i])) * sqrt(w[i]);
    }
}
