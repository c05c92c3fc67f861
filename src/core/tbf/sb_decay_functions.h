/*
 * sb_decay_functions.h: weights by age. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_DECAY_FUNCTIONS_H
#define STREAMBLOOM_SB_DECAY_FUNCTIONS_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Decay functions: the weight of a hit of this age, for merging undecayed filters by any of them. The family is that of
 * Cohen, Strauss 2003 (Maintaining Time-Decaying Stream Aggregates, PODS; Journal of Algorithms 2006), as Cheng et al.
 * list it: exponential, sliding window, polynomial, polyexponential, chordal and polygonal.
 *
 * Ages and lengths are microseconds. An age below 0 is taken as 0; SB_DECAY_FOREVER is infinite and gives the limit.
 * Every length (half-life, width, scale) is 1 .. SB_DECAY_MAX_LENGTH.
 *
 * Weights lie in 0 .. 1. They do not rise with age, except by rounding, in the last bit; sb_decay_polyexponential()
 * says how it differs. They are too low by rounding only, by about one unit of the last bit. The result is NaN if and
 * only if a parameter is out of its range.
 */
#define SB_DECAY_MAX_LENGTH (INT64_C(1) << 60)	/* 36,500 years */
#define SB_DECAY_FOREVER INT64_MAX

/* 2^(-age / half_life), exact where that is a power of 2 */
double		sb_decay_exponential(int64_t age, int64_t half_life) SB_NOEXCEPT;

/* 1 for age < width, else 0: the age `width` itself is out, as for a bucket that ended exactly so long ago */
double		sb_decay_window(int64_t age, int64_t width) SB_NOEXCEPT;

/* (1 + age / scale)^(-exponent). exponent > 0, finite. The 1 keeps the weight of a new hit finite: it is 1. */
double		sb_decay_polynomial(int64_t age, double exponent, int64_t scale) SB_NOEXCEPT;

/*
 * x^k e^(-x) / k!, x = age / scale, k = degree >= 0, divided by its largest value k^k e^(-k) / k!. It rises until
 * x = k: so it is not a decay function in the sense of Cohen and Strauss, and of a bucket's hits the youngest need not
 * weigh most. Returned is the largest weight of any age in age .. age + bucket, 0 <= bucket <= SB_DECAY_MAX_LENGTH:
 * with 0 the function itself; with SB_DECAY_FOREVER the least function above it that does not rise: 1 until the peak.
 * Rounded up.
 */
double		sb_decay_polyexponential(int64_t age, int32_t degree, int64_t scale, int64_t bucket) SB_NOEXCEPT;

/* 1 - age / width, 0 from there on (a chord: one straight line) */
double		sb_decay_linear(int64_t age, int64_t width) SB_NOEXCEPT;

/*
 * Straight lines between the points (ages[i], weights[i]); before the first and after the last their weights. Of points
 * of the same age (a step) the last one counts. No points: NaN.
 * REQUIRES: 0 <= ages[i] <= ages[i + 1] <= SB_DECAY_MAX_LENGTH; 1 >= weights[i] >= weights[i + 1] >= 0.
 */
double		sb_decay_polygonal(int64_t age, const int64_t *ages, const double *weights, size_t points) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
