/*
 * bf_exact.cpp: the exact form of a small bf; see sb_bf_exact.h.
 */
#include "base/bit_stream.hpp"
#include "base/lookup.hpp"
#include "bf/bf.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace streambloom;

static_assert(SB_BF_EXACT_ITEMS == 64, "SB_BF_EXACT_BYTES has room for 64 items");

/* The order of the Rice code. REQUIRES: items > 0. */
static int order_for(uint32_t items)
{
	return 64 - static_cast<int>(std::bit_width(items));
}

/* The distance of each hash from the one before it to visit(distance), as it is coded. */
template <typename Visit>
static void for_each_distance(const sb_bf_exact *items, Visit visit)
{
	uint64_t from = 0;
	for (uint32_t i = 0; i < items->count; i++)
	{
		visit(items->hashes[i] - from);
		from = items->hashes[i] + 1;
	}
}

static size_t size_of(const sb_bf_exact *items)
{
	if (items->count == 0)
		return 0;
	const int order = order_for(items->count);
	uint64_t bits = 0;
	for_each_distance(items, [&](uint64_t distance) { bits += (distance >> order) + 1 + static_cast<uint64_t>(order); });
	return static_cast<size_t>((bits + 7) / 8);
}

static void put_hashes(bit_writer *bits, const sb_bf_exact *items)
{
	const int order = order_for(items->count);
	for_each_distance(items, [&](uint64_t distance) {
		bits->zeros_and_one(distance >> order);
		bits->put_wide(lower_bits(distance, order), order);
	});
}

namespace {

/*
 * The stored bytes with zeros behind them, so that each code takes two loads of a whole word and no check in between. This
 * takes a third of the time of a bit_reader. Trusts nothing: who reads beyond the end gets zeros, and ok() becomes false.
 */
class code_reader
{
  public:
	/* REQUIRES: size <= SB_BF_EXACT_BYTES */
	code_reader(const void *stored, size_t size) : end_(size * 8)
	{
		std::memcpy(bytes_, stored, size);
		std::memset(bytes_ + size, 0, beyond);
	}

	/* The next number in Rice's code of this order. The result means nothing if ok() is false then. */
	u128 next(int order)
	{
		uint64_t zeros = 0;
		uint64_t bits = word();
		for (; bits == 0 && ok(); bits = word())
		{
			zeros += whole_bits;
			bit_ += whole_bits;
		}
		const int run = std::countr_zero(bits | UINT64_C(1) << 63);
		zeros += static_cast<uint64_t>(run);
		bit_ += static_cast<size_t>(run) + 1;
		if (!ok())
			return 0;
		const int skip = static_cast<int>(bit_ % 8);
		const uint64_t high = static_cast<uint64_t>(bytes_[bit_ / 8 + 8]) << 1 << (63 - skip);
		const u128 number = (u128{zeros} << order) + lower_bits(word() | high, order);
		bit_ += static_cast<size_t>(order);
		return number;
	}

	bool ok() const { return bit_ <= end_; }

	/* Is less than a byte left, and that zero? REQUIRES: ok() */
	bool is_at_end() const { return end_ - bit_ < 8 && word() == 0; }

  private:
	static constexpr size_t whole_bits = 57; /* that word() has at least */
	static constexpr size_t beyond = 32;	 /* at most 57 and 64 bits are skipped beyond the end, and 9 bytes read */

	uint64_t word() const { return load_le<uint64_t>(bytes_ + bit_ / 8) >> bit_ % 8; }

	unsigned char bytes_[SB_BF_EXACT_BYTES + beyond];
	size_t end_;
	size_t bit_ = 0;
};

} // namespace

/*
 * The stored hashes to visit(hash) in ascending order, until it returns false. SB_BAD_CELLS; if all were visited, the bytes
 * are the only ones that stand for them.
 */
template <typename Visit>
static sb_status walk(const sb_bf *bf, const void *stored, Visit visit)
{
	if (bf->item_count == 0)
		return SB_OK;
	code_reader codes(stored, bf->payload);
	const int order = order_for(bf->item_count);
	u128 from = 0;
	for (uint32_t i = 0; i < bf->item_count; i++)
	{
		const u128 hash = codes.next(order) + from;
		if (!codes.ok() || hash > UINT64_MAX)
			return SB_BAD_CELLS;
		if (!visit(static_cast<uint64_t>(hash)))
			return SB_OK;
		from = hash + 1;
	}
	return codes.is_at_end() ? SB_OK : SB_BAD_CELLS;
}

sb_status sb_bf_exact_read(const sb_bf *bf, const void *stored, sb_bf_exact *out) noexcept
{
	out->count = 0;
	return walk(bf, stored, [&](uint64_t hash) {
		out->hashes[out->count++] = hash;
		return true;
	});
}

sb_status streambloom::exact_find(const sb_bf *bf, const void *stored, uint64_t hash, bool *found)
{
	*found = false;
	return walk(bf, stored, [&](uint64_t stored_hash) {
		*found = stored_hash == hash;
		return stored_hash < hash;
	});
}

sb_status streambloom::add_exact(const sb_bf *bf, void *lines, const sb_bf *from, const void *stored)
{
	sb_bf_exact items;
	const sb_status status = sb_bf_exact_read(from, stored, &items);
	if (status == SB_OK)
		sb_bf_add_many(bf, lines, items.hashes, items.count);
	return status;
}

/* --------------------------------------------------------------------- items */

bool sb_bf_exact_contains(const sb_bf_exact *items, uint64_t hash) noexcept
{
	return std::binary_search(items->hashes, items->hashes + items->count, hash);
}

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

void sb_bf_exact_unite(sb_bf_exact *items, const sb_bf_exact *other) noexcept
{
	const sb_bf_exact before = *items;
	const uint64_t *end = std::set_union(before.hashes, before.hashes + before.count, other->hashes,
										 other->hashes + other->count, items->hashes);
	items->count = static_cast<uint32_t>(end - items->hashes);
}

/* Keeps the items that contained[i] is true for. */
static void keep(sb_bf_exact *items, const bool *contained)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < items->count; i++)
		if (contained[i])
			items->hashes[kept++] = items->hashes[i];
	items->count = kept;
}

sb_status sb_bf_exact_intersect(sb_bf_exact *items, const sb_bf *other, const void *stored) noexcept
{
	bool contained[2 * SB_BF_EXACT_ITEMS];
	if (!sb_bf_is_exact(other))
		sb_bf_contains_many(other, stored, items->hashes, items->count, contained);
	else
	{
		sb_bf_exact others;
		if (const sb_status status = sb_bf_exact_read(other, stored, &others); status != SB_OK)
			return status;
		for (uint32_t i = 0; i < items->count; i++)
			contained[i] = sb_bf_exact_contains(&others, items->hashes[i]);
	}
	keep(items, contained);
	return SB_OK;
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
