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
 * Decay functions return the weight of a hit by its age. Filters that do not decay by themselves can be merged with
 * weights from any of these functions. The family is that of Cohen, Strauss 2003 (Maintaining Time-Decaying Stream
 * Aggregates, PODS; Journal of Algorithms 2006), as listed by Cheng et al. 2005, the paper of the tbf: exponential,
 * sliding window, polynomial, polyexponential, chordal and polygonal.
 *
 * Ages and lengths are microseconds. If a filter has the hits of a time bucket, for example of an hour, its age is that
 * of its youngest hits: the time since the bucket ended. An age below 0 counts as 0. SB_DECAY_FOREVER is an infinite
 * age: its weight is the limit. Every length (half-life, width, scale) is 1 .. SB_DECAY_MAX_LENGTH.
 *
 * Weights lie in 0 .. 1. They do not rise with age, except for rounding in the last bit; sb_decay_polyexponential() is
 * different, see there. Rounding makes a weight too low by about one unit of the last bit at most. The result is NaN
 * if and only if a parameter is out of its range; but sb_decay_polygonal() does not check its points.
 */
#define SB_DECAY_MAX_LENGTH (INT64_C(1) << 60)	/* 36,500 years */
#define SB_DECAY_FOREVER INT64_MAX

/* 2^(-age / half_life); exact if the result is a power of 2 */
double		sb_decay_exponential(int64_t age, int64_t half_life) SB_NOEXCEPT;

/* 1 if age < width, else 0. So a bucket that ended exactly `width` ago weighs 0. */
double		sb_decay_window(int64_t age, int64_t width) SB_NOEXCEPT;

/*
 * (1 + age / scale)^(-exponent), for a finite exponent > 0. The 1 in the sum makes the weight of a new hit 1; without
 * it, that weight would be infinite.
 */
double		sb_decay_polynomial(int64_t age, double exponent, int64_t scale) SB_NOEXCEPT;

/*
 * With x = age / scale and k = degree >= 0: x^k e^(-x) / k!, divided by its largest value k^k e^(-k) / k!. This
 * function rises until x = k. So it is not a decay function in the sense of Cohen and Strauss, and the youngest hits
 * of a time bucket need not weigh most. Therefore `bucket` is the length of the bucket, 0 .. SB_DECAY_MAX_LENGTH, and
 * the result is the largest value of the function at any age from `age` to age + bucket. If bucket is 0, the result is
 * the function itself. If bucket is SB_DECAY_FOREVER, the result never rises with the age: it is 1 up to the peak, and
 * the function from there on. The result is rounded up.
 */
double		sb_decay_polyexponential(int64_t age, int32_t degree, int64_t scale, int64_t bucket) SB_NOEXCEPT;

/* 1 - age / width; 0 for ages of width and more (a chord: one straight line) */
double		sb_decay_linear(int64_t age, int64_t width) SB_NOEXCEPT;

/*
 * Straight lines between the points (ages[i], weights[i]). Before the first point the weight is weights[0]; after the
 * last point it stays at the weight of the last point. Of several points of the same age (a step) the last one counts.
 * No points: NaN. REQUIRES: 0 <= ages[i] <= ages[i + 1] <= SB_DECAY_MAX_LENGTH; 1 >= weights[i] >= weights[i + 1] >=
 * 0.
 */
double		sb_decay_polygonal(int64_t age, const int64_t *ages, const double *weights, size_t points) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
