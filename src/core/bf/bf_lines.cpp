/*
 * bf_lines.cpp: the functions of bf_lines.hpp, and those that add items to lines or look them up there.
 *
 * The probes of a hash are the 32-bit number probe_of(hash), multiplied by successive powers of the golden ratio. The
 * nine top bits of each probe choose one of the line's 16 words of 32 bits, and one bit of that word. With AVX2, eight
 * probes are calculated at once in a vector register. To look an item up, both halves of the line are then permuted by
 * the words' numbers, and the top bit chooses between the two results. This needs no gather and no branch (as in
 * RocksDB's FastLocalBloom). An item to be added is looked up first: most items of a table are in the filter already,
 * and then the line need not be written. The same probes serve for looking up and for adding.
 *
 * Measured: ns per item, 1 million items at 1 % (k = 6), in batches of 64 prefetched lines. Each row of the table but
 * the first and the last is another way to add an item. "floor" only touches one byte of the item's line: no way can
 * take less time. The machine, a 2.3 GHz Xeon (Sapphire Rapids), was shared with others, so only the relation of the
 * numbers means something.
 *
 *                                                   new items   known items
 *   floor                                              2.7          2.2
 *   byte |= bit, six times                            11.4         12.9
 *   32-bit words instead of bytes, BMI2                9.4         10.4
 *   mask of 512 bits from a table of shifted bits     10.2          9.8
 *   mask of 512 bits by 2 x 6 variable shifts         14.4         12.4
 *   the same with AVX-512                              9 to 11      9 to 16
 *   vector of words and bits, six word |= bits         6.7          7.1
 *   the same, looked up first                          5.8          3.6
 *   looking up alone                                                3.4
 */
#include "bf/bf_lines.hpp"
#include "bf/bf.hpp"
#include "bf/bf_exact.hpp"
#include "base/simd.hpp"

#include <algorithm>
#include <bit>

using namespace streambloom;

static constexpr uint32_t golden = 0x9e3779b9u;

/* ------------------------------------------------------------------- an item */

/* line_contains() and line_add() are portable code here. For AVX2 they are specialized below. */
template <sb_simd variant>
static inline bool line_contains(const unsigned char *line, int hash_count, uint32_t probe)
{
	for (int i = 0; i < hash_count; i++, probe *= golden)
		if ((line[probe >> 26] >> (probe >> 23 & 7) & 1) == 0)
			return false;
	return true;
}

template <sb_simd variant>
static inline void line_add(unsigned char *line, int hash_count, uint32_t probe)
{
	if (line_contains<variant>(line, hash_count, probe))
		return;
	for (int i = 0; i < hash_count; i++, probe *= golden)
		line[probe >> 26] |= static_cast<unsigned char>(1u << (probe >> 23 & 7));
}

#if SB_HAS_AVX2_CODE

namespace {

struct alignas(32) probe_constants
{
	uint32_t power[SB_BF_MAX_HASHES]; /* golden^i */
	uint32_t ones[8 + 8];			  /* ones + 8 - n begins with n ones; zeros follow */
};

} // namespace

static constexpr probe_constants constants = [] {
	probe_constants c{};
	uint32_t power = 1;
	for (auto &p : c.power)
	{
		p = power;
		power *= golden;
	}
	for (int i = 0; i < 8; i++)
		c.ones[i] = 1;
	return c;
}();

namespace {

/*
 * Up to eight probes of an item, made by probes_of(): for each the number of its word in the line, its bit in that
 * word, and the probe itself (`product`). Probes beyond the `count` that probes_of() got have no bit.
 */
struct probes
{
	__m256i word;
	__m256i bit;
	__m256i product;
};

} // namespace

SB_AVX2 static inline probes probes_of(uint32_t probe, int first, int count)
{
	__m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(probe)), load(constants.power + first));
	__m256i one = load(constants.ones + 8 - count);
	__m256i shift = _mm256_and_si256(_mm256_srli_epi32(product, 23), _mm256_set1_epi32(31));
	return {_mm256_srli_epi32(product, 28), _mm256_sllv_epi32(one, shift), product};
}

SB_AVX2 static inline bool all_set(const unsigned char *line, const probes &p)
{
	/*
	 * the permutation looks at the lower three bits of a word's number, the blend at the fourth, which is the
	 * product's top bit
	 */
	__m256 low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(load(line), p.word));
	__m256 high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(load(line + 32), p.word));
	__m256i words = _mm256_castps_si256(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(p.product)));
	return _mm256_testc_si256(words, p.bit) != 0;
}

SB_AVX2 static inline void set_all(unsigned char *line, const probes &p, int count)
{
	alignas(32) uint32_t word[8];
	alignas(32) uint32_t bit[8];
	_mm256_store_si256(reinterpret_cast<__m256i *>(word), p.word);
	_mm256_store_si256(reinterpret_cast<__m256i *>(bit), p.bit);
	for (int i = 0; i < count; i++)
	{
		unsigned char *at = line + word[i] * 4;
		store_le(at, load_le<uint32_t>(at) | bit[i]);
	}
}

template <>
SB_AVX2 inline bool line_contains<SB_SIMD_AVX2>(const unsigned char *line, int hash_count, uint32_t probe)
{
	if (!all_set(line, probes_of(probe, 0, hash_count < 8 ? hash_count : 8)))
		return false;
	return hash_count <= 8 || all_set(line, probes_of(probe, 8, hash_count - 8));
}

template <>
SB_AVX2 inline void line_add<SB_SIMD_AVX2>(unsigned char *line, int hash_count, uint32_t probe)
{
	int count = hash_count < 8 ? hash_count : 8;
	probes p = probes_of(probe, 0, count);
	if (!all_set(line, p))
		set_all(line, p, count);
	if (hash_count > 8)
	{
		probes more = probes_of(probe, 8, hash_count - 8);
		if (!all_set(line, more))
			set_all(line, more, hash_count - 8);
	}
}

#endif

template <sb_simd variant>
SB_KERNEL bool sb_bf_line_contains_kernel(const void *line, uint8_t hash_count, uint64_t hash)
{
	return line_contains<variant>(static_cast<const unsigned char *>(line), hash_count, probe_of(hash));
}

SB_VARIANTS(bool, sb_bf_line_contains, (const void *line, uint8_t hash_count, uint64_t hash) noexcept,
			(line, hash_count, hash))

/* ----------------------------------------------------------------- many items */

/*
 * When an item is processed, the line of the item `ahead` places later is prefetched. Measured on the same machine:
 * ns per item, for items that are in the filter already, by size of the filter and by `ahead`. "floor" only prefetches,
 * and touches a byte of each line. "64 at once" prefetches 64 lines, then processes 64 items.
 *
 *   bytes     floor    ahead 0      8     16     32     64    64 at once
 *   62 MB      12.9       24.2   17.6   14.3   12.5   12.4          43.7
 *   6.2 MB      3.9       10.7    5.1    3.8    4.3    4.4          13.4
 *   12 kB       2.2        2.8    3.2    3.4    2.9    3.3           6.9
 *
 * Looking up takes as long as adding. Batches of 128 items take 3 % more time than batches of 4,096.
 */
static constexpr size_t ahead = 32;

/*
 * Returns the offset of the line to prefetch for a hash. Only the upper 48 bits of a hash decide which line it has.
 * Here all 64 bits are used: that saves an instruction, and nearly always gives the same line.
 */
SB_KERNEL size_t line_to_prefetch(uint64_t lines, uint64_t hash)
{
	return static_cast<size_t>(multiply_high(hash, lines)) * SB_BF_LINE;
}

template <sb_simd variant>
SB_KERNEL void sb_bf_add_many_kernel(const sb_bf *bf, void *bytes, const uint64_t *hashes, size_t count)
{
	auto *lines = static_cast<unsigned char *>(bytes);

	/* local copies, because a store to `lines` might change *bf as far as the compiler knows */
	const uint64_t n = bf->line_count;
	const int k = bf->hash_count;
	for (size_t i = 0; i < std::min(count, ahead); i++)
		__builtin_prefetch(lines + line_to_prefetch(n, hashes[i]), 1);
	for (size_t i = 0; i < count; i++)
	{
		if (i + ahead < count)
			__builtin_prefetch(lines + line_to_prefetch(n, hashes[i + ahead]), 1);
		line_add<variant>(lines + line_of(n, hashes[i]), k, probe_of(hashes[i]));
	}
}

template <sb_simd variant>
SB_KERNEL void contains_many_kernel(const sb_bf *bf, const unsigned char *lines, const uint64_t *hashes, size_t count,
									bool *found)
{
	const uint64_t n = bf->line_count;
	const int k = bf->hash_count;
	for (size_t i = 0; i < std::min(count, ahead); i++)
		__builtin_prefetch(lines + line_to_prefetch(n, hashes[i]));
	for (size_t i = 0; i < count; i++)
	{
		if (i + ahead < count)
			__builtin_prefetch(lines + line_to_prefetch(n, hashes[i + ahead]));
		found[i] = line_contains<variant>(lines + line_of(n, hashes[i]), k, probe_of(hashes[i]));
	}
}

static void contains_many(const sb_bf *bf, const unsigned char *lines, const uint64_t *hashes, size_t count,
						  bool *found);
SB_VARIANTS(void, sb_bf_add_many, (const sb_bf *bf, void *lines, const uint64_t *hashes, size_t count) noexcept,
			(bf, lines, hashes, count))
SB_VARIANTS(void, contains_many,
			(const sb_bf *bf, const unsigned char *lines, const uint64_t *hashes, size_t count, bool *found),
			(bf, lines, hashes, count, found))

sb_status sb_bf_contains_many(const sb_bf *bf, const void *stored, const uint64_t *hashes, size_t count,
							  bool *found) noexcept
{
	sb_status status = SB_OK;
	if (!sb_bf_is_exact(bf))
		contains_many(bf, static_cast<const unsigned char *>(stored), hashes, count, found);
	for (size_t i = 0; i < count && sb_bf_is_exact(bf) && status == SB_OK; i++)
	{
		uint64_t units;
		status = find_in_list(list_of(bf, stored), hashes[i], &units);
		found[i] = units != 0;
	}
	return status;
}

/* ------------------------------------------------------------- whole filters */

namespace {

/* A line in registers: two of AVX2's, four of SSE's or NEON's. */
using half = uint64_t __attribute__((vector_size(32), aligned(1), may_alias));
struct line_bits
{
	half low;
	half high;
};

} // namespace

SB_KERNEL void load_line(const unsigned char *from, line_bits &line)
{
	std::memcpy(&line, from, SB_BF_LINE);
}

SB_KERNEL void store_line(unsigned char *to, const line_bits &line)
{
	std::memcpy(to, &line, SB_BF_LINE);
}

SB_KERNEL void or_line(line_bits &a, const line_bits &b)
{
	a.low |= b.low;
	a.high |= b.high;
}

SB_KERNEL void and_line(line_bits &a, const line_bits &b)
{
	a.low &= b.low;
	a.high &= b.high;
}

template <void (*combine)(line_bits &, const line_bits &)>
SB_KERNEL void combine_lines(unsigned char *dst, const unsigned char *src, size_t lines, int halvings)
{
	line_bits a;
	line_bits b;
	for (size_t i = 0; i < lines; i++)
	{
		load_line(dst + i * SB_BF_LINE, a);
		load_line(src + (i >> halvings) * SB_BF_LINE, b);
		combine(a, b);
		store_line(dst + i * SB_BF_LINE, a);
	}
}

template <sb_simd variant>
SB_KERNEL void or_lines_kernel(unsigned char *dst, const unsigned char *src, size_t lines, int halvings)
{
	combine_lines<or_line>(dst, src, lines, halvings);
}

template <sb_simd variant>
SB_KERNEL void and_lines_kernel(unsigned char *dst, const unsigned char *src, size_t lines, int halvings)
{
	combine_lines<and_line>(dst, src, lines, halvings);
}

SB_KERNEL void unite(const unsigned char *src, size_t parts, line_bits &line)
{
	line_bits other;
	load_line(src, line);
	for (size_t part = 1; part < parts; part++)
	{
		load_line(src + part * SB_BF_LINE, other);
		or_line(line, other);
	}
}

template <sb_simd variant>
SB_KERNEL void fold_lines_kernel(unsigned char *dst, const unsigned char *src, size_t lines, size_t parts)
{
	line_bits line;
	for (size_t i = 0; i < lines; i++)
	{
		unite(src + i * parts * SB_BF_LINE, parts, line);
		store_line(dst + i * SB_BF_LINE, line);
	}
}

/* Counts the set bits of a line. If std::popcount would be a function call, eight words are added up at once. */
template <sb_simd variant>
SB_KERNEL unsigned bits_of_line(const line_bits &line)
{
	uint64_t word[SB_BF_LINE / 8];
	std::memcpy(word, &line, sizeof word);
	if constexpr (counts_bits<variant>)
	{
		unsigned bits = 0;
		for (uint64_t w : word)
			bits += static_cast<unsigned>(std::popcount(w));
		return bits;
	}
	uint64_t sums = 0;
	for (uint64_t w : word)
		sums += ones_in_bytes(w); /* each byte is at most 64 */
	constexpr uint64_t even_bytes = UINT64_C(0x00ff00ff00ff00ff);
	sums = (sums & even_bytes) + (sums >> 8 & even_bytes);
	return static_cast<unsigned>(sums * UINT64_C(0x0001000100010001) >> 48);
}

template <sb_simd variant>
SB_KERNEL uint64_t count_folded_kernel(const unsigned char *src, size_t lines, size_t parts)
{
	uint64_t set = 0;
	line_bits line;
	for (size_t i = 0; i < lines; i++)
	{
		unite(src + i * parts * SB_BF_LINE, parts, line);
		set += bits_of_line<variant>(line);
	}
	return set;
}

template <sb_simd variant>
SB_KERNEL void count_by_bits_kernel(const unsigned char *src, size_t lines, uint64_t *of_bits)
{
	line_bits line;
	for (size_t i = 0; i < lines; i++)
	{
		load_line(src + i * SB_BF_LINE, line);
		of_bits[bits_of_line<variant>(line)]++;
	}
}

namespace streambloom {

SB_VARIANTS(void, or_lines, (unsigned char *dst, const unsigned char *src, size_t lines, int halvings),
			(dst, src, lines, halvings))
SB_VARIANTS(void, and_lines, (unsigned char *dst, const unsigned char *src, size_t lines, int halvings),
			(dst, src, lines, halvings))
SB_VARIANTS(void, fold_lines, (unsigned char *dst, const unsigned char *src, size_t lines, size_t parts),
			(dst, src, lines, parts))
SB_VARIANTS(uint64_t, count_folded, (const unsigned char *src, size_t lines, size_t parts), (src, lines, parts))
SB_VARIANTS(void, count_by_bits, (const unsigned char *src, size_t lines, uint64_t *of_bits), (src, lines, of_bits))

} // namespace streambloom
