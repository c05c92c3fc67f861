/* fuzz_tbf.h: what both files of the target fuzz_tbf need. */
#ifndef STREAMBLOOM_FUZZ_TBF_H
#define STREAMBLOOM_FUZZ_TBF_H

#include "fuzz_support.h"

#include <algorithm>

namespace fuzz {

/* The nearest time that the core takes, in microseconds. */
inline int64_t time_of(uint64_t number)
{
	return std::clamp(static_cast<int64_t>(number), -SB_TBF_MAX_TIME, SB_TBF_MAX_TIME);
}

} // namespace fuzz

#endif
