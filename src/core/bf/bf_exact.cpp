/*
 * bf_exact.cpp: writes, reads and checks the exact form of a bf, looks items up in it, intersects it with another bf,
 * and adds its items to lines; see bf_exact.hpp.
 */
#include "bf/bf_exact.hpp"

#include "base/memory.hpp"
#include "base/stop.hpp"
#include "bf/bf.hpp"

#include <algorithm>

using namespace streambloom;

static_assert(list_sizer::most_blocks * 128 == SB_BF_EXACT_ITEMS);

constexpr size_t block_header = 2;
constexpr size_t taken_at = block_header * 8;

static size_t block_size(const hash_digits &digits, size_t items)
{
	return block_header + (digits.buckets() + items * static_cast<size_t>(1 + digits.lower) + 7) / 8;
}

static uint32_t blocks_of(const sb_bf *bf)
{
	return bf->item_count == 0 ? 0 : list_digits(bf->item_count).blocks();
}

/* ------------------------------------------------------------------- writing */

size_t list_sizer::size() const
{
	if (items_ == 0)
		return 0;
	const hash_digits digits = list_digits(items_);
	size_t size = directory_entry * digits.blocks();
	for (uint32_t block = 0; block < digits.blocks(); block++)
		if (of_block_[block] != 0)
			size += block_size(digits, of_block_[block]);
	return size;
}

void streambloom::plan_list(sb_bf *bf, uint32_t items, size_t payload)
{
	bf->flags = SB_BF_EXACT;
	bf->item_count = items;
	bf->payload = static_cast<uint32_t>(payload);
	bf->line_count = 0;
	bf->widened = 0;
	bf->expected_items = 0;
}

static unsigned char *write_block(const hash_digits &digits, const uint64_t *hashes, size_t count, unsigned char *out)
{
	const auto bucket_of = [&](size_t item) { return digits.bucket(hashes[item]); };
	store_le(out, static_cast<uint16_t>(count - 1));
	bit_writer bits(out + block_header);
	size_t i = 0;
	for (uint32_t bucket = 0; bucket < digits.buckets(); bucket++)
	{
		const bool taken = i < count && bucket_of(i) == bucket;
		bits.put(taken, 1);
		while (taken && i < count && bucket_of(i) == bucket)
			i++;
	}
	for (i = 0; i < count; i++)
		bits.put(i + 1 == count || bucket_of(i) != bucket_of(i + 1), 1);
	for (i = 0; i < count; i++)
		bits.put(digits.lower_of(hashes[i]), digits.lower);
	return bits.finish();
}

void streambloom::list_write(const uint64_t *hashes, uint32_t count, unsigned char *out)
{
	if (count == 0)
		return;
	const hash_digits digits = list_digits(count);
	unsigned char *const first_block = out + directory_entry * digits.blocks();
	unsigned char *end = first_block;
	const uint64_t *next = hashes;
	for (uint32_t block = 0; block < digits.blocks(); block++)
	{
		const uint64_t *const begin = next;
		while (next < hashes + count && digits.block(*next) == block)
			next++;
		if (next > begin)
			end = write_block(digits, begin, static_cast<size_t>(next - begin), end);
		store_end(out + directory_entry * block, static_cast<uint32_t>(end - first_block));
	}
}

/* ------------------------------------------------------------------- reading */

namespace {

/* Where the parts of a block begin, as numbers of bits from the block's first byte. */
struct block_parts
{
	uint32_t items;
	size_t last;
	size_t lower;
};

/*
 * Calculates where the parts of a block begin. Returns false if a block of `size` bytes cannot have as many items as
 * its first two bytes say, or if the whole filter has fewer.
 */
SB_KERNEL bool read_parts(const unsigned char *block, size_t size, const hash_digits &digits, uint32_t items_of_filter,
						  block_parts *out)
{
	if (size < block_header)
		return false;
	out->items = load_le<uint16_t>(block) + 1u;
	out->last = taken_at + digits.buckets();
	out->lower = out->last + out->items;
	return out->items <= items_of_filter && out->lower + out->items * static_cast<size_t>(digits.lower) <= size * 8;
}

} // namespace

sb_status list_block::open(const hash_digits &digits, uint32_t items_of_filter, uint32_t block,
						   const unsigned char *begin, const unsigned char *end)
{
	block_parts parts;
	if (!read_parts(begin, static_cast<size_t>(end - begin), digits, items_of_filter, &parts))
		return SB_BAD_CELLS;
	*this = {};
	bits_ = bit_reader(begin, end);
	items_ = parts.items;
	first_hash_ = digits.first_hash(block);
	buckets_ = digits.buckets();
	last_ = parts.last;
	lower_ = parts.lower;
	lower_digits_ = digits.lower;
	bits_.seek(parts.lower + parts.items * static_cast<size_t>(digits.lower));
	find_taken();
	return SB_OK;
}

/*
 * If bucket_ has no items, moves it on to the next bucket that has items. If there is none, bucket_ becomes buckets_
 * or more.
 */
void list_block::find_taken()
{
	while (bucket_ < buckets_)
	{
		const uint64_t taken = bits_.word_at(taken_at + bucket_);
		bucket_ += static_cast<uint32_t>(std::countr_zero(taken));
		if (taken != 0)
			break;
	}
}

sb_status list_block::next(uint64_t *hash)
{
	if (bucket_ >= buckets_)
		return SB_BAD_CELLS;
	const uint64_t lower = bits_.at(lower_, lower_digits_);
	if (lower < at_least_)
		return SB_BAD_CELLS;
	*hash = first_hash_ + (((uint64_t{bucket_} << lower_digits_) + lower) << hash_digits::dropped);
	lower_ += static_cast<size_t>(lower_digits_);
	at_least_ = lower + 1;
	if (bits_.at(last_ + next_++, 1) != 0)
	{
		at_least_ = 0;
		bucket_++;
		find_taken();
	}

	/* in a block that is not damaged the last item is the last one of its bucket, and no later bucket has items */
	return next_ == items_ && (at_least_ != 0 || bucket_ < buckets_) ? SB_BAD_CELLS : SB_OK;
}

/*
 * Says where a block lies: *offset counts from the directory's first byte. `begin` and `end` are the directory's
 * entries for the block before it (0 for the first block) and for this block.
 */
static sb_status range_of(const sb_bf *bf, uint32_t begin, uint32_t end, size_t *offset, size_t *size)
{
	const size_t directory = directory_entry * blocks_of(bf);
	if (begin > end || bf->payload < directory || end > bf->payload - directory)
		return SB_BAD_CELLS;
	*offset = directory + begin;
	*size = end - begin;
	return SB_OK;
}

bool list_reader::open_block()
{
	const hash_digits digits = list_digits(bf_->item_count);
	const uint32_t begin = end_;
	size_t offset = 0;
	size_t size = 0;
	status_ = SB_BAD_CELLS;
	if (bf_->payload >= directory_entry * digits.blocks())
	{
		end_ = load_end(stored_ + directory_entry * block_);
		status_ = range_of(bf_, begin, end_, &offset, &size);
	}
	if (status_ == SB_OK && size != 0)
		status_ = items_.open(digits, bf_->item_count, block_, stored_ + offset, stored_ + offset + size);
	if (status_ == SB_OK && block_ % 64 == 63 && stop_wanted())
		status_ = SB_INTERRUPTED;
	block_++;
	return status_ == SB_OK;
}

size_t list_reader::next()
{
	const uint32_t blocks = blocks_of(bf_);
	size_t count = 0;
	while (status_ == SB_OK && count < at_once)
	{
		if (items_.left() == 0)
		{
			if (block_ == blocks || !open_block())
				break;
			continue;
		}
		status_ = given_ < bf_->item_count ? items_.next(&hashes_[count]) : SB_BAD_CELLS;
		count += status_ == SB_OK;
		given_ += status_ == SB_OK;
	}
	if (status_ == SB_OK && count == 0 && given_ != bf_->item_count)
		status_ = SB_BAD_CELLS;
	return status_ == SB_OK ? count : 0;
}

/* ------------------------------------------------------------------ checking */

sb_status streambloom::list_check(const sb_bf *bf, const void *stored)
{
	const auto *bytes = static_cast<const unsigned char *>(stored);
	if (bf->item_count == 0)
		return SB_OK;
	const hash_digits digits = list_digits(bf->item_count);
	uint64_t items = 0;
	uint32_t end = 0;
	if (bf->payload < directory_entry * digits.blocks())
		return SB_BAD_CELLS;
	for (uint32_t block = 0; block < digits.blocks(); block++)
	{
		size_t offset = 0;
		size_t size = 0;
		const uint32_t begin = end;
		end = load_end(bytes + directory_entry * block);
		sb_status status = block % 64 == 63 && stop_wanted() ? SB_INTERRUPTED :
															   range_of(bf, begin, end, &offset, &size);
		list_block reader;
		if (status == SB_OK && size != 0)
			status = reader.open(digits, bf->item_count, block, bytes + offset, bytes + offset + size);
		items += reader.left();
		uint64_t hash;
		while (status == SB_OK && reader.left() > 0)
			status = reader.next(&hash);
		if (status == SB_OK && size != 0 && !reader.is_at_end())
			status = SB_BAD_CELLS;
		if (status != SB_OK)
			return status;
	}
	return items == bf->item_count && directory_entry * digits.blocks() + end == bf->payload ? SB_OK : SB_BAD_CELLS;
}

/* ------------------------------------------------------------------ look-ups */

void streambloom::list_directory_range(const sb_bf *bf, uint64_t hash, size_t *offset, size_t *size)
{
	*offset = SB_BF_HEADER;
	*size = 0;
	if (bf->item_count == 0)
		return;
	const uint32_t block = list_digits(bf->item_count).block(hash);
	*size = block == 0 ? directory_entry : 2 * directory_entry;
	*offset += directory_entry * (block == 0 ? 0 : block - 1);
}

sb_status streambloom::list_block_range(const sb_bf *bf, uint64_t hash, const void *directory, size_t *offset,
										size_t *size)
{
	*offset = SB_BF_HEADER;
	*size = 0;
	if (bf->item_count == 0)
		return SB_OK;
	const auto *ends = static_cast<const unsigned char *>(directory);
	const bool is_first = list_digits(bf->item_count).block(hash) == 0;
	const uint32_t begin = is_first ? 0 : load_end(ends);
	const sb_status status = range_of(bf, begin, load_end(is_first ? ends : ends + directory_entry), offset, size);
	*offset += SB_BF_HEADER;
	return status;
}

size_t streambloom::list_head(const sb_bf *bf)
{
	return block_header + (list_digits(bf->item_count).buckets() + 7) / 8;
}

template <sb_simd variant>
SB_KERNEL sb_status find_in_list_kernel(const sb_bf *bf, const unsigned char *block, size_t have, size_t size,
										uint64_t hash, bool *found)
{
	const hash_digits digits = list_digits(bf->item_count);
	const uint32_t bucket = digits.bucket(hash);
	const block_bits bits(block, have);
	block_parts parts;
	const size_t head = taken_at + digits.buckets();
	*found = false;
	if (size * 8 < head)
		return SB_BAD_CELLS;
	if (have * 8 < head)
		return SB_NEED_BYTES;
	if (bits.digits(taken_at + bucket, 1) == 0)
		return SB_OK;
	if (!read_parts(block, size, digits, bf->item_count, &parts))
		return SB_BAD_CELLS;
	if (have * 8 < parts.lower)
		return SB_NEED_BYTES;

	uint32_t begin;
	uint32_t end;
	if (!items_of_bucket<variant>(bits, parts.last, parts.items, count_ones<variant>(bits, taken_at, bucket), &begin,
								  &end))
		return SB_BAD_CELLS;
	const auto lower_digits = static_cast<size_t>(digits.lower);
	if (have * 8 < parts.lower + end * lower_digits)
		return SB_NEED_BYTES;
	const uint64_t lower = digits.lower_of(hash);
	uint32_t item = end - 1;
	while (begin < item) /* a binary search, because somebody who chooses the items can make a bucket long */
	{
		const uint32_t half = begin + (item - begin) / 2;
		if (bits.digits(parts.lower + half * lower_digits, digits.lower) < lower)
			begin = half + 1;
		else
			item = half;
	}
	*found = bits.digits(parts.lower + item * lower_digits, digits.lower) == lower;
	return SB_OK;
}
static sb_status find_in_list(const sb_bf *bf, const unsigned char *block, size_t have, size_t size, uint64_t hash,
							  bool *found);
SB_VARIANTS(sb_status, find_in_list,
			(const sb_bf *bf, const unsigned char *block, size_t have, size_t size, uint64_t hash, bool *found),
			(bf, block, have, size, hash, found))

sb_status streambloom::list_find(const sb_bf *bf, const void *block, size_t have, size_t size, uint64_t hash,
								 bool *found)
{
	*found = false;
	return size == 0 ? SB_OK : find_in_list(bf, static_cast<const unsigned char *>(block), have, size, hash, found);
}

static sb_status find_one(const sb_bf *bf, const unsigned char *stored, uint64_t hash, bool *found)
{
	size_t offset;
	size_t size;
	*found = false;
	if (bf->payload < directory_entry * blocks_of(bf))
		return SB_BAD_CELLS;
	list_directory_range(bf, hash, &offset, &size);
	if (sb_status status = list_block_range(bf, hash, stored + (offset - SB_BF_HEADER), &offset, &size);
		status != SB_OK)
		return status;
	return list_find(bf, stored + (offset - SB_BF_HEADER), size, size, hash, found);
}

sb_status streambloom::list_find_many(const sb_bf *bf, const void *stored, const uint64_t *hashes, size_t count,
									  bool *found)
{
	sb_status status = SB_OK;
	for (size_t i = 0; i < count && status == SB_OK; i++)
		status = find_one(bf, static_cast<const unsigned char *>(stored), hashes[i], &found[i]);
	return status;
}

/* ---------------------------------------------------------- items against filters */

namespace {

/* Collects the hashes of `list` that `other` has. */
sb_status collect_common(const sb_bf *list, const void *stored, const sb_bf *other, const void *other_stored,
						 uint64_t *out, uint32_t *count)
{
	*count = 0;
	return for_each_hash(list, stored, [&](const uint64_t *hashes, size_t many) {
		bool found[list_reader::at_once];
		const sb_status status = sb_bf_contains_many(other, other_stored, hashes, many, found);
		for (size_t i = 0; i < many && status == SB_OK; i++)
		{
			out[*count] = hashes[i];
			*count += found[i];
		}
		return status;
	});
}

} // namespace

sb_status sb_bf_intersect_exact(const sb_bf *a, const void *a_stored, const sb_bf *b, const void *b_stored,
								const sb_memory *to, size_t in_front, sb_bf *out, void **value,
								sb_difference *difference) noexcept
{
	*value = nullptr;
	if (a->hash_count != b->hash_count)
	{
		*difference = {"hashes", static_cast<double>(a->hash_count), static_cast<double>(b->hash_count)};
		return SB_DIFFERENT;
	}

	/* the items of the shorter list are looked up in the other filter */
	const bool first = sb_bf_is_exact(a) && (!sb_bf_is_exact(b) || a->item_count <= b->item_count);
	const sb_bf *list = first ? a : b;
	if (!sb_bf_is_exact(list))
		return SB_OUT_OF_RANGE;
	auto *hashes = static_cast<uint64_t *>(
		to->allocate(to->context, (size_t{list->item_count} + 1) * sizeof(uint64_t)));
	if (hashes == nullptr)
		return SB_NO_MEMORY;
	uint32_t count;
	sb_status status = first ? collect_common(a, a_stored, b, b_stored, hashes, &count) :
							   collect_common(b, b_stored, a, a_stored, hashes, &count);
	if (status == SB_OK)
	{
		list_sizer sizer(count);
		for (uint32_t i = 0; i < count; i++)
			sizer.add(hashes[i]);
		*out = *list;
		out->kind = a->kind.code == SB_KIND_NONE ? b->kind : a->kind;
		out->fpr = std::max(a->fpr, b->fpr);
		plan_list(out, count, sizer.size());
		*value = to->allocate(to->context, in_front + sb_bf_size(out));
		status = *value == nullptr ? SB_NO_MEMORY : SB_OK;
	}
	if (status == SB_OK)
	{
		auto *data = static_cast<unsigned char *>(*value) + in_front;
		sb_bf_encode_header(out, data);
		list_write(hashes, count, data + SB_BF_HEADER);
	}
	to->release(to->context, hashes);
	return status;
}

sb_status sb_bf_plan_compact(const sb_bf *bf, double fpr, sb_bf *plan) noexcept
{
	if (!sb_bf_is_exact(bf))
		return SB_OUT_OF_RANGE;
	const sb_status status = sb_bf_plan(std::max(bf->item_count, 1u), fpr, false, plan);
	plan->kind = bf->kind;
	return status;
}

sb_status sb_bf_exact_to_lines(const sb_bf *bf, const void *stored, const sb_bf *plan, void *lines) noexcept
{
	return add_exact(plan, lines, bf, stored);
}

sb_status streambloom::add_exact(const sb_bf *bf, void *lines, const sb_bf *from, const void *stored)
{
	return for_each_hash(from, stored, [&](const uint64_t *hashes, size_t count) {
		sb_bf_add_many(bf, lines, hashes, count);
		return SB_OK;
	});
}
