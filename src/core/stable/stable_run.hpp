/*
 * stable_run.hpp: takes 1 from each cell of a run of consecutive cells; cells that are zero stay zero.
 * stable_step.cpp does this for each item.
 *
 * The run is treated as one long binary number. Word by word, a second number is subtracted from it, which has a 1 at
 * the lowest bit of each cell that is not zero. Only such cells lose 1, so nothing is borrowed from the next cell. If a
 * cell crosses the end of a word, its other bits are looked up in the next word, and a borrow may go over to that word.
 *
 * No load reads bytes of a word that was just stored. Such a load would have to wait: a processor passes a store on to
 * a later load at once only if all bytes of the load come from this one store. A simpler way, decrement_run() in
 * stable.hpp, works on groups of whole cells, and each group begins in the last byte of the group before. It took some
 * 15 cycles longer for each group.
 */
#ifndef STREAMBLOOM_STABLE_RUN_HPP
#define STREAMBLOOM_STABLE_RUN_HPP

#include "base/simd.hpp"
#include "stable/stable.hpp"

namespace streambloom {

/* of[d][s]: 256 bits with a 1 at the bits s, s + d, s + 2 d, ... */
struct alignas(32) run_patterns
{
	uint64_t of[SB_STABLE_MAX_BITS + 1][8][4];
};
inline constexpr run_patterns patterns = [] {
	run_patterns table{};
	for (unsigned bits = 1; bits <= SB_STABLE_MAX_BITS; bits++)
		for (unsigned shift = 0; shift < 8; shift++)
			for (unsigned bit = shift; bit < 256; bit += bits)
				table.of[bits][shift][bit / 64] |= uint64_t{1} << bit % 64;
	return table;
}();

/* Cells of 1, 2, 4 or 8 bits never cross the end of a word. */
template <unsigned bits>
inline constexpr bool cells_cross_words = 64 % bits != 0;

/*
 * How many bytes the functions below may read and write for `count` cells, counted from the first byte of the first
 * cell.
 */
inline size_t reach_of_run(unsigned bits, uint64_t count)
{
	return static_cast<size_t>((count * bits + 7 + 255) / 256 * 32 + 8);
}

/*
 * Subtracts 1 from each non-zero cell among `count` consecutive cells. The first of them begins at bit `bit` of
 * `cells`. REQUIRES: count > 0; reach_of_run(bits, count) bytes, from the byte that holds this bit on, may be read and
 * written.
 */
template <unsigned bits>
SB_KERNEL void decrement_words(unsigned char *cells, uint64_t bit, uint64_t count)
{
	unsigned char *at = cells + bit / 8;
	unsigned phase = bit % 8;
	uint64_t left = phase + count * bits;
	uint64_t borrow = 0;
	uint64_t word = load_le<uint64_t>(at);

	for (;; at += 8, left -= 64)
	{
		uint64_t next = load_le<uint64_t>(at + 8);
		uint64_t any = word;
		for (unsigned i = 1; i < bits; i++)
			any |= cells_cross_words<bits> ? word >> i | next << (64 - i) : word >> i;
		any &= patterns.of[bits][phase][0];
		if (left <= 64)
			return store_le(at, word - (any & low_mask(static_cast<unsigned>(left))) - borrow);
		uint64_t less = word - any - borrow;
		if (cells_cross_words<bits>)
			borrow = (~word & less) >> 63; /* the top bit becomes 1 only if the subtraction borrows */
		store_le(at, less);
		phase = (phase + bits * 64 - 64) % bits;
		word = next;
	}
}

#if SB_HAS_AVX2_CODE

/* Does what decrement_words() does, four words at once. */
template <unsigned bits>
SB_AVX2 static inline void decrement_vectors(unsigned char *cells, uint64_t bit, uint64_t count)
{
	const __m256i starts = _mm256_setr_epi64x(0, 64, 128, 192);
	unsigned char *at = cells + bit / 8;
	unsigned phase = bit % 8;
	auto left = static_cast<int>(phase + count * bits);
	__m256i borrow_before = _mm256_setzero_si256();

	for (;; at += 32, left -= 256)
	{
		__m256i words = load(at);
		__m256i any = words;
		if constexpr (cells_cross_words<bits>)
		{
			__m256i next = load(at + 8);
			for (int i = 1; i < static_cast<int>(bits); i++)
			{
				const __m256i from_next = _mm256_slli_epi64(next, 64 - i);
				any = _mm256_or_si256(any, _mm256_or_si256(_mm256_srli_epi64(words, i), from_next));
			}
		}
		else
			for (int i = 1; i < static_cast<int>(bits); i++)
				any = _mm256_or_si256(any, _mm256_srli_epi64(words, i));
		any = _mm256_and_si256(any, load(patterns.of[bits][phase]));

		/* -1 << taken has the bits behind the run; a shift by 64 or more gives 0, and then the whole word counts */
		__m256i taken = _mm256_max_epi32(_mm256_sub_epi64(_mm256_set1_epi64x(left), starts), _mm256_setzero_si256());
		any = _mm256_andnot_si256(_mm256_sllv_epi64(_mm256_set1_epi64x(-1), taken), any);

		__m256i less = _mm256_sub_epi64(words, any);
		if constexpr (cells_cross_words<bits>)
		{
			/* the top bit of a word becomes 1 only if it borrows; the borrow of the last word is for the next four */
			__m256i borrow = _mm256_srli_epi64(_mm256_andnot_si256(words, less), 63);
			borrow = _mm256_permute4x64_epi64(borrow, _MM_SHUFFLE(2, 1, 0, 3));
			less = _mm256_sub_epi64(less, _mm256_blend_epi32(borrow, borrow_before, 3));
			borrow_before = borrow;
		}
		_mm256_storeu_si256(reinterpret_cast<__m256i *>(at), less);
		if (left <= 256)
			return;
		phase = (phase + bits * 256 - 256) % bits;
	}
}

#endif

} // namespace streambloom

#endif
