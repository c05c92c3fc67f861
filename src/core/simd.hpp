/*
 * simd.hpp: which instructions the core uses. Portable code is always there; where the processor has AVX2 (and the
 * bit counting that comes with it) the kernels have a second body, with the same results bit for bit: kernel_test.cpp
 * compares them.
 *
 * Most kernels are one piece of source, an always_inline function that is compiled into a portable one and into one for
 * AVX2. Only what a compiler cannot find by itself is written with intrinsics.
 */
#ifndef STREAMBLOOM_SIMD_HPP
#define STREAMBLOOM_SIMD_HPP

#include "bits.hpp"
#include "streambloom.h"

#if defined(__x86_64__)
#define SB_HAS_AVX2_CODE 1
#define SB_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#else
#define SB_HAS_AVX2_CODE 0
#define SB_AVX2
#endif

/* The body of a kernel, to be compiled into each of its variants. */
#define SB_KERNEL [[gnu::always_inline]] inline

namespace streambloom {

/* sb_simd, or 0 as long as nobody has asked. The only thing that the core keeps between calls: it is the same for ever. */
extern int chosen_simd;

int choose_simd();

inline bool use_avx2()
{
#if SB_HAS_AVX2_CODE
	int chosen = __atomic_load_n(&chosen_simd, __ATOMIC_RELAXED);
	return (chosen != 0 ? chosen : choose_simd()) == SB_SIMD_AVX2;
#else
	return false;
#endif
}

} // namespace streambloom

/*
 * Defines `result name(parameters)`, which calls name_kernel<variant>(arguments) as compiled for this processor:
 *
 *   template <sb_simd variant> SB_KERNEL void add_up_kernel(uint64_t *to, const uint64_t *from) { ... }
 *   SB_VARIANTS(void, add_up, (uint64_t *to, const uint64_t *from), (to, from))
 */
#if SB_HAS_AVX2_CODE
#define SB_VARIANTS(result, name, parameters, arguments) \
	SB_AVX2 static result name##_avx2 parameters { return name##_kernel<SB_SIMD_AVX2> arguments; } \
	static result name##_portable parameters { return name##_kernel<SB_SIMD_PORTABLE> arguments; } \
	result name parameters { return use_avx2() ? name##_avx2 arguments : name##_portable arguments; }
#else
#define SB_VARIANTS(result, name, parameters, arguments) \
	result name parameters { return name##_kernel<SB_SIMD_PORTABLE> arguments; }
#endif

#endif
