/*
 * abf.cpp: the parameters, the size and the header of an abf, the plan of a union, how many bits are set, and the check
 * of slices from outside. See sb_abf.h.
 *
 * An abf has k + l *slices* of bits. The stream of items is cut into *generations*. Each slice gets the items of k
 * generations, and l of them are at least as long as the window.
 */
#include "abf/abf.hpp"
#include "base/header.hpp"
#include "base/stop.hpp"

#include <bit>
#include <cmath>

using namespace streambloom;

/* ---------------------------------------------------------------- parameters */

size_t sb_abf_slice_bytes(const sb_abf *abf) noexcept
{
	return abf->blocks * block_bytes(*abf);
}

size_t sb_abf_size(const sb_abf *abf) noexcept
{
	return SB_ABF_HEADER + (abf->filled ? sb_abf_slice_bytes(abf) : 0);
}

int64_t sb_abf_length(const sb_abf *abf) noexcept
{
	return (abf->window - 1) / abf->generations + 1;
}

int64_t sb_abf_generation(const sb_abf *abf, int64_t position) noexcept
{
	return floor_divide(position, sb_abf_length(abf));
}

/*
 * Cuts a slice of `bits` bits into blocks. Let n = ceil(bits / SB_ABF_BLOCK_BITS). If n is 1, the slice is one block
 * of as many 64-bit words as its bits need. Otherwise it gets n blocks of SB_ABF_BLOCK_BITS bits, or n - 1 larger
 * blocks if these take no more bits in all. Values just above an integer are rounding noise between C libraries: they
 * are treated as that integer.
 */
static void shape(double bits, sb_abf *out)
{
	const double more = std::max(std::ceil(bits / SB_ABF_BLOCK_BITS - 1e-6), 1.0);
	const double fewer = std::max(more - 1, 1.0);
	const double words = std::clamp(std::ceil(bits / fewer / 64 - 1e-6), 1.0, SB_ABF_MAX_BLOCK_BITS / 64.0);
	const bool take_fewer = fewer * words * 64 <= more * SB_ABF_BLOCK_BITS;
	out->blocks = static_cast<uint32_t>(take_fewer ? fewer : more);
	out->block_bits = static_cast<uint16_t>(take_fewer ? 64 * words : SB_ABF_BLOCK_BITS);
}

sb_status sb_abf_plan(int64_t window, bool by_time, uint64_t items, double fpr, int hash_count, int generations,
					  sb_abf *out) noexcept
{
	*out = {};
	if (window < 1 || window > SB_ABF_MAX_TIME || !(fpr >= SB_BF_MIN_FPR && fpr <= SB_BF_MAX_FPR))
		return SB_OUT_OF_RANGE;
	if (!by_time)
		items = static_cast<uint64_t>(window);
	if (items < 1 || items > static_cast<uint64_t>(SB_ABF_MAX_TIME))
		return SB_OUT_OF_RANGE;
	if (hash_count != SB_ABF_CHOOSE && (hash_count < 1 || hash_count > SB_ABF_MAX_HASHES))
		return SB_OUT_OF_RANGE;
	if (generations != SB_ABF_CHOOSE && (generations < 1 || generations > SB_ABF_MAX_GENERATIONS))
		return SB_OUT_OF_RANGE;
	if (generations == SB_ABF_CHOOSE)
	{
		int k = 1; /* not SB_ABF_CHOOSE: k is chosen below, for the l that was limited by the window */
		sb_abf_choose(fpr, &k, &generations);
		/* a generation has at least one item, or one microsecond */
		generations = static_cast<int>(std::min<int64_t>(generations, window));
	}
	sb_abf_choose(fpr, &hash_count, &generations);

	out->by_time = by_time;
	out->hash_count = static_cast<uint8_t>(hash_count);
	out->generations = static_cast<uint8_t>(generations);
	out->window = window;
	out->expected = items;
	out->fpr = fpr;

	/*
	 * A complete slice has the items of k generations. In a filter by time, l generations together have the items that
	 * are expected in one window. But the length of a generation is rounded up to whole microseconds. If the window is
	 * so short that this matters, l generations are longer than the window, and have more items.
	 */
	double of_generation = static_cast<double>(sb_abf_length(out));
	if (by_time && of_generation * generations > 1.01 * static_cast<double>(window))
		of_generation *= static_cast<double>(items) / static_cast<double>(window);
	else if (by_time)
		of_generation = static_cast<double>(items) / generations;
	double load = sb_abf_load(hash_count, generations, fpr, 0);
	double bits = hash_count * of_generation / load;
	if (bits >= 2 * SB_ABF_BLOCK_BITS)
	{
		load = sb_abf_load(hash_count, generations, fpr, SB_ABF_BLOCK_BITS);
		bits = hash_count * of_generation / load;
	}
	const int slices = hash_count + generations;
	if (!(bits * slices / 8 <= SB_ABF_MAX_BYTES))
		return SB_TOO_LARGE;
	shape(bits, out);
	return sb_abf_slice_bytes(out) > SB_ABF_MAX_BYTES ? SB_TOO_LARGE : SB_OK;
}

/* -------------------------------------------------------------------- header */

/*
 * Numbers are little-endian. Bytes 0 to 39 are the fields that all types have (header.hpp).
 *
 *   offset size
 *   40      4   blocks
 *   44      2   bits of each slice in a block
 *   46      1   hashes (k)
 *   47      1   generations of the window (l)
 *   48      8   window: items or microseconds
 *   56      8   expected items of a window
 *   64      8   fpr, IEEE 754
 *   72      8   items that have come
 *   80      8   the newest generation (c), signed
 *   88     40   zero
 *  128          the slices, if a bit is set
 */
static constexpr uint16_t flag_by_time = 1;
static constexpr uint16_t flag_filled = 2;

void sb_abf_encode_header(const sb_abf *abf, void *out) noexcept
{
	auto *bytes = static_cast<unsigned char *>(out);
	const auto flags = static_cast<uint16_t>((abf->by_time ? flag_by_time : 0) | (abf->filled ? flag_filled : 0));
	encode_common(bytes, value_type::abf, flags, abf->kind);
	std::memset(bytes + common_header, 0, SB_ABF_HEADER - common_header);
	store_le(bytes + 40, abf->blocks);
	store_le(bytes + 44, abf->block_bits);
	bytes[46] = abf->hash_count;
	bytes[47] = abf->generations;
	store_le(bytes + 48, abf->window);
	store_le(bytes + 56, abf->expected);
	store_le(bytes + 64, std::bit_cast<uint64_t>(abf->fpr));
	store_le(bytes + 72, abf->items);
	store_le(bytes + 80, abf->generation);
}

static bool parameters_are_valid(const sb_abf &abf)
{
	if (abf.hash_count < 1 || abf.hash_count > SB_ABF_MAX_HASHES || abf.generations < 1 ||
		abf.generations > SB_ABF_MAX_GENERATIONS || abf.window < 1 || abf.window > SB_ABF_MAX_TIME)
		return false;
	if (abf.expected < 1 || abf.expected > static_cast<uint64_t>(SB_ABF_MAX_TIME) ||
		(!abf.by_time && abf.expected != static_cast<uint64_t>(abf.window)))
		return false;
	if (!(abf.fpr >= SB_BF_MIN_FPR && abf.fpr <= SB_BF_MAX_FPR))
		return false;
	const int least_bits = abf.blocks > 1 ? SB_ABF_BLOCK_BITS : SB_ABF_MIN_BLOCK_BITS;
	return abf.blocks >= 1 && abf.blocks <= SB_ABF_MAX_BYTES && abf.block_bits % 64 == 0 &&
		   abf.block_bits >= least_bits && abf.block_bits <= SB_ABF_MAX_BLOCK_BITS &&
		   abf.blocks <= SB_ABF_MAX_BYTES / block_bytes(abf);
}

/* True if the fields that describe the content agree with each other. REQUIRES: the parameters are valid. */
static bool content_is_valid(const sb_abf &abf)
{
	if (abf.items > SB_ABF_MAX_ITEMS || (abf.items == 0) != (abf.kind.code == SB_KIND_NONE))
		return false;
	if (abf.items == 0)
		return !abf.filled && abf.generation == 0;
	if (abf.by_time)
		return abf.generation >= sb_abf_generation(&abf, -SB_ABF_MAX_TIME) &&
			   abf.generation <= sb_abf_generation(&abf, SB_ABF_MAX_TIME);
	/* a filter by items never forgets its newest items, so some bits are set */
	return abf.filled && abf.generation == sb_abf_generation(&abf, static_cast<int64_t>(abf.items));
}

sb_status sb_abf_decode_header(const void *data, size_t have, size_t total, sb_abf *out) noexcept
{
	const auto *bytes = static_cast<const unsigned char *>(data);
	uint16_t flags;

	*out = {};
	if (sb_status status = decode_common(data, have, SB_ABF_HEADER, value_type::abf, flag_by_time | flag_filled, &flags,
										 &out->kind);
		status != SB_OK)
		return status;
	out->by_time = (flags & flag_by_time) != 0;
	out->filled = (flags & flag_filled) != 0;
	out->blocks = load_le<uint32_t>(bytes + 40);
	out->block_bits = load_le<uint16_t>(bytes + 44);
	out->hash_count = bytes[46];
	out->generations = bytes[47];
	out->window = static_cast<int64_t>(load_le<uint64_t>(bytes + 48));
	out->expected = load_le<uint64_t>(bytes + 56);
	out->fpr = std::bit_cast<double>(load_le<uint64_t>(bytes + 64));
	out->items = load_le<uint64_t>(bytes + 72);
	out->generation = static_cast<int64_t>(load_le<uint64_t>(bytes + 80));
	for (int at = 88; at < SB_ABF_HEADER; at += 8)
		if (load_le<uint64_t>(bytes + at) != 0)
			return SB_BAD_HEADER;
	if (!parameters_are_valid(*out) || !content_is_valid(*out))
		return SB_BAD_HEADER;
	if (out->filled)
		out->used[0] = out->used[1] = ~uint64_t{0};
	return total == sb_abf_size(out) ? SB_OK : SB_BAD_LENGTH;
}

/* --------------------------------------------------------------------- union */

sb_status sb_abf_plan_union(const sb_abf *a, const sb_abf *b, sb_abf *out, sb_difference *difference) noexcept
{
	const struct
	{
		const char *name;
		double left;
		double right;
		bool same;
	} parameters[] = {
		{"window", static_cast<double>(a->window), static_cast<double>(b->window), a->window == b->window},
		{"generations", static_cast<double>(a->generations), static_cast<double>(b->generations),
		 a->generations == b->generations},
		{"hashes", static_cast<double>(a->hash_count), static_cast<double>(b->hash_count),
		 a->hash_count == b->hash_count},
		{"slice_bits", static_cast<double>(sb_abf_bits(a)), static_cast<double>(sb_abf_bits(b)),
		 a->blocks == b->blocks && a->block_bits == b->block_bits},
	};
	if (!a->by_time || !b->by_time)
		return SB_OUT_OF_RANGE;
	for (const auto &parameter : parameters)
		if (!parameter.same)
		{
			*difference = {parameter.name, parameter.left, parameter.right};
			return SB_DIFFERENT;
		}
	*out = *a;
	out->kind = a->kind.code == SB_KIND_NONE ? b->kind : a->kind;
	out->fpr = std::max(a->fpr, b->fpr);
	out->expected = std::max(a->expected, b->expected);
	out->items = std::min(a->items + b->items, SB_ABF_MAX_ITEMS);
	out->generation = a->items == 0 ? b->generation :
					  b->items == 0 ? a->generation :
									  std::max(a->generation, b->generation);
	out->filled = a->filled || b->filled;
	return SB_OK;
}

/* ------------------------------------------------------------------ measures */

sb_status sb_abf_count(const sb_abf *abf, const void *slices, uint64_t set[SB_ABF_MAX_SLICES]) noexcept
{
	const auto *bytes = static_cast<const unsigned char *>(slices);
	const int n = sb_abf_slices(abf);
	const size_t part = slice_part(*abf);
	uint64_t at_place[SB_ABF_MAX_SLICES] = {};

	std::fill_n(set, SB_ABF_MAX_SLICES, uint64_t{0});
	if (!abf->filled)
		return SB_OK;
	sb_status status = in_pieces(
		abf->blocks, std::max<size_t>(bytes_at_once / block_bytes(*abf), 1), [&](size_t first, size_t blocks) {
			const unsigned char *at = bytes + first * block_bytes(*abf);
			for (size_t block = 0; block < blocks; block++)
				for (int place = 0; place < n; place++, at += part)
					for (size_t byte = 0; byte < part; byte += 8)
						at_place[place] += static_cast<uint64_t>(std::popcount(load_le<uint64_t>(at + byte)));
		});
	for (int age = 0; age < n; age++)
		set[age] = at_place[place_of(*abf, abf->generation - age)];
	return status;
}

sb_status sb_abf_check_slices(const sb_abf *abf, const void *slices) noexcept
{
	uint64_t set[SB_ABF_MAX_SLICES];
	uint64_t all = 0;
	if (!abf->filled)
		return SB_OK;
	if (sb_status status = sb_abf_count(abf, slices, set); status != SB_OK)
		return status;
	for (int age = 0; age < sb_abf_slices(abf); age++)
		all += set[age];
	/* an item sets at most k bits */
	return all == 0 || abf->items < (all - 1) / abf->hash_count + 1 ? SB_BAD_CELLS : SB_OK;
}
