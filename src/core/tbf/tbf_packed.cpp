/*
 * tbf_packed.cpp: makes packed blocks (tbf_packed.hpp): gathers counters, counts the widths of numbers, chooses levels,
 * packs, and decays gathered blocks. tbf_packed_read.cpp reads packed blocks. The head of tbf_cells.cpp explains codes,
 * levels and the bitmap.
 */
#include "tbf/tbf_packed.hpp"
#include "base/simd.hpp"

#include <algorithm>

namespace streambloom {

/* ---------------------------------------------------------------- bit strings */

namespace {

/* Writes bit strings one after the other. */
class bit_writer
{
public:
	explicit bit_writer(unsigned char *to) : to_(to) {}

	/* width: 1 .. 64; value < 2^width */
	[[gnu::always_inline]] void add(uint64_t value, int width)
	{
		held_ |= value << count_;
		count_ += width;
		if (count_ >= 64)
		{
			store_le(to_, held_);
			to_ += 8;
			count_ -= 64;
			held_ = count_ == 0 ? 0 : value >> (width - count_);
		}
	}

	/* Fills up the last byte with zeros. Returns where the next bit string begins. */
	unsigned char *finish()
	{
		for (; count_ > 0; count_ -= 8, held_ >>= 8)
			*to_++ = static_cast<unsigned char>(held_);
		count_ = 0;
		return to_;
	}

private:
	unsigned char *to_;
	uint64_t held_ = 0;
	int count_ = 0;
};

} // namespace

/* ------------------------------------------------------------------- levels */

static uint64_t level_size(const levels &l, int i)
{
	return bytes_for(uint64_t{l.codes[i]} * static_cast<uint64_t>(l.width[i])) +
		   (i + 1 < l.count ? bytes_for(l.codes[i]) : 0);
}

uint64_t packed_size(uint32_t cells, const levels &l)
{
	if (l.nonzero == 0)
		return 0;
	uint64_t size = head_size(cells, l.count) + cells / 8;
	for (int i = 0; i < l.count; i++)
		size += level_size(l, i);
	return size;
}

#if SB_HAS_AVX2_CODE
namespace {

/*
 * For each subset of four words, the operand of a permutation of their eight 32-bit halves. halves[wanted] moves the
 * words whose bits are set in `wanted` to the front.
 */
struct compressing_table
{
	alignas(32) int32_t halves[16][8] = {};
	constexpr compressing_table()
	{
		for (int wanted = 0; wanted < 16; wanted++)
			for (int word = 0, count = 0; word < 4; word++)
				if ((wanted >> word & 1) != 0)
				{
					halves[wanted][2 * count] = 2 * word;
					halves[wanted][2 * count++ + 1] = 2 * word + 1;
				}
	}
};
constexpr compressing_table compressing;

} // namespace

/*
 * Writes the codes of those of 64 counters that are not zero. Returns their word of the bitmap, and adds the bits of
 * all counters to *any by or. REQUIRES: `codes` has room for 64 codes, even if some counters are zero.
 */
SB_AVX2 static inline uint64_t gather_64(const uint64_t *counters, uint64_t *codes, __m256i *any)
{
	uint64_t bits = 0;
	uint32_t count = 0;
	for (uint32_t i = 0; i < 64; i += 4)
	{
		__m256i four = load(counters + i);
		auto zero = static_cast<uint32_t>(
			_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(four, _mm256_setzero_si256()))));
		uint32_t wanted = zero ^ 15;
		*any = _mm256_or_si256(*any, four);
		four = _mm256_add_epi64(four, _mm256_set1_epi64x(-1));
		four = _mm256_permutevar8x32_epi32(four, load(compressing.halves[wanted]));
		_mm256_storeu_si256(reinterpret_cast<__m256i *>(codes + count), four);
		count += ones_of<SB_SIMD_AVX2>(wanted);
		bits |= uint64_t{wanted} << i;
	}
	return bits;
}

SB_AVX2 static uint64_t gather_avx2(const uint64_t *counters, uint32_t cells, gathered *out)
{
	__m256i any = _mm256_setzero_si256();
	uint32_t count = 0;
	for (uint32_t first = 0; first < cells; first += 64)
	{
		/*
		 * each store writes four codes, as many as the counters read; so nothing is written beyond the codes of all
		 * cells
		 */
		uint64_t bits = gather_64(counters + first, out->codes + count, &any);
		out->before[first / 64] = static_cast<uint16_t>(count);
		out->bitmap[first / 64] = bits;
		count += ones_of<SB_SIMD_AVX2>(bits);
	}
	out->count = count;
	alignas(32) uint64_t words[4];
	_mm256_store_si256(reinterpret_cast<__m256i *>(words), any);
	return words[0] | words[1] | words[2] | words[3];
}
#endif

/*
 * This function does not branch on counters: zeros lie at random, so branches would be mispredicted, and building must
 * not cost much more than in the flat layout.
 */
static uint64_t gather_portable(const uint64_t *counters, uint32_t cells, gathered *out)
{
	uint64_t any = 0;
	uint32_t count = 0;
	for (uint32_t first = 0; first < cells; first += 64)
	{
		out->before[first / 64] = static_cast<uint16_t>(count);
		uint64_t word = 0;
		for (uint32_t i = 0; i < 64; i++)
		{
			uint64_t counter = counters[first + i];
			any |= counter;
			word |= static_cast<uint64_t>(counter != 0) << i;
			out->codes[count] = counter - 1;
			count += counter != 0;
		}
		out->bitmap[first / 64] = word;
	}
	out->count = count;
	return any;
}

uint64_t gather(const uint64_t *counters, uint32_t cells, gathered *out)
{
#if SB_HAS_AVX2_CODE
	if (use_avx2())
		return gather_avx2(counters, cells, out);
#endif
	return gather_portable(counters, cells, out);
}

/*
 * Subtracts `above` from each number, modulo 2^64, and sets of_width[b] to how many of the results have b binary
 * digits. It is called in three ways:
 *  - `above` is 0: the widths of the numbers themselves, which are codes or counters.
 *  - `above` is 1, and the numbers are counters: the widths of their codes, since a code is its counter minus 1. A
 *    counter that is zero has no code. Its result has 64 bits, all set, and is counted in of_width[63].
 *  - `above` is UINT64_MAX, and the numbers are codes: the widths of their counters.
 *
 * Instead of a result q, 2q + 1 is looked at: it has one bit more, and is never 0. There are four tables, because if
 * two results of the same width were counted in one table, the second count would have to wait for the first.
 */
SB_KERNEL void count_widths(const uint64_t *numbers, uint32_t count, uint64_t above, uint32_t of_width[64])
{
	uint32_t part[4][64] = {};
	uint32_t i = 0;
	for (; i + 4 <= count; i += 4)
		for (uint32_t j = 0; j < 4; j++)
			part[j][63 - std::countl_zero((numbers[i + j] - above) * 2 + 1)]++;
	for (; i < count; i++)
		part[0][63 - std::countl_zero((numbers[i] - above) * 2 + 1)]++;
	for (int width = 0; width < 64; width++)
		of_width[width] = part[0][width] + part[1][width] + part[2][width] + part[3][width];
}

template <sb_simd variant>
SB_KERNEL void add_widths_kernel(const uint64_t *numbers, uint32_t count, bool codes, uint64_t *of_width)
{
	uint32_t here[64];
	count_widths(numbers, count, codes ? UINT64_MAX : 0, here);
	for (int width = 0; width < 64; width++)
		of_width[width] += here[width];
}
SB_VARIANTS(void, add_widths, (const uint64_t *numbers, uint32_t count, bool codes, uint64_t *of_width),
			(numbers, count, codes, of_width))

/*
 * Chooses the widths that take the fewest bits, by dynamic programming from the top. Let n[j] be the number of codes
 * that are at least 2^j, except that n[0] is the number of all codes. A level that begins at bit j and has width b
 * costs n[j] * b bits, and n[j] go-on bits if it is not the last. Each level after the first also costs 32 bits: 24 for
 * its width and its number of codes in the head, 8 for filling up bytes. Of two widths of equal cost the narrower one
 * is taken.
 */
SB_KERNEL levels choose_levels(const uint32_t of_width[64], uint32_t nonzero)
{
	levels chosen;
	chosen.nonzero = nonzero;

	int bits = most_levels;
	while (bits > 0 && of_width[bits] == 0)
		bits--;
	uint32_t n[most_levels + 1];
	n[bits] = 0;
	for (int j = bits; j-- > 0;)
		n[j] = n[j + 1] + of_width[j + 1];

	uint64_t cost[most_levels + 1];
	int width[most_levels + 1];
	cost[bits] = 0;
	for (int j = bits; j-- > 0;)
	{
		uint64_t codes = j == 0 ? chosen.nonzero : n[j];
		cost[j] = UINT64_MAX;
		width[j] = 0;
		for (int b = 1; b <= std::min(widest_code, bits - j); b++)
		{
			uint64_t further = j + b < bits ? codes + 32 + cost[j + b] : 0;
			uint64_t all = codes * static_cast<uint64_t>(b) + further;
			if (all < cost[j])
			{
				cost[j] = all;
				width[j] = b;
			}
		}
	}
	for (int j = 0; j < bits; j += width[j])
	{
		chosen.width[chosen.count] = width[j];
		chosen.codes[chosen.count++] = j == 0 ? chosen.nonzero : n[j];
	}
	return chosen;
}

/* ------------------------------------------------------------------ packing */

template <sb_simd variant>
SB_KERNEL levels levels_of_gathered_kernel(const gathered *block)
{
	uint32_t of_width[64];
	count_widths(block->codes, block->count, 0, of_width);
	return choose_levels(of_width, block->count);
}
static levels levels_of_gathered(const gathered *block);
SB_VARIANTS(levels, levels_of_gathered, (const gathered *block), (block))

levels levels_of(const gathered *block)
{
	return levels_of_gathered(block);
}

/*
 * Writes the lowest `width` bits of each code. Four narrow codes are first joined into one number, and the writer is
 * called once for them. This saves time, because a call of the writer has to wait for the result of the call before it,
 * but the processor can join four codes while an earlier call still runs.
 */
SB_KERNEL unsigned char *write_codes(const uint64_t *codes, uint32_t count, int width, unsigned char *out)
{
	const uint64_t mask = (UINT64_C(1) << width) - 1;
	bit_writer low(out);
	uint32_t j = 0;
	if (width <= 16)
		for (; j + 4 <= count; j += 4)
		{
			uint64_t pair = (codes[j] & mask) | (codes[j + 1] & mask) << width;
			uint64_t next = (codes[j + 2] & mask) | (codes[j + 3] & mask) << width;
			low.add(pair | next << (2 * width), 4 * width);
		}
	for (; j < count; j++)
		low.add(codes[j] & mask, width);
	return low.finish();
}

#if SB_HAS_AVX2_CODE
/* Does what which_reach() does, but only for the codes in whole groups of four. */
SB_AVX2 static inline uint64_t which_fours_reach(const uint64_t *codes, uint32_t count, uint64_t at_least)
{
	const __m256i below = _mm256_set1_epi64x(static_cast<int64_t>(at_least - 1));
	uint64_t bits = 0;
	for (uint32_t j = 0; j + 4 <= count; j += 4)
	{
		__m256i four = load(codes + j);
		auto mask = static_cast<uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(four, below))));
		bits |= mask << j;
	}
	return bits;
}

SB_AVX2 static inline uint64_t deposit_at_once(uint64_t bits, uint64_t mask)
{
	return _pdep_u64(bits, mask);
}
#endif

/* Returns a bit for each of up to 64 codes: is it at least `at_least`? REQUIRES: codes and at_least <= 2^62. */
template <sb_simd variant>
SB_KERNEL uint64_t which_reach(const uint64_t *codes, uint32_t count, uint64_t at_least)
{
	uint64_t bits = 0;
	uint32_t j = 0;
#if SB_HAS_AVX2_CODE
	if constexpr (variant == SB_SIMD_AVX2)
	{
		bits = which_fours_reach(codes, count, at_least);
		j = count & ~3u;
	}
#endif
	for (; j < count; j++)
		bits |= static_cast<uint64_t>(codes[j] >= at_least) << j;
	return bits;
}

/*
 * Writes a bit for each code: does it go on in the next level? Keeps the codes that do, without their lowest `width`
 * bits.
 */
template <sb_simd variant>
SB_KERNEL unsigned char *write_more(uint64_t *codes, uint32_t *count, int width, unsigned char *out)
{
	bit_writer more(out);
	uint32_t going_on = 0;
	for (uint32_t first = 0; first < *count; first += 64)
	{
		const uint32_t here = std::min(*count - first, uint32_t{64});
		uint64_t bits = which_reach<variant>(codes + first, here, UINT64_C(1) << width);
		more.add(bits, static_cast<int>(here));
		for (; bits != 0; bits &= bits - 1)
			codes[going_on++] = codes[first + static_cast<uint32_t>(std::countr_zero(bits))] >> width;
	}
	*count = going_on;
	return more.finish();
}

template <sb_simd variant>
SB_KERNEL void pack_kernel(gathered *block, uint32_t cells, const levels *l, unsigned char *out)
{
	if (l->nonzero == 0)
		return;
	*out++ = static_cast<unsigned char>(l->count);
	store_le(out, static_cast<uint16_t>(l->nonzero));
	out += 2;
	for (int i = 0; i < l->count; i++)
		*out++ = static_cast<unsigned char>(l->width[i]);
	for (int i = 1; i < l->count; i++, out += 2)
		store_le(out, static_cast<uint16_t>(l->codes[i]));
	for (uint32_t first = sample_every; first < cells; first += sample_every, out += 2)
		store_le(out, block->before[first / 64]);
	for (uint32_t word = 0; word < cells / 64; word++, out += 8)
		store_le(out, block->bitmap[word]);

	uint32_t count = block->count;
	for (int i = 0; i < l->count; i++)
	{
		out = write_codes(block->codes, count, l->width[i], out);
		if (i + 1 < l->count)
			out = write_more<variant>(block->codes, &count, l->width[i], out);
	}
}
SB_VARIANTS(void, pack, (gathered * block, uint32_t cells, const levels *l, unsigned char *out), (block, cells, l, out))

/* -------------------------------------------------------------------- decay */

/* Spreads the lowest bits of `bits` over the bits that are set in `mask`, from the lowest up. */
template <sb_simd variant>
SB_KERNEL uint64_t deposit(uint64_t bits, uint64_t mask)
{
#if SB_HAS_AVX2_CODE
	if constexpr (variant == SB_SIMD_AVX2)
		return deposit_at_once(bits, mask);
#endif
	uint64_t result = 0;
	for (; mask != 0; mask &= mask - 1, bits >>= 1)
		result |= (bits & 1) != 0 ? mask & -mask : 0;
	return result;
}

/*
 * With j = half_lives, a counter q <= 2^(j-1) becomes zero: its code q - 1 is below 2^(j-1). Any other counter
 * becomes ceil(q / 2^j): its code is shifted by j bits.
 */
template <sb_simd variant>
SB_KERNEL bool fade_kernel(gathered *block, uint32_t cells, uint64_t half_lives, uint64_t *largest)
{
	using four = uint64_t __attribute__((vector_size(32)));
	const uint64_t half = UINT64_C(1) << (half_lives - 1);
	const uint32_t count = block->count;
	uint64_t
		stays[SB_TBF_BLOCK / 64 + 1]; /* a bit for each code; one word more, so that 64 bits can be read anywhere */
	uint64_t *codes = block->codes;
	uint32_t left = 0;
	four most = {};

	for (uint32_t first = 0; first < count; first += 64)
	{
		const uint32_t here = std::min(count - first, uint32_t{64});
		uint64_t bits = which_reach<variant>(codes + first, here, half);
		stays[first / 64] = bits;
		if (bits == ~UINT64_C(0))
		{
			for (uint32_t j = 0; j < 64; j += 4, left += 4)
			{
				four code;
				std::memcpy(&code, codes + first + j, sizeof code);
				code >>= static_cast<int>(half_lives);
				most |= code + 1;
				std::memcpy(codes + left, &code, sizeof code);
			}
			continue;
		}
		for (uint32_t j = 0; j < here; j++)
		{
			uint64_t code = codes[first + j] >> half_lives;
			most[0] |= code + 1;
			codes[left] = code;
			left += static_cast<uint32_t>(bits >> j & 1);
		}
	}
	*largest = left == 0 ? 0 : most[0] | most[1] | most[2] | most[3];
	block->count = left;
	if (left == count)
		return false;

	stays[(count + 63) / 64] = 0;
	uint32_t before = 0;
	uint32_t rank = 0;
	for (uint32_t i = 0; i < cells / 64; i++)
	{
		const uint64_t word = block->bitmap[i];
		const uint64_t *from = stays + rank / 64;
		uint64_t bits = from[0] >> rank % 64;
		if (rank % 64 != 0)
			bits |= from[1] << (64 - rank % 64);
		rank += ones_of<variant>(word);
		uint64_t kept = deposit<variant>(bits, word);
		block->bitmap[i] = kept;
		block->before[i] = static_cast<uint16_t>(before);
		before += ones_of<variant>(kept);
	}
	return true;
}
SB_VARIANTS(bool, fade, (gathered * block, uint32_t cells, uint64_t half_lives, uint64_t *largest),
			(block, cells, half_lives, largest))

} // namespace streambloom
