/*
 * tbf_exact.cpp: writes, reads and checks the exact form of a small tbf, and looks items up in it. tbf_exact.hpp
 * describes the form.
 */
#include "tbf/tbf_exact.hpp"

#include "base/hash_block.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_cells.hpp"

#include <algorithm>
#include <cmath>

using namespace streambloom;

namespace {

/* Finds the k of a block from the number of digits of each count - 1. */
class order_of_counts
{
public:
	void add(uint64_t units)
	{
		of_width_[std::bit_width(units - 1)]++;
		all_++;
	}
	int order() const
	{
		int k = 0;
		for (uint64_t wider = all_ - of_width_[0]; 2 * wider > all_; wider -= of_width_[k])
			k++;
		return k;
	}

private:
	uint32_t of_width_[64] = {};
	uint32_t all_ = 0;
};

} // namespace

constexpr size_t block_header = 3;
constexpr int most_digits = 62; /* of count - 1 */

/* Returns the number of bytes of a block of `count` items. Sets *k as tbf_exact.hpp says. REQUIRES: count > 0. */
static size_t block_size(const exact_item *items, size_t count, const hash_digits &digits, int *k)
{
	order_of_counts counts;
	for (size_t i = 0; i < count; i++)
		counts.add(items[i].units);
	*k = counts.order();
	size_t bits = digits.buckets() + count * static_cast<size_t>(2 + digits.lower + *k);
	for (size_t i = 0; i < count; i++)
		if (const uint64_t rest = (items[i].units - 1) >> *k; rest != 0)
			bits += gamma_bits(rest);
	return block_header + (bits + 7) / 8;
}

static unsigned char *write_block(const exact_item *items, size_t count, const hash_digits &digits, int k,
								  unsigned char *out)
{
	store_le(out, static_cast<uint16_t>(count - 1));
	out[2] = static_cast<unsigned char>(k);
	bit_writer bits(out + block_header);
	for (uint32_t bucket = 0, i = 0; bucket < digits.buckets(); bucket++)
	{
		const bool taken = i < count && digits.bucket(items[i].hash) == bucket;
		bits.put(taken, 1);
		while (taken && i < count && digits.bucket(items[i].hash) == bucket)
			i++;
	}
	for (size_t i = 0; i < count; i++)
		bits.put(i + 1 == count || digits.bucket(items[i].hash) != digits.bucket(items[i + 1].hash), 1);
	for (size_t i = 0; i < count; i++)
		bits.put((items[i].units - 1) >> k != 0, 1);
	for (size_t i = 0; i < count; i++)
	{
		bits.put(digits.lower_of(items[i].hash), digits.lower);
		bits.put_wide(lower_bits(items[i].units - 1, k), k);
	}
	for (size_t i = 0; i < count; i++)
		if (const uint64_t rest = (items[i].units - 1) >> k; rest != 0)
			bits.put_gamma(rest);
	return bits.finish();
}

/* Calls visit(block, items, count) for each block, with its items. */
template <typename Visit>
static void for_each_block(const exact_item *items, uint32_t count, const hash_digits &digits, Visit visit)
{
	const exact_item *end = items + count;
	for (uint32_t block = 0; block < digits.blocks(); block++)
	{
		const exact_item *begin = items;
		while (items < end && digits.block(items->hash) == block)
			items++;
		visit(block, begin, static_cast<size_t>(items - begin));
	}
}

size_t streambloom::exact_size(const exact_item *items, uint32_t count)
{
	if (count == 0)
		return 0;
	const hash_digits digits(count);
	size_t size = directory_entry * digits.blocks();
	for_each_block(items, count, digits, [&](uint32_t, const exact_item *of_block, size_t many) {
		int k;
		if (many != 0)
			size += block_size(of_block, many, digits, &k);
	});
	return size;
}

void streambloom::exact_write(const exact_item *items, uint32_t count, unsigned char *out)
{
	if (count == 0)
		return;
	const hash_digits digits(count);
	unsigned char *const first_block = out + directory_entry * digits.blocks();
	unsigned char *end = first_block;
	for_each_block(items, count, digits, [&](uint32_t block, const exact_item *of_block, size_t many) {
		if (many != 0)
		{
			order_of_counts counts;
			for (size_t i = 0; i < many; i++)
				counts.add(of_block[i].units);
			end = write_block(of_block, many, digits, counts.order(), end);
		}
		store_end(out + directory_entry * block, static_cast<uint32_t>(end - first_block));
	});
}

void streambloom::describe_items(const exact_item *items, uint32_t count, sb_tbf *out)
{
	uint64_t largest = 0;
	for (uint32_t i = 0; i < count; i++)
		largest = std::max(largest, items[i].units);
	out->item_count = count;
	out->cell_bits = narrowest_cell(largest);
	out->payload = static_cast<uint32_t>(exact_size(items, count));
}

/* ------------------------------------------------------------------- reading */

namespace {

/* What the first bytes of a block say, and where its parts begin (tbf_exact.hpp), in bits from its first byte on. */
struct block_parts
{
	uint32_t items;		 /* how many the block has */
	int order_of_counts; /* k */
	size_t last;
	size_t more;
	size_t records;
	size_t record; /* the length of one record, in bits */
	size_t rest;
};

constexpr size_t taken_at = block_header * 8;

/*
 * Reads the first bytes of a block into *out. Returns false if they cannot be those of a block of `size` bytes in a
 * filter of items_of_filter items.
 */
SB_KERNEL bool read_parts(const unsigned char *block, size_t size, const hash_digits &digits, uint32_t items_of_filter,
						  block_parts *out)
{
	if (size < block_header)
		return false;
	out->items = load_le<uint16_t>(block) + 1u;
	out->order_of_counts = block[2];
	out->last = taken_at + digits.buckets();
	out->more = out->last + out->items;
	out->records = out->more + out->items;
	out->record = static_cast<size_t>(digits.lower + out->order_of_counts);
	out->rest = out->records + out->items * out->record;
	return out->items <= items_of_filter && out->order_of_counts <= most_digits && out->rest <= size * 8;
}

} // namespace

/*
 * Makes a count from the two parts of count - 1 that are stored: `low`, its order_of_counts lowest digits, and `rest`,
 * the digits above these. SB_BAD_CELLS: the count is too large.
 */
static sb_status put_together(uint64_t low, uint64_t rest, int order_of_counts, uint64_t *units)
{
	const u128 number = u128{rest} << order_of_counts | low;
	*units = static_cast<uint64_t>(number) + 1;
	return number + 1 < SB_TBF_MAX_CELL ? SB_OK : SB_BAD_CELLS;
}

sb_status exact_block::open(const sb_tbf *filter, uint32_t block, const unsigned char *begin, const unsigned char *end)
{
	const hash_digits digits(filter->item_count);
	block_parts parts;
	if (!read_parts(begin, static_cast<size_t>(end - begin), digits, filter->item_count, &parts))
		return SB_BAD_CELLS;
	*this = {};
	bits_ = bit_reader(begin, end);
	bits_.seek(parts.rest);
	items_ = parts.items;
	first_hash_ = digits.first_hash(block);
	buckets_ = digits.buckets();
	last_ = parts.last;
	record_ = parts.records;
	lower_digits_ = digits.lower;
	order_of_counts_ = parts.order_of_counts;
	find_taken();
	return SB_OK;
}

/* If bucket_ has no items, moves it on to the next bucket that has items, or beyond the last bucket. */
void exact_block::find_taken()
{
	while (bucket_ < buckets_)
	{
		const uint64_t taken = bits_.word_at(taken_at + bucket_);
		bucket_ += static_cast<uint32_t>(std::countr_zero(taken));
		if (taken != 0)
			break;
	}
}

sb_status exact_block::next(exact_item *out)
{
	if (bucket_ >= buckets_)
		return SB_BAD_CELLS;
	const uint64_t lower = bits_.at(record_, lower_digits_);
	const uint64_t low = bits_.at(record_ + static_cast<size_t>(lower_digits_), order_of_counts_);
	if (same_bucket_ && lower <= last_lower_)
		return SB_BAD_CELLS;
	out->hash = first_hash_ + (((uint64_t{bucket_} << lower_digits_) + lower) << hash_digits::dropped);
	last_lower_ = lower;
	same_bucket_ = bits_.at(last_ + next_, 1) == 0;
	const uint64_t rest = bits_.at(last_ + items_ + next_, 1) != 0 ? bits_.gamma() : 0;
	record_ += static_cast<size_t>(lower_digits_ + order_of_counts_);
	next_++;
	if (!same_bucket_)
	{
		bucket_++;
		find_taken();
	}

	/* after the last item no taken bucket may be left */
	if (!bits_.ok() || (next_ == items_ && bucket_ < buckets_))
		return SB_BAD_CELLS;
	return put_together(low, rest, order_of_counts_, &out->units);
}

/*
 * Says where a block lies: *offset counts from the directory's first byte. `begin` and `end` are the directory's
 * entries for the block before it (0 for the first block) and for this block.
 */
static sb_status range_of(const sb_tbf *filter, uint32_t begin, uint32_t end, size_t *offset, size_t *size)
{
	const size_t directory = directory_entry * blocks_of(filter);
	if (begin > end || filter->payload < directory || end > filter->payload - directory)
		return SB_BAD_CELLS;
	*offset = directory + begin;
	*size = end - begin;
	return SB_OK;
}

bool exact_reader::open_block()
{
	const uint32_t begin = block_ == 0 ? 0 : load_end(cells_ + directory_entry * (block_ - 1));
	const uint32_t end = load_end(cells_ + directory_entry * block_);
	size_t offset;
	size_t size;
	status_ = range_of(filter_, begin, end, &offset, &size);
	if (status_ == SB_OK && size != 0)
		status_ = items_.open(filter_, block_, cells_ + offset, cells_ + offset + size);
	block_++;
	return status_ == SB_OK;
}

size_t exact_reader::next()
{
	const uint32_t blocks = blocks_of(filter_);
	size_t count = 0;
	while (status_ == SB_OK && count < at_once)
	{
		if (items_.left() == 0)
		{
			if (block_ == blocks || !open_block())
				break;
			continue;
		}
		exact_item item;
		status_ = items_.next(&item);
		hashes_[count] = item.hash;
		units_[count] = item.units;
		count += status_ == SB_OK;
	}
	return status_ == SB_OK ? count : 0;
}

/* ------------------------------------------------------------------ checking */

/*
 * Reads all items of a block that is not empty. Checks that the items fill the block, and that they are written in the
 * only possible way. Adds the number of the items to *items, and raises *largest to their largest count.
 */
static sb_status check_block(const sb_tbf *filter, uint32_t block, const unsigned char *begin, size_t size,
							 uint64_t *items, uint64_t *largest)
{
	exact_block reader;
	order_of_counts counts;
	sb_status status = reader.open(filter, block, begin, begin + size);
	while (status == SB_OK && reader.left() > 0)
	{
		exact_item item;
		if (status = reader.next(&item); status != SB_OK)
			break;
		counts.add(item.units);
		*largest = std::max(*largest, item.units);
		++*items;
	}
	return status == SB_OK && (!reader.is_at_end() || counts.order() != reader.order_of_counts()) ? SB_BAD_CELLS :
																									status;
}

sb_status streambloom::exact_check(const sb_tbf *filter, const void *cells)
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	const uint32_t blocks = blocks_of(filter);
	uint64_t largest = 0;
	uint64_t items = 0;
	uint32_t end = 0;
	if (filter->payload < directory_entry * blocks)
		return SB_BAD_CELLS;
	for (uint32_t block = 0; block < blocks; block++)
	{
		size_t offset;
		size_t size;
		const uint32_t begin = end;
		end = load_end(bytes + directory_entry * block);
		sb_status status = stop_wanted() ? SB_INTERRUPTED : range_of(filter, begin, end, &offset, &size);
		if (status == SB_OK && size != 0)
			status = check_block(filter, block, bytes + offset, size, &items, &largest);
		if (status != SB_OK)
			return status;
	}
	return items == filter->item_count && directory_entry * blocks + end == filter->payload &&
				   narrowest_cell(largest) == filter->cell_bits ?
			   SB_OK :
			   SB_BAD_CELLS;
}

/* ------------------------------------------------------------------ look-ups */

void streambloom::exact_directory_range(const sb_tbf *filter, uint64_t hash, size_t *offset, size_t *size)
{
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (filter->item_count == 0)
		return;
	const uint32_t block = hash_digits(filter->item_count).block(hash);
	*size = block == 0 ? directory_entry : 2 * directory_entry;
	*offset += directory_entry * (block == 0 ? 0 : block - 1);
}

sb_status streambloom::exact_block_range(const sb_tbf *filter, uint64_t hash, const void *directory, size_t *offset,
										 size_t *size)
{
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (filter->item_count == 0)
		return SB_OK;
	const auto *ends = static_cast<const unsigned char *>(directory);
	const bool is_first = hash_digits(filter->item_count).block(hash) == 0;
	const uint32_t begin = is_first ? 0 : load_end(ends);
	const sb_status status = range_of(filter, begin, load_end(is_first ? ends : ends + directory_entry), offset, size);
	*offset += SB_TBF_HEADER;
	return status;
}

namespace {

/* Reads the rest (tbf_exact.hpp) of an item whose `more` is set. */
template <sb_simd variant>
SB_KERNEL sb_status rest_of(const unsigned char *block, size_t size, const block_bits &bits, const block_parts &parts,
							uint32_t item, uint64_t *rest)
{
	bit_reader rests(block, block + size);
	rests.seek(parts.rest);
	for (uint32_t before = count_ones<variant>(bits, parts.more, item); before > 0; before--)
		(void) rests.gamma();
	*rest = rests.gamma();
	return rests.ok() ? SB_OK : SB_BAD_CELLS;
}

template <sb_simd variant>
SB_KERNEL sb_status find_in_block_kernel(const sb_tbf *filter, const unsigned char *block, size_t have, size_t size,
										 uint64_t hash, uint64_t *units)
{
	const hash_digits digits(filter->item_count);
	const uint32_t bucket = digits.bucket(hash);
	const block_bits bits(block, have);
	block_parts parts;
	const size_t head = taken_at + digits.buckets();
	if (size * 8 < head)
		return SB_BAD_CELLS;
	if (have * 8 < head)
		return SB_NEED_BYTES;
	if (bits.digits(taken_at + bucket, 1) == 0)
		return SB_OK;
	if (!read_parts(block, size, digits, filter->item_count, &parts))
		return SB_BAD_CELLS;
	if (have * 8 < parts.records)
		return SB_NEED_BYTES;

	uint32_t begin;
	uint32_t end;
	if (!items_of_bucket<variant>(bits, parts.last, parts.items, count_ones<variant>(bits, taken_at, bucket), &begin,
								  &end))
		return SB_BAD_CELLS;
	if (have * 8 < parts.records + end * parts.record)
		return SB_NEED_BYTES;
	const uint64_t lower = digits.lower_of(hash);
	const auto lower_of = [&](uint32_t item) __attribute__((always_inline))
	{
		return bits.digits(parts.records + item * parts.record, digits.lower);
	};
	uint32_t item = end - 1;
	while (begin < item) /* binary search: a bucket is long if somebody chose items with close hashes */
	{
		const uint32_t half = begin + (item - begin) / 2;
		if (lower_of(half) < lower)
			begin = half + 1;
		else
			item = half;
	}
	if (lower_of(item) != lower)
		return SB_OK;

	const bool more = bits.digits(parts.more + item, 1) != 0;
	const size_t count = parts.records + item * parts.record + static_cast<size_t>(digits.lower);
	const uint64_t low = parts.order_of_counts == 0 ? 0 : bits.digits(count, parts.order_of_counts);
	uint64_t rest = 0;
	if (more && have < size)
		return SB_NEED_BYTES;
	if (more)
		if (sb_status status = rest_of<variant>(block, size, bits, parts, item, &rest); status != SB_OK)
			return status;
	return put_together(low, rest, parts.order_of_counts, units);
}
SB_VARIANTS(sb_status, find_in_block,
			(const sb_tbf *filter, const unsigned char *block, size_t have, size_t size, uint64_t hash,
			 uint64_t *units),
			(filter, block, have, size, hash, units))

} // namespace

size_t streambloom::exact_head(const sb_tbf *filter)
{
	return block_header + (hash_digits(filter->item_count).buckets() + 7) / 8;
}

sb_status streambloom::exact_find(const sb_tbf *filter, const void *block, size_t have, size_t size, uint64_t hash,
								  uint64_t *units)
{
	*units = 0;
	return size == 0 ? SB_OK :
					   find_in_block(filter, static_cast<const unsigned char *>(block), have, size, hash, units);
}

sb_status streambloom::exact_count(const sb_tbf *filter, const void *cells, uint64_t hash, uint64_t *units)
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	size_t offset;
	size_t size;
	*units = 0;
	exact_directory_range(filter, hash, &offset, &size);
	if (sb_status status = exact_block_range(filter, hash, bytes + (offset - SB_TBF_HEADER), &offset, &size);
		status != SB_OK)
		return status;
	return exact_find(filter, bytes + (offset - SB_TBF_HEADER), size, size, hash, units);
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
