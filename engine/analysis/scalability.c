#include "engine/analysis/scalability.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>

const char *const scalability_models[] = { "linear", "amdahl", "usl", NULL };

/* gamma, alpha, beta: how many are free is the model, the others are 0. */
struct sweep {
    const double *lanes, *throughput;
    size_t n;
};

static double law(const double p[3], double lanes)
{
    return p[0] * lanes / (1 + p[1] * (lanes - 1) + p[2] * lanes * (lanes - 1));
}

static void parameters(const gsl_vector *v, double p[3])
{
    for (size_t i = 0; i < 3; i++)
        p[i] = i < v->size ? gsl_vector_get(v, i) : 0;
}

static int residual(const gsl_vector *v, void *arg, gsl_vector *ret)
{
    const struct sweep *s = arg;
    double p[3];
    parameters(v, p);
    for (size_t i = 0; i < s->n; i++)
        gsl_vector_set(ret, i, law(p, s->lanes[i]) - s->throughput[i]);
    return GSL_SUCCESS;
}

static int jacobian(const gsl_vector *v, void *arg, gsl_matrix *ret)
{
    const struct sweep *s = arg;
    double p[3];
    parameters(v, p);
    for (size_t i = 0; i < s->n; i++) {
        double n = s->lanes[i], x = law(p, n), slow = x / (p[0] * n); /* 1 / denominator */
        double row[3] = { x / p[0], -x * slow * (n - 1), -x * slow * n * (n - 1) };
        for (size_t k = 0; k < v->size; k++)
            gsl_matrix_set(ret, i, k, row[k]);
    }
    return GSL_SUCCESS;
}

/* Levenberg-Marquardt on throughput itself; returns the residual sum, INFINITY when it fails. */
static double fit(struct sweep *s, size_t free_ones, double p[3])
{
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, s->n, free_ones);
    if (!work)
        return INFINITY;
    gsl_multifit_nlinear_fdf fdf = {
        .f = residual, .df = jacobian, .n = s->n, .p = free_ones, .params = s
    };
    gsl_vector_view start = gsl_vector_view_array(p, free_ones);
    int info = 0, status = gsl_multifit_nlinear_init(&start.vector, &fdf, work);
    if (status == GSL_SUCCESS)
        status = gsl_multifit_nlinear_driver(500, 1e-14, 1e-14, 0, NULL, NULL, &info, work);
    double rss = 0;
    const gsl_vector *e = gsl_multifit_nlinear_residual(work);
    for (size_t i = 0; i < s->n; i++)
        rss += gsl_vector_get(e, i) * gsl_vector_get(e, i);
    parameters(gsl_multifit_nlinear_position(work), p);
    gsl_multifit_nlinear_free(work);
    return (status == GSL_SUCCESS || status == GSL_ENOPROG) && isfinite(rss) ? rss : INFINITY;
}

/* A start near enough: N / X = (1 + alpha (N - 1) + beta N (N - 1)) / gamma is linear in its terms. */
static void begin(const struct sweep *s, double p[3])
{
    double a[3][4] = { { 0 } };
    for (size_t i = 0; i < s->n; i++) {
        double n = s->lanes[i], x = s->throughput[i], w = x / n * (x / n);
        double row[4] = { 1, n - 1, n * (n - 1), n / x };
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                a[r][c] += w * row[r] * row[c];
    }
    for (int k = 0; k < 3; k++) /* Gauss-Jordan; the matrix is positive definite */
        for (int r = 0; r < 3; r++) {
            double factor = r == k ? 0 : a[r][k] / a[k][k];
            for (int c = 0; c < 4; c++)
                a[r][c] -= factor * a[k][c];
        }
    double inverse = a[0][3] / a[0][0];
    p[0] = 1 / inverse;
    p[1] = a[1][3] / a[1][1] / inverse;
    p[2] = fmax(0, a[2][3] / a[2][2] / inverse);
    if (!isfinite(p[0]) || p[0] <= 0 || !isfinite(p[1]) || !isfinite(p[2])) {
        p[0] = s->throughput[0] / s->lanes[0];
        p[1] = 0.05;
        p[2] = 1e-4;
    }
}

static size_t distinct(const double *v, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = v[k] == v[i];
        count += !seen;
    }
    return count;
}

void scalability_of(const double *lanes, const double *throughput, size_t n,
                    struct scalability *ret)
{
    size_t different = n <= SCALABILITY_MOST ? distinct(lanes, n) : 0;
    *ret = (struct scalability){
        .low_confidence = different < 6, .peak_at = NAN, .peak = NAN, .roof = NAN
    };
    if (different < 4)
        return;
    struct sweep s = { lanes, throughput, n };
    double bic[3], fitted[3][3];
    for (size_t model = 0; model < 3; model++) {
        begin(&s, fitted[model]);
        for (size_t k = model + 1; k < 3; k++)
            fitted[model][k] = 0;
        double rss = fit(&s, model + 1, fitted[model]);
        if (model == SCALES_USL && fitted[model][2] < 0)
            rss = INFINITY; /* beta >= 0: then Amdahl is the model */
        bic[model] = (double)n * log(rss / (double)n) + (double)(model + 1) * log((double)n);
    }
    int best = SCALES_LINEAR;
    for (int model = SCALES_AMDAHL; model <= SCALES_USL; model++)
        if (isfinite(bic[model]) && bic[model] < bic[best] - 2)
            best = model;
    if (!isfinite(bic[best]))
        return;
    const double *p = fitted[best];
    ret->known = true;
    ret->model = (enum scalability_model)best;
    ret->gamma = p[0];
    ret->alpha = p[1];
    ret->beta = p[2];
    ret->superlinear = p[1] < 0;
    if (p[1] > 0)
        ret->roof = p[0] / p[1];
    if (p[2] > 0 && p[1] < 1) {
        ret->peak_at = sqrt((1 - p[1]) / p[2]);
        ret->peak = law(p, ret->peak_at);
    }
}
