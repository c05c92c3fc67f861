/*
 * tbf_sums.cpp: exact sums of hits before they are rounded and stored.
 *
 * A hit at x half-lives counts v * 2^floor(x), with v in 2^-12 hits. It goes to plane floor(x / 16) as
 * v * 2^(floor(x) mod 16), so a 64-bit word of a plane takes sums of 2^34 hits, and a sum never depends on the order
 * of its terms. The newest four planes are kept: what is older than they are, and so at least 48 half-lives older than the
 * newest hit, is dropped; how much it was goes into the slack. Only when the value is stored is anything rounded: once,
 * and up.
 */
#include "bits.hpp"
#include "hash_set.hpp"
#include "simd.hpp"
#include "streambloom.h"
#include "tbf_cells.hpp"

#include <algorithm>
#include <cmath>

using namespace streambloom;

static int64_t plane_of(int64_t half_lives)
{
	return floor_divide(half_lives, SB_TBF_PLANE);
}

static int place_in_plane(int64_t half_lives)
{
	return static_cast<int>(half_lives - plane_of(half_lives) * SB_TBF_PLANE);
}

/* The cell of `to` that stands for a cell of `from`, or the other way round: sizes differ by powers of two. */
struct mapping
{
	int block_halvings, cell_halvings;
	uint64_t large_cells, small_cells;

	mapping(const sb_tbf *large, const sb_tbf *small)
		: block_halvings(doublings(small->blocks, large->blocks)),
		  cell_halvings(doublings(small->block_cells, large->block_cells)), large_cells(large->block_cells),
		  small_cells(small->block_cells)
	{
	}

	uint64_t operator()(uint64_t index) const
	{
		uint64_t block = index / large_cells;
		return (block >> block_halvings) * small_cells + (index % large_cells >> cell_halvings);
	}
};

static void mark(sb_sums *sums, uint64_t word)
{
	sums->touched[word / 64] |= UINT64_C(1) << (word % 64);
}

/*
 * Totals of weighted filters could leave 128 bits. They stop at a number that no stored filter can have instead: an
 * overflow, whatever the order. (Hits alone would need 2^65 rows.)
 */
constexpr u128 too_much = u128{1} << 126;

static void accumulate(sb_u128 *sum, u128 amount)
{
	*sum = std::min(std::min(u128{*sum}, too_much) + std::min(amount, too_much), too_much);
}

/* ------------------------------------------------------------------- filling */

/* Makes this plane the newest if it is newer: those that fall out at the far end are cleared and serve again. */
static void make_room(sb_sums *sums, int64_t wanted)
{
	constexpr int last = SB_TBF_PLANES - 1;

	for (int64_t turns = std::min<int64_t>(wanted - sums->newest_plane, SB_TBF_PLANES); turns > 0; turns--)
	{
		uint64_t *freed = sums->plane[last];
		if (freed != nullptr)
		{
			sb_sums_mark_touched(sums, freed);
			std::memset(freed, 0, sums->width * sizeof *freed);
		}
		accumulate(&sums->dropped_total, sums->total[last]);
		accumulate(&sums->dropped_loss, sums->loss[last]);
		accumulate(&sums->dropped_loss, sums->slack[last]);
		std::memmove(sums->plane + 1, sums->plane, last * sizeof *sums->plane);
		std::memmove(sums->total + 1, sums->total, last * sizeof *sums->total);
		std::memmove(sums->slack + 1, sums->slack, last * sizeof *sums->slack);
		std::memmove(sums->loss + 1, sums->loss, last * sizeof *sums->loss);
		sums->plane[0] = freed;
		sums->total[0] = 0;
		sums->slack[0] = 0;
		sums->loss[0] = 0;
	}
	sums->newest_plane = std::max(sums->newest_plane, wanted);
}

int sb_sums_turn(sb_sums *sums, int64_t half_lives) noexcept
{
	int64_t wanted = plane_of(half_lives);
	if (!sums->any)
	{
		sums->any = true;
		sums->newest_plane = wanted;
		sums->newest_half_life = half_lives;
		sums->newest = INT64_MIN;
		return 0;
	}
	sums->newest_half_life = std::max(sums->newest_half_life, half_lives);
	make_room(sums, wanted);
	int64_t behind = sums->newest_plane - wanted;
	return behind < SB_TBF_PLANES ? static_cast<int>(behind) : -1;
}

/* The half-life of the newest hit, or the base if the filter has decayed beyond it. */
static int64_t newest_half_life(const sb_tbf *filter)
{
	return filter->half_life == 0 ? 0 : std::max(filter->base, floor_divide(filter->newest, filter->half_life));
}

/* Over how many planes the counters of a filter of this base and newest half-life are split, if they need it. */
static int planes_between(int64_t base, int64_t newest)
{
	return static_cast<int>(std::min<int64_t>(plane_of(newest) + 2 - plane_of(base), SB_TBF_PLANES));
}

/* Where the counters of a filter go, times a weight. */
struct placing
{
	int64_t plane;	  /* the oldest of them */
	int planes;		  /* over which they are split */
	int64_t counters; /* a counter times the weight's factor times 2^this is in 2^-12 hits of that plane; may be negative */
	int64_t total;	  /* the same for total and slack */
};

/*
 * A weight of f * 2^e makes of a counter c at the base B the integer c * f at the base B + e, so small weights cost no
 * digits. But there is an end to it, 44 binary digits or more below a hit: what is smaller is rounded up to that,
 * and does not fall out of the planes. Large weights go to the planes of the base and of newer ones, as large counters
 * do: so the newest plane is never more than one after that of the newest hit, which sb_sums_plan() relies on.
 */
static placing place_of(const sb_tbf *filter, const sb_weight *weight)
{
	int64_t newest = plane_of(newest_half_life(filter));
	int64_t total = filter->base + weight->exponent;
	int64_t counters = total + SB_TBF_HIT_BITS - filter->unit_bits;
	/* without decay nothing may fall out, also beside a filter that needs the plane after the newest */
	int64_t oldest = (filter->half_life == 0 ? newest + 1 : plane_of(filter->base)) - (SB_TBF_PLANES - 1);
	int64_t plane = std::max(plane_of(std::min(counters, filter->base)), oldest);
	int64_t start = plane * SB_TBF_PLANE;

	/*
	 * Split what may have so many digits that a word takes few filters. With a half-life less of it: there the plane after
	 * the newest costs 16 half-lives at the far end. (What falls out unsplit has less than 2^55 in a plane that is 64
	 * half-lives below the newest: less than 2^-20 of a hit.)
	 */
	int factor_digits = weight->factor > 1 ? static_cast<int>(std::bit_width(weight->factor)) : 0;
	int64_t digits = std::min<int64_t>(filter->cell_bits, 62) + factor_digits + (counters - start);
	constexpr int64_t easy = 62 - SB_TBF_PLANE;
	int64_t wanted = 1;
	if (digits > (filter->half_life == 0 ? easy : 55))
		wanted += (digits - easy + SB_TBF_PLANE - 1) / SB_TBF_PLANE;
	int64_t planes = std::min({wanted, newest + 2 - plane, int64_t{SB_TBF_PLANES}});
	return {plane, static_cast<int>(planes), counters - start, total - start};
}

/* value * 2^by, rounded up */
static u128 moved(u128 value, int64_t by)
{
	return by >= 0 ? value << by : shift_right_up(value, static_cast<uint64_t>(-by));
}

sb_status sb_tbf_weight(double weight, sb_weight *out) noexcept
{
	constexpr int digits = 14;

	*out = {};
	if (!(weight >= 0 && weight < SB_TBF_MAX_WEIGHT))
		return SB_OUT_OF_RANGE;
	if (weight == 0)
		return SB_OK;

	int exponent;
	auto factor = static_cast<uint64_t>(std::ldexp(std::frexp(weight, &exponent), 53));
	exponent -= 53;
	auto strip = [&] {
		int zeros = std::countr_zero(factor);
		factor >>= zeros;
		exponent += zeros;
	};
	strip();
	if (int cut = static_cast<int>(std::bit_width(factor)) - digits; cut > 0 && exponent < 0)
	{
		factor = shift_right_up(factor, static_cast<uint64_t>(cut));
		exponent += cut;
		strip();
	}
	*out = {factor, exponent};
	return SB_OK;
}

static bool leaves_no_trace(const sb_tbf *filter, const sb_weight *weight)
{
	return (filter->flags & SB_TBF_HAS_HITS) == 0 || weight->factor == 0;
}

int sb_sums_turn_for_weighted(sb_sums *sums, const sb_tbf *filter, const sb_weight *weight, int *planes) noexcept
{
	*planes = 0;
	if (leaves_no_trace(filter, weight))
		return -1;
	placing place = place_of(filter, weight);
	*planes = place.planes;
	sb_sums_turn(sums, newest_half_life(filter));
	make_room(sums, place.plane + place.planes - 1);
	int64_t behind = sums->newest_plane - place.plane;
	return behind - (place.planes - 1) < SB_TBF_PLANES ? static_cast<int>(behind) : -1;
}

static constexpr sb_weight one = {1, 0};

int sb_sums_turn_for_filter(sb_sums *sums, const sb_tbf *filter, int *planes) noexcept
{
	return sb_sums_turn_for_weighted(sums, filter, &one, planes);
}

/* word += value, unless it would reach SB_TBF_MAX_CELL. */
static sb_status add(uint64_t *word, uint64_t value)
{
	if (value >= SB_TBF_MAX_CELL - *word)
		return SB_OVERFLOW;
	*word += value;
	return SB_OK;
}

static sb_status shifted(uint64_t value, int shift, uint64_t *out)
{
	if (value >= SB_TBF_MAX_CELL >> shift)
		return SB_OVERFLOW;
	*out = value << shift;
	return SB_OK;
}

sb_status sb_sums_add_word(sb_sums *sums, int index, uint64_t word, int64_t half_lives, uint64_t value) noexcept
{
	uint64_t amount;
	if (sb_status status = shifted(value, place_in_plane(half_lives), &amount); status != SB_OK)
		return status;
	return add(&sums->plane[index][word], amount);
}

/* How many items the memory is asked for ahead: enough to wait for all their lines at once. Smaller sets are in a cache. */
constexpr size_t ahead = 16;
constexpr uint64_t prefetch_from_words = 32768;

template <sb_simd variant>
SB_KERNEL size_t add_hits_kernel(uint64_t *words, sb_hash_set *set, int place, const uint64_t *hashes, const uint64_t *values,
								 size_t count, sb_status *status)
{
	const uint64_t room = largest_count(set->capacity) - set->count;
	const uint64_t mask = set->capacity - 1;
	const size_t ask = set->capacity >= prefetch_from_words ? ahead : count;
	uint64_t *slots = set->slots;
	uint64_t added = 0;
	size_t i = 0;
	*status = SB_OK;
	for (size_t j = 0; ask < count && j < ask; j++)
	{
		__builtin_prefetch(&slots[hashes[j] & mask], 1);
		__builtin_prefetch(&words[hashes[j] & mask], 1);
	}
	while (i < count && added < room && *status == SB_OK)
	{
		uint64_t hash = hashes[i];
		if (i + ask < count)
		{
			__builtin_prefetch(&slots[hashes[i + ask] & mask], 1);
			__builtin_prefetch(&words[hashes[i + ask] & mask], 1);
		}
		uint64_t amount;
		uint64_t slot = slot_for<variant>(slots, set->capacity, hash);
		added += slots[slot] == 0;
		slots[slot] = hash != 0 ? hash : 1;
		*status = shifted(values[i], place, &amount);
		if (*status == SB_OK)
			*status = add(&words[slot], amount);
		i++;
	}
	set->count += added;
	return i;
}

static size_t add_hits(uint64_t *words, sb_hash_set *set, int place, const uint64_t *hashes, const uint64_t *values,
					   size_t count, sb_status *status);
SB_VARIANTS(size_t, add_hits, (uint64_t *words, sb_hash_set *set, int place, const uint64_t *hashes, const uint64_t *values,
							   size_t count, sb_status *status), (words, set, place, hashes, values, count, status))

size_t sb_sums_add_hits(sb_sums *sums, sb_hash_set *set, int index, int64_t half_lives, const uint64_t *hashes,
						const uint64_t *values, size_t count, sb_status *status) noexcept
{
	return add_hits(sums->plane[index], set, place_in_plane(half_lives), hashes, values, count, status);
}

sb_status sb_sums_add_item(sb_sums *sums, const sb_tbf *tbf, int index, uint64_t hash, int64_t half_lives,
						   uint64_t value) noexcept
{
	uint64_t amount;
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t first = static_cast<uint64_t>(sb_tbf_block(tbf, hash)) * tbf->block_cells;

	sb_tbf_positions(tbf, hash, positions);
	if (index < 0)
	{
		if (sums->touched != nullptr)
			for (int i = 0; i < tbf->hashes; i++)
				mark(sums, first + positions[i]);
		return SB_OK;
	}
	if (sb_status status = shifted(value, place_in_plane(half_lives), &amount); status != SB_OK)
		return status;
	uint64_t *block = sums->plane[index] + first;
	for (int i = 0; i < tbf->hashes; i++)
		if (sb_status status = add(&block[positions[i]], amount); status != SB_OK)
			return status;
	return SB_OK;
}

template <sb_simd variant>
SB_KERNEL sb_status add_items_kernel(uint64_t *words, const sb_tbf *tbf, int place, const uint64_t *hashes, const uint64_t *values,
									 size_t count)
{
	uint64_t *cells[ahead][SB_TBF_MAX_HASHES];
	uint16_t positions[SB_TBF_MAX_HASHES];
	const int k = tbf->hashes;
	for (size_t i = 0; i < count + ahead; i++)
	{
		uint64_t **slot = cells[i % ahead];
		if (i >= ahead)
		{
			uint64_t amount;
			if (sb_status status = shifted(values[i - ahead], place, &amount); status != SB_OK)
				return status;
			for (int j = 0; j < k; j++)
				if (sb_status status = add(slot[j], amount); status != SB_OK)
					return status;
		}
		if (i < count)
		{
			uint64_t *block = words + static_cast<uint64_t>(sb_tbf_block(tbf, hashes[i])) * tbf->block_cells;
			sb_tbf_positions(tbf, hashes[i], positions);
			for (int j = 0; j < k; j++)
			{
				slot[j] = block + positions[j];
				__builtin_prefetch(slot[j], 1);
			}
		}
	}
	return SB_OK;
}

static sb_status add_items(uint64_t *words, const sb_tbf *tbf, int place, const uint64_t *hashes, const uint64_t *values, size_t count);
SB_VARIANTS(sb_status, add_items, (uint64_t *words, const sb_tbf *tbf, int place, const uint64_t *hashes, const uint64_t *values,
								   size_t count), (words, tbf, place, hashes, values, count))

sb_status sb_sums_add_items(sb_sums *sums, const sb_tbf *tbf, int index, int64_t half_lives, const uint64_t *hashes,
							const uint64_t *values, size_t count) noexcept
{
	return add_items(sums->plane[index], tbf, place_in_plane(half_lives), hashes, values, count);
}

void sb_sums_note_hit(sb_sums *sums, int index, const sb_moment *moment, uint64_t value) noexcept
{
	sums->newest = std::max(sums->newest, moment->epoch_start);
	u128 amount = static_cast<u128>(value) << place_in_plane(moment->half_lives);
	(index >= 0 ? sums->total[index] : sums->dropped_total) += amount;
	(index >= 0 ? sums->loss[index] : sums->dropped_loss) += amount;
	if ((value & ((UINT64_C(1) << SB_TBF_HIT_BITS) - 1)) != 0)
		sums->fractions = true;
}

using four = int64_t __attribute__((vector_size(32))); /* nothing here reaches 2^63 unless it is an overflow */

/*
 * words += counters * 2^shift, 0 <= shift < 62; false if that is too much for a word. *largest becomes the largest that was
 * added. REQUIRES: count is a multiple of 4.
 */
template <sb_simd variant>
SB_KERNEL bool add_shifted_kernel(uint64_t *words, const uint64_t *counters, uint32_t count, int shift, uint64_t *largest)
{
	constexpr int digits = std::countr_zero(SB_TBF_MAX_CELL);
	four over = {};
	four most = {};
	for (uint32_t i = 0; i < count; i += 4)
	{
		four counter;
		four word;
		std::memcpy(&counter, counters + i, sizeof counter);
		std::memcpy(&word, words + i, sizeof word);
		four part = counter << shift;
		word += part;
		over |= counter >> (digits - shift) | word >> digits;
		most = part > most ? part : most;
		std::memcpy(words + i, &word, sizeof word);
	}
	for (int i = 0; i < 4; i++)
		*largest = std::max(*largest, static_cast<uint64_t>(most[i]));
	return (over[0] | over[1] | over[2] | over[3]) == 0;
}
static bool add_shifted(uint64_t *words, const uint64_t *counters, uint32_t count, int shift, uint64_t *largest);
SB_VARIANTS(bool, add_shifted, (uint64_t *words, const uint64_t *counters, uint32_t count, int shift, uint64_t *largest),
			(words, counters, count, shift, largest))

sb_status sb_sums_add_filter(sb_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter,
							 const void *cells) noexcept
{
	return sb_sums_add_weighted(sums, tbf, index, filter, cells, &one);
}

sb_status sb_sums_add_weighted(sb_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter, const void *cells,
							   const sb_weight *weight) noexcept
{
	if (leaves_no_trace(filter, weight))
		return SB_OK;

	placing place = place_of(filter, weight);
	sums->newest = std::max(sums->newest, filter->newest);
	sums->oldest_base = sums->merged ? std::min(sums->oldest_base, filter->base) : filter->base;
	sums->merged = true;
	if (filter->unit_bits != 0 || weight->exponent < 0)
		sums->fractions = true;
	/* less than 2^33 as a factor, and 2^15 for the place: nothing leaves 128 bits, nor do the counters */
	u128 total = moved(u128{filter->total} * weight->factor, place.total);
	u128 slack = moved(u128{sb_tbf_slack(filter)} * weight->factor, place.total);
	bool low_is_kept = index >= 0 && index < SB_TBF_PLANES;
	accumulate(low_is_kept ? &sums->total[index] : &sums->dropped_total, total);
	accumulate(low_is_kept ? &sums->slack[index] : &sums->dropped_loss, slack);

	mapping small(tbf, filter);
	int last = place.planes - 1;
	uint64_t largest[SB_TBF_PLANES] = {};

	/* The common case needs no 128 bits: all of a counter goes to one plane that is kept, by a shift to the left. */
	bool plain = last == 0 && low_is_kept && weight->factor == 1 && place.counters >= 0 && place.counters < 62;
	block_counters counters;
	block_counters widened;
	uint32_t unpacked = UINT32_MAX;
	for (uint32_t block = 0; block < tbf->blocks; block++)
	{
		if (uint32_t from = block >> small.block_halvings; from != unpacked)
		{
			if (sb_status status = sb_tbf_unpack_block(filter, cells, from, counters); status != SB_OK)
				return status;
			unpacked = from;
		}
		uint64_t first = static_cast<uint64_t>(block) * tbf->block_cells;
		if (plain)
		{
			for (uint32_t i = 0; small.cell_halvings != 0 && i < tbf->block_cells; i++)
				widened[i] = counters[i >> small.cell_halvings];
			if (!add_shifted(sums->plane[index] + first, small.cell_halvings != 0 ? widened : counters, tbf->block_cells,
							 static_cast<int>(place.counters), &largest[0]))
				return SB_OVERFLOW;
			continue;
		}
		for (uint32_t i = 0; i < tbf->block_cells; i++)
		{
			uint64_t counter = counters[i >> small.cell_halvings];
			if (counter == 0)
				continue;
			u128 amount = moved(u128{counter} * weight->factor, place.counters);
			for (int j = 0; amount != 0; j++)
			{
				constexpr u128 digits = (1 << SB_TBF_PLANE) - 1;
				u128 part = j < last ? amount & digits : amount;
				if (part >= SB_TBF_MAX_CELL)
					return SB_OVERFLOW;
				largest[j] = std::max(largest[j], static_cast<uint64_t>(part));
				if (index >= 0 && index - j < SB_TBF_PLANES)
					if (sb_status status = add(&sums->plane[index - j][first + i], static_cast<uint64_t>(part)); status != SB_OK)
						return status;
				amount = j < last ? amount >> SB_TBF_PLANE : 0;
			}
		}
	}

	/* an item loses no more than the largest counter does, however much the filter holds */
	for (int j = 0; j <= last; j++)
		accumulate(index >= 0 && index - j < SB_TBF_PLANES ? &sums->loss[index - j] : &sums->dropped_loss, largest[j]);
	return SB_OK;
}

/* ----------------------------------------------------------------- combining */

void sb_sums_combine_notes(sb_sums *sums, const sb_sums *other) noexcept
{
	if (!other->any)
		return;
	sb_sums_turn(sums, other->newest_half_life);
	make_room(sums, other->newest_plane);
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		int64_t index = sums->newest_plane - (other->newest_plane - i);
		if (index < SB_TBF_PLANES)
		{
			accumulate(&sums->total[index], other->total[i]);
			accumulate(&sums->slack[index], other->slack[i]);
			accumulate(&sums->loss[index], other->loss[i]);
		}
		else
		{
			accumulate(&sums->dropped_total, other->total[i]);
			accumulate(&sums->dropped_loss, other->loss[i]);
			accumulate(&sums->dropped_loss, other->slack[i]);
		}
	}
	sums->newest = std::max(sums->newest, other->newest);
	if (other->merged)
		sums->oldest_base = sums->merged ? std::min(sums->oldest_base, other->oldest_base) : other->oldest_base;
	sums->merged |= other->merged;
	accumulate(&sums->dropped_total, other->dropped_total);
	accumulate(&sums->dropped_loss, other->dropped_loss);
	sums->fractions |= other->fractions;
}

int sb_sums_matching_plane(const sb_sums *sums, const sb_sums *other, int i) noexcept
{
	int64_t index = sums->newest_plane - (other->newest_plane - i);
	return index < SB_TBF_PLANES && other->plane[i] != nullptr ? static_cast<int>(index) : -1;
}

sb_status sb_sums_add_plane(sb_sums *sums, int index, const uint64_t *words) noexcept
{
	for (uint64_t i = 0; i < sums->width; i++)
		if (sb_status status = add(&sums->plane[index][i], words[i]); status != SB_OK)
			return status;
	return SB_OK;
}

void sb_sums_mark_touched(sb_sums *sums, const uint64_t *words) noexcept
{
	if (sums->touched != nullptr)
		for (uint64_t i = 0; i < sums->width; i++)
			if (words[i] != 0)
				mark(sums, i);
}

/* REQUIRES: width is a multiple of 64, as that of cells is. */
template <sb_simd variant>
SB_KERNEL uint64_t count_touched_kernel(const sb_sums *sums)
{
	uint64_t count = 0;
	for (uint64_t first = 0; first < sums->width; first += 64)
	{
		uint64_t bits = sums->touched != nullptr ? sums->touched[first / 64] : 0;
		for (const uint64_t *plane : sums->plane)
			if (plane != nullptr)
				for (uint64_t i = 0; i < 64; i++)
					bits |= static_cast<uint64_t>(plane[first + i] != 0) << i;
		count += ones_of<variant>(bits);
	}
	return count;
}
static uint64_t count_touched(const sb_sums *sums);
SB_VARIANTS(uint64_t, count_touched, (const sb_sums *sums), (sums))

uint64_t sb_sums_touched(const sb_sums *sums) noexcept
{
	return count_touched(sums);
}

/* ------------------------------------------------------------- other sizes */

void sb_tbf_widen_plane(const sb_tbf *from, const uint64_t *cells, const sb_tbf *to, uint64_t *out) noexcept
{
	mapping small(to, from);
	for (uint64_t i = 0, n = sb_tbf_cells(to); i < n; i++)
		out[i] = cells[small(i)];
}

sb_status sb_tbf_fold_plane(const sb_tbf *from, const uint64_t *cells, const sb_tbf *to, uint64_t *out) noexcept
{
	mapping small(from, to);
	for (uint64_t i = 0, n = sb_tbf_cells(from); i < n; i++)
		if (sb_status status = add(&out[small(i)], cells[i]); status != SB_OK)
			return status;
	return SB_OK;
}

/* ------------------------------------------------------------------- storing */

/* All planes of a word as one number, in 2^-12 hits at the first half-life of the oldest plane kept. */
static u128 aligned(const sb_sums *sums, uint64_t word)
{
	u128 sum = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (sums->plane[i] != nullptr)
			sum += static_cast<u128>(sums->plane[i][word]) << (SB_TBF_PLANE * (SB_TBF_PLANES - 1 - i));
	return sum;
}

/* The same for totals; false if it would not fit the header at any base. */
static bool aligned(const sb_u128 *totals, u128 *out)
{
	*out = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		int shift = SB_TBF_PLANE * (SB_TBF_PLANES - 1 - i);
		if (totals[i] >> (126 - shift) != 0)
			return false;
		*out += totals[i] << shift;
	}
	return true;
}

static uint64_t half_lives_above_oldest(const sb_sums *sums, int64_t base)
{
	return static_cast<uint64_t>(base - (sums->newest_plane - (SB_TBF_PLANES - 1)) * SB_TBF_PLANE);
}

/* The only plane that holds anything, or -1 if there are several: most often hits lie within 16 half-lives. */
static int only_plane(const sb_sums *sums)
{
	int found = -1;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (sums->plane[i] != nullptr)
		{
			if (found >= 0)
				return -1;
			found = i;
		}
	return found;
}

/* REQUIRES: count is a multiple of 4; words less than 2^63. */
template <sb_simd variant>
SB_KERNEL uint64_t largest_of_kernel(const uint64_t *words, uint64_t count)
{
	four most = {};
	for (uint64_t i = 0; i < count; i += 4)
	{
		four word;
		std::memcpy(&word, words + i, sizeof word);
		most = word > most ? word : most;
	}
	return static_cast<uint64_t>(std::max(std::max(most[0], most[1]), std::max(most[2], most[3])));
}
static uint64_t largest_of(const uint64_t *words, uint64_t count);
SB_VARIANTS(uint64_t, largest_of, (const uint64_t *words, uint64_t count), (words, count))

/* ceil(words / 2^shift), 0 <= shift < 63. REQUIRES as above, and words less than 2^62. */
template <sb_simd variant>
SB_KERNEL void shift_words_up_kernel(const uint64_t *words, uint32_t count, int shift, uint64_t *out)
{
	const int64_t below = (INT64_C(1) << shift) - 1;
	for (uint32_t i = 0; i < count; i += 4)
	{
		four word;
		std::memcpy(&word, words + i, sizeof word);
		four up = (word >> shift) - reinterpret_cast<four>((word & below) != 0);
		std::memcpy(out + i, &up, sizeof up);
	}
}
static void shift_words_up(const uint64_t *words, uint32_t count, int shift, uint64_t *out);
SB_VARIANTS(void, shift_words_up, (const uint64_t *words, uint32_t count, int shift, uint64_t *out), (words, count, shift, out))

static u128 largest_word(const sb_sums *sums)
{
	u128 largest = 0;
	if (int only = only_plane(sums); only >= 0)
	{
		uint64_t most = largest_of(sums->plane[only], sums->width);
		return static_cast<u128>(most) << (SB_TBF_PLANE * (SB_TBF_PLANES - 1 - only));
	}
	for (uint64_t i = 0; i < sums->width; i++)
		largest = std::max(largest, aligned(sums, i));
	return largest;
}

/* Fills a block with the sums, rounded up to units at the base. */
static auto stored_counters(const sb_sums *sums, const sb_tbf *planned)
{
	uint64_t shift = sums->any ? half_lives_above_oldest(sums, planned->base) +
									 static_cast<uint64_t>(SB_TBF_HIT_BITS - planned->unit_bits)
							   : 0;
	int only = only_plane(sums);
	int64_t only_shift = static_cast<int64_t>(shift) - SB_TBF_PLANE * (SB_TBF_PLANES - 1 - only);
	bool one_word = only >= 0 && only_shift >= 0 && only_shift < 63;
	return [=](uint32_t block, uint64_t *counters) {
		uint64_t first = static_cast<uint64_t>(block) * planned->block_cells;
		if (one_word)
			shift_words_up(sums->plane[only] + first, planned->block_cells, static_cast<int>(only_shift), counters);
		else
			for (uint32_t i = 0; i < planned->block_cells; i++)
				counters[i] = static_cast<uint64_t>(shift_right_up(aligned(sums, first + i), shift));
		return SB_OK;
	};
}

/* Chooses all that the header says but for the size: base, unit, totals, and the width of flat cells. */
static sb_status choose_scale(const sb_sums *sums, const sb_tbf *tbf, sb_tbf *out)
{
	*out = *tbf;
	sb_tbf_clear(out);
	out->unit_bits = (tbf->half_life != 0 || sums->fractions) ? SB_TBF_UNIT_BITS : 0;
	if (!sums->any)
		return SB_OK;

	u128 largest = largest_word(sums);
	u128 total;
	u128 slack;
	if (!aligned(sums->total, &total) || !aligned(sums->slack, &slack) || sums->dropped_total >= too_much ||
		sums->dropped_loss >= too_much)
		return SB_OVERFLOW;

	/*
	 * Hits alone are stored at the newest hit's half-life. Merged filters keep the oldest base, where nothing has to be
	 * rounded, unless that is too far behind or a counter would become uncomfortably large: then the lowest base that
	 * will do.
	 */
	int64_t newest = sums->newest_half_life;
	int64_t base = sums->merged ? std::clamp(sums->oldest_base, newest - SB_TBF_MAX_SPREAD, newest) : newest;
	auto coarser = static_cast<uint64_t>(SB_TBF_HIT_BITS - out->unit_bits);
	int64_t newest_hit = tbf->half_life == 0 ? 0 : floor_divide(sums->newest, tbf->half_life);
	uint64_t shift;
	u128 lost;
	u128 gone;
	for (;; base++)
	{
		/* split over its planes, what is left of a counter for the last of them stays below 2^46 */
		int planes = planes_between(base, std::max(base, newest_hit));
		u128 easy = std::min(u128{1} << (7 + SB_TBF_PLANE * planes), u128{SB_TBF_MAX_CELL});
		shift = half_lives_above_oldest(sums, base);
		lost = shift_right_up(u128{sums->dropped_loss}, shift + SB_TBF_PLANE);
		gone = shift_right_up(u128{sums->dropped_total}, shift + SB_TBF_PLANE);
		u128 cell = shift_right_up(largest, shift + coarser);
		bool fits = cell < (base < newest ? easy : u128{SB_TBF_MAX_CELL}) && lost < SB_TBF_MAX_CELL &&
					gone < (u128{1} << 63) && shift_right_up(total, shift) + gone < (u128{1} << 63) &&
					shift_right_up(slack, shift) + lost < SB_TBF_MAX_CELL;
		if (fits)
			break;
		if (base >= newest)
			return SB_OVERFLOW;
	}

	out->flags |= SB_TBF_HAS_HITS;
	out->base = base;
	out->newest = sums->newest;
	out->slack = static_cast<uint64_t>(shift_right_up(slack, shift) + lost);
	out->total = static_cast<uint64_t>(shift_right_up(total, shift) + gone);
	out->cell_bits = narrowest_cell(static_cast<uint64_t>(shift_right_up(largest, shift + coarser)));
	return SB_OK;
}

sb_status sb_sums_plan(const sb_sums *sums, const sb_tbf *tbf, sb_tbf *out) noexcept
{
	if (sb_status status = choose_scale(sums, tbf, out); status != SB_OK)
		return status;
	if (out->layout == SB_TBF_EXTENSIBLE && sums->any)
		return measure_cells(out, stored_counters(sums, out));
	return sb_tbf_size(out) > SB_MAX_BYTES ? SB_TOO_LARGE : SB_OK;
}

sb_status sb_sums_store(const sb_sums *sums, const sb_tbf *tbf, sb_tbf *out, void *cells, size_t room) noexcept
{
	if (sb_status status = choose_scale(sums, tbf, out); status != SB_OK)
		return status;
	if (out->layout == SB_TBF_EXTENSIBLE && sums->any)
		return pack_cells(out, cells, room, stored_counters(sums, out));
	if (sb_tbf_counters_size(out) > room || sb_tbf_size(out) > SB_MAX_BYTES)
		return SB_TOO_LARGE;
	sb_sums_write(sums, out, cells);
	return SB_OK;
}

void sb_sums_write(const sb_sums *sums, const sb_tbf *planned, void *cells) noexcept
{
	write_cells(*planned, cells, stored_counters(sums, planned));
}

/* ---------------------------------------------------------- minimum increase */

/*
 * Minimum increase (Cohen, Matias 2003, section 3.2; conservative update, Estan, Varghese 2002): a hit makes the item's
 * smallest cell so much larger, and of its other cells only those that would stay below that. A cell's value is its
 * words over all planes, read as one number.
 *
 * Why it never undercounts. For every item, each of its cells + what was dropped (slack, dropped_loss) >= its hits. A hit
 * keeps that for its own item, whose cells all end at the smallest + the hit or above, and for the others, as no cell
 * ever becomes smaller. When a plane falls out each cell loses its word of it, and dropped_loss grows by the plane's `loss`;
 * no word of a plane is ever larger than that: a cell that is raised gets a copy of another cell's words, none of which is,
 * and the hit, which sb_sums_note_hit() adds to the loss as well. (To add the difference in the hit's plane would do too,
 * but it may have digits that only older planes have.) Storing, decay, merging and widening are monotone in each counter, or
 * add up counters, and so keep for each item what they keep of sums.
 */
struct cell_words
{
	uint64_t plane[SB_TBF_PLANES];
};

static cell_words words_of(const sb_sums *sums, uint64_t cell)
{
	cell_words words;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		words.plane[i] = sums->plane[i] != nullptr ? sums->plane[i][cell] : 0;
	return words;
}

static u128 aligned(const cell_words &words)
{
	u128 sum = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		sum += static_cast<u128>(words.plane[i]) << (SB_TBF_PLANE * (SB_TBF_PLANES - 1 - i));
	return sum;
}

/* By value; of equal values the one that loses less when planes fall out is larger, so that there are no ties. */
static bool is_below(const cell_words &a, const cell_words &b)
{
	u128 left = aligned(a);
	u128 right = aligned(b);
	if (left != right)
		return left < right;
	return std::lexicographical_compare(a.plane, a.plane + SB_TBF_PLANES, b.plane, b.plane + SB_TBF_PLANES);
}

sb_status sb_sums_raise_item(sb_sums *sums, const sb_tbf *tbf, int index, uint64_t hash, int64_t half_lives,
							 uint64_t value) noexcept
{
	if (index < 0)
		return sb_sums_add_item(sums, tbf, index, hash, half_lives, value);

	uint64_t amount;
	if (sb_status status = shifted(value, place_in_plane(half_lives), &amount); status != SB_OK)
		return status;
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t first = static_cast<uint64_t>(sb_tbf_block(tbf, hash)) * tbf->block_cells;
	sb_tbf_positions(tbf, hash, positions);
	cell_words least = words_of(sums, first + positions[0]);
	for (int i = 1; i < tbf->hashes; i++)
		if (cell_words words = words_of(sums, first + positions[i]); is_below(words, least))
			least = words;
	if (sb_status status = add(&least.plane[index], amount); status != SB_OK)
		return status;
	sb_sums_raise_item_to(sums, tbf, hash, least.plane);
	return SB_OK;
}

void sb_sums_raise_item_to(sb_sums *sums, const sb_tbf *tbf, uint64_t hash, const uint64_t *words) noexcept
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t first = static_cast<uint64_t>(sb_tbf_block(tbf, hash)) * tbf->block_cells;
	cell_words wanted;

	std::memcpy(wanted.plane, words, sizeof wanted.plane);
	sb_tbf_positions(tbf, hash, positions);
	for (int i = 0; i < tbf->hashes; i++)
		if (is_below(words_of(sums, first + positions[i]), wanted))
			for (int j = 0; j < SB_TBF_PLANES; j++)
				if (sums->plane[j] != nullptr)
					sums->plane[j][first + positions[i]] = wanted.plane[j];
}

/* --------------------------------------------------------- recurring minimum */

sb_status sb_sums_recurring_minimum(const sb_sums *sums, const sb_tbf *tbf, uint64_t hash, bool *recurs,
									uint64_t *minimum) noexcept
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t first = static_cast<uint64_t>(sb_tbf_block(tbf, hash)) * tbf->block_cells;
	uint16_t where = 0;
	u128 least = ~u128{0};

	sb_tbf_positions(tbf, hash, positions);
	*recurs = false;
	for (int i = 0; i < tbf->hashes; i++)
	{
		u128 value = aligned(sums, first + positions[i]);
		if (value < least)
		{
			least = value;
			where = positions[i];
			*recurs = false;
		}
		else if (value == least && positions[i] != where)
			*recurs = true;
	}

	/* without decay nothing is older than the plane of half-life 0 */
	least >>= half_lives_above_oldest(sums, 0);
	*minimum = static_cast<uint64_t>(std::min(least, u128{SB_TBF_MAX_CELL}));
	return *recurs || least < SB_TBF_MAX_CELL ? SB_OK : SB_OVERFLOW;
}
