#include "engine/analysis/numeric.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

double sum_of(const double *v, size_t n)
{
    double sum = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        double next = sum + v[i];
        lost += fabs(sum) >= fabs(v[i]) ? (sum - next) + v[i] : (v[i] - next) + sum;
        sum = next;
    }
    return sum + lost;
}

double mean_of(const double *v, size_t n)
{
    return n ? sum_of(v, n) / (double)n : 0;
}

static const double *sorted(const double *v, size_t n, double *scratch)
{
    memcpy(scratch, v, n * sizeof *v);
    gsl_sort(scratch, 1, n);
    return scratch;
}

double median_of(const double *v, size_t n, double *scratch)
{
    if (n == 0)
        return 0;
    const double *s = sorted(v, n, scratch);
    return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

double midmean_of(const double *v, size_t n, double *scratch)
{
    if (n < 4)
        return mean_of(v, n);
    size_t cut = n / 4;
    return mean_of(sorted(v, n, scratch) + cut, n - 2 * cut);
}

double low_mean_of(const double *v, size_t n, double share, double *scratch)
{
    size_t kept = (size_t)ceil((double)n * share);
    return mean_of(sorted(v, n, scratch), kept ? kept : n);
}

enum { WINDOW_MOST = 63 };

void running_median(const double *v, size_t n, size_t width, double *ret)
{
    double window[WINDOW_MOST];
    size_t half = width / 2;
    for (size_t i = 0; i < n; i++) {
        size_t from = i > half ? i - half : 0, to = i + half < n ? i + half : n - 1;
        ret[i] = median_of(v + from, to - from + 1, window);
    }
}

void clip_to_running(double *v, size_t n, size_t width, double reach, double *scratch)
{
    running_median(v, n, width, scratch);
    for (size_t i = 0; i < n; i++)
        v[i] = fmax(scratch[i] - reach, fmin(scratch[i] + reach, v[i]));
}

double theil_sen_at(const double *v, size_t n, double at)
{
    double slope[16 * 15 / 2], rest[16], scratch[16 * 15 / 2];
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            slope[m++] = (v[j] - v[i]) / (double)(j - i);
    double b = median_of(slope, m, scratch);
    for (size_t i = 0; i < n; i++)
        rest[i] = v[i] - b * (double)i;
    return median_of(rest, n, scratch) + b * at;
}

static double lag_one(const double *e, size_t n)
{
    double cross = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        square += e[i] * e[i];
        if (i)
            cross += e[i] * e[i - 1];
    }
    return square > 0 ? cross / square : 0;
}

double long_run_variance(const double *e, size_t n, double params)
{
    double m = (double)n, square = 0;
    for (size_t i = 0; i < n; i++)
        square += e[i] * e[i];
    double v = square / fmax(1, m - params), r1 = lag_one(e, n);
    double phi = r1 + (1 + 3 * r1) / m + params / (2 * m);
    phi = phi < 1 / sqrt(m) ? 0 : fmin(phi, 0.97);
    double most = v * (1 + phi) / (1 - phi);
    for (size_t q = 2; n / q >= 16; q *= 2) {
        double blocks = (double)(n / q), sum = 0;
        for (size_t b = 0; b < n / q; b++) {
            double mean = mean_of(e + b * q, q);
            sum += mean * mean;
        }
        double left = blocks - params / 2;
        if (left >= 1)
            most = fmax(most, (double)q * sum / left);
    }
    return most;
}

double noise_score(const double *e, size_t n)
{
    double s0 = 0, cross = 0, both = 0;
    for (size_t i = 0; i < n; i++) {
        s0 += e[i] * e[i];
        if (i) {
            cross += e[i] * e[i - 1];
            both += e[i] * e[i] + e[i - 1] * e[i - 1];
        }
    }
    double m = (double)n, k = both > 0 ? 2 * cross / both : 0;
    s0 = fmax(s0 / m, 1e-300);
    double s1 = fmax(s0 * (1 - k * k), 1e-300);
    return fmin(m * log(s0), m * log(s1) + 2);
}

static size_t fold(const double *e, size_t n, size_t by, double *ret)
{
    for (size_t i = 0; i < n / by; i++)
        ret[i] = mean_of(e + i * by, by);
    return n / by;
}

double noise_gain(const double *plain, const double *better, size_t n, double *scratch)
{
    double gain = noise_score(plain, n) - noise_score(better, n);
    if (n < 160)
        return gain;
    size_t m = fold(plain, n, 4, scratch);
    double coarse = noise_score(scratch, m);
    fold(better, n, 4, scratch);
    return fmin(gain, coarse - noise_score(scratch, m));
}

double kendall_tau(const double *v, size_t n, double *ret_p)
{
    double s = 0, m = (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            s += (v[j] > v[i]) - (v[j] < v[i]);
    double sd = sqrt(m * (m - 1) * (2 * m + 5) / 18);
    if (ret_p)
        *ret_p = n > 1 ? 2 * gsl_cdf_ugaussian_Q(fabs(s) / sd) : 1;
    return n > 1 ? s / (m * (m - 1) / 2) : 0;
}

double golden_section(double (*f)(double at, void *arg), void *arg, double low, double high,
                      unsigned steps)
{
    const double ratio = 0.6180339887498949;
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double fa = f(a, arg), fb = f(b, arg);
    while (steps--) {
        if (fa <= fb) {
            high = b;
            b = a;
            fb = fa;
            a = high - ratio * (high - low);
            fa = f(a, arg);
        } else {
            low = a;
            a = b;
            fa = fb;
            b = low + ratio * (high - low);
            fb = f(b, arg);
        }
    }
    return fa <= fb ? a : b;
}
