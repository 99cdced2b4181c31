#include "engine/analysis/smooth.h"

#include "engine/analysis/numeric.h"

#include <math.h>
#include <string.h>

/* Weighted least squares of y on up to three columns by the normal equations, solved by Cholesky; the
 * columns are scaled to about 1, so that this is well conditioned. Returns false when singular. */
static bool solve(double a[3][3], double b[3], unsigned n)
{
    for (unsigned j = 0; j < n; j++) {
        for (unsigned k = 0; k < j; k++)
            a[j][j] -= a[j][k] * a[j][k];
        if (a[j][j] <= 1e-12)
            return false;
        a[j][j] = sqrt(a[j][j]);
        for (unsigned i = j + 1; i < n; i++) {
            for (unsigned k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
    }
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (unsigned i = n; i-- > 0;) {
        for (unsigned k = i + 1; k < n; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    return true;
}

/* Fits columns (constant first) to bins [from, to); coefficients in beta, residuals in rest if not NULL.
 * Returns the residual sum, INFINITY when singular. */
static double fit(const struct bins *bins, size_t from, size_t to, const double *const column[3],
                  unsigned columns, double beta[3], double *rest)
{
    double a[3][3] = { { 0 } }, weight = 0, rss = 0;
    memset(beta, 0, 3 * sizeof *beta);
    for (size_t i = from; i < to; i++) {
        weight += bins->w[i];
        for (unsigned p = 0; p < columns; p++) {
            beta[p] += bins->w[i] * column[p][i] * bins->y[i];
            for (unsigned q = 0; q <= p; q++)
                a[p][q] += bins->w[i] * column[p][i] * column[q][i];
        }
    }
    for (unsigned p = 0; p < columns; p++) {
        beta[p] /= weight;
        for (unsigned q = 0; q <= p; q++)
            a[p][q] /= weight;
    }
    if (!solve(a, beta, columns))
        return INFINITY;
    for (size_t i = from; i < to; i++) {
        double e = bins->y[i];
        for (unsigned p = 0; p < columns; p++)
            e -= beta[p] * column[p][i];
        e *= sqrt(bins->w[i]);
        rss += e * e;
        if (rest)
            rest[i - from] = e;
    }
    return rss;
}

void smooth_of(const struct bins *bins, struct smooth *ret)
{
    static const double powers[] = {
        0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3
    }; /* 0: log */
    double one[BINS_MOST], f[BINS_MOST], g[BINS_MOST], rest[BINS_MOST], beta[3];
    const double *column[3] = { one, f, g };
    size_t n = bins->n;
    double top = bins->x[n - 1];
    for (size_t i = 0; i < n; i++)
        one[i] = 1;
    ret->rss = INFINITY;
    for (size_t p = 0; p <= sizeof powers / sizeof *powers; p++) {
        bool mixed = p == sizeof powers / sizeof *powers;
        for (size_t i = 0; i < n; i++) {
            double u = fmax(bins->x[i] / top, 1e-12);
            f[i] = mixed ? u : powers[p] > 0 ? pow(u, powers[p]) : log(u);
            g[i] = u * u;
        }
        double rss = fit(bins, 0, n, column, mixed ? 3 : 2, beta, rest);
        if (mixed && (beta[1] < 0 || beta[2] < 0))
            continue; /* a parabola that falls is no law of growth; it would imitate a bend */
        if (rss < ret->rss) {
            ret->rss = rss;
            memcpy(ret->rest, rest, n * sizeof *rest);
        }
    }
}

struct bend bend_at(const struct bins *bins, size_t from, size_t to, double psi)
{
    double one[BINS_MOST], hinge[BINS_MOST], beta[3];
    const double *column[3] = { one, bins->X, hinge };
    for (size_t i = from; i < to; i++) {
        one[i] = 1;
        hinge[i] = fmax(0, bins->X[i] - psi);
    }
    double rss = fit(bins, from, to, column, 3, beta, NULL);
    return (struct bend){ .psi = psi, .rss = rss, .a = beta[0], .b = beta[1], .d = beta[2] };
}

struct scope {
    const struct bins *bins;
    size_t from, to;
};

static double rss_at(double psi, void *arg)
{
    const struct scope *s = arg;
    return bend_at(s->bins, s->from, s->to, psi).rss;
}

bool bend_of(const struct bins *bins, size_t from, size_t to, size_t shortest, struct bend *ret)
{
    struct scope scope = { bins, from, to };
    if (to - from < 2 * shortest)
        return false;
    size_t best = from + shortest;
    double least = INFINITY;
    for (size_t i = from + shortest; i + shortest <= to; i++) {
        double rss = rss_at(bins->X[i], &scope);
        if (rss < least) {
            least = rss;
            best = i;
        }
    }
    double low = bins->X[best > from ? best - 1 : best];
    double high = bins->X[best + 1 < to ? best + 1 : best];
    *ret = bend_at(bins, from, to, golden_section(rss_at, &scope, low, high, 40));
    if (least < ret->rss)
        *ret = bend_at(bins, from, to, bins->X[best]);
    return isfinite(ret->rss);
}
