/*
 * bf_formula.hpp: the load that a rate allows, from which filters are sized.
 */
#ifndef STREAMBLOOM_BF_FORMULA_HPP
#define STREAMBLOOM_BF_FORMULA_HPP

#include "streambloom.h"

namespace streambloom {

/* The largest load (items a block) at which sb_blocked_fpr() is at most fpr, cut to a multiple of 1/1024. */
double blocked_load(double cells, int hash_count, double fpr);

} // namespace streambloom

#endif
