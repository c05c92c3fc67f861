/*
 * stop.hpp: how a long loop finds out that it is to stop. See sb_set_stop() in sb_base.h; PostgreSQL's side is in
 * pg/base/call.c.
 */
#ifndef STREAMBLOOM_STOP_HPP
#define STREAMBLOOM_STOP_HPP

#include "streambloom.h"

#include <algorithm>

namespace streambloom {

/* The function that sb_set_stop() was given, or NULL. */
extern sb_stop_function stop_function;

/* To be called after at most some milliseconds of work. It takes 1 to 2 ns. */
inline bool stop_wanted()
{
	return stop_function != nullptr && stop_function();
}

/* Pieces of this many bytes take well below a millisecond. */
constexpr size_t bytes_at_once = size_t{1} << 20;

/* Calls work(first, count) for one piece of `all` after the other, unless the work is to stop. */
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
