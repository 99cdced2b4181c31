/* How throughput grows with lanes: Gunther's Universal Scalability Law (ANALYSIS 8),
 * X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum scalability_model { SCALES_LINEAR, SCALES_AMDAHL, SCALES_USL };
extern const char *const scalability_models[];

struct scalability {
    bool known; /* false: fewer than four distinct numbers of lanes, or no fit */
    enum scalability_model model;
    double alpha, beta, gamma;
    double peak_at, peak; /* lanes and throughput at the peak; NAN: none */
    double roof;          /* gamma / alpha; NAN: none */
    bool superlinear;     /* alpha below 0: told, not clamped */
    bool low_confidence;  /* fewer than six distinct numbers of lanes */
};

enum { SCALABILITY_MOST = 256 };
void scalability_of(const double *lanes, const double *throughput, size_t n,
                    struct scalability *ret);
