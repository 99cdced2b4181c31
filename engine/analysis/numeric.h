/* Small robust statistics that more than one finding needs. All take scratch space or none; none
 * allocates unless it says so. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Compensated (Neumaier) sum. */
double sum_of(const double *v, size_t n);
double mean_of(const double *v, size_t n);
/* The median of a copy in scratch (n doubles). 0 for none. */
double median_of(const double *v, size_t n, double *scratch);
/* The mean of the middle half, by rank; scratch of n. */
double midmean_of(const double *v, size_t n, double *scratch);
/* The mean of the lowest `share` of the values; scratch of n. */
double low_mean_of(const double *v, size_t n, double share, double *scratch);
/* Running median over a window of odd width, cut at the ends. */
void running_median(const double *v, size_t n, size_t width, double *ret);
/* Moves each value to within +- reach of the running median; scratch of n. */
void clip_to_running(double *v, size_t n, size_t width, double reach, double *scratch);

/* Theil-Sen line through up to 16 points at 0, 1, ...: its value at `at`. */
double theil_sen_at(const double *v, size_t n, double at);

/* Long-run variance of residuals that a model with `params` parameters left: the larger of the AR(1)
 * estimate (bias-corrected, phi <= 0.97) and of block means of 2, 4, 8, ... */
double long_run_variance(const double *e, size_t n, double params);
/* min over AR orders 0 and 1 of n ln S_p + 2 p, S_p by Burg: how well residuals are explained by
 * noise of that kind. */
double noise_score(const double *e, size_t n);
/* score(plain) - score(better); from 160 residuals on also over means of 4, and then the smaller: what
 * autocorrelated noise cannot explain. Scratch of n. */
double noise_gain(const double *plain, const double *better, size_t n, double *scratch);

/* Kendall's tau of v against its index, and its two-sided p by the normal approximation. */
double kendall_tau(const double *v, size_t n, double *ret_p);

/* The minimum of f on [low, high] by golden section. */
double golden_section(double (*f)(double at, void *arg), void *arg, double low, double high,
                      unsigned steps);
