/*
 * bf.cpp: the Bloom filter in lines of 512 bits: how large it is, its header, and what is done with a whole filter
 * (unite, intersect, fold, widen, measure). sb_bf.h says what a Bloom filter is, and promises what these functions do.
 * The inner loops over bits are in bf_lines.cpp, the exact form in bf_exact.cpp, building in bf_builder.cpp.
 *
 * How a hash becomes bits; h is the hash with its 16 lowest bits set to 0:
 *
 *   line   floor(h * line_count / 2^64)
 *   bits   the top nine bits of x * G^i mod 2^32, for i = 0 .. hash_count - 1; x = probe_of(h), G = 0x9e3779b9
 *
 * Only the 48 highest bits of a hash count, so that an exact filter need not store more of each hash. An item that was
 * not added has the same 48 bits as one of n items with a probability of n / 2^48. That adds 3.6e-7 to the rate of a
 * filter of 100 million items.
 *
 * The line is the high part of a product, not a remainder. So lines are in the order of hashes, and if the number of
 * lines is halved, the lines 2i and 2i + 1 become line i. Folding and widening rely on this.
 *
 * The bits follow from the 48 bits mixed into a number of 32 (probe_of() in bf_lines.hpp), which is multiplied by
 * powers of the golden ratio, as in RocksDB's FastLocalBloom. That is cheap in vector registers, and the bits of an
 * item are one of 2^32 patterns. Double hashing within a line would have only 2^18 patterns, and so no rate below
 * 1.5e-4.
 *
 * Measured with 10^8 items and 10^8 look-ups: this scheme, and an earlier one with all 64 bits of a hash, of which the
 * low 32 chose the bits in the line. Where a rate of 0.001 was asked for, it is 0.000994 with 48 bits and 0.000992
 * with 64 (standard error 0.3 %). Where 0.00001 was asked for, it is 1.04e-5 and 0.98e-5 (standard error 2 %). With 48
 * bits bf_agg's builder takes 1.3 to 2.9 % more instructions per item.
 *
 * A filter of megabytes takes milliseconds. So loops over lines run in pieces (in_pieces(), base/stop.hpp), between
 * which the caller is asked whether to stop. Bits follow from integers alone. Sizes are planned with doubles, which
 * are cut to coarse steps (bf_formula.cpp), so that all machines plan the same size.
 */
#include "bf/bf.hpp"
#include "base/bits.hpp"
#include "base/hash_set.hpp"
#include "base/header.hpp"
#include "base/stop.hpp"
#include "bf/bf_exact.hpp"
#include "bf/bf_lines.hpp"
#include "bf/bf_formula.hpp"

#include <algorithm>
#include <cmath>

using namespace streambloom;

static constexpr int line_bits = SB_BF_LINE * 8;

/* ---------------------------------------------------------------- parameters */

/* The rate for which this thread last called search_load(), and the result. */
static thread_local constinit known_load last_search = {};

/* Finds the number of hashes with which a line may hold the most items at this rate. */
static known_load search_load(double fpr)
{
	known_load best = {fpr, 0, 1};
	for (int k = 1; k <= SB_BF_MAX_HASHES; k++)
		if (double load = blocked_load(line_bits, k, fpr); load > best.load)
		{
			best.load = load;
			best.hash_count = static_cast<uint8_t>(k);
		}
	return best;
}

double sb_bf_items_per_line(double fpr, uint8_t *hash_count) noexcept
{
	*hash_count = 1;
	if (!(fpr >= SB_BF_MIN_FPR && fpr <= SB_BF_MAX_FPR))
		return 0;
	if (last_search.fpr != fpr)
		last_search = search_load(fpr);
	*hash_count = last_search.hash_count;
	return last_search.load;
}

sb_status sb_bf_plan(uint64_t items, double fpr, bool self_sized, sb_bf *out) noexcept
{
	uint8_t hash_count;
	const double load = sb_bf_items_per_line(fpr, &hash_count);
	if (items == 0 || load == 0)
		return SB_OUT_OF_RANGE;

	*out = {};
	double needed = std::ceil(static_cast<double>(items) / load);
	if (!(needed <= SB_BF_MAX_LINES))
		return SB_TOO_LARGE;
	auto lines = static_cast<uint64_t>(needed);
	if (self_sized)
		lines = std::bit_ceil(lines);
	else if (int extra = static_cast<int>(std::bit_width(lines)) - 9; extra > 0)
		lines = shift_right_up(lines, static_cast<uint64_t>(extra)) << extra;
	if (lines > SB_BF_MAX_LINES)
		return SB_TOO_LARGE;
	out->line_count = static_cast<uint32_t>(lines);
	out->hash_count = hash_count;
	out->expected_items = self_sized ? 0 : items;
	out->fpr = fpr;
	return SB_OK;
}

size_t sb_bf_size(const sb_bf *bf) noexcept
{
	return SB_BF_HEADER + (sb_bf_is_exact(bf) ? size_t{bf->payload} : line_bytes(bf));
}

/* -------------------------------------------------------------------- header */

/*
 * The header after its first 40 bytes, which are the same for all types (base/header.hpp):
 *
 *   offset size
 *   40      4   lines; exact: items
 *   44      1   hashes
 *   45      1   widened; exact: zero
 *   46      2   zero
 *   48      8   expected_items; exact: bytes after the header
 *   56      8   fpr, IEEE 754
 *   64          lines of 64 bytes; bit b of a line is bit b % 8 of byte b / 8. Exact: see bf_exact.hpp
 */
void sb_bf_encode_header(const sb_bf *bf, void *out) noexcept
{
	auto *bytes = static_cast<unsigned char *>(out);
	encode_common(bytes, value_type::bf, bf->flags, bf->kind);
	store_le(bytes + 40, sb_bf_is_exact(bf) ? bf->item_count : bf->line_count);
	bytes[44] = bf->hash_count;
	bytes[45] = bf->widened;
	store_le(bytes + 46, uint16_t{0});
	store_le(bytes + 48, sb_bf_is_exact(bf) ? uint64_t{bf->payload} : bf->expected_items);
	store_le(bytes + 56, std::bit_cast<uint64_t>(bf->fpr));
}

/* True if the fields that tell the size of the filter are in range and agree with each other. */
static bool size_is_valid(const sb_bf *bf)
{
	if (!sb_bf_is_exact(bf))
		return bf->line_count >= 1 && bf->line_count <= SB_BF_MAX_LINES &&
			   bf->widened <= std::countr_zero(bf->line_count);
	return bf->item_count <= SB_BF_EXACT_ITEMS && (bf->item_count == 0) == (bf->payload == 0) &&
		   (bf->item_count == 0 || bf->kind.code != SB_KIND_NONE) && bf->widened == 0;
}

sb_status streambloom::decode_header(const void *data, size_t have, sb_bf *out)
{
	const auto *bytes = static_cast<const unsigned char *>(data);

	*out = {};
	if (sb_status status = decode_common(data, have, SB_BF_HEADER, value_type::bf, SB_BF_EXACT, &out->flags,
										 &out->kind);
		status != SB_OK)
		return status;
	(sb_bf_is_exact(out) ? out->item_count : out->line_count) = load_le<uint32_t>(bytes + 40);
	out->hash_count = bytes[44];
	out->widened = bytes[45];
	const auto number = load_le<uint64_t>(bytes + 48);
	if (sb_bf_is_exact(out) && number > SB_MAX_BYTES)
		return SB_BAD_HEADER;
	out->payload = sb_bf_is_exact(out) ? static_cast<uint32_t>(number) : 0;
	out->expected_items = sb_bf_is_exact(out) ? 0 : number;
	out->fpr = std::bit_cast<double>(load_le<uint64_t>(bytes + 56));

	if (!size_is_valid(out) || load_le<uint16_t>(bytes + 46) != 0 || out->hash_count == 0 ||
		out->hash_count > SB_BF_MAX_HASHES || !(out->fpr >= SB_BF_MIN_FPR && out->fpr <= SB_BF_MAX_FPR) ||
		out->expected_items >> 63)
		return SB_BAD_HEADER;
	return SB_OK;
}

sb_status sb_bf_decode_header(const void *data, size_t have, size_t total, sb_bf *out) noexcept
{
	const sb_status status = decode_header(data, have, out);
	return status == SB_OK && total != sb_bf_size(out) ? SB_BAD_LENGTH : status;
}

sb_status sb_bf_check(const sb_bf *bf, const void *stored) noexcept
{
	uint64_t most;
	if (sb_bf_is_exact(bf))
		return check_list(list_of(bf, stored), &most);
	if (bf->kind.code != SB_KIND_NONE)
		return SB_OK;

	/* A filter without a kind holds no items; look-ups rely on this. */
	bool any = false;
	const auto *bytes = static_cast<const unsigned char *>(stored);
	const sb_status status = in_pieces(line_bytes(bf), bytes_at_once, [&](size_t first, size_t count) {
		any = any || std::any_of(bytes + first, bytes + first + count, [](unsigned char byte) { return byte != 0; });
	});
	return status == SB_OK && any ? SB_BAD_CELLS : status;
}

/* --------------------------------------------------------------------- items */

sb_status streambloom::add_set(const sb_bf *bf, void *lines, const sb_hash_set *set)
{
	bool stopped = false; /* if true, the rest of the walk does nothing */
	in_batches(set, [&](const uint64_t *hashes, const uint64_t *, size_t count) {
		stopped = stopped || stop_wanted();
		if (!stopped)
			sb_bf_add_many(bf, lines, hashes, count);
	});
	return stopped ? SB_INTERRUPTED : SB_OK;
}

/* ------------------------------------------------------ union, intersection, folding */

/* How many lines are processed before the caller is asked again whether to stop. */
static constexpr size_t lines_at_once = bytes_at_once / SB_BF_LINE;
static_assert(std::has_single_bit(lines_at_once), "combine_filters() needs whole groups of 2^halvings lines");

/*
 * How many folded lines, each the union of 2^halvings lines, are made before the caller is asked again whether to stop:
 * as many as lines_at_once lines give, but at least one.
 */
static size_t folded_at_once(int halvings)
{
	return std::max(lines_at_once >> halvings, size_t{1});
}

sb_status sb_bf_plan_union(const sb_bf *a, const sb_bf *b, sb_bf *out, sb_difference *difference) noexcept
{
	if (a->hash_count != b->hash_count)
	{
		*difference = {"hashes", static_cast<double>(a->hash_count), static_cast<double>(b->hash_count)};
		return SB_DIFFERENT;
	}
	const sb_bf *small = a->line_count <= b->line_count ? a : b; /* an exact filter has no lines */
	const sb_bf *large = a->line_count <= b->line_count ? b : a;
	const bool exact = sb_bf_is_exact(small);
	const int halvings = exact ? 0 : doublings(small->line_count, large->line_count);
	if (halvings < 0)
	{
		*difference = {"bytes", static_cast<double>(sb_bf_size(a)), static_cast<double>(sb_bf_size(b))};
		return SB_DIFFERENT;
	}
	*out = *large;
	out->item_count = 0;
	out->payload = 0;
	out->kind = a->kind.code == SB_KIND_NONE ? b->kind : a->kind;
	out->expected_items = std::max(a->expected_items, b->expected_items);
	out->fpr = std::fmax(a->fpr, b->fpr);
	out->widened = static_cast<uint8_t>(std::max<int>(large->widened, small->widened + halvings));
	return SB_OK;
}

/* Cuts the lines of dst into pieces and calls combine(dst, src, lines, halvings) for each. */
template <typename Combine>
static sb_status combine_filters(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines,
								 Combine combine)
{
	const int halvings = exact_log2(dst->line_count / src->line_count);
	auto *to = static_cast<unsigned char *>(dst_lines);
	const auto *from = static_cast<const unsigned char *>(src_lines);

	/*
	 * A group of 2^halvings lines of dst belongs to one line of src. lines_at_once is a power of two: so a piece has
	 * whole groups, or is a part of one group.
	 */
	return in_pieces(dst->line_count, lines_at_once, [&](size_t first, size_t count) {
		combine(to + first * SB_BF_LINE, from + (first >> halvings) * SB_BF_LINE, count, halvings);
	});
}

sb_status sb_bf_combine(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines,
						bool intersect) noexcept
{
	if (intersect)
		return combine_filters(dst, dst_lines, src, src_lines, and_lines);
	if (sb_bf_is_exact(src))
		return add_exact(dst, dst_lines, src, src_lines);
	return combine_filters(dst, dst_lines, src, src_lines, or_lines);
}

/*
 * Line number `line` of src has the hashes from line / from_count * 2^64 up to (line + 1) / from_count * 2^64. The
 * inner loop goes through the lines of dst in which these hashes lie.
 */
sb_status streambloom::map_lines(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines)
{
	auto *to = static_cast<unsigned char *>(dst_lines);
	const auto *from = static_cast<const unsigned char *>(src_lines);
	const uint64_t to_count = dst->line_count;
	const uint64_t from_count = src->line_count;
	return in_pieces(from_count, lines_at_once, [&](size_t first, size_t count) {
		for (uint64_t line = first; line < first + count; line++)
		{
			const uint64_t end = ((line + 1) * to_count + from_count - 1) / from_count;
			for (uint64_t i = line * to_count / from_count; i < end; i++)
				or_lines(to + i * SB_BF_LINE, from + line * SB_BF_LINE, 1, 0);
		}
	});
}

sb_status sb_bf_fold(sb_bf *bf, const void *lines, int halvings, void *out) noexcept
{
	if (sb_bf_is_exact(bf) || halvings < 0 || halvings > std::countr_zero(bf->line_count))
		return SB_OUT_OF_RANGE;
	bf->line_count >>= halvings;
	bf->widened = static_cast<uint8_t>(std::max(0, bf->widened - halvings));
	auto *to = static_cast<unsigned char *>(out);
	const auto *from = static_cast<const unsigned char *>(lines);
	return in_pieces(bf->line_count, folded_at_once(halvings), [&](size_t first, size_t count) {
		fold_lines(to + first * SB_BF_LINE, from + (first << halvings) * SB_BF_LINE, count, size_t{1} << halvings);
	});
}

/* ------------------------------------------------------------------ measures */

int sb_bf_line_bits(const void *line) noexcept
{
	return static_cast<int>(count_folded(static_cast<const unsigned char *>(line), 1, 1));
}

/*
 * Estimates the number of items of the filter. `set` is how many bits are set in all if each 2^halvings neighbouring
 * lines are united. A united line has -ln(1 - fill) / (1 - (1 - 1/512)^k) items on average, where fill is the mean fill
 * of the united lines (Swamidass and Baldi 2007, with a Poisson load). Returns a negative number if all bits are set.
 */
static double estimate_items(const sb_bf *bf, uint64_t set, int halvings)
{
	size_t folded = bf->line_count >> halvings;

	/* The mean fill under a Poisson load is 1 - exp(-load * (1 - (1 - 1/512)^k)). */
	double bits = static_cast<double>(folded) * line_bits;
	double empty = 1 - static_cast<double>(set) / bits;
	if (empty <= 0)
		return -1;
	double covered = -std::expm1(bf->hash_count * std::log1p(-1.0 / line_bits));
	return static_cast<double>(folded) * (std::fabs(std::log(empty)) / covered);
}

/*
 * The standard error of the result of estimate_items(). For a line with a Poisson load of mean L, let p be the
 * probability that an item covers a given bit, and p2 the probability that it covers at least one of two given bits.
 * The number of empty bits of a line has the mean 512 exp(-L p). It varies because the bits are random, and because
 * the load is random. But the number of items in all lines together is fixed, so the variance that a random total
 * would add is subtracted. With b = 512 this leaves var = b exp(-L p) + b (b - 1) exp(-L p2) - b^2 exp(-2 L p)
 * (1 + L p^2) for one line. One empty bit less in a line raises the estimate of L by 1 / (b p exp(-L p)).
 */
static double error_of_items(const sb_bf *bf, double items, int halvings)
{
	const double folded = bf->line_count >> halvings;
	const double load = items / folded;
	const double covers = -std::expm1(bf->hash_count * std::log1p(-1.0 / line_bits));
	const double covers_one = -std::expm1(bf->hash_count * std::log1p(-2.0 / line_bits));
	const double b = line_bits;
	const double empty = std::exp(-load * covers);
	const double variance = b * empty + b * (b - 1) * std::exp(-load * covers_one) -
							b * b * empty * empty * (1 + load * covers * covers);
	return std::sqrt(folded * std::max(variance, 0.0)) / (b * covers * empty);
}

/*
 * Estimates the number of items from the bits that are set.
 *
 * A filter that was widened j times was made of a small filter. It has each bit of the small filter in 2^j lines, but
 * the bits of an item that was added later in one line only. So the lines are folded to the size of the small filter,
 * at which each item has its bits once. If all bits are set at that size, they tell nothing: then twice the size is
 * tried, and so on. At such a size the items of the small filter count several times, and the estimate is too large.
 */
static sb_status count_items(const sb_bf *bf, const void *lines, double *out, double *error)
{
	const auto *from = static_cast<const unsigned char *>(lines);
	*error = 0;
	if (sb_bf_is_exact(bf))
	{
		*out = bf->item_count;
		return SB_OK;
	}
	double items = -1;
	for (int halvings = bf->widened; halvings >= 0 && items < 0; halvings--)
	{
		uint64_t set = 0;
		const size_t folded = bf->line_count >> halvings;
		sb_status status = in_pieces(folded, folded_at_once(halvings), [&](size_t first, size_t count) {
			set += count_folded(from + (first << halvings) * SB_BF_LINE, count, size_t{1} << halvings);
		});
		if (status != SB_OK)
			return status;
		items = estimate_items(bf, set, halvings);
		*error = items < 0 ? INFINITY : error_of_items(bf, items, halvings);
	}
	*out = items < 0 ? INFINITY : items;
	return SB_OK;
}

sb_status sb_bf_items(const sb_bf *bf, const void *lines, double *out) noexcept
{
	double error;
	return count_items(bf, lines, out, &error);
}

double sb_bf_room(const sb_bf *bf) noexcept
{
	if (sb_bf_is_exact(bf))
		return SB_BF_EXACT_ITEMS;
	return bf->line_count * blocked_load(line_bits, bf->hash_count, bf->fpr);
}

sb_status streambloom::load_of_lines(const sb_bf *bf, const void *lines, double *out)
{
	const auto *from = static_cast<const unsigned char *>(lines);
	uint64_t set = 0;
	const sb_status status = in_pieces(bf->line_count, lines_at_once, [&](size_t first, size_t count) {
		set += count_folded(from + first * SB_BF_LINE, count, 1);
	});
	const double items = estimate_items(bf, set, 0);
	*out = items < 0 ? INFINITY : items / bf->line_count;
	return status;
}

/*
 * Calls visit(first line, count) for some runs of neighbouring lines, which begin at equal distances. All runs together
 * have 32 lines; a filter of no more lines is one run. Returns how many lines the runs have.
 */
template <typename Visit>
static uint32_t for_each_run(const sb_bf *bf, const void *lines, Visit visit)
{
	static constexpr uint32_t runs = 4;
	static constexpr uint32_t lines_of_run = 8;
	const auto *from = static_cast<const unsigned char *>(lines);
	if (bf->line_count <= runs * lines_of_run)
	{
		visit(from, size_t{bf->line_count});
		return bf->line_count;
	}
	for (uint32_t run = 0; run < runs; run++)
		visit(from + size_t{bf->line_count / runs * run} * SB_BF_LINE, size_t{lines_of_run});
	return runs * lines_of_run;
}

/* REQUIRES: exponent >= 1. */
static double whole_power(double base, int exponent)
{
	double power = base;
	for (int i = 1; i < exponent; i++)
		power *= base;
	return power;
}

/*
 * True if the mean fill of up to 32 lines, which for_each_run() chooses, shows that the filter's rate is clearly below
 * `rate`. For most filters the result is true, and then the caller is done. Otherwise the caller looks at the fill of
 * each of these lines, which takes five times as long. The rate is about fill^k * exp(k (k - 1) / 2 * v), where v is
 * the relative variance of the lines' fill. The v taken here is a little too large.
 */
static bool is_clearly_below(const sb_bf *bf, const void *lines, double rate)
{
	uint64_t set = 0;
	const uint32_t sample = for_each_run(
		bf, lines, [&](const unsigned char *line, size_t count) { set += count_folded(line, count, 1); });
	if (set == 0)
		return true;
	const double k = bf->hash_count;
	const double fill = static_cast<double>(set) / (static_cast<double>(sample) * line_bits);
	const double x = k * (k - 1) / 2 * (1 - fill) * k / line_bits / fill;
	const double about = whole_power(fill, bf->hash_count) * (1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4))));
	return x < 2 && about < 0.75 * rate;
}

double sb_bf_sample_fpr(const sb_bf *bf, const void *lines, double above) noexcept
{
	if (sb_bf_is_exact(bf) || (above > 0 && is_clearly_below(bf, lines, above)))
		return 0;
	double sum = 0;
	const uint32_t sample = for_each_run(bf, lines, [&](const unsigned char *line, size_t count) {
		for (size_t i = 0; i < count; i++, line += SB_BF_LINE)
			sum += whole_power(static_cast<double>(count_folded(line, 1, 1)) / line_bits, bf->hash_count);
	});
	return sum / sample;
}

sb_status sb_bf_measure(const sb_bf *bf, const void *lines, sb_bf_stats *out) noexcept
{
	uint64_t of_bits[line_bits + 1] = {};
	double sum = 0;

	*out = {};
	if (sb_bf_is_exact(bf))
		return sb_bf_items(bf, lines, &out->items);
	out->bits = static_cast<uint64_t>(bf->line_count) * line_bits;
	sb_status status = in_pieces(bf->line_count, lines_at_once, [&](size_t first, size_t count) {
		count_by_bits(static_cast<const unsigned char *>(lines) + first * SB_BF_LINE, count, of_bits);
	});
	if (status != SB_OK)
		return status;
	for (int bits = 1; bits <= line_bits; bits++)
	{
		out->bits_set += of_bits[bits] * static_cast<uint64_t>(bits);
		sum += static_cast<double>(of_bits[bits]) * std::pow(static_cast<double>(bits) / line_bits, bf->hash_count);
	}
	out->current_fpr = sum / bf->line_count;
	return count_items(bf, lines, &out->items, &out->items_error);
}
