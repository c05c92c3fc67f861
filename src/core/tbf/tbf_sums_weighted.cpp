/*
 * tbf_sums_weighted.cpp: turns a stored filter times a weight into sums: its counters, or its items with their counts.
 * Sums are split over planes of 16 half-lives each. Only the newest planes are kept, and older ones *fall out*
 * (tbf_sums.hpp).
 */
#include "base/bits.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "streambloom.h"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace streambloom;

/* Returns in which half-life since 2000 the newest hit lies, or the filter's base if that is later; 0 without decay. */
static int64_t newest_half_life(const sb_tbf *filter)
{
	return filter->half_life == 0 ? 0 : std::max(filter->base, floor_divide(filter->newest, filter->half_life));
}

namespace {

/* Where the counters of a filter go when it is added with a weight: to which planes, and shifted by how many bits. */
struct placing
{
	int64_t plane; /* the oldest of the planes that they go to */
	int planes;	   /* number of planes over which each counter is split */
	/* an exponent: counter * factor * 2^counters is the amount in 2^-12 hits at the first half-life of `plane` */
	int64_t counters;
	int64_t total; /* the same exponent for total and slack instead of a counter; both exponents may be negative */
};

} // namespace

/*
 * Returns where the counters of a filter go. A weight of f * 2^e turns a counter c at the base B into the integer c * f
 * at the base B + e. So a small weight costs no digits: 1/8 moves the base by -3 and leaves c as it is. Only amounts
 * that would go below the lowest plane that is used (`oldest`) are rounded up to its unit, which is 2^-44 hits at the
 * base or less. A large weight makes counters large, and large counters go to the plane of the base and to newer ones.
 * But the newest of these is at most one plane newer than that of the newest hit or base; choose_base()
 * (tbf_sums_store.cpp) relies on that.
 */
static placing place_of(const sb_tbf *filter, const filter_weight *weight)
{
	int64_t newest = plane_of(newest_half_life(filter));
	int64_t total = filter->base + weight->exponent;
	int64_t counters = total + SB_TBF_HIT_BITS - filter->unit_bits;
	/* without decay nothing may fall out: so the plane after the newest is left free, for parts of large counters */
	int64_t oldest = (filter->half_life == 0 ? newest + 1 : plane_of(filter->base)) - (SB_TBF_PLANES - 1);
	int64_t plane = std::max(plane_of(std::min(counters, filter->base)), oldest);
	int64_t start = plane * SB_TBF_PLANE;

	/*
	 * A counter is split if it may have more than 46 digits: a word has room for 2^16 counters of 46 digits. In a
	 * filter with a half-life the limit is 55 digits. It is higher there, because splitting may use the plane after the
	 * newest, and then another 16 half-lives fall out at the far end. (A counter that is not split and falls out is
	 * below 2^55 in a plane 64 half-lives below the newest: less than 2^-20 of a hit.)
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

/* value * 2^by, rounded up; by may be negative */
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
	sums_make_room(sums, place.plane + place.planes - 1);
	int64_t behind = sums->newest_plane - place.plane;
	return behind - (place.planes - 1) < SB_TBF_PLANES ? static_cast<int>(behind) : -1;
}

/*
 * words[i] += counters[i] * 2^shift, 0 <= shift < 62. Returns false if a sum is too large for a word. *largest is
 * raised to the largest amount that was added. REQUIRES: count is a multiple of 4.
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
		/* The common case needs no 128 bits: each counter goes to one plane that is kept, shifted to the left. */
		plain_ = last_ == 0 && is_kept(0) && weight->factor == 1 && place.counters >= 0 && place.counters < 62;
	}

	/* Adds to one block. `counters` are those of the filter's block with the same hashes. */
	sb_status add(uint32_t block, const uint64_t *counters)
	{
		if (sb_status status = make_room(block, counters); status != SB_OK)
			return status;
		return plain_ ? add_shifted_block(block, counters) : add_block(block, counters);
	}

	/*
	 * Notes what an item can lose if a plane falls out: at most the largest amount that was added to a cell, however
	 * much the filter holds in all.
	 */
	void note_losses() const
	{
		for (int j = 0; j <= last_; j++)
			accumulate(is_kept(j) ? &sums_->planes[index_ - j].loss : &sums_->dropped_loss, largest_[j]);
	}

private:
	tbf_sums *sums_;
	placing place_;
	uint64_t factor_;
	uint32_t cells_;
	int cell_halvings_; /* a block of the sums has 2^cell_halvings_ times as many cells as one of the filter */
	int index_;
	int last_; /* number of the last part of a counter; part j goes to plane index_ - j */
	bool plain_;
	bool few_ = false; /* the block has few counters that are not 0, so its words may be in lists */
	uint64_t largest_[SB_TBF_PLANES] = {};
	block_counters widened_;

	/*
	 * Makes room for the counters of a block if all of them go to one plane. How many of them are not 0 decides whether
	 * the plane gets a list or words for this block (tbf_sums.hpp).
	 */
	sb_status make_room(uint32_t block, const uint64_t *counters)
	{
		const int first = index_ - last_;
		if (index_ < 0 || first >= SB_TBF_PLANES ||
			(last_ == 0 && sums_->planes[index_].cells->block[block] != nullptr))
			return SB_OK;
		const uint32_t count = count_words(counters, cells_ >> cell_halvings_) << cell_halvings_;
		few_ = count <= most_few;
		return last_ == 0 ? hold_cells(sums_->planes[index_].cells, block, count) : SB_OK;
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
		cell_plane *plane = sums_->planes[index_].cells;
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
				cell_plane *plane = sums_->planes[index_ - j].cells;
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
	/* The weight adds fewer than 34 digits, the half-life within the plane at most 15. So these fit 128 bits. */
	u128 total = moved(u128{filter->total} * weight->factor, place.total);
	u128 slack = moved(u128{sb_tbf_slack(filter)} * weight->factor, place.total);
	bool is_kept = index >= 0 && index < SB_TBF_PLANES;
	accumulate(is_kept ? &sums->planes[index].total : &sums->dropped_total, total);
	accumulate(is_kept ? &sums->planes[index].slack : &sums->dropped_loss, slack);
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
	: sums_(sums), reader_(filter, cells), factor_(weight->factor)
{
	if (leaves_no_trace(filter, weight))
		return;
	const placing place = place_of(filter, weight);
	note_weighted(sums, index, filter, weight, place);
	plane_ = place.plane;
	parts_ = place.planes;
	shift_ = place.counters;
}

int streambloom::weighted_items::plane_of_part(int j) const
{
	const int64_t index = sums_->newest_plane - (plane_ + j);
	return index < SB_TBF_PLANES ? static_cast<int>(index) : -1;
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
	{
		const int index = plane_of_part(j);
		accumulate(index >= 0 ? &sums_->planes[index].loss : &sums_->dropped_loss, largest_[j]);
	}
}
