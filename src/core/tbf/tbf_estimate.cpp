/*
 * tbf_estimate.cpp: what can be said of a tbf beyond its upper bounds, for those who want an estimate: these numbers may
 * be too small, so nothing may be skipped for them.
 *
 * In all of them other items are taken to lie evenly over the cells of a block, as their hashes do.
 */
#include "base/bits.hpp"
#include "streambloom.h"
#include "tbf/tbf_exact.hpp"
#include "tbf/tbf_place.hpp"

#include <algorithm>
#include <cmath>

using namespace streambloom;

static double sum_of(const sb_tbf *tbf, const uint64_t *counters)
{
	double sum = 0;
	for (uint32_t i = 0; i < tbf->block_cells; i++)
		sum += static_cast<double>(counters[i]);
	return sum;
}

double sb_tbf_error_bound(const sb_tbf *tbf, double total, double over) noexcept
{
	if (!(over > 0) || !(total >= 0))
		return NAN;
	if (is_exact(tbf))
		return 0;
	double expected = tbf->hash_count * total / static_cast<double>(sb_tbf_cells(tbf));
	return std::min(1.0, std::pow(expected / over, tbf->hash_count));
}

/*
 * What the others add to the smallest of k cells is on average the mean of the smallest of k cells drawn at random:
 * sum over x of P(c > x)^k, with the block's own counters for the distribution. (The item's own cells are in it too: k of
 * thousands, to the power of k.) The textbook's correction, each cell less the mean of all and the median of that
 * (count-mean-min, Deng & Rafiei 2007), was tried: where few items are hot, as in logs, it is further from the
 * truth than the smallest counter itself.
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

/* Nobody else's hits are in an exact count. */
static sb_status exact_estimate(const sb_tbf *tbf, const void *cells, uint64_t hash, double *out)
{
	uint64_t units;
	const sb_status status = exact_count(tbf, cells, hash, &units);
	*out = static_cast<double>(units);
	return status;
}

sb_status sb_tbf_estimate(const sb_tbf *tbf, const void *cells, uint64_t hash, double *out) noexcept
{
	uint64_t counters[SB_TBF_BLOCK];
	if (is_exact(tbf))
		return exact_estimate(tbf, cells, hash, out);
	if (sb_status status = sb_tbf_unpack_block(tbf, cells, block_of(tbf->block_count, hash), counters); status != SB_OK)
		return status;
	*out = estimate(tbf, counters, hash);
	return SB_OK;
}

/*
 * Each item adds k f g to the product of the two blocks of counters, and each pair of different items k^2 f g / m by
 * chance: with A and B the blocks' sums, sum(a b) = k P + (A B - k^2 P) / m.
 */
double sb_tbf_block_product(const sb_tbf *tbf, const uint64_t *left, const uint64_t *right) noexcept
{
	double sum = 0;
	double cells = tbf->block_cells;
	for (uint32_t i = 0; i < tbf->block_cells; i++)
		sum += static_cast<double>(left[i]) * static_cast<double>(right[i]);
	double by_chance = sum_of(tbf, left) * sum_of(tbf, right) / cells;
	return (sum - by_chance) / (tbf->hash_count * (1 - tbf->hash_count / cells));
}
