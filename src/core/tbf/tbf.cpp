/*
 * tbf.cpp: the Time-decaying Bloom filter as it is stored: parameters, header and checks. (tbf_place.hpp says which cells an
 * item has. tbf_cells.cpp stores the counters of the cells, and tbf_change.cpp decays them. tbf_sums.cpp has the sums
 * that become counters, tbf_clock.cpp the times.)
 *
 * Cells lie in blocks of 4,096 (a smaller filter is one block of a smaller power of two). An item has all its cells in
 * one block, so that a look-up reads only this block of a stored filter, besides the header, and the one or two entries
 * of the directory that say where the block lies. (With recurring minimum it also searches the table.) Of a hash the 48
 * highest bits count (SB_KEPT_HASH_MASK); the others are 0 in what follows. The block is floor(hash * blocks / 2^64).
 * The hash is mixed to more bits, and each 16 of these choose one of the item's positions in the block. Two positions
 * of an item may be the same cell: then each hit is added to that cell twice. (If positions were made distinct,
 * widening would break: a look-up in the wider filter could read cells to which the item was not added.)
 */
#include "base/bits.hpp"
#include "base/header.hpp"
#include "base/stop.hpp"
#include "bf/bf_formula.hpp"
#include "streambloom.h"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_top.hpp"

#include <algorithm>
#include <cmath>

using namespace streambloom;

/* ---------------------------------------------------------------- parameters */

/*
 * The number of hashes is 0.6 log2(1 / fpr), rounded up, instead of the classic optimum log2(1 / fpr). At 1 % this
 * costs a tenth more cells, but an item touches 4 of them instead of 7. Fewer hashes also make the extensible layout
 * smaller, since its size follows from the number of counters that are not 0.
 */
static uint8_t hashes_for(double fpr)
{
	double hash_count = std::ceil(0.6 * -std::log2(fpr));
	return static_cast<uint8_t>(std::clamp(hash_count, 1.0, static_cast<double>(SB_TBF_MAX_HASHES)));
}

/* What load_for() found for the rate that this thread asked for last. The load is in items per block of 4,096 cells. */
static thread_local constinit known_load last_search = {};

/* Returns the load and the number of hashes for a rate. REQUIRES: the rate is in range. */
static const known_load &load_for(double fpr)
{
	if (last_search.fpr != fpr)
	{
		const uint8_t hash_count = hashes_for(fpr);
		last_search = {fpr, blocked_load(SB_TBF_BLOCK, hash_count, fpr), hash_count};
	}
	return last_search;
}

sb_status sb_tbf_plan(uint64_t items, double fpr, int64_t half_life, int64_t epoch, bool self_sized,
					  sb_tbf *out) noexcept
{
	if ((items == 0 && !self_sized) || !(fpr >= SB_BF_MIN_FPR && fpr <= SB_BF_MAX_FPR) || half_life < 0 ||
		half_life > SB_TBF_MAX_TIME || (half_life == 0 ? epoch != 0 : (epoch < 1 || epoch > SB_TBF_MAX_TIME)))
		return SB_OUT_OF_RANGE;

	const double load = load_for(fpr).load;
	const uint8_t hash_count = load_for(fpr).hash_count;
	*out = {};
	out->hash_count = hash_count;
	out->half_life = half_life;
	out->epoch = epoch;
	out->fpr = fpr;
	out->expected_items = self_sized ? 0 : items;
	out->unit_bits = half_life ? SB_TBF_UNIT_BITS : 0;
	out->layout = SB_TBF_EXTENSIBLE;
	out->cell_bits = 8;

	if (items == 0)
	{
		plan_exact(out);
		return SB_OK;
	}

	double cells = std::ceil(static_cast<double>(items) / load * SB_TBF_BLOCK);
	if (!(cells <= SB_TBF_MAX_CELLS))
		return SB_TOO_LARGE;

	auto count = std::max(static_cast<uint64_t>(cells), uint64_t{SB_TBF_MIN_BLOCK});
	if (count <= SB_TBF_BLOCK || self_sized)
		count = std::bit_ceil(count);

	/*
	 * The load was calculated for 4,096 cells. In a smaller block an item's positions are more often the same cell, so
	 * more cells may be needed.
	 */
	while (count < SB_TBF_BLOCK &&
		   sb_blocked_fpr(static_cast<double>(count), hash_count, static_cast<double>(items)) > fpr)
		count *= 2;
	uint64_t blocks = 1;
	if (count > SB_TBF_BLOCK)
	{
		blocks = (count + SB_TBF_BLOCK - 1) / SB_TBF_BLOCK;
		if (int extra = static_cast<int>(std::bit_width(blocks)) - 9; extra > 0 && !self_sized)
			blocks = shift_right_up(blocks, static_cast<uint64_t>(extra)) << extra;
		count = SB_TBF_BLOCK;
	}
	if (blocks > SB_TBF_MAX_CELLS / SB_TBF_BLOCK)
		return SB_TOO_LARGE;
	out->block_count = static_cast<uint32_t>(blocks);
	out->block_cells = static_cast<uint16_t>(count);
	return SB_OK;
}

double streambloom::items_for_fill(const sb_tbf *tbf, double fill)
{
	/* As for bf: the mean fill of blocks under a Poisson load is 1 - exp(-load * (1 - (1 - 1/cells)^k)). */
	double empty = 1 - fill;
	double covered = -std::expm1(tbf->hash_count * std::log1p(-1.0 / tbf->block_cells));
	return empty > 0 ? tbf->block_count * (std::fabs(std::log(empty)) / covered) : INFINITY;
}

double sb_tbf_decay_factor(const sb_tbf *tbf) noexcept
{
	if (tbf->half_life == 0)
		return 1;
	return std::exp2(-static_cast<double>(tbf->epoch) / static_cast<double>(tbf->half_life));
}

void streambloom::clear_hits(sb_tbf *tbf)
{
	tbf->flags &= SB_TBF_OPTIONS | SB_TBF_EXACT;
	tbf->item_count = 0;
	tbf->extra = 0;
	tbf->cell_bits = 8;
	tbf->payload = 0;
	tbf->base = 0;
	tbf->newest = 0;
	tbf->slack = 0;
	tbf->total = 0;
}

void streambloom::plan_exact(sb_tbf *plan)
{
	plan->flags = static_cast<uint16_t>((plan->flags & ~SB_TBF_OPTIONS) | SB_TBF_EXACT);
	plan->block_count = 0;
	plan->block_cells = 0;
	plan->widened = 0;
	plan->expected_items = 0;
	plan->unit_bits = plan->half_life != 0 ? unit_bits_of_parts(plan) : 0;
}

void streambloom::plan_cells(sb_tbf *plan, const sb_tbf *sized)
{
	plan->flags = static_cast<uint16_t>((plan->flags & ~SB_TBF_EXACT) | (sized->flags & SB_TBF_MINIMUM_INCREASE));
	plan->block_count = sized->block_count;
	plan->block_cells = sized->block_cells;
	plan->widened = sized->widened;
	plan->unit_bits = plan->half_life != 0 ? unit_bits_of_parts(plan) : 0;
}

void streambloom::describe_items(const exact_item *items, uint32_t count, sb_tbf *out)
{
	uint64_t largest = 0;
	for (uint32_t i = 0; i < count; i++)
		largest = std::max(largest, items[i].units);
	out->item_count = count;
	out->cell_bits = narrowest_cell(largest);
	out->payload = static_cast<uint32_t>(list_size(to_list(items, count)));
}

uint64_t sb_tbf_cells(const sb_tbf *tbf) noexcept
{
	return static_cast<uint64_t>(tbf->block_count) * tbf->block_cells;
}

size_t streambloom::counters_size(const sb_tbf *tbf)
{
	if (is_exact(tbf) || tbf->layout == SB_TBF_EXTENSIBLE)
		return tbf->payload;
	return static_cast<size_t>(sb_tbf_cells(tbf)) * (tbf->cell_bits / 8u);
}

size_t sb_tbf_size(const sb_tbf *tbf) noexcept
{
	return SB_TBF_HEADER + counters_size(tbf) + tbf->extra;
}

uint64_t sb_tbf_slack(const sb_tbf *tbf) noexcept
{
	/* for an exact filter half a unit is 2^-13 hits, which is rounded up to 2^-12 */
	const uint64_t half_unit = shift_right_up(UINT64_C(1) << (SB_TBF_HIT_BITS - tbf->unit_bits), 1);
	return tbf->slack + ((tbf->flags & SB_TBF_FORGOTTEN) ? half_unit : 0);
}

/* -------------------------------------------------------------------- header */

/*
 * The header. Its first 40 bytes are those that all types have (base/header.hpp). The fields are explained at sb_tbf
 * (sb_tbf.h).
 *
 *   offset size
 *   40      4   blocks; exact: items
 *   44      2   cells of a block; exact: zero
 *   46      1   hashes
 *   47      1   layout: 0 flat, 1 extensible
 *   48      1   bits of a flat cell: 8, 16, 32 or 64, the narrowest that holds the largest counter
 *   49      1   unit bits: 0 or 4; exact: 0 or 12
 *   50      1   widened
 *   51      1   zero
 *   52      2   the most entries of the list of hot items; 0: there is no list
 *   54      2   zero
 *   56      8   half-life, microseconds
 *   64      8   epoch, microseconds
 *   72      8   base, half-lives since 2000-01-01 UTC
 *   80      8   newest, microseconds since 2000-01-01 UTC
 *   88      8   slack, 2^-12 hits at the base
 *   96      8   total, 2^-12 hits at the base
 *  104      8   expected_items
 *  112      8   fpr, IEEE 754
 *  120      4   extensible, exact: bytes of directory and blocks; flat: zero
 *  124      4   bytes after the counters
 *  128          counters (tbf_cells.cpp; exact: base/hash_list.hpp)
 */
void sb_tbf_encode_header(const sb_tbf *tbf, void *out) noexcept
{
	auto *bytes = static_cast<unsigned char *>(out);
	encode_common(bytes, value_type::tbf, tbf->flags, tbf->kind);
	store_le(bytes + 40, is_exact(tbf) ? tbf->item_count : tbf->block_count);
	store_le(bytes + 44, tbf->block_cells);
	bytes[46] = tbf->hash_count;
	bytes[47] = tbf->layout;
	bytes[48] = tbf->cell_bits;
	bytes[49] = tbf->unit_bits;
	bytes[50] = tbf->widened;
	bytes[51] = 0;
	store_le(bytes + 52, tbf->top);
	store_le(bytes + 54, uint16_t{0});
	store_le(bytes + 56, static_cast<uint64_t>(tbf->half_life));
	store_le(bytes + 64, static_cast<uint64_t>(tbf->epoch));
	store_le(bytes + 72, static_cast<uint64_t>(tbf->base));
	store_le(bytes + 80, static_cast<uint64_t>(tbf->newest));
	store_le(bytes + 88, tbf->slack);
	store_le(bytes + 96, tbf->total);
	store_le(bytes + 104, tbf->expected_items);
	store_le(bytes + 112, std::bit_cast<uint64_t>(tbf->fpr));
	store_le(bytes + 120, tbf->payload);
	store_le(bytes + 124, tbf->extra);
}

/*
 * Checks that half-life, epoch, base and newest agree with each other. If they do, calculations with them cannot
 * overflow 64 bits. Also checks that a filter without decay has no slack.
 */
static bool clock_is_valid(const sb_tbf *tbf)
{
	constexpr int64_t furthest = 2 * SB_TBF_MAX_TIME; /* no epoch of a hit begins at -furthest or before */

	if (tbf->half_life < 0 || tbf->half_life > SB_TBF_MAX_TIME)
		return false;
	if (tbf->half_life == 0)
		return tbf->epoch == 0 && tbf->base == 0 && tbf->newest == 0 && tbf->slack == 0 &&
			   (tbf->flags & SB_TBF_FORGOTTEN) == 0;
	/*
	 * Products instead of quotients, where this is possible: each look-up reads a header, and divisions would be a
	 * tenth of a look-up's time.
	 */
	const auto half_life = static_cast<i128>(tbf->half_life);
	const i128 base = tbf->base;
	if (tbf->epoch < 1 || tbf->epoch > SB_TBF_MAX_TIME || tbf->newest <= -furthest || tbf->newest >= furthest ||
		((base < 0 ? -base : base) - 1) * half_life > furthest)
		return false;
	if ((tbf->flags & SB_TBF_HAS_HITS) == 0)
		return tbf->base == 0 && tbf->newest == 0;
	return tbf->newest % tbf->epoch == 0 && tbf->newest < (base + SB_TBF_MAX_SPREAD + 1) * half_life;
}

static bool shape_is_valid(const sb_tbf *tbf)
{
	if (is_exact(tbf))
		return tbf->item_count <= SB_TBF_EXACT_ITEMS && tbf->block_cells == 0 && tbf->widened == 0 &&
			   tbf->expected_items == 0;
	if (tbf->block_count == 0 || tbf->block_count > SB_TBF_MAX_CELLS / SB_TBF_BLOCK ||
		tbf->block_cells < SB_TBF_MIN_BLOCK || tbf->block_cells > SB_TBF_BLOCK ||
		!std::has_single_bit(tbf->block_cells) || (tbf->block_count > 1 && tbf->block_cells != SB_TBF_BLOCK))
		return false;
	return tbf->widened <= std::countr_zero(sb_tbf_cells(tbf) / SB_TBF_MIN_BLOCK);
}

/*
 * Checks that an exact filter has neither minimum increase nor recurring minimum, and that recurring minimum is not
 * combined with what it excludes: decay, a list of hot items, minimum increase. Also checks that bytes after the counters are there only if an option puts them there: recurring
 * minimum has its table there, and a filter with `top` has the list of hot items.
 */
static bool options_are_valid(const sb_tbf *tbf)
{
	bool recurring = (tbf->flags & SB_TBF_RECURRING_MINIMUM) != 0;
	if (is_exact(tbf) && (tbf->flags & SB_TBF_OPTIONS) != 0)
		return false;
	if (recurring &&
		(tbf->half_life != 0 || tbf->top != 0 || (tbf->flags & SB_TBF_MINIMUM_INCREASE) != 0))
		return false;
	if (recurring && tbf->extra % recurring_entry_size != 0)
		return false;
	return tbf->top <= SB_TBF_MAX_TOP &&
		   (tbf->extra == 0 || ((tbf->flags & SB_TBF_HAS_HITS) != 0 && (recurring || tbf->top != 0)));
}

/*
 * Checks the size of the payload. A flat filter has none. A payload that is not empty must be longer than the
 * directory with which it begins, so that a look-up can ask for any entry of the directory.
 */
static bool payload_is_valid(const sb_tbf *tbf)
{
	const bool exact = is_exact(tbf);
	if (exact && tbf->item_count != 0 && tbf->payload == 0)
		return false;
	if ((!exact && tbf->layout == SB_TBF_FLAT) || tbf->payload == 0)
		return tbf->payload == 0;
	const uint64_t directory = exact ? list_of(tbf, nullptr).directory() : uint64_t{4} * tbf->block_count;
	return directory != 0 && (tbf->flags & SB_TBF_HAS_HITS) != 0 && tbf->payload > directory;
}

sb_status sb_tbf_decode_header(const void *data, size_t have, size_t total, sb_tbf *out) noexcept
{
	const auto *bytes = static_cast<const unsigned char *>(data);
	uint16_t flags;

	*out = {};
	if (sb_status status = decode_common(data, have, SB_TBF_HEADER, value_type::tbf,
										 SB_TBF_HAS_HITS | SB_TBF_FORGOTTEN | SB_TBF_OPTIONS | SB_TBF_EXACT, &flags,
										 &out->kind);
		status != SB_OK)
		return status;
	out->flags = flags;
	(is_exact(out) ? out->item_count : out->block_count) = load_le<uint32_t>(bytes + 40);
	out->block_cells = load_le<uint16_t>(bytes + 44);
	out->hash_count = bytes[46];
	out->layout = bytes[47];
	out->cell_bits = bytes[48];
	out->unit_bits = bytes[49];
	out->widened = bytes[50];
	out->half_life = static_cast<int64_t>(load_le<uint64_t>(bytes + 56));
	out->epoch = static_cast<int64_t>(load_le<uint64_t>(bytes + 64));
	out->base = static_cast<int64_t>(load_le<uint64_t>(bytes + 72));
	out->newest = static_cast<int64_t>(load_le<uint64_t>(bytes + 80));
	out->slack = load_le<uint64_t>(bytes + 88);
	out->total = load_le<uint64_t>(bytes + 96);
	out->expected_items = load_le<uint64_t>(bytes + 104);
	out->fpr = std::bit_cast<double>(load_le<uint64_t>(bytes + 112));
	out->payload = load_le<uint32_t>(bytes + 120);
	out->extra = load_le<uint32_t>(bytes + 124);
	out->top = load_le<uint16_t>(bytes + 52);

	bool hits = (flags & SB_TBF_HAS_HITS) != 0;
	if (!shape_is_valid(out) || !clock_is_valid(out) || out->hash_count == 0 || out->hash_count > SB_TBF_MAX_HASHES ||
		out->layout > SB_TBF_EXTENSIBLE || (out->unit_bits != 0 && out->unit_bits != unit_bits_of_parts(out)) ||
		(out->half_life != 0 && out->unit_bits == 0) ||
		(out->cell_bits != 8 && out->cell_bits != 16 && out->cell_bits != 32 && out->cell_bits != 64) ||
		bytes[51] != 0 || load_le<uint16_t>(bytes + 54) != 0 || !options_are_valid(out) || !payload_is_valid(out) ||
		!(out->fpr >= SB_BF_MIN_FPR && out->fpr <= SB_BF_MAX_FPR) || out->slack >= SB_TBF_MAX_CELL ||
		out->total >> 63 || out->expected_items >> 63 ||
		(!hits && (out->slack || out->total || (flags & SB_TBF_FORGOTTEN))) || (hits && out->kind.code == SB_KIND_NONE))
		return SB_BAD_HEADER;
	if (sb_tbf_size(out) > SB_MAX_BYTES)
		return SB_TOO_LARGE;
	return total == sb_tbf_size(out) ? SB_OK : SB_BAD_LENGTH;
}

/* ------------------------------------------------------------------- joining */

sb_status sb_tbf_plan_merge(const sb_tbf *a, const sb_tbf *b, sb_tbf *out, sb_difference *difference) noexcept
{
	struct
	{
		const char *name;
		int64_t left, right;
	} must_agree[] = {
		{"hashes", a->hash_count, b->hash_count},
		{"half_life", a->half_life, b->half_life},
		{"epoch", a->epoch, b->epoch},
	};
	if (((a->flags | b->flags) & SB_TBF_RECURRING_MINIMUM) != 0)
	{
		*difference = {"recurring_minimum", (a->flags & SB_TBF_RECURRING_MINIMUM) != 0 ? 1.0 : 0.0,
					   (b->flags & SB_TBF_RECURRING_MINIMUM) != 0 ? 1.0 : 0.0};
		return SB_DIFFERENT;
	}
	for (const auto &field : must_agree)
		if (field.left != field.right)
		{
			*difference = {field.name, static_cast<double>(field.left), static_cast<double>(field.right)};
			return SB_DIFFERENT;
		}

	/* an exact filter counts as the smaller one, since it has 0 cells */
	const sb_tbf *small = sb_tbf_cells(a) <= sb_tbf_cells(b) ? a : b;
	const sb_tbf *large = small == a ? b : a;
	const int halvings = is_exact(small) ? 0 : doublings(sb_tbf_cells(small), sb_tbf_cells(large));
	if (halvings < 0)
	{
		*difference = {"cells", static_cast<double>(sb_tbf_cells(a)), static_cast<double>(sb_tbf_cells(b))};
		return SB_DIFFERENT;
	}
	*out = *large;
	clear_hits(out);
	out->flags |= (a->flags | b->flags) & SB_TBF_MINIMUM_INCREASE;
	out->kind = a->kind.code == SB_KIND_NONE ? b->kind : a->kind;
	out->unit_bits = a->unit_bits != 0 || b->unit_bits != 0 ? unit_bits_of_parts(out) : 0;
	out->layout = std::max(a->layout, b->layout);
	out->top = std::min(a->top, b->top); /* 0 if one of them has no list, since nothing is known of its hot items */
	out->expected_items = std::max(a->expected_items, b->expected_items);
	out->fpr = std::fmax(a->fpr, b->fpr);
	out->widened = static_cast<uint8_t>(std::max<int>(large->widened, small->widened + halvings));
	return SB_OK;
}

/* ------------------------------------------------------------------- checking */

/*
 * Could the core have stored these bytes? Counters, exact items and the table of recurring minimum can be stored in one
 * way only, so that equal filters have equal bytes. The list of hot items can be stored in several.
 */

/* Returns whether these counters would be packed into exactly these bytes. Overwrites them. */
static bool is_canonical(gathered *nonzero, uint32_t cells, const unsigned char *bytes, size_t size)
{
	unsigned char again[SB_TBF_BLOCK * 8 + SB_TBF_BLOCK]; /* more than any block takes, see below */
	levels l = levels_of(nonzero);

	/*
	 * A packed block has its counters cut into levels (tbf_packed.hpp). Two levels, of 32 and of 30 bits, hold any
	 * counters. With them each counter takes 62 bits, a go-on bit (does it go on in the second level?) and a bit of the
	 * bitmap, which makes 8 bytes, and the block has a head. The levels of least cost take at most some fifty bytes
	 * more than that, because bit strings are filled up to whole bytes.
	 */
	uint64_t wanted = packed_size(cells, l);
	if (wanted != size || wanted > sizeof again)
		return false;
	pack(nonzero, cells, &l, again);
	return std::memcmp(again, bytes, size) == 0;
}

/*
 * Checks the table of recurring minimum. The hashes must ascend, so no hash is there twice. Bits outside
 * SB_KEPT_HASH_MASK must be 0. The hits of an entry must not be 0, and must be below SB_TBF_MAX_CELL. If the counters
 * count whole hits, the hits of each entry must be a whole number, too.
 */
static sb_status check_table(const sb_tbf *tbf, const unsigned char *table)
{
	recurring_entry before = {};
	for (uint64_t i = 0, n = recurring_entries(tbf); i < n; i++)
	{
		if (i % 4096 == 0 && stop_wanted())
			return SB_INTERRUPTED;
		recurring_entry entry;
		read_entry(table, i, &entry);
		if ((i > 0 && entry.hash <= before.hash) || (entry.hash & ~SB_KEPT_HASH_MASK) != 0 || entry.hits == 0 ||
			entry.hits >= SB_TBF_MAX_CELL || (tbf->unit_bits == 0 && entry.hits % (1u << SB_TBF_HIT_BITS) != 0))
			return SB_BAD_CELLS;
		before = entry;
	}
	return SB_OK;
}

static sb_status check_counters(const sb_tbf *tbf, const void *cells)
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	gathered counters;
	uint64_t largest = 0;
	size_t next = SB_TBF_HEADER + directory_size(tbf);
	for (uint32_t block = 0; block < tbf->block_count; block++)
	{
		uint64_t most;
		size_t offset;
		size_t size;
		if (sb_status status = stop_wanted() ? SB_INTERRUPTED : gather_block(tbf, cells, block, &counters, &most);
			status != SB_OK)
			return status;
		largest |= most;
		if (tbf->layout == SB_TBF_FLAT || most == 0)
			continue;
		directory_range(tbf, block, &offset, &size);
		const unsigned char *directory = bytes + (offset - SB_TBF_HEADER);
		if (sb_status status = block_range(tbf, block, directory, &offset, &size); status != SB_OK)
			return status;
		if (offset != next || !is_canonical(&counters, tbf->block_cells, bytes + (offset - SB_TBF_HEADER), size))
			return SB_BAD_CELLS;
		next = offset + size;
	}

	/*
	 * Equal filters have equal bytes. So cells must have the narrowest width that holds the largest counter, and the
	 * payload must be empty if all counters are 0.
	 */
	if (tbf->layout == SB_TBF_EXTENSIBLE &&
		(next != SB_TBF_HEADER + counters_size(tbf) || (largest == 0) != (tbf->payload == 0)))
		return SB_BAD_CELLS;
	if (largest >= SB_TBF_MAX_CELL || narrowest_cell(largest) != tbf->cell_bits ||
		(largest != 0 && (tbf->flags & SB_TBF_HAS_HITS) == 0))
		return SB_BAD_CELLS;
	return SB_OK;
}

sb_status sb_tbf_check(const sb_tbf *tbf, const void *cells) noexcept
{
	const unsigned char *extra = static_cast<const unsigned char *>(cells) + counters_size(tbf);
	top_section list;
	uint64_t largest;
	sb_status status = is_exact(tbf) ? check_list(list_of(tbf, cells), &largest) : check_counters(tbf, cells);
	if (status == SB_OK && is_exact(tbf) && narrowest_cell(largest) != tbf->cell_bits)
		status = SB_BAD_CELLS;
	if (status == SB_OK)
		status = check_table(tbf, extra);
	if (status == SB_OK && has_list(tbf))
		status = top_open(extra, tbf->extra, tbf->top, tbf->total, &list);
	return status;
}
