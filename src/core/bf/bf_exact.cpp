/*
 * bf_exact.cpp: the exact form of a small bf; see sb_bf_exact.h.
 */
#include "base/bit_stream.hpp"
#include "base/lookup.hpp"
#include "base/simd.hpp"
#include "bf/bf.hpp"

#include <algorithm>
#include <bit>

using namespace streambloom;

namespace {

/* Where the three strings of bits of so many items lie. REQUIRES: items > 0. */
struct exact_parts
{
	explicit exact_parts(uint32_t items)
		: lower_digits(64 - static_cast<int>(std::bit_width(items))), last(size_t{1} << std::bit_width(items)), lower(last + items),
		  bytes((lower + items * static_cast<size_t>(lower_digits) + 7) / 8)
	{
	}
	uint32_t bucket(uint64_t hash) const { return static_cast<uint32_t>(hash >> lower_digits); }
	size_t lower_of(uint32_t item) const { return lower + item * static_cast<size_t>(lower_digits); }

	int lower_digits;
	size_t last; /* as many bits come before it as there are buckets */
	size_t lower;
	size_t bytes; /* of all */
};

} // namespace

static_assert(SB_BF_EXACT_ITEMS == 64, "the bits that tell the last items of buckets are one word");

static size_t size_of(const sb_bf_exact *items)
{
	return items->count == 0 ? 0 : exact_parts(items->count).bytes;
}

static void put_hashes(bit_writer *bits, const sb_bf_exact *items)
{
	const exact_parts parts(items->count);
	const uint64_t *const end = items->hashes + items->count;
	const uint64_t *next = items->hashes;
	for (uint32_t bucket = 0; bucket < parts.last; bucket++)
	{
		const uint64_t *const first = next;
		while (next < end && parts.bucket(*next) == bucket)
			next++;
		bits->put(next > first, 1);
	}
	for (const uint64_t *hash = items->hashes; hash < end; hash++)
		bits->put(hash + 1 == end || parts.bucket(hash[0]) != parts.bucket(hash[1]), 1);
	for (const uint64_t *hash = items->hashes; hash < end; hash++)
		bits->put_wide(lower_bits(*hash, parts.lower_digits), parts.lower_digits);
}

/*
 * The stored hashes to visit(hash) in ascending order. SB_BAD_CELLS: these are not the only bytes that stand for them.
 */
template <typename Visit>
static sb_status walk(const sb_bf *bf, const void *stored, Visit visit)
{
	if (bf->item_count == 0)
		return SB_OK;
	const exact_parts parts(bf->item_count);
	if (bf->payload != parts.bytes)
		return SB_BAD_CELLS;
	const auto *begin = static_cast<const unsigned char *>(stored);
	bit_reader bits(begin, begin + parts.bytes);
	uint32_t item = 0;
	for (uint32_t bucket = 0; bucket < parts.last; bucket++)
	{
		if (bits.at(bucket, 1) == 0)
			continue;
		const uint64_t high = static_cast<uint64_t>(bucket) << parts.lower_digits;
		uint64_t at_least = 0;
		for (bool is_last = false; !is_last; item++)
		{
			const uint64_t lower = bits.at(parts.lower_of(item), parts.lower_digits);
			if (item == bf->item_count || lower < at_least)
				return SB_BAD_CELLS;
			is_last = bits.at(parts.last + item, 1) != 0;
			visit(high | lower);
			at_least = lower + 1; /* does not wrap: a hash has at least one higher digit */
		}
	}
	bits.seek(parts.lower_of(item));
	return item == bf->item_count && bits.is_at_end() ? SB_OK : SB_BAD_CELLS;
}

sb_status streambloom::read_exact(const sb_bf *bf, const void *stored, sb_bf_exact *out)
{
	out->count = 0;
	return walk(bf, stored, [&](uint64_t hash) { out->hashes[out->count++] = hash; });
}

static int ones_in(uint64_t word)
{
	return static_cast<int>(ones_of<SB_SIMD_PORTABLE>(word));
}

sb_status streambloom::exact_find(const sb_bf *bf, const void *stored, uint64_t hash, bool *found)
{
	*found = false;
	if (bf->item_count == 0)
		return SB_OK;
	const exact_parts parts(bf->item_count);
	if (bf->payload != parts.bytes)
		return SB_BAD_CELLS;
	const auto *begin = static_cast<const unsigned char *>(stored);
	const uint32_t bucket = parts.bucket(hash);
	if ((begin[bucket / 8] >> bucket % 8 & 1) == 0)
		return SB_OK;

	/* the bucket's first item comes after the last ones of the buckets before it that are taken */
	const bit_reader bits(begin, begin + parts.bytes);
	const uint64_t taken = bits.word_at(bucket & 64);
	int before = ones_in(lower_bits(taken, static_cast<int>(bucket % 64))) + (bucket >= 64 ? ones_in(bits.word_at(0)) : 0);
	uint64_t last = bits.word_at(parts.last);
	for (; before > 0; before--)
		last &= last - 1;
	const uint64_t begin_of_bucket = bits.word_at(parts.last) ^ last;
	const uint64_t lower = lower_bits(hash, parts.lower_digits);
	for (auto item = static_cast<uint32_t>(std::bit_width(begin_of_bucket)); item < bf->item_count; item++)
	{
		const uint64_t stored_lower = bits.at(parts.lower_of(item), parts.lower_digits);
		*found = stored_lower == lower;
		if (stored_lower >= lower || bits.at(parts.last + item, 1) != 0)
			return SB_OK;
	}
	return SB_BAD_CELLS;
}

sb_status streambloom::exact_find_many(const sb_bf *bf, const void *stored, const uint64_t *hashes, size_t count, bool *found)
{
	sb_bf_exact items;
	const sb_status status = read_exact(bf, stored, &items);
	for (size_t i = 0; i < count && status == SB_OK; i++)
		found[i] = std::binary_search(items.hashes, items.hashes + items.count, hashes[i]);
	return status;
}

sb_status streambloom::add_exact(const sb_bf *bf, void *lines, const sb_bf *from, const void *stored)
{
	sb_bf_exact items;
	const sb_status status = read_exact(from, stored, &items);
	if (status == SB_OK)
		sb_bf_add_many(bf, lines, items.hashes, items.count);
	return status;
}

/* --------------------------------------------------------------------- items */

void sb_bf_exact_add(sb_bf_exact *items, uint64_t hash) noexcept
{
	uint64_t *end = items->hashes + items->count;
	uint64_t *at = std::lower_bound(items->hashes, end, hash);
	if (at < end && *at == hash)
		return;
	std::copy_backward(at, end, end + 1);
	*at = hash;
	items->count++;
}

static sb_status unite(sb_bf_exact *items, const sb_bf *other, const void *stored)
{
	if (items->count == 0)
		return read_exact(other, stored, items);
	sb_bf_exact others;
	if (const sb_status status = read_exact(other, stored, &others); status != SB_OK)
		return status;
	const sb_bf_exact before = *items;
	const uint64_t *end = std::set_union(before.hashes, before.hashes + before.count, others.hashes,
										 others.hashes + others.count, items->hashes);
	items->count = static_cast<uint32_t>(end - items->hashes);
	return SB_OK;
}

static sb_status intersect_with(sb_bf_exact *items, const sb_bf *other, const void *stored)
{
	bool contained[2 * SB_BF_EXACT_ITEMS];
	if (const sb_status status = sb_bf_contains_many(other, stored, items->hashes, items->count, contained); status != SB_OK)
		return status;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < items->count; i++)
		if (contained[i])
			items->hashes[kept++] = items->hashes[i];
	items->count = kept;
	return SB_OK;
}

sb_status sb_bf_exact_combine(sb_bf_exact *items, const sb_bf *other, const void *stored, bool intersect) noexcept
{
	return intersect ? intersect_with(items, other, stored) : unite(items, other, stored);
}

/* ------------------------------------------------------------------- writing */

void sb_bf_exact_plan(const sb_bf *like, const sb_bf_exact *items, sb_bf *out) noexcept
{
	sb_bf plan = {};
	plan.kind = like->kind;
	plan.hash_count = like->hash_count;
	plan.fpr = like->fpr;
	if (items->count <= SB_BF_EXACT_ITEMS)
	{
		plan.flags = SB_BF_EXACT;
		plan.item_count = items->count;
		plan.payload = static_cast<uint16_t>(size_of(items));
	}
	else
		plan.line_count = lines_with_room(like->fpr);
	*out = plan;
}

void sb_bf_exact_write(const sb_bf *bf, const sb_bf_exact *items, void *out) noexcept
{
	if (!sb_bf_is_exact(bf))
		sb_bf_add_many(bf, out, items->hashes, items->count);
	else if (items->count != 0)
	{
		bit_writer bits(static_cast<unsigned char *>(out));
		put_hashes(&bits, items);
		(void) bits.finish();
	}
}

uint32_t streambloom::lines_with_room(double fpr)
{
	sb_bf plan;
	/* the rate is in range, and so few items always fit */
	return sb_bf_plan(4 * 2 * SB_BF_EXACT_ITEMS, fpr, true, &plan) == SB_OK ? plan.line_count : 1;
}
