/*
 * tbf_top.hpp: what a stored list of hot items says of the counts of its items. For the core's own files.
 */
#ifndef STREAMBLOOM_TBF_TOP_HPP
#define STREAMBLOOM_TBF_TOP_HPP

#include "streambloom.h"

namespace streambloom {

/*
 * *from <= the decayed count at this time <= *to, of an item of the list of this filter whose L is `least`: L and L + error.
 * Infinity as for sb_tbf_count(); then *from means nothing.
 */
void top_bounds(const sb_tbf *tbf, const sb_top_section *section, uint64_t least, int64_t at, double *from, double *to);

} // namespace streambloom

#endif
