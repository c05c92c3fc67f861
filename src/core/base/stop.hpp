/*
 * stop.hpp: how a long loop asks whether the caller wants it to stop. See sb_set_stop() in sb_base.h; the extension's
 * part is in pg/base/call.c.
 */
#ifndef STREAMBLOOM_STOP_HPP
#define STREAMBLOOM_STOP_HPP

#include "streambloom.h"

#include <algorithm>

namespace streambloom {

/* The function that sb_set_stop() was given, or NULL. */
extern sb_stop_function stop_function;

/* A long loop calls this at least once in a few milliseconds. A call takes 1 to 2 ns. */
inline bool stop_wanted()
{
	return stop_function != nullptr && stop_function();
}

/* A number of bytes that takes well below a millisecond to clear, copy or unite. */
constexpr size_t bytes_at_once = size_t{1} << 20;

/*
 * Cuts 0 .. all - 1 into pieces of at most at_once and calls work(first, count) for each. Before each piece it asks
 * whether to stop; if so, it returns SB_INTERRUPTED.
 */
template <typename Work>
inline sb_status in_pieces(size_t all, size_t at_once, Work work)
{
	for (size_t first = 0; first < all; first += at_once)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		work(first, std::min(at_once, all - first));
	}
	return SB_OK;
}

} // namespace streambloom

#endif
