/*
 * simd.cpp: see simd.hpp.
 */
#include "base/simd.hpp"

#if SB_HAS_AVX2_CODE
#include <cpuid.h>
#endif

namespace streambloom {

int chosen_simd = 0;

static bool processor_has_avx2()
{
#if SB_HAS_AVX2_CODE
	/* __builtin_cpu_supports("lzcnt") does not compile with old compilers, so CPUID is read */
	unsigned int eax;
	unsigned int ebx;
	unsigned int ecx;
	unsigned int edx;
	const bool has_lzcnt = __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_LZCNT) != 0;
	__builtin_cpu_init();
	return has_lzcnt && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
		   __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
	return false;
#endif
}

int choose_simd()
{
	int chosen = processor_has_avx2() ? SB_SIMD_AVX2 : SB_SIMD_PORTABLE;
	__atomic_store_n(&chosen_simd, chosen, __ATOMIC_RELAXED);
	return chosen;
}

sb_simd choose_simd(sb_simd wanted)
{
	if (wanted == SB_SIMD_PORTABLE)
		__atomic_store_n(&chosen_simd, static_cast<int>(SB_SIMD_PORTABLE), __ATOMIC_RELAXED);
	else
		(void) choose_simd();
	return static_cast<sb_simd>(__atomic_load_n(&chosen_simd, __ATOMIC_RELAXED));
}

} // namespace streambloom
