/*
 * stable_step.cpp: the step of sbf and ibf: tests an item, evicts, and sets the item's cells. See sb_stable.h.
 *
 * Steps depend on each other only through the cells. Two things do not depend on the content of the cells: where the
 * cells of the items lie, and where each step evicts. They are calculated in advance, for four steps at once. In a
 * filter with at least ahead_from bytes of cells, the cells are prefetched eight steps ahead. (Where value-weighted
 * eviction evicts cannot be calculated in advance: how many cells it draws depends on the values of the cells.)
 *
 * Measured: ns per item, sbf of 3 bits, K = 6, P = 65, in batches of 256, for cells of 256 KB and of 64 MB. Each line
 * is another way to find the item's cells and to take 1 from each of the P cells ("P" for short). "16 steps known"
 * means that the places are calculated 16 steps in advance. The machine, a Xeon (Sapphire Rapids), was shared with
 * others, so only the relation of the numbers means something.
 *
 *                                                              256 KB    64 MB
 *   two bytes a cell, P in groups of 19 cells, 16 steps known     63       200
 *   P as a long number of 64-bit words                            27       200
 *   the same in vectors                                           21       149
 *   cells of four steps in vectors, P in words                    25       161
 *   both in vectors                                               18       150
 *   the same, prefetched 8 steps ahead                            17.4     100
 *   the same, 16 steps ahead                                      17.6     100
 *   with the flags of duplicates                                  21       120
 */
#include "stable/stable_run.hpp"

using namespace streambloom;

namespace {

/* Where a cell is: the offset of two bytes that hold it, a mask of its bits there, and the number of its lowest bit. */
struct alignas(8) place
{
	uint32_t at;
	uint16_t mask;
	uint16_t shift;
};

constexpr size_t lanes = 4;		   /* steps of a group: they are prepared together */
constexpr size_t groups_known = 4; /* places of this many groups are kept; must be more than groups_ahead */
constexpr size_t groups_ahead = 2; /* how many groups ahead cells are prefetched */
/*
 * Filters with at least this many bytes of cells are prefetched. That is more than a level-1 cache has. It may be less
 * than a level-2 cache has, but the query's scan of its table needs room there, too.
 */
constexpr size_t ahead_from = 131072;

/*
 * What is known in advance of some groups of four steps: the places of the items' cells, and the first bit of each
 * step's run. A run is the neighbouring cells that a step evicts, that is, lowers by 1.
 */
struct known_steps
{
	alignas(32) place places[groups_known][SB_STABLE_MAX_HASHES][lanes];
	alignas(32) uint64_t runs[groups_known][lanes];
};

/* Values that are the same for all steps of a call of sb_stable_steps(). */
struct step_constants
{
	const uint64_t *hashes;
	size_t count;
	uint64_t random; /* the generator's state before the first step */
	uint32_t cells;
	int k;
	size_t size; /* of the payload */
};

} // namespace

static uint64_t first_of_run(const step_constants &c, size_t step)
{
	return multiply_high(mix(c.random + (step + 1) * random_step), c.cells);
}

/* Calculates the places and runs for the steps of a group, one step after the other. */
template <unsigned bits>
SB_KERNEL void prepare_each(const step_constants &c, size_t group, known_steps &known)
{
	const size_t first = group * lanes;
	const size_t here = std::min(lanes, c.count - first);
	for (size_t lane = 0; lane < here; lane++)
	{
		uint64_t hash = c.hashes[first + lane];
		for (int i = 0; i < c.k; i++)
		{
			hash += random_step;
			uint64_t bit = multiply_high(mix(hash), c.cells) * bits;
			uint64_t at = std::min<uint64_t>(bit / 8, c.size - 2);
			uint64_t shift = bit - at * 8;
			const auto mask = static_cast<uint16_t>(low_mask(bits) << shift);
			known.places[group % groups_known][i][lane] = {static_cast<uint32_t>(at), mask,
														   static_cast<uint16_t>(shift)};
		}
		known.runs[group % groups_known][lane] = first_of_run(c, first + lane) * bits;
	}
}

#if SB_HAS_AVX2_CODE

/* Returns the low 64 bits of each product with a constant. */
SB_AVX2 static inline __m256i multiply_low(__m256i a, uint64_t constant)
{
	__m256i low = _mm256_set1_epi64x(static_cast<long long>(constant & UINT32_MAX));
	__m256i high = _mm256_set1_epi64x(static_cast<long long>(constant >> 32));
	__m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), low), _mm256_mul_epu32(a, high));
	return _mm256_add_epi64(_mm256_mul_epu32(a, low), _mm256_slli_epi64(crossed, 32));
}

/* Returns multiply_high(mix(x), n) * bits in each lane. All lanes of n are the same. */
template <unsigned bits>
SB_AVX2 static inline __m256i bits_of_cells(__m256i x, __m256i n)
{
	x = multiply_low(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), UINT64_C(0xbf58476d1ce4e5b9));
	x = multiply_low(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), UINT64_C(0x94d049bb133111eb));
	x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
	__m256i high = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), n);
	__m256i low = _mm256_srli_epi64(_mm256_mul_epu32(x, n), 32);
	return _mm256_mul_epu32(_mm256_srli_epi64(_mm256_add_epi64(high, low), 32), _mm256_set1_epi64x(bits));
}

/* Does what prepare_each() does, for all four steps at once. REQUIRES: the group has four steps. */
template <unsigned bits>
SB_AVX2 static inline void prepare_four(const step_constants &c, size_t group, known_steps &known)
{
	const __m256i n = _mm256_set1_epi64x(c.cells);
	const __m256i last = _mm256_set1_epi64x(static_cast<long long>(c.size - 2));
	const __m256i step = _mm256_set1_epi64x(static_cast<long long>(random_step));
	__m256i hash = load(c.hashes + group * lanes);
	for (int i = 0; i < c.k; i++)
	{
		hash = _mm256_add_epi64(hash, step);
		__m256i bit = bits_of_cells<bits>(hash, n);
		__m256i at = _mm256_min_epu32(_mm256_srli_epi64(bit, 3), last);
		__m256i shift = _mm256_sub_epi64(bit, _mm256_slli_epi64(at, 3));
		__m256i mask = _mm256_sllv_epi64(_mm256_set1_epi64x((1 << bits) - 1), shift);
		__m256i place = _mm256_or_si256(_mm256_slli_epi64(mask, 32), _mm256_slli_epi64(shift, 48));
		auto *places = reinterpret_cast<__m256i *>(known.places[group % groups_known][i]);
		_mm256_store_si256(places, _mm256_or_si256(at, place));
	}

	uint64_t state = c.random + group * lanes * random_step;
	__m256i states = _mm256_setr_epi64x(
		static_cast<long long>(state + random_step), static_cast<long long>(state + 2 * random_step),
		static_cast<long long>(state + 3 * random_step), static_cast<long long>(state + 4 * random_step));
	_mm256_store_si256(reinterpret_cast<__m256i *>(known.runs[group % groups_known]), bits_of_cells<bits>(states, n));
}

#endif

SB_KERNEL void prefetch_cells(const step_constants &c, size_t group, const known_steps &known,
							  const unsigned char *cells, size_t run_bytes)
{
	const size_t here = std::min(lanes, c.count - group * lanes);
	for (int i = 0; i < c.k; i++)
		for (size_t lane = 0; lane < here; lane++)
			__builtin_prefetch(cells + known.places[group % groups_known][i][lane].at, 1);
	for (size_t lane = 0; lane < here; lane++)
	{
		/* the processor prefetches further lines of a long run by itself */
		const unsigned char *run = cells + known.runs[group % groups_known][lane] / 8;
		__builtin_prefetch(run, 1);
		__builtin_prefetch(run + std::min<size_t>(run_bytes, 64), 1);
	}
}

/* True if none of the item's cells is zero. */
SB_KERNEL bool all_set(const unsigned char *cells, const place (*places)[lanes], int k, size_t lane)
{
	bool set = true;
	for (int i = 0; i < k; i++)
		set &= (load_le<uint16_t>(cells + places[i][lane].at) & places[i][lane].mask) != 0;
	return set;
}

/* Sets the item's cells to Max, which has all bits set. */
SB_KERNEL void set_to_max(unsigned char *cells, const place (*places)[lanes], int k, size_t lane)
{
	for (int i = 0; i < k; i++)
	{
		unsigned char *at = cells + places[i][lane].at;
		store_le(at, static_cast<uint16_t>(load_le<uint16_t>(at) | places[i][lane].mask));
	}
}

/* Raises the item's cells to at least `value`. */
SB_KERNEL void raise_to(unsigned char *cells, const place (*places)[lanes], int k, size_t lane, unsigned value)
{
	for (int i = 0; i < k; i++)
	{
		unsigned char *at = cells + places[i][lane].at;
		unsigned word = load_le<uint16_t>(at);
		unsigned old = word & places[i][lane].mask;
		store_le(at, static_cast<uint16_t>(word ^ old ^ std::max(old, value << places[i][lane].shift)));
	}
}

namespace {

/*
 * The parts that differ between processors: first the portable ones, then those for AVX2. Not SB_KERNEL: code with AVX2
 * intrinsics must not be inlined into code that is compiled without AVX2.
 */
template <sb_simd>
struct code
{
	template <unsigned bits>
	static inline void prepare(const step_constants &c, size_t group, known_steps &known)
	{
		prepare_each<bits>(c, group, known);
	}
	template <unsigned bits>
	static inline void decrement(unsigned char *cells, uint64_t bit, uint64_t count)
	{
		decrement_words<bits>(cells, bit, count);
	}
};

#if SB_HAS_AVX2_CODE
template <>
struct code<SB_SIMD_AVX2>
{
	template <unsigned bits>
	SB_AVX2 static inline void prepare(const step_constants &c, size_t group, known_steps &known)
	{
		if (c.count - group * lanes >= lanes)
			prepare_four<bits>(c, group, known);
		else
			prepare_each<bits>(c, group, known);
	}
	template <unsigned bits>
	SB_AVX2 static inline void decrement(unsigned char *cells, uint64_t bit, uint64_t count)
	{
		decrement_vectors<bits>(cells, bit, count);
	}
};
#endif

} // namespace

/* Makes the steps, for a number of bits that is known at compile time. */
template <sb_simd variant, unsigned bits>
SB_KERNEL void steps_of(sb_stable *stable, unsigned char *cells, const step_constants &c, const uint8_t *values,
						bool *duplicates)
{
	const size_t groups = (c.count + lanes - 1) / lanes;
	const size_t ahead = c.size >= ahead_from && c.count > lanes ? groups_ahead : 0;
	const uint32_t evictions = stable->evictions;
	const size_t reach = reach_of_run(bits, evictions);
	const bool by_value = stable->scheme == SB_VALUE_WEIGHTED;
	/*
	 * For an sbf `always` is Max, the value of all its items: then set_to_max() is used. The values of an ibf vary, and
	 * the processor would often predict wrongly which of them are Max. So for an ibf `always` is 0, which no value is,
	 * and raise_to() is used for all.
	 */
	const unsigned always = stable->scheme == SB_STABLE ? (1u << bits) - 1 : 0;
	known_steps known;

	for (size_t next = 0; next < groups + ahead; next++)
	{
		if (next < groups)
		{
			code<variant>::template prepare<bits>(c, next, known);
			if (ahead != 0)
				prefetch_cells(c, next, known, cells, reach);
		}
		if (next < ahead)
			continue;

		const size_t group = next - ahead;
		const size_t here = std::min(lanes, c.count - group * lanes);
		const place(*places)[lanes] = known.places[group % groups_known];
		for (size_t lane = 0; lane < here; lane++)
		{
			const size_t step = group * lanes + lane;
			const uint64_t run = known.runs[group % groups_known][lane];
			if (duplicates != nullptr)
				duplicates[step] = all_set(cells, places, c.k, lane);
			if (by_value)
				evict_by_value(stable, cells);
			else if (evictions != 0 && run / 8 + reach <= c.size)
				code<variant>::template decrement<bits>(cells, run, evictions);
			else if (evictions != 0)
				decrement_run(cells, c.size, bits, c.cells, run / bits, evictions);
			if (values[step] == always)
				set_to_max(cells, places, c.k, lane);
			else
				raise_to(cells, places, c.k, lane, values[step]);
		}
	}
	if (!by_value && evictions != 0)
		stable->random = c.random + c.count * random_step;
	stable->items = counted(stable->items, c.count);
	stable->steps = counted(stable->steps, c.count);
}

template <sb_simd variant>
SB_KERNEL void steps_kernel(sb_stable *stable, unsigned char *cells, const step_constants &c, const uint8_t *values,
							bool *duplicates)
{
	switch (stable->bits)
	{
		case 1:
			return steps_of<variant, 1>(stable, cells, c, values, duplicates);
		case 2:
			return steps_of<variant, 2>(stable, cells, c, values, duplicates);
		case 3:
			return steps_of<variant, 3>(stable, cells, c, values, duplicates);
		case 4:
			return steps_of<variant, 4>(stable, cells, c, values, duplicates);
		case 5:
			return steps_of<variant, 5>(stable, cells, c, values, duplicates);
		case 6:
			return steps_of<variant, 6>(stable, cells, c, values, duplicates);
		case 7:
			return steps_of<variant, 7>(stable, cells, c, values, duplicates);
		default:
			return steps_of<variant, 8>(stable, cells, c, values, duplicates);
	}
}

static void steps(sb_stable *stable, unsigned char *cells, const step_constants &c, const uint8_t *values,
				  bool *duplicates);
SB_VARIANTS(void, steps,
			(sb_stable * stable, unsigned char *cells, const step_constants &c, const uint8_t *values,
			 bool *duplicates),
			(stable, cells, c, values, duplicates))

void sb_stable_steps(sb_stable *stable, void *cells, const uint64_t *hashes, const uint8_t *values, size_t count,
					 bool *duplicates) noexcept
{
	const step_constants c = {
		hashes, count, stable->random, stable->cell_count, stable->hash_count, stable_payload(stable)};
	steps(stable, static_cast<unsigned char *>(cells), c, values, duplicates);
}
