/*
 * lookup.hpp: what the look-ups of all types share. lookup.cpp leads to the files that know a type: bf/bf_lookup.cpp,
 * tbf/tbf_lookup.cpp, stable/stable_lookup.cpp.
 *
 * A step is a function that does as much as it can with the bytes at hand. If some are missing it says so and returns; when
 * they have come it is called again. What it keeps in the look-up is where it was, and never a pointer into bytes.
 */
#ifndef STREAMBLOOM_LOOKUP_HPP
#define STREAMBLOOM_LOOKUP_HPP

#include "streambloom.h"

namespace streambloom {

/* These bytes of the value; or nullptr, and the caller is asked for them: return SB_NEED_BYTES then. */
inline const unsigned char *at_hand(sb_lookup *lookup, size_t offset, size_t size)
{
	size_t skipped = offset - lookup->at; /* very large if they begin before those at hand */
	if (skipped <= lookup->have && size <= lookup->have - skipped)
		return lookup->bytes + skipped;
	lookup->need = {offset, size};
	return nullptr;
}

/*
 * Look for lookup->hash, or go on with it. At the beginning step and tries are 0, found is false and units is 0. REQUIRES:
 * something was added to the filter.
 */
sb_status bf_lookup_step(sb_lookup *lookup);
sb_status tbf_lookup_step(sb_lookup *lookup);
sb_status stable_lookup_step(sb_lookup *lookup);

} // namespace streambloom

#endif
