/*
 * tbf_sums.cpp: exact sums of hits before they are rounded and stored.
 *
 * A hit at x half-lives counts v * 2^floor(x), with v in 2^-12 hits. It goes to plane floor(x / 16) as v * 2^(floor(x)
 * mod 16), so a 64-bit word of a plane takes sums of 2^34 hits, and a sum never depends on the order of its terms. The
 * newest four planes are kept: what is older than they are, and so at least 48 half-lives older than the newest hit, is
 * dropped; how much it was goes into the slack and the total. (The item of a hit that is older from the beginning is
 * entered in the set of items all the same.) Only when the value is stored is anything rounded: once, and up.
 */
#include "base/bits.hpp"
#include "base/hash_set.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "streambloom.h"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace streambloom;

/* So many words are worked on between two questions whether to stop. */
constexpr size_t words_at_once = bytes_at_once / sizeof(uint64_t);

static void accumulate(sb_u128 *sum, u128 amount)
{
	*sum = std::min(std::min(u128{*sum}, too_much) + std::min(amount, too_much), too_much);
}

/* ------------------------------------------------------------------- filling */

static sb_status clear(uint64_t *plane, uint64_t width, uint32_t beside)
{
	return in_pieces(width, words_at_once, [=](size_t first, size_t count) {
		for (size_t word = first; word < first + count; word++)
			plane[hash_set_place(word, beside)] = 0;
	});
}

sb_status streambloom::sums_take_fallen(tbf_sums *sums, uint64_t **out)
{
	*out = nullptr;
	for (uint64_t *&fallen : sums->fallen)
		if (fallen != nullptr)
		{
			const sb_status status = clear(fallen, sums->width, sums->beside);
			if (status == SB_OK)
				*out = std::exchange(fallen, nullptr);
			return status;
		}
	return SB_OK;
}

/*
 * Makes this plane the newest if it is newer. Those of items that fall out at the far end serve again, but are not
 * cleared before that: it would take long for a large set, and cannot be stopped in the middle of a turn.
 */
static void make_room(tbf_sums *sums, int64_t wanted)
{
	constexpr int last = SB_TBF_PLANES - 1;

	for (int64_t turns = std::min<int64_t>(wanted - sums->newest_plane, SB_TBF_PLANES); turns > 0; turns--)
	{
		if (sums->plane[last] != nullptr)
			*std::find(sums->fallen, sums->fallen + last, nullptr) = sums->plane[last];
		release_cell_plane(sums->cells[last]);
		accumulate(&sums->dropped_total, sums->total[last]);
		accumulate(&sums->dropped_loss, sums->loss[last]);
		accumulate(&sums->dropped_loss, sums->slack[last]);
		std::memmove(sums->plane + 1, sums->plane, last * sizeof *sums->plane);
		std::memmove(sums->cells + 1, sums->cells, last * sizeof *sums->cells);
		std::memmove(sums->total + 1, sums->total, last * sizeof *sums->total);
		std::memmove(sums->slack + 1, sums->slack, last * sizeof *sums->slack);
		std::memmove(sums->loss + 1, sums->loss, last * sizeof *sums->loss);
		sums->plane[0] = nullptr;
		sums->cells[0] = nullptr;
		sums->total[0] = 0;
		sums->slack[0] = 0;
		sums->loss[0] = 0;
	}
	sums->newest_plane = std::max(sums->newest_plane, wanted);
}

int streambloom::sums_turn(tbf_sums *sums, int64_t half_lives)
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

namespace {

/* Where the counters of a filter go, times a weight. */
struct placing
{
	int64_t plane; /* the oldest of them */
	int planes;	   /* over which they are split */
	int64_t
		counters; /* a counter times the weight's factor times 2^this is in 2^-12 hits of that plane; may be negative */
	int64_t total; /* the same for total and slack */
};

} // namespace

/*
 * A weight of f * 2^e makes of a counter c at the base B the integer c * f at the base B + e, so small weights cost no
 * digits. But there is an end to it, 44 binary digits or more below a hit: what is smaller is rounded up to that,
 * and does not fall out of the planes. Large weights go to the planes of the base and of newer ones, as large counters
 * do: so the newest plane is never more than one after that of the newest hit, which sums_plan() relies on.
 */
static placing place_of(const sb_tbf *filter, const filter_weight *weight)
{
	int64_t newest = plane_of(newest_half_life(filter));
	int64_t total = filter->base + weight->exponent;
	int64_t counters = total + SB_TBF_HIT_BITS - filter->unit_bits;
	/* without decay nothing may fall out, also beside a filter that needs the plane after the newest */
	int64_t oldest = (filter->half_life == 0 ? newest + 1 : plane_of(filter->base)) - (SB_TBF_PLANES - 1);
	int64_t plane = std::max(plane_of(std::min(counters, filter->base)), oldest);
	int64_t start = plane * SB_TBF_PLANE;

	/*
	 * Split what may have so many digits that a word takes few filters. With a half-life less of it: there the plane
	 * after the newest costs 16 half-lives at the far end. (What falls out unsplit has less than 2^55 in a plane that
	 * is 64 half-lives below the newest: less than 2^-20 of a hit.)
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

sb_status streambloom::make_filter_weight(double weight, filter_weight *out)
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

static bool leaves_no_trace(const sb_tbf *filter, const filter_weight *weight)
{
	return (filter->flags & SB_TBF_HAS_HITS) == 0 || weight->factor == 0;
}

int streambloom::sums_turn_for_weighted(tbf_sums *sums, const sb_tbf *filter, const filter_weight *weight, int *planes)
{
	*planes = 0;
	if (leaves_no_trace(filter, weight))
		return -1;
	placing place = place_of(filter, weight);
	*planes = place.planes;
	sums_turn(sums, newest_half_life(filter));
	make_room(sums, place.plane + place.planes - 1);
	int64_t behind = sums->newest_plane - place.plane;
	return behind - (place.planes - 1) < SB_TBF_PLANES ? static_cast<int>(behind) : -1;
}

sb_status streambloom::sums_add_word(tbf_sums *sums, int index, uint64_t word, int64_t half_lives, uint64_t value)
{
	uint64_t amount;
	if (sb_status status = shifted(value, place_in_plane(half_lives), &amount); status != SB_OK)
		return status;
	return add_to_word(&sums->plane[index][hash_set_place(word, sums->beside)], amount);
}

/*
 * How many items the memory is asked for ahead: enough to wait for all their lines at once. Smaller sets are in a
 * cache.
 */
constexpr size_t ahead = 32;
constexpr uint64_t prefetch_from_slots = 32000;

/* Not a lambda: one that does nothing but this is taken for one that does nothing, where it is not inlined. */
SB_KERNEL void prefetch_item(const uint64_t *slots, const slot_order &order, uint64_t beside, size_t plane,
							 uint64_t hash)
{
	const uint64_t *own = &slots[place_of_slot(own_slot(order, hash), beside)];
	__builtin_prefetch(own, 1);
	if (beside > 1)
		__builtin_prefetch(own + plane, 1);
}

/* beside: known to the compiler where all is in one plane. */
template <sb_simd variant>
SB_KERNEL size_t add_hits_loop(sb_hash_set *set, uint64_t beside, size_t plane, int place, const uint64_t *hashes,
							   const uint64_t *values, size_t count, sb_status *status)
{
	const slot_order order(set);
	const uint64_t room = largest_count(order.capacity) - set->count;
	const size_t ask = order.capacity >= prefetch_from_slots ? ahead : count;
	uint64_t *slots = set->slots;
	uint64_t added = 0;
	uint64_t farthest = 0;
	size_t i = 0;
	*status = SB_OK;
	for (size_t j = 0; ask < count && j < ask; j++)
		prefetch_item(slots, order, beside, plane, hashes[j]);
	while (i < count && added < room && *status == SB_OK)
	{
		uint64_t hash = hashes[i];
		if (i + ask < count)
			prefetch_item(slots, order, beside, plane, hashes[i + ask]);
		uint64_t amount;
		uint64_t *word = &slots[place_of_slot(slot_for<variant>(slots, order, beside, hash, &farthest), beside)];
		added += *word == 0;
		*word = hash != 0 ? hash : 1;
		*status = shifted(values[i], place, &amount);
		if (*status == SB_OK)
			*status = add_to_word(word + plane, amount);
		i++;
	}
	set->count += added;
	set->crowded |= farthest > hash_set_far;
	return i;
}

template <sb_simd variant>
SB_KERNEL size_t add_hits_kernel(sb_hash_set *set, size_t plane, int place, const uint64_t *hashes,
								 const uint64_t *values, size_t count, sb_status *status)
{
	return set->beside == 1 ? add_hits_loop<variant>(set, 1, 4, place, hashes, values, count, status) :
							  add_hits_loop<variant>(set, set->beside, plane, place, hashes, values, count, status);
}
static size_t add_hits(sb_hash_set *set, size_t plane, int place, const uint64_t *hashes, const uint64_t *values,
					   size_t count, sb_status *status);
SB_VARIANTS(size_t, add_hits,
			(sb_hash_set * set, size_t plane, int place, const uint64_t *hashes, const uint64_t *values, size_t count,
			 sb_status *status),
			(set, plane, place, hashes, values, count, status))

size_t streambloom::sums_add_hits(tbf_sums *sums, sb_hash_set *set, int index, int64_t half_lives,
								  const uint64_t *hashes, const uint64_t *values, size_t count, sb_status *status)
{
	return add_hits(set, static_cast<size_t>(sums->plane[index] - set->slots), place_in_plane(half_lives), hashes,
					values, count, status);
}

/* Adds to all cells of an item, for which there is room. */
static sb_status add_to_item(cell_plane *plane, const sb_tbf *tbf, uint32_t block, uint64_t hash, uint64_t amount)
{
	if (plane->block[block] != nullptr)
		return add_to_cells(plane->block[block], tbf->block_cells, tbf->hash_count, hash, amount);
	uint16_t positions[SB_TBF_MAX_HASHES];
	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	for (int i = 0; i < tbf->hash_count; i++)
		if (sb_status status = add_to_word(word_at(plane, block, positions[i]), amount); status != SB_OK)
			return status;
	return SB_OK;
}

sb_status streambloom::sums_add_item(tbf_sums *sums, const sb_tbf *tbf, int index, uint64_t hash, int64_t half_lives,
									 uint64_t value)
{
	if (index < 0)
		return SB_OK;
	uint64_t amount;
	if (sb_status status = shifted(value, place_in_plane(half_lives), &amount); status != SB_OK)
		return status;
	cell_plane *plane = sums->cells[index];
	const uint32_t block = block_of(tbf->block_count, hash);
	if (sb_status status = hold_cells(plane, block, tbf->hash_count); status != SB_OK)
		return status;
	return add_to_item(plane, tbf, block, hash, amount);
}

template <sb_simd variant>
SB_KERNEL sb_status add_items_kernel(uint64_t *const *words, const sb_tbf *tbf, int place, const uint64_t *hashes,
									 const uint64_t *values, size_t count)
{
	uint64_t *cells[ahead][SB_TBF_MAX_HASHES];
	uint16_t positions[SB_TBF_MAX_HASHES];
	const int k = tbf->hash_count;
	for (size_t i = 0; i < count + ahead; i++)
	{
		uint64_t **slot = cells[i % ahead];
		if (i >= ahead)
		{
			uint64_t amount;
			if (sb_status status = shifted(values[i - ahead], place, &amount); status != SB_OK)
				return status;
			for (int j = 0; j < k; j++)
				if (sb_status status = add_to_word(slot[j], amount); status != SB_OK)
					return status;
		}
		if (i < count)
		{
			uint64_t *block = words[block_of(tbf->block_count, hashes[i])];
			positions_of(tbf->block_cells, k, hashes[i], positions);
			for (int j = 0; j < k; j++)
			{
				slot[j] = block + positions[j];
				__builtin_prefetch(slot[j], 1);
			}
		}
	}
	return SB_OK;
}

static sb_status add_items(uint64_t *const *words, const sb_tbf *tbf, int place, const uint64_t *hashes,
						   const uint64_t *values, size_t count);
SB_VARIANTS(sb_status, add_items,
			(uint64_t *const *words, const sb_tbf *tbf, int place, const uint64_t *hashes, const uint64_t *values,
			 size_t count),
			(words, tbf, place, hashes, values, count))

sb_status streambloom::sums_add_items(tbf_sums *sums, const sb_tbf *tbf, int index, int64_t half_lives,
									  const uint64_t *hashes, const uint64_t *values, size_t count)
{
	cell_plane *plane = sums->cells[index];
	const int place = place_in_plane(half_lives);
	bool full;
	sb_status status = hold_items(plane, tbf->hash_count, hashes, count, &full);
	if (status == SB_OK && full)
		return add_items(plane->block, tbf, place, hashes, values, count);
	for (size_t i = 0; i < count && status == SB_OK; i++)
	{
		uint64_t amount;
		status = shifted(values[i], place, &amount);
		if (status == SB_OK)
			status = add_to_item(plane, tbf, block_of(tbf->block_count, hashes[i]), hashes[i], amount);
	}
	return status;
}

void streambloom::sums_note_hit(tbf_sums *sums, int index, const sb_moment *moment, uint64_t value)
{
	sums->newest = std::max(sums->newest, moment->epoch_start);
	u128 amount = static_cast<u128>(value) << place_in_plane(moment->half_lives);
	(index >= 0 ? sums->total[index] : sums->dropped_total) += amount;
	(index >= 0 ? sums->loss[index] : sums->dropped_loss) += amount;
	if ((value & ((UINT64_C(1) << SB_TBF_HIT_BITS) - 1)) != 0)
		sums->fractions = true;
}

/*
 * words += counters * 2^shift, 0 <= shift < 62; false if that is too much for a word. *largest becomes the largest that
 * was added. REQUIRES: count is a multiple of 4.
 */
template <sb_simd variant>
SB_KERNEL bool add_shifted_kernel(uint64_t *words, const uint64_t *counters, uint32_t count, int shift,
								  uint64_t *largest)
{
	constexpr int digits = std::countr_zero(SB_TBF_MAX_CELL);
	four_words over = {};
	four_words most = {};
	for (uint32_t i = 0; i < count; i += 4)
	{
		four_words counter;
		four_words word;
		std::memcpy(&counter, counters + i, sizeof counter);
		std::memcpy(&word, words + i, sizeof word);
		four_words part = counter << shift;
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
SB_VARIANTS(bool, add_shifted,
			(uint64_t * words, const uint64_t *counters, uint32_t count, int shift, uint64_t *largest),
			(words, counters, count, shift, largest))

namespace {

/* Adds the counters of a filter times a weight, block by block. */
class weighted_counters
{
public:
	weighted_counters(tbf_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter, const filter_weight *weight,
					  const placing &place)
		: sums_(sums), place_(place), factor_(weight->factor), cells_(tbf->block_cells),
		  cell_halvings_(doublings(filter->block_cells, tbf->block_cells)), index_(index), last_(place.planes - 1)
	{
		/*
		 * The common case needs no 128 bits: all of a counter goes to one plane that is kept, by a shift to the left.
		 */
		plain_ = last_ == 0 && is_kept(0) && weight->factor == 1 && place.counters >= 0 && place.counters < 62;
	}

	/* counters: those of the filter's block that stands for this one */
	sb_status add(uint32_t block, const uint64_t *counters)
	{
		if (sb_status status = make_room(block, counters); status != SB_OK)
			return status;
		return plain_ ? add_shifted_block(block, counters) : add_block(block, counters);
	}

	/* An item loses no more than the largest counter does, however much the filter holds. */
	void note_losses() const
	{
		for (int j = 0; j <= last_; j++)
			accumulate(is_kept(j) ? &sums_->loss[index_ - j] : &sums_->dropped_loss, largest_[j]);
	}

private:
	tbf_sums *sums_;
	placing place_;
	uint64_t factor_;
	uint32_t cells_;
	int cell_halvings_; /* from these cells to those of the filter */
	int index_;
	int last_; /* of the parts into which a counter is split: part j goes to plane index_ - j */
	bool plain_;
	bool few_ = false; /* of the block's counters, so that its words may be in lists */
	uint64_t largest_[SB_TBF_PLANES] = {};
	block_counters widened_;

	/* Whether a block gets words is decided by all of its counters at once, where they go to one plane. */
	sb_status make_room(uint32_t block, const uint64_t *counters)
	{
		const int first = index_ - last_;
		if (index_ < 0 || first >= SB_TBF_PLANES || (last_ == 0 && sums_->cells[index_]->block[block] != nullptr))
			return SB_OK;
		const uint32_t count = count_words(counters, cells_ >> cell_halvings_) << cell_halvings_;
		few_ = count <= most_few;
		return last_ == 0 ? hold_cells(sums_->cells[index_], block, count) : SB_OK;
	}

	bool is_kept(int part) const { return index_ >= 0 && index_ - part < SB_TBF_PLANES; }

	sb_status add_shifted_block(uint32_t block, const uint64_t *counters)
	{
		if (cell_halvings_ != 0)
		{
			for (uint32_t i = 0; i < cells_; i++)
				widened_[i] = counters[i >> cell_halvings_];
			counters = widened_;
		}
		const auto shift = static_cast<int>(place_.counters);
		cell_plane *plane = sums_->cells[index_];
		const bool fits = plane->block[block] != nullptr ?
							  add_shifted(plane->block[block], counters, cells_, shift, &largest_[0]) :
							  add_shifted_few(plane, block, counters, shift, &largest_[0]);
		return fits ? SB_OK : SB_OVERFLOW;
	}

	sb_status add_block(uint32_t block, const uint64_t *counters)
	{
		for (uint32_t i = 0; i < cells_; i++)
			if (const uint64_t counter = counters[i >> cell_halvings_]; counter != 0)
				if (sb_status status = add_parts(block, i, moved(u128{counter} * factor_, place_.counters));
					status != SB_OK)
					return status;
		return SB_OK;
	}

	sb_status add_parts(uint32_t block, uint32_t cell, u128 amount)
	{
		constexpr u128 digits = (1 << SB_TBF_PLANE) - 1;
		sb_status status = SB_OK;
		for (int j = 0; amount != 0 && status == SB_OK; j++)
		{
			const u128 part = j < last_ ? amount & digits : amount;
			if (part >= SB_TBF_MAX_CELL)
				return SB_OVERFLOW;
			largest_[j] = std::max(largest_[j], static_cast<uint64_t>(part));
			if (part != 0 && is_kept(j))
			{
				cell_plane *plane = sums_->cells[index_ - j];
				status = few_ ? hold_cells(plane, block, 1) : hold_block(plane, block);
				if (status == SB_OK)
					status = add_to_word(word_at(plane, block, cell), static_cast<uint64_t>(part));
			}
			amount = j < last_ ? amount >> SB_TBF_PLANE : 0;
		}
		return status;
	}
};

} // namespace

static void note_weighted(tbf_sums *sums, int index, const sb_tbf *filter, const filter_weight *weight,
						  const placing &place)
{
	sums->newest = std::max(sums->newest, filter->newest);
	sums->oldest_base = sums->merged ? std::min(sums->oldest_base, filter->base) : filter->base;
	sums->merged = true;
	if (filter->unit_bits != 0 || weight->exponent < 0)
		sums->fractions = true;
	/* less than 2^33 as a factor, and 2^15 for the place: nothing leaves 128 bits, nor do the counters */
	u128 total = moved(u128{filter->total} * weight->factor, place.total);
	u128 slack = moved(u128{sb_tbf_slack(filter)} * weight->factor, place.total);
	bool is_kept = index >= 0 && index < SB_TBF_PLANES;
	accumulate(is_kept ? &sums->total[index] : &sums->dropped_total, total);
	accumulate(is_kept ? &sums->slack[index] : &sums->dropped_loss, slack);
}

sb_status streambloom::sums_add_weighted(tbf_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter,
										 const void *cells, const filter_weight *weight)
{
	if (leaves_no_trace(filter, weight))
		return SB_OK;

	const placing place = place_of(filter, weight);
	note_weighted(sums, index, filter, weight, place);
	const int halvings = doublings(filter->block_count, tbf->block_count);
	weighted_counters to(sums, tbf, index, filter, weight, place);
	block_counters counters;
	bool empty = false;
	uint32_t unpacked = UINT32_MAX;
	for (uint32_t block = 0; block < tbf->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (const uint32_t from = block >> halvings; from != unpacked)
		{
			if (sb_status status = unpack_counters(filter, cells, from, counters, &empty); status != SB_OK)
				return status;
			unpacked = from;
		}
		if (empty)
			continue;
		if (sb_status status = to.add(block, counters); status != SB_OK)
			return status;
	}
	to.note_losses();
	return SB_OK;
}

streambloom::weighted_items::weighted_items(tbf_sums *sums, int index, const sb_tbf *filter, const void *cells,
											const filter_weight *weight)
	: sums_(sums), reader_(filter, cells), index_(index), factor_(weight->factor)
{
	if (leaves_no_trace(filter, weight))
		return;
	const placing place = place_of(filter, weight);
	note_weighted(sums, index, filter, weight, place);
	parts_ = place.planes;
	shift_ = place.counters;
}

sb_status streambloom::weighted_items::next(size_t *count)
{
	constexpr u128 digits = (1 << SB_TBF_PLANE) - 1;
	*count = parts_ == 0 ? 0 : reader_.next();
	for (size_t i = 0; i < *count; i++)
	{
		u128 amount = moved(u128{reader_.units()[i]} * factor_, shift_);
		for (int j = 0; j < parts_; j++)
		{
			const u128 part = j < parts_ - 1 ? amount & digits : amount;
			if (part >= SB_TBF_MAX_CELL)
				return SB_OVERFLOW;
			words_[j][i] = static_cast<uint64_t>(part);
			largest_[j] = std::max(largest_[j], words_[j][i]);
			amount >>= SB_TBF_PLANE;
		}
	}
	return reader_.status();
}

void streambloom::weighted_items::note_losses() const
{
	for (int j = 0; j < parts_; j++)
		accumulate(plane_of_part(j) >= 0 ? &sums_->loss[index_ - j] : &sums_->dropped_loss, largest_[j]);
}

/* ----------------------------------------------------------------- combining */

void streambloom::sums_combine_notes(tbf_sums *sums, const tbf_sums *other)
{
	if (!other->any)
		return;
	sums_turn(sums, other->newest_half_life);
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

int streambloom::sums_matching_plane(const tbf_sums *sums, const tbf_sums *other, int i)
{
	int64_t index = sums->newest_plane - (other->newest_plane - i);
	return index >= 0 && index < SB_TBF_PLANES ? static_cast<int>(index) : -1;
}

/* Each word of `from` stands for 2^halvings of a block's. */
static sb_status add_block(cell_plane *to, uint32_t block, const uint64_t *from, int halvings)
{
	const uint32_t cells = to->block_cells;
	if (to->block[block] == nullptr)
		if (sb_status status = hold_cells(to, block, count_words(from, cells >> halvings) << halvings); status != SB_OK)
			return status;
	if (uint64_t *words = to->block[block]; words != nullptr)
	{
		for (uint32_t i = 0; i < cells; i++)
			if (sb_status status = add_to_word(&words[i], from[i >> halvings]); status != SB_OK)
				return status;
		return SB_OK;
	}
	uint64_t largest =
		0; /* a block with a list has SB_TBF_BLOCK cells, and a smaller one of another filter is spread over them first */
	block_counters widened;
	if (halvings != 0)
	{
		for (uint32_t i = 0; i < cells; i++)
			widened[i] = from[i >> halvings];
		from = widened;
	}
	return add_shifted_few(to, block, from, 0, &largest) ? SB_OK : SB_OVERFLOW;
}

sb_status streambloom::add_cell_plane(cell_plane *to, const cell_plane *from)
{
	const int block_halvings = doublings(from->block_count, to->block_count);
	const int cell_halvings = doublings(from->block_cells, to->block_cells);
	block_counters room;
	for (uint32_t block = 0; block < to->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (const uint64_t *words = read_block(from, block >> block_halvings, room); words != nullptr)
			if (sb_status status = add_block(to, block, words, cell_halvings); status != SB_OK)
				return status;
	}
	return SB_OK;
}

sb_status streambloom::add_block_words(cell_plane *plane, uint32_t block, const uint64_t *words)
{
	return add_block(plane, block, words, 0);
}
