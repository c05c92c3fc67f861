/*
 * kernel_support.h: runs a test with the variants of the kernels that this processor has. A kernel is an inner loop
 * that is compiled once for AVX2 and once for any processor (src/core/base/simd.hpp).
 */
#ifndef STREAMBLOOM_TEST_KERNEL_SUPPORT_H
#define STREAMBLOOM_TEST_KERNEL_SUPPORT_H

#include "support.h"

#include "base/simd.hpp"

#include <cstdlib>

namespace test {

/*
 * Chooses the variant that this run of the tests is for. A test that has chosen another variant calls this function
 * at its end.
 */
inline streambloom::sb_simd of_this_run()
{
	const char *wanted = std::getenv("STREAMBLOOM_TEST_SIMD");
	return streambloom::choose_simd(wanted != nullptr && std::string(wanted) == "portable" ?
										streambloom::SB_SIMD_PORTABLE :
										streambloom::SB_SIMD_AVX2);
}

/* Calls check() with each variant that this processor has. */
template <typename Check>
void with_each_variant(Check check)
{
	for (streambloom::sb_simd wanted : {streambloom::SB_SIMD_PORTABLE, streambloom::SB_SIMD_AVX2})
	{
		streambloom::sb_simd chosen = streambloom::choose_simd(wanted);
		EXPECT_TRUE(chosen == wanted || chosen == streambloom::SB_SIMD_PORTABLE);
		SCOPED_TRACE(chosen == streambloom::SB_SIMD_AVX2 ? "AVX2" : "portable");
		check();
	}
	(void) of_this_run();
}

} // namespace test

#endif
