/*
 * simd.hpp: which instructions the core uses. A *kernel* is a function with an inner loop that is worth special
 * instructions. There is portable code for every kernel. On x86-64 each kernel also has a variant for processors with
 * AVX2 (and the instructions for bits that came with it: BMI, LZCNT, POPCNT). Both variants give the same results bit
 * for bit. The tests test/unit/kernel*_test.cpp compare them for most kernels; ctest runs all unit tests once more on
 * the portable code.
 *
 * The source of most kernels is written once: an always_inline function, which is compiled both as portable code and
 * for AVX2. Intrinsics are used only where the compiler does not find the vector code by itself.
 */
#ifndef STREAMBLOOM_SIMD_HPP
#define STREAMBLOOM_SIMD_HPP

#include "base/bits.hpp"
#include "streambloom.h"

/* SB_NO_AVX2_CODE leaves out the code for AVX2, to check on x86-64 that the code for other processors compiles. */
#if defined(__x86_64__) && !defined(SB_NO_AVX2_CODE)
#include <immintrin.h>
#define SB_HAS_AVX2_CODE 1
#define SB_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#else
#define SB_HAS_AVX2_CODE 0
#define SB_AVX2
#endif

/* The body of a kernel, to be compiled into each of its variants. */
#define SB_KERNEL [[gnu::always_inline]] inline

namespace streambloom {

/* The two variants of a kernel. */
enum sb_simd
{
	SB_SIMD_PORTABLE = 1,
	SB_SIMD_AVX2 = 2
};

/* The variant that this process uses; 0 until choose_simd() is called, which use_avx2() does if nobody else has. */
extern int chosen_simd;

/* Chooses AVX2 if the processor has it, otherwise portable code. */
int choose_simd();

/*
 * For tests and benchmarks: chooses portable code if `wanted` is SB_SIMD_PORTABLE; otherwise does what choose_simd()
 * does. Returns the choice.
 */
sb_simd choose_simd(sb_simd wanted);

inline bool use_avx2()
{
#if SB_HAS_AVX2_CODE
	int chosen = __atomic_load_n(&chosen_simd, __ATOMIC_RELAXED);
	return (chosen != 0 ? chosen : choose_simd()) == SB_SIMD_AVX2;
#else
	return false;
#endif
}

#if SB_HAS_AVX2_CODE
SB_AVX2 inline __m256i load(const void *from)
{
	return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}
#endif

/* Counts the set bits of each byte: byte i of the result is the number of set bits in byte i of `word`. */
SB_KERNEL uint64_t ones_in_bytes(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

/*
 * True if std::popcount is taken to be cheap in this variant. Not every x86-64 processor has an instruction for it, so
 * in portable code for x86-64 the compiler makes std::popcount a function call.
 */
template <sb_simd variant>
constexpr bool counts_bits = variant == SB_SIMD_AVX2 || !SB_HAS_AVX2_CODE;

template <sb_simd variant>
SB_KERNEL uint32_t ones_of(uint64_t word)
{
	if constexpr (counts_bits<variant>)
		return static_cast<uint32_t>(std::popcount(word));
	else
		return static_cast<uint32_t>(ones_in_bytes(word) * UINT64_C(0x0101010101010101) >> 56);
}

} // namespace streambloom

/*
 * Defines `result name(parameters)`, which calls name_kernel<variant>(arguments) as compiled for this processor:
 *
 *   template <sb_simd variant> SB_KERNEL void add_up_kernel(uint64_t *to, const uint64_t *from) { ... }
 *   SB_VARIANTS(void, add_up, (uint64_t *to, const uint64_t *from), (to, from))
 *
 * The portable variant is not inlined, so that the call of a variant is a jump, without a stack frame.
 */
#if SB_HAS_AVX2_CODE
#define SB_VARIANTS(result, name, parameters, arguments) \
	SB_AVX2 static result name##_avx2 parameters \
	{ \
		return name##_kernel<SB_SIMD_AVX2> arguments; \
	} \
	[[gnu::noinline]] static result name##_portable parameters \
	{ \
		return name##_kernel<SB_SIMD_PORTABLE> arguments; \
	} \
	result name parameters \
	{ \
		return use_avx2() ? name##_avx2 arguments : name##_portable arguments; \
	}
#else
#define SB_VARIANTS(result, name, parameters, arguments) \
	result name parameters \
	{ \
		return name##_kernel<SB_SIMD_PORTABLE> arguments; \
	}
#endif

#endif
