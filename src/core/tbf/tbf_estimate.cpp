/*
 * tbf_estimate.cpp: what a tbf tells besides the counts of items: how far counts may be too high, estimated counts,
 * inner products, how many items it has room for, and statistics of its counters. A count is an upper bound, but an
 * estimate may be too small, so it must never decide that something is left unread.
 *
 * All estimates from cells assume that items are spread evenly over the cells of a block, as their hashes are.
 */
#include "base/bits.hpp"
#include "base/stop.hpp"
#include "streambloom.h"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_packed.hpp"

#include <algorithm>
#include <cmath>

using namespace streambloom;

double sb_tbf_error_bound(const sb_tbf *tbf, double over, int64_t at) noexcept
{
	if (!(over > 0))
		return NAN;
	const double slack = sb_tbf_count(tbf, 0, at);
	if (is_exact(tbf))
		return slack > over ? 1 : 0;
	if (slack >= over)
		return 1;
	const double expected = tbf->hash_count * sb_tbf_total(tbf, at) / static_cast<double>(sb_tbf_cells(tbf));
	return std::min(1.0, std::pow(expected / (over - slack), tbf->hash_count));
}

sb_status sb_tbf_error_estimate(const sb_tbf *tbf, const void *cells, double over, int64_t at, double *out) noexcept
{
	*out = NAN;
	if (!(over > 0))
		return SB_OK;
	const double slack = sb_tbf_count(tbf, 0, at);
	*out = slack > over ? 1 : 0;
	if (slack > over || is_exact(tbf))
		return SB_OK;
	const double above = (over - slack) / hits_at(tbf, 1, at);
	double sum = 0;
	for (uint32_t block = 0; block < tbf->block_count; block++)
	{
		uint64_t counters[SB_TBF_BLOCK];
		const sb_status status = stop_wanted() ? SB_INTERRUPTED : unpack_block(tbf, cells, block, counters);
		if (status != SB_OK)
			return status;
		const auto larger = std::count_if(counters, counters + tbf->block_cells,
										  [&](uint64_t counter) { return static_cast<double>(counter) > above; });
		sum += std::pow(static_cast<double>(larger) / tbf->block_cells, tbf->hash_count);
	}
	*out = sum / tbf->block_count;
	return SB_OK;
}

double sb_tbf_room(const sb_tbf *tbf) noexcept
{
	return is_exact(tbf) ? SB_TBF_EXACT_ITEMS : items_for_fill(tbf, std::pow(tbf->fpr, 1.0 / tbf->hash_count));
}

/*
 * Estimates an item's units: its smallest counter, minus the average amount that other items add to it. That amount is
 * about the mean of the smallest of k cells drawn at random: the sum over all x >= 0 of P(c > x)^k, where P(c > x) is
 * the share of the block's counters that are above x. (The item's own k cells are among the block's m counters, but
 * all k draws hit them with a probability of only (k/m)^k.) The textbook subtracts the mean of all cells from each of
 * the item's cells, and takes the median (count-mean-min, Deng & Rafiei 2007). We tried this: if few items are hot, as
 * in logs, the result is further from the truth than the smallest counter itself.
 */
static double estimate(const sb_tbf *tbf, const uint64_t *counters, uint64_t hash)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t sorted[SB_TBF_BLOCK];
	uint64_t least = UINT64_MAX;

	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	for (int i = 0; i < tbf->hash_count; i++)
		least = std::min(least, counters[positions[i]]);
	std::copy(counters, counters + tbf->block_cells, sorted);
	std::sort(sorted, sorted + tbf->block_cells);
	double by_others = 0;
	uint64_t before = 0;
	for (uint32_t i = 0; i < tbf->block_cells; i++)
	{
		double larger = static_cast<double>(tbf->block_cells - i) / tbf->block_cells;
		by_others += static_cast<double>(sorted[i] - before) * std::pow(larger, tbf->hash_count);
		before = sorted[i];
	}
	return std::max(static_cast<double>(least) - by_others, 0.0);
}

sb_status sb_tbf_estimate(const sb_tbf *tbf, const void *cells, uint64_t hash, int64_t at, double *out) noexcept
{
	uint64_t counters[SB_TBF_BLOCK];
	uint64_t units;
	sb_status status;
	if (is_exact(tbf))
	{
		/* nothing is subtracted: no other item's hits are in an exact count */
		status = find_in_list(list_of(tbf, cells), hash, &units);
		*out = hits_at(tbf, static_cast<double>(units), at);
		return status;
	}
	status = unpack_block(tbf, cells, block_of(tbf->block_count, hash), counters);
	if (status == SB_OK)
		*out = hits_at(tbf, estimate(tbf, counters, hash), at);
	return status;
}

/* -------------------------------------------------------------------- measures */

static sb_status measure_items(const sb_tbf *tbf, const void *cells, sb_tbf_stats *out)
{
	exact_reader items(tbf, cells);
	while (const size_t count = items.next())
		add_widths(items.units(), static_cast<uint32_t>(count), false, out->widths);
	out->items = tbf->item_count;
	return items.status();
}

/* Counts the widths of the counters of a block, in binary digits. */
static sb_status add_block_widths(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *widths)
{
	gathered counters;
	const sb_status status = gather_block(tbf, cells, block, &counters, nullptr);
	if (status != SB_OK)
		return status;
	widths[0] += tbf->block_cells - counters.count;
	add_widths(counters.codes, counters.count, true, widths);
	return SB_OK;
}

sb_status sb_tbf_measure(const sb_tbf *tbf, const void *cells, uint32_t most_blocks, sb_tbf_stats *out) noexcept
{
	*out = {};
	if (is_exact(tbf))
		return measure_items(tbf, cells, out);
	const uint32_t blocks = std::min(tbf->block_count, most_blocks);
	for (uint32_t i = 0; i < blocks; i++)
	{
		const auto block = static_cast<uint32_t>(uint64_t{i} * tbf->block_count / blocks);
		if (const sb_status status = stop_wanted() ? SB_INTERRUPTED : add_block_widths(tbf, cells, block, out->widths);
			status != SB_OK)
			return status;
	}
	const uint64_t measured = uint64_t{blocks} * tbf->block_cells;
	out->fill = static_cast<double>(measured - out->widths[0]) / static_cast<double>(measured);
	out->current_fpr = std::pow(out->fill, tbf->hash_count);
	out->items = items_for_fill(tbf, out->fill);
	return SB_OK;
}

/* ------------------------------------------------------------- inner products */

/*
 * Estimates one block's part of the inner product. A block has m cells, an item k of them. a and b are the counters of
 * a cell in the two filters. An item with the counts f and g in the two filters adds k f g to sum(a b). Two different
 * items, with f in one filter and g in the other, add k^2 f g / m on average, because they have cells in common by
 * chance. Let P be the inner product, and A and B the sums of all a and of all b. Then sum(a b) = k P + (A B - k^2 P) /
 * m on average. This is solved for P.
 */
static double block_product(const sb_tbf *shape, const double *left, const double *right)
{
	const double cells = shape->block_cells;
	double sum = 0;
	double sum_of_left = 0;
	double sum_of_right = 0;
	for (uint32_t i = 0; i < shape->block_cells; i++)
	{
		sum += left[i] * right[i];
		sum_of_left += left[i];
		sum_of_right += right[i];
	}
	return (sum - sum_of_left * sum_of_right / cells) / (shape->hash_count * (1 - shape->hash_count / cells));
}

namespace {

/*
 * The counters of a filter, block after block. For an exact filter: the counters that its items would have in cells of
 * another filter's shape.
 */
class product_side
{
public:
	product_side(const sb_tbf *filter, const void *cells, const sb_tbf *shape)
		: filter_(filter), cells_(cells), shape_(shape), items_(filter, cells)
	{
	}

	sb_status open(uint32_t block) { return is_exact(filter_) ? add_up(block) : unpack(block); }
	const double *counters() const { return counters_; }

private:
	const sb_tbf *filter_;
	const void *cells_;
	const sb_tbf *shape_;
	exact_reader items_;
	size_t count_ = 0; /* number of items that items_.next() read last; next_ is the next one to use */
	size_t next_ = 0;
	double counters_[SB_TBF_BLOCK];

	sb_status unpack(uint32_t block)
	{
		uint64_t counters[SB_TBF_BLOCK];
		const sb_status status = unpack_block(filter_, cells_, block, counters);
		std::copy(counters, counters + (status == SB_OK ? shape_->block_cells : 0), counters_);
		return status;
	}

	/*
	 * Adds up the counters that the items of an exact filter would have in this block. The reader goes on where it
	 * stopped at the block before, since blocks are in the order of hashes.
	 */
	sb_status add_up(uint32_t block)
	{
		std::fill_n(counters_, shape_->block_cells, 0.0);
		for (;; next_++)
		{
			if (next_ == count_)
			{
				count_ = items_.next();
				next_ = 0;
				if (count_ == 0)
					return items_.status();
			}
			const uint64_t hash = items_.hashes()[next_];
			if (block_of(shape_->block_count, hash) != block)
				return SB_OK;
			uint16_t positions[SB_TBF_MAX_HASHES];
			positions_of(shape_->block_cells, shape_->hash_count, hash, positions);
			for (int i = 0; i < shape_->hash_count; i++)
				counters_[positions[i]] += static_cast<double>(items_.units()[next_]);
		}
	}
};

} // namespace

/* Computes the inner product of two exact filters, reading both by ascending hash side by side. */
static sb_status exact_product(const sb_tbf *left, const void *left_cells, const sb_tbf *right, const void *right_cells,
							   double *out)
{
	exact_reader a(left, left_cells);
	exact_reader b(right, right_cells);
	size_t a_count = a.next();
	size_t b_count = b.next();
	for (size_t i = 0, j = 0; a_count != 0 && b_count != 0;)
	{
		const uint64_t x = a.hashes()[i];
		const uint64_t y = b.hashes()[j];
		if (x == y)
			*out += static_cast<double>(a.units()[i]) * static_cast<double>(b.units()[j]);
		if (x <= y && ++i == a_count)
		{
			a_count = a.next();
			i = 0;
		}
		if (y <= x && ++j == b_count)
		{
			b_count = b.next();
			j = 0;
		}
	}
	return a.status() != SB_OK ? a.status() : b.status();
}

/* Computes the inner product in units of `left` times units of `right`. */
static sb_status product_of_units(const sb_tbf *left, const void *left_cells, const sb_tbf *right,
								  const void *right_cells, double *out)
{
	*out = 0;
	if (is_exact(left) && is_exact(right))
		return exact_product(left, left_cells, right, right_cells, out);
	const sb_tbf *shape = is_exact(left) ? right : left;
	if (!is_exact(left) && !is_exact(right) && sb_tbf_cells(left) != sb_tbf_cells(right))
		return SB_DIFFERENT;
	product_side a(left, left_cells, shape);
	product_side b(right, right_cells, shape);
	double sum = 0;
	for (uint32_t block = 0; block < shape->block_count; block++)
	{
		sb_status status = stop_wanted() ? SB_INTERRUPTED : a.open(block);
		if (status == SB_OK)
			status = b.open(block);
		if (status != SB_OK)
			return status;
		sum += block_product(shape, a.counters(), b.counters());
	}
	*out = std::max(sum, 0.0);
	return SB_OK;
}

sb_status sb_tbf_inner_product(const sb_tbf *left, const void *left_cells, const sb_tbf *right, const void *right_cells,
							   int64_t at, double *out) noexcept
{
	const sb_status status = product_of_units(left, left_cells, right, right_cells, out);
	*out = *out * hits_at(left, 1, at) * hits_at(right, 1, at); /* 0 stays 0: the factors are finite */
	return status;
}

sb_status sb_tbf_largest_count(const sb_tbf *exact, const void *cells, const uint64_t *except, size_t except_count,
							   double *out) noexcept
{
	exact_reader reader(exact, cells);
	const uint64_t *const end = except + except_count;
	uint64_t largest = 0;
	*out = 0;
	while (const size_t count = reader.next())
		for (size_t i = 0; i < count; i++)
		{
			while (except < end && (*except & SB_KEPT_HASH_MASK) < reader.hashes()[i])
				except++;
			if (except == end || (*except & SB_KEPT_HASH_MASK) != reader.hashes()[i])
				largest = std::max(largest, reader.units()[i]);
		}
	*out = std::ldexp(static_cast<double>(largest), -exact->unit_bits);
	return reader.status();
}
