/*
 * stable.cpp: what sbf and ibf share: parameters, header, decay, union, and the count and check of the cells. The step
 * of an item is in stable_step.cpp. See sb_stable.h.
 *
 * The cells of an item are drawn independently from the whole filter, not from a block of it. The analysis in both
 * papers assumes this. In an experiment small blocks raised the false-positive rate by up to 70 times.
 */
#include "stable/stable.hpp"
#include "base/stop.hpp"

#include <bit>
#include <cmath>

using namespace streambloom;

/*
 * How many groups of cells are processed before the caller is asked again whether to stop. A group is the cells that
 * are read with one load of 64 bits (cells_of_group()).
 */
static constexpr size_t groups_at_once = bytes_at_once / 8;

/* ---------------------------------------------------------------- parameters */

size_t sb_stable_size(const sb_stable *stable) noexcept
{
	return SB_STABLE_HEADER + (stable->items != 0 ? sb_stable_cell_bytes(stable) : 0);
}

size_t sb_stable_cell_bytes(const sb_stable *stable) noexcept
{
	return stable_payload(stable) + sample_bytes(stable);
}

/*
 * The number of bits of a cell that a plan chooses. There are m cells with values up to Max. A step lowers P of them by
 * 1, and sets the K cells of an item. Value-weighted eviction (value_weighted) passes over zero cells: a step goes on
 * drawing until it has lowered P other cells. So if items raise their cells by less than P per step on average, cells
 * become zero until a step does not find P cells to lower in its 32 P tries. In that state a cell of the value Max
 * lasts m Max (Max + 1) / 2 / (32 P) steps. With multi_class, which evicts at random, it lasts m Max / P steps.
 *
 * With few bits value-weighted eviction is worse than multi_class, for every P that keeps the rate. With four bits, and
 * as few hashes as best_hashes() chooses, a cell lasts longer than with multi_class and the P that keeps the rate of an
 * sbf ("the P of an sbf"). This holds for all rates up to 0.2, for uniform importances and for streams whose
 * importances are mostly low or mostly high. The table is for uniform importances, 64 kB and a rate of 1 %. Its last
 * column is the share of important items (those in the highest seventh of the range) that are no longer found after
 * 6,000 more items:
 *
 *   multi_class, 3 bits, K 6, P 65: the P of an sbf                       4.3 %
 *   multi_class, 3 bits, K 6, P 37: 1 % for uniform importances           0.2 %
 *   value_weighted, 3 bits, K 6, P 28: 1 % for all importances           99.6 %
 *   value_weighted, 4 bits, K 2, P 27: 1 % for uniform importances        0.5 %
 *
 * With more than four bits, P and the time of a step become much larger.
 */
static int default_bits(sb_scheme scheme)
{
	return scheme == SB_VALUE_WEIGHTED ? SB_STABLE_WEIGHTED_BITS : SB_STABLE_DEFAULT_BITS;
}

/*
 * The number of hashes that a plan chooses. For eviction at random it is the number with which items are remembered
 * longest in the given bytes; a search with sb_stable_false_negatives() found it. With fewer hashes the rate of
 * value-weighted eviction rises less if the importances are higher than planned. So for value-weighted eviction it is
 * the smallest number with which important items are missed less often than with multi_class and as many evictions as
 * an sbf needs (default_bits() has figures).
 */
static int best_hashes(double fpr, int bits, sb_scheme scheme)
{
	double best;
	if (scheme == SB_VALUE_WEIGHTED)
		best = std::ceil((bits <= SB_STABLE_WEIGHTED_BITS ? 0.3 : 0.45) * -std::log2(fpr) - 1e-9);
	else
		best = std::floor((bits == 1 ? 0.45 : bits == 2 ? 0.7 : 0.85) * -std::log2(fpr) + 0.5);
	return static_cast<int>(std::clamp(best, 1.0, static_cast<double>(SB_STABLE_MAX_HASHES)));
}

/*
 * The number of evictions in a step (P) that a plan chooses. It may be too large or NaN. An ibf of multi_class with as
 * many evictions as an sbf keeps the rate whatever the importances are. But it forgets important items sooner than the
 * sbf does: in an sbf every item sets its cells to Max, also cells that it shares with important items. With fewer
 * evictions, just enough for uniform importances, an ibf remembers important items much longer (docs/sbf.md has the
 * figures). So multi_class and value_weighted are planned for uniform importances; ranks are always uniform. For
 * two_class the share of important items is not known, so the plan keeps the rate whatever that share is.
 */
static double best_evictions(double fpr, const sb_stable &plan)
{
	const auto scheme = static_cast<sb_scheme>(plan.scheme);
	const int max = sb_stable_max(&plan);
	/* values just above an integer are rounding noise between C libraries: they are treated as that integer */
	if (scheme == SB_STABLE || scheme == SB_TWO_CLASS)
		return std::ceil(sb_stable_evictions(fpr, plan.hash_count, max, plan.cell_count) - 1e-9);
	double shares[SB_STABLE_MAX_VALUE];
	sb_stable_uniform_shares(scheme, max, shares);
	const sb_stable_chain uniform = {static_cast<double>(plan.cell_count),
									 static_cast<double>(plan.hash_count),
									 0,
									 max,
									 scheme == SB_VALUE_WEIGHTED,
									 shares};
	return sb_stable_fitting_evictions(&uniform, fpr);
}

static bool range_is_valid(const sb_stable *stable)
{
	const double low = stable->low;
	const double high = stable->high;
	switch (stable->ranked ? static_cast<uint8_t>(SB_STABLE) : stable->scheme)
	{
		case SB_STABLE:
			return low == 0 && high == 0 && !std::signbit(low) && !std::signbit(high);
		case SB_TWO_CLASS:
			return std::isfinite(low) && low == high;
		default:
			return std::isfinite(low) && std::isfinite(high) && low < high && std::isfinite(high - low);
	}
}

/* The fewest bits of a cell. An ibf needs two: with one, two_class would give less important items the value 0. */
static int least_bits(uint8_t scheme)
{
	return scheme == SB_STABLE ? 1 : 2;
}

sb_status sb_stable_plan(uint64_t bytes, double fpr, sb_scheme scheme, double low, double high, int hash_count,
						 int bits, int64_t evictions, uint64_t seed, sb_stable *out) noexcept
{
	*out = {};
	out->ranked = scheme != SB_STABLE && std::isnan(low) && std::isnan(high);
	if (bytes > SB_STABLE_MAX_BYTES - sample_bytes(out))
		return SB_TOO_LARGE;
	if (bytes < SB_STABLE_MIN_BYTES || !(fpr >= SB_BF_MIN_FPR && fpr <= SB_BF_MAX_FPR))
		return SB_OUT_OF_RANGE;
	if (scheme > SB_VALUE_WEIGHTED)
		return SB_OUT_OF_RANGE;
	if (bits == SB_STABLE_CHOOSE)
		bits = default_bits(scheme);
	if (bits < least_bits(static_cast<uint8_t>(scheme)) || bits > SB_STABLE_MAX_BITS)
		return SB_OUT_OF_RANGE;
	if (hash_count == SB_STABLE_CHOOSE)
		hash_count = best_hashes(fpr, bits, scheme);
	if (hash_count < 1 || hash_count > SB_STABLE_MAX_HASHES)
		return SB_OUT_OF_RANGE;

	out->scheme = static_cast<uint8_t>(scheme);
	out->bits = static_cast<uint8_t>(bits);
	out->hash_count = static_cast<uint8_t>(hash_count);
	out->cell_count = static_cast<uint32_t>(bytes * 8 / static_cast<uint64_t>(bits));
	out->seed = seed;
	out->random = seed;
	out->fpr = fpr;
	out->low = out->ranked ? 0.0 : low + 0.0; /* + 0.0 turns -0 into 0 */
	out->high = out->ranked ? 0.0 : high + 0.0;
	if (!range_is_valid(out))
		return SB_OUT_OF_RANGE;
	if (evictions == SB_STABLE_CHOOSE)
	{
		double wanted = best_evictions(fpr, *out);
		if (!(wanted <= SB_STABLE_MAX_EVICTIONS))
			return SB_OUT_OF_RANGE;
		evictions = static_cast<int64_t>(wanted);
	}
	if (evictions < 0 || evictions > out->cell_count || evictions > SB_STABLE_MAX_EVICTIONS)
		return SB_OUT_OF_RANGE;
	out->evictions = static_cast<uint32_t>(evictions);
	return SB_OK;
}

/* -------------------------------------------------------------------- header */

/*
 * The header after the first 40 bytes, which are the same for all types (base/header.hpp), and what follows it:
 *
 *   offset size
 *   40      4   cells (m)
 *   44      1   bits of a cell (d)
 *   45      1   hashes (K)
 *   46      1   scheme: 0 for an sbf, 1 .. 3 for an ibf
 *   47      1   1 for an ibf that ranks importances, otherwise zero
 *   48      4   evictions (P)
 *   52      4   zero
 *   56      8   seed
 *   64      8   state of the generator
 *   72      8   items
 *   80      8   steps
 *   88      8   fpr, IEEE 754
 *   96      8   low, IEEE 754; zero for an sbf, and if importances are ranked
 *  104      8   high, zero as low
 *  112     16   zero
 *  128          only if items have arrived: the cells, d bits each; and behind them, if importances are ranked:
 *          8   how many importances the sample has seen
 *        512   the sample: sorted, IEEE 754; zeros after the last one
 */
void sb_stable_encode_header(const sb_stable *stable, void *out) noexcept
{
	auto *bytes = static_cast<unsigned char *>(out);
	encode_common(bytes, stable->scheme == SB_STABLE ? value_type::sbf : value_type::ibf, 0, stable->kind);
	std::memset(bytes + common_header, 0, SB_STABLE_HEADER - common_header);
	store_le(bytes + 40, stable->cell_count);
	bytes[44] = stable->bits;
	bytes[45] = stable->hash_count;
	bytes[46] = stable->scheme;
	bytes[47] = stable->ranked;
	store_le(bytes + 48, stable->evictions);
	store_le(bytes + 56, stable->seed);
	store_le(bytes + 64, stable->random);
	store_le(bytes + 72, stable->items);
	store_le(bytes + 80, stable->steps);
	store_le(bytes + 88, std::bit_cast<uint64_t>(stable->fpr));
	store_le(bytes + 96, std::bit_cast<uint64_t>(stable->low));
	store_le(bytes + 104, std::bit_cast<uint64_t>(stable->high));
}

static bool is_negative_zero(double value)
{
	return value == 0 && std::signbit(value);
}

static sb_status decode(const void *data, size_t have, size_t total, value_type type, sb_stable *out)
{
	const auto *bytes = static_cast<const unsigned char *>(data);
	uint16_t flags;

	*out = {};
	if (sb_status status = decode_common(data, have, SB_STABLE_HEADER, type, 0, &flags, &out->kind); status != SB_OK)
		return status;
	out->cell_count = load_le<uint32_t>(bytes + 40);
	out->bits = bytes[44];
	out->hash_count = bytes[45];
	out->scheme = bytes[46];
	out->ranked = bytes[47] == 1;
	out->evictions = load_le<uint32_t>(bytes + 48);
	out->seed = load_le<uint64_t>(bytes + 56);
	out->random = load_le<uint64_t>(bytes + 64);
	out->items = load_le<uint64_t>(bytes + 72);
	out->steps = load_le<uint64_t>(bytes + 80);
	out->fpr = std::bit_cast<double>(load_le<uint64_t>(bytes + 88));
	out->low = std::bit_cast<double>(load_le<uint64_t>(bytes + 96));
	out->high = std::bit_cast<double>(load_le<uint64_t>(bytes + 104));

	if ((type == value_type::sbf) != (out->scheme == SB_STABLE) || out->scheme > SB_VALUE_WEIGHTED ||
		bytes[47] > (out->scheme == SB_STABLE ? 0 : 1) || load_le<uint32_t>(bytes + 52) != 0 ||
		load_le<uint64_t>(bytes + 112) != 0 || load_le<uint64_t>(bytes + 120) != 0)
		return SB_BAD_HEADER;
	if (out->bits < least_bits(out->scheme) || out->bits > SB_STABLE_MAX_BITS || out->hash_count == 0 ||
		out->hash_count > SB_STABLE_MAX_HASHES || out->evictions > out->cell_count ||
		out->evictions > SB_STABLE_MAX_EVICTIONS || !(out->fpr >= SB_BF_MIN_FPR && out->fpr <= SB_BF_MAX_FPR) ||
		!range_is_valid(out) || is_negative_zero(out->low) || is_negative_zero(out->high))
		return SB_BAD_HEADER;

	/* the cells must be as many as fit in their bytes */
	size_t payload = stable_payload(out);
	if (payload < SB_STABLE_MIN_BYTES || payload > SB_STABLE_MAX_BYTES - sample_bytes(out) ||
		out->cell_count != payload * 8 / out->bits)
		return SB_BAD_HEADER;

	/* a filter has a kind if and only if it has items */
	if (out->items > out->steps || out->steps > SB_STABLE_MAX_STEPS ||
		(out->items == 0) != (out->kind.code == SB_KIND_NONE))
		return SB_BAD_HEADER;
	return total == sb_stable_size(out) ? SB_OK : SB_BAD_LENGTH;
}

static bool claims_to_be_ibf(const void *data, size_t have)
{
	return have > 2 && static_cast<const unsigned char *>(data)[2] == static_cast<unsigned char>(value_type::ibf);
}

sb_status sb_stable_decode_header(const void *data, size_t have, size_t total, sb_stable_type type,
								  sb_stable *out) noexcept
{
	const bool ibf = type == SB_STABLE_IBF || (type == SB_STABLE_EITHER && claims_to_be_ibf(data, have));
	const sb_status status = decode(data, have, total, ibf ? value_type::ibf : value_type::sbf, out);
	if (status != SB_OK)
		out->scheme = ibf ? SB_TWO_CLASS : SB_STABLE;
	return status;
}

/* --------------------------------------------------------------------- decay */

static void evict(sb_stable *stable, unsigned char *cells)
{
	if (stable->evictions == 0)
		return;
	if (stable->scheme == SB_VALUE_WEIGHTED)
		evict_by_value(stable, cells);
	else
		evict_run(stable, cells);
}

static bool all_zero(const sb_stable *stable, const unsigned char *cells)
{
	const size_t size = stable->items != 0 ? stable_payload(stable) : 0;
	for (size_t at = 0; at < size; at += 8)
		if (load_up_to(cells + at, size - at) != 0)
			return false;
	return true;
}

bool sb_stable_decay(sb_stable *stable, void *cells, uint64_t steps) noexcept
{
	auto *bytes = static_cast<unsigned char *>(cells);
	stable->steps = counted(stable->steps, steps);
	if (stable->evictions == 0)
		return true;

	/* every `sweep` steps it is checked whether all cells are zero; one check takes no longer than `sweep` steps */
	uint64_t sweep = stable->cell_count / stable->evictions + 1;
	for (uint64_t i = 0; i < steps; i++)
	{
		if (i % sweep == 0 && all_zero(stable, bytes))
		{
			/* nothing is left to evict; the generator gets the state that it would have after the remaining steps */
			uint64_t draws = stable->scheme == SB_VALUE_WEIGHTED ? uint64_t{stable->evictions} * SB_STABLE_TRIES : 1;
			stable->random += (steps - i) * draws * random_step;
			return true;
		}
		evict(stable, bytes);
	}
	return false;
}

/* --------------------------------------------------------------------- union */

sb_status sb_stable_plan_union(const sb_stable *a, const sb_stable *b, sb_stable *out,
							   sb_difference *difference) noexcept
{
	const struct
	{
		const char *name;
		double left;
		double right;
	} parameters[] = {
		{"cells", static_cast<double>(a->cell_count), static_cast<double>(b->cell_count)},
		{"cell_bits", static_cast<double>(a->bits), static_cast<double>(b->bits)},
		{"hashes", static_cast<double>(a->hash_count), static_cast<double>(b->hash_count)},
		{"evictions", static_cast<double>(a->evictions), static_cast<double>(b->evictions)},
		{"scheme", static_cast<double>(a->scheme), static_cast<double>(b->scheme)},
		{"ranges", a->ranked ? 0.0 : 1.0, b->ranked ? 0.0 : 1.0},
		{"low", a->low, b->low},
		{"high", a->high, b->high},
	};
	for (const auto &parameter : parameters)
		if (parameter.left != parameter.right)
		{
			*difference = {parameter.name, parameter.left, parameter.right};
			return SB_DIFFERENT;
		}
	*out = *a;
	out->kind = a->kind.code == SB_KIND_NONE ? b->kind : a->kind;
	out->fpr = std::max(a->fpr, b->fpr);
	out->seed = std::max(a->seed, b->seed);
	out->random = std::max(a->random, b->random);
	out->items = counted(a->items, b->items);
	out->steps = counted(a->steps, b->steps);
	return SB_OK;
}

/*
 * Returns, for each field of `bits` bits whose lowest bit is set in `lowest`, the larger of its values in a and b.
 * REQUIRES: `lowest` has only every other field, so that the bit above each of these fields is free.
 */
static uint64_t larger_of_every_other(uint64_t a, uint64_t b, unsigned bits, uint64_t lowest)
{
	uint64_t above = lowest << bits;
	uint64_t mask = above - lowest;								 /* all bits of these fields */
	uint64_t a_is = (((a & mask) | above) - (b & mask)) & above; /* the bit above each field in which a >= b */
	uint64_t take_a = a_is - (a_is >> bits);
	return (a & take_a) | (b & mask & ~take_a);
}

sb_status sb_stable_unite(const sb_stable *stable, void *dst, const void *src) noexcept
{
	auto *to = static_cast<unsigned char *>(dst);
	const auto *from = static_cast<const unsigned char *>(src);
	const unsigned bits = stable->bits;
	const unsigned group = cells_of_group(bits);
	const size_t size = stable_payload(stable);
	uint64_t even = 0;
	uint64_t odd = 0;
	for (unsigned i = 0; i < group; i++)
		(i % 2 == 0 ? even : odd) |= uint64_t{1} << (i * bits);

	unite_samples(stable, to, from);
	return in_pieces(stable->cell_count, group * groups_at_once, [&](size_t first, size_t count) {
		for (uint64_t cell = first; cell < first + count; cell += group)
		{
			auto taken = static_cast<unsigned>(std::min<uint64_t>(group, stable->cell_count - cell));
			uint64_t bit = cell * bits;
			size_t at = static_cast<size_t>(bit / 8);
			unsigned shift = bit % 8;
			uint64_t mask = low_mask(taken * bits);
			uint64_t word = load_up_to(to + at, size - at);
			uint64_t a = word >> shift & mask;
			uint64_t b = load_up_to(from + at, size - at) >> shift & mask;
			uint64_t larger = larger_of_every_other(a, b, bits, even) | larger_of_every_other(a, b, bits, odd);
			store_up_to(to + at, size - at, (word & ~(mask << shift)) | larger << shift);
		}
	});
}

/* ------------------------------------------------------------------ measures */

sb_status sb_stable_count(const sb_stable *stable, const void *cells, uint64_t counts[SB_STABLE_MAX_VALUE + 1]) noexcept
{
	std::fill_n(counts, SB_STABLE_MAX_VALUE + 1, uint64_t{0});
	if (stable->items == 0)
	{
		counts[0] = stable->cell_count;
		return SB_OK;
	}
	return in_pieces(stable->cell_count, bytes_at_once, [&](size_t first, size_t count) {
		for (size_t cell = first; cell < first + count; cell++)
			counts[get_cell(static_cast<const unsigned char *>(cells), stable->bits, cell)]++;
	});
}

sb_status sb_stable_check_cells(const sb_stable *stable, const void *cells) noexcept
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	const unsigned bits = stable->bits;
	const unsigned group = cells_of_group(bits);
	const uint64_t lowest = lowest_bits.of[bits];
	const size_t size = stable_payload(stable);
	if (stable->items == 0)
		return SB_OK;

	uint64_t after = static_cast<uint64_t>(stable->cell_count) * bits;
	if (after % 8 != 0 && bytes[size - 1] >> after % 8 != 0)
		return SB_BAD_CELLS;
	if (!sample_is_valid(stable, bytes))
		return SB_BAD_CELLS;

	uint64_t set = 0;
	sb_status status = in_pieces(stable->cell_count, group * groups_at_once, [&](size_t first, size_t count) {
		for (uint64_t cell = first; cell < first + count; cell += group)
		{
			auto taken = static_cast<unsigned>(std::min<uint64_t>(group, stable->cell_count - cell));
			uint64_t bit = cell * bits;
			size_t at = static_cast<size_t>(bit / 8);
			uint64_t fields = load_up_to(bytes + at, size - at) >> bit % 8 & low_mask(taken * bits);
			set += static_cast<uint64_t>(std::popcount(nonzero_fields(fields, bits, lowest)));
		}
	});
	if (status != SB_OK)
		return status;

	/* an item sets at most K cells */
	return stable->items < set / stable->hash_count + (set % stable->hash_count != 0) ? SB_BAD_CELLS : SB_OK;
}
