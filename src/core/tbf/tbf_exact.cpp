/*
 * tbf_exact.cpp: see tbf_exact.hpp: the exact form of a small tbf, written, read and checked.
 */
#include "tbf/tbf_exact.hpp"

#include "base/bit_stream.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"

#include <algorithm>

using namespace streambloom;

/* The lower digits of a hash, which are kept apart. REQUIRES: items > 0. */
static int lower_digits(uint32_t items)
{
	return 64 - static_cast<int>(std::bit_width(items));
}

/* How many buckets a block has: 2 to 64. */
static uint32_t buckets_for(uint32_t items)
{
	return UINT32_C(1) << (64 - std::countr_zero(blocks_for(items)) - lower_digits(items));
}

static uint64_t first_hash_of(uint32_t block, uint32_t blocks)
{
	const int digits = std::countr_zero(blocks);
	return digits == 0 ? 0 : static_cast<uint64_t>(block) << (64 - digits);
}

namespace {

/* The k of a block's counts, from how many of them have how many digits. */
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

/* The bytes of a block of so many items, which are not none; *k becomes that of its counts. */
static size_t block_size(const exact_item *items, size_t count, uint32_t buckets, int digits, int *k)
{
	order_of_counts counts;
	for (size_t i = 0; i < count; i++)
		counts.add(items[i].units);
	*k = counts.order();
	size_t bits = buckets + count * static_cast<size_t>(2 + digits + *k);
	for (size_t i = 0; i < count; i++)
		if (const uint64_t rest = (items[i].units - 1) >> *k; rest != 0)
			bits += gamma_bits(rest);
	return block_header + (bits + 7) / 8;
}

static unsigned char *write_block(const exact_item *items, size_t count, uint64_t first_hash, uint32_t buckets, int digits, int k,
								  unsigned char *out)
{
	store_le(out, static_cast<uint16_t>(count - 1));
	out[2] = static_cast<unsigned char>(k);
	bit_writer bits(out + block_header);
	uint64_t bucket = 0;
	for (size_t i = 0; i < count; i++)
	{
		for (; bucket < (items[i].hash - first_hash) >> digits; bucket++)
			bits.put(0, 1);
		bits.put(1, 1);
	}
	for (; bucket < buckets; bucket++)
		bits.put(0, 1);
	for (size_t i = 0; i < count; i++)
		bits.put_wide(lower_bits(items[i].hash, digits), digits);
	for (size_t i = 0; i < count; i++)
		bits.put((items[i].units - 1) >> k != 0, 1);
	for (size_t i = 0; i < count; i++)
		bits.put_wide(lower_bits(items[i].units - 1, k), k);
	for (size_t i = 0; i < count; i++)
		if (const uint64_t rest = (items[i].units - 1) >> k; rest != 0)
			bits.put_gamma(rest);
	return bits.finish();
}

/* The items of each block to visit(block, first hash, items, count). */
template <typename Visit>
static void for_each_block(const exact_item *items, uint32_t count, Visit visit)
{
	const uint32_t blocks = blocks_for(count);
	const exact_item *end = items + count;
	for (uint32_t block = 0; block < blocks; block++)
	{
		const uint64_t first = first_hash_of(block, blocks);
		const uint64_t last = first + (UINT64_MAX >> std::countr_zero(blocks));
		const exact_item *begin = items;
		while (items < end && items->hash <= last)
			items++;
		visit(block, first, begin, static_cast<size_t>(items - begin));
	}
}

size_t streambloom::exact_size(const exact_item *items, uint32_t count)
{
	if (count == 0)
		return 0;
	const uint32_t buckets = buckets_for(count);
	const int digits = lower_digits(count);
	size_t size = size_t{4} * blocks_for(count);
	for_each_block(items, count, [&](uint32_t, uint64_t, const exact_item *of_block, size_t many) {
		int k;
		if (many != 0)
			size += block_size(of_block, many, buckets, digits, &k);
	});
	return size;
}

void streambloom::exact_write(const exact_item *items, uint32_t count, unsigned char *out)
{
	if (count == 0)
		return;
	const uint32_t buckets = buckets_for(count);
	const int digits = lower_digits(count);
	unsigned char *const first_block = out + size_t{4} * blocks_for(count);
	unsigned char *end = first_block;
	for_each_block(items, count, [&](uint32_t block, uint64_t first_hash, const exact_item *of_block, size_t many) {
		if (many != 0)
		{
			order_of_counts counts;
			for (size_t i = 0; i < many; i++)
				counts.add(of_block[i].units);
			end = write_block(of_block, many, first_hash, buckets, digits, counts.order(), end);
		}
		store_le(out + size_t{4} * block, static_cast<uint32_t>(end - first_block));
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

sb_status exact_block::open(const sb_tbf *filter, uint32_t block, const unsigned char *begin, const unsigned char *end)
{
	const auto size = static_cast<size_t>(end - begin);
	if (size < block_header)
		return SB_BAD_CELLS;
	*this = {};
	bits_ = bit_reader(begin + block_header, end);
	items_ = load_le<uint16_t>(begin) + 1u;
	order_of_counts_ = begin[2];
	lower_digits_ = lower_digits(filter->item_count);
	buckets_ = buckets_for(filter->item_count);
	first_hash_ = first_hash_of(block, blocks_of(filter));
	if (items_ > filter->item_count || order_of_counts_ > 62)
		return SB_BAD_CELLS;
	lower_ = size_t{items_} + buckets_;
	more_ = lower_ + size_t{items_} * static_cast<size_t>(lower_digits_);
	counts_ = more_ + items_;
	rest_ = counts_ + size_t{items_} * static_cast<size_t>(order_of_counts_);
	bits_.seek(rest_);
	return rest_ <= (size - block_header) * 8 ? SB_OK : SB_BAD_CELLS;
}

/* REQUIRES: bits_ stands at the rest of the item, if it has one. */
sb_status exact_block::units_of(uint32_t item, bool more, uint64_t *units)
{
	const uint64_t low = bits_.at(counts_ + size_t{item} * static_cast<size_t>(order_of_counts_), order_of_counts_);
	u128 number = low;
	if (more)
		number |= u128{bits_.gamma()} << order_of_counts_;
	*units = static_cast<uint64_t>(number) + 1;
	return bits_.ok() && number + 1 < SB_TBF_MAX_CELL ? SB_OK : SB_BAD_CELLS;
}

sb_status exact_block::next(exact_item *out)
{
	for (; bits_.at(upper_, 1) == 0; upper_++)
	{
		if (++bucket_ >= buckets_)
			return SB_BAD_CELLS;
		same_bucket_ = false;
	}
	upper_++;
	const uint64_t lower = lower_of(next_);
	if (same_bucket_ && lower <= last_lower_)
		return SB_BAD_CELLS;
	out->hash = first_hash_ + (static_cast<uint64_t>(bucket_) << lower_digits_) + lower;
	last_lower_ = lower;
	same_bucket_ = true;
	const sb_status status = units_of(next_, bits_.at(more_ + next_, 1) != 0, &out->units);
	next_++;
	return status;
}

bool exact_block::is_at_end()
{
	/* what is left of upper: a zero for each bucket from here on */
	for (; upper_ < lower_; upper_++)
		if (bits_.at(upper_, 1) != 0)
			return false;
	return bits_.is_at_end();
}

/* The first of some items of a bucket whose lower digits are not below these. */
uint32_t exact_block::first_at_least(uint32_t begin, uint32_t end, uint64_t lower) const
{
	while (begin < end)
	{
		const uint32_t half = begin + (end - begin) / 2;
		if (lower_of(half) < lower)
			begin = half + 1;
		else
			end = half;
	}
	return begin;
}

/* The place of the zero that ends a bucket, counted from the begin of upper, or `end`. */
static size_t end_of_bucket(const bit_reader &bits, uint64_t bucket, size_t end)
{
	for (size_t at = 0; at < end; at += 64)
	{
		uint64_t zeros = ~bits.word_at(at);
		const auto count = static_cast<uint64_t>(std::popcount(zeros));
		if (bucket >= count)
		{
			bucket -= count;
			continue;
		}
		for (; bucket > 0; bucket--)
			zeros &= zeros - 1;
		return std::min(at + static_cast<size_t>(std::countr_zero(zeros)), end);
	}
	return end;
}

sb_status exact_block::find(uint64_t hash, uint64_t *units)
{
	const uint64_t bucket = (hash - first_hash_) >> lower_digits_;
	const uint64_t lower = lower_bits(hash, lower_digits_);
	*units = 0;

	/* before the end of a bucket there is a zero for each one before it */
	const size_t begin = bucket == 0 ? 0 : end_of_bucket(bits_, bucket - 1, lower_) + 1;
	size_t end = begin;
	while (end < lower_ && bits_.at(end, 1) != 0)
		end++;
	if (begin < bucket || end - bucket > items_)
		return SB_BAD_CELLS;
	const auto last = static_cast<uint32_t>(end - bucket);
	const uint32_t item = first_at_least(static_cast<uint32_t>(begin - bucket), last, lower);
	if (item == last || lower_of(item) != lower)
		return SB_OK;

	/* the rests of the items before it come first */
	const bool more = bits_.at(more_ + item, 1) != 0;
	int before = 0;
	for (uint32_t i = 0; more && i < item; i += 32)
		before += std::popcount(bits_.at(more_ + i, static_cast<int>(std::min(item - i, 32u))));
	for (; before > 0; before--)
		(void) bits_.gamma();
	return units_of(item, more, units);
}

/* Where a block lies, counted from the end of the directory. */
static sb_status range_of(const sb_tbf *filter, uint32_t begin, uint32_t end, size_t *offset, size_t *size)
{
	const size_t directory = size_t{4} * blocks_of(filter);
	if (begin > end || filter->payload < directory || end > filter->payload - directory)
		return SB_BAD_CELLS;
	*offset = directory + begin;
	*size = end - begin;
	return SB_OK;
}

bool exact_reader::open_block()
{
	const uint32_t begin = block_ == 0 ? 0 : load_le<uint32_t>(cells_ + size_t{4} * (block_ - 1));
	const uint32_t end = load_le<uint32_t>(cells_ + size_t{4} * block_);
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

/* The items of a block, which has some: they fill it, and are written in the only way there is. */
static sb_status check_block(const sb_tbf *filter, uint32_t block, const unsigned char *begin, size_t size, uint64_t *items,
							 uint64_t *largest)
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
	return status == SB_OK && (!reader.is_at_end() || counts.order() != reader.order_of_counts()) ? SB_BAD_CELLS : status;
}

sb_status streambloom::exact_check(const sb_tbf *filter, const void *cells)
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	const uint32_t blocks = blocks_of(filter);
	uint64_t largest = 0;
	uint64_t items = 0;
	uint32_t end = 0;
	if (filter->payload < size_t{4} * blocks)
		return SB_BAD_CELLS;
	for (uint32_t block = 0; block < blocks; block++)
	{
		size_t offset;
		size_t size;
		const uint32_t begin = end;
		end = load_le<uint32_t>(bytes + size_t{4} * block);
		sb_status status = stop_wanted() ? SB_INTERRUPTED : range_of(filter, begin, end, &offset, &size);
		if (status == SB_OK && size != 0)
			status = check_block(filter, block, bytes + offset, size, &items, &largest);
		if (status != SB_OK)
			return status;
	}
	return items == filter->item_count && size_t{4} * blocks + end == filter->payload &&
				   narrowest_cell(largest) == filter->cell_bits
			   ? SB_OK
			   : SB_BAD_CELLS;
}

/* ------------------------------------------------------------------ look-ups */

void streambloom::exact_directory_range(const sb_tbf *filter, uint64_t hash, size_t *offset, size_t *size)
{
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (filter->item_count == 0)
		return;
	const uint32_t block = block_of(blocks_of(filter), hash);
	*size = block == 0 ? 4 : 8;
	*offset += size_t{4} * (block == 0 ? 0 : block - 1);
}

sb_status streambloom::exact_block_range(const sb_tbf *filter, uint64_t hash, const void *directory, size_t *offset, size_t *size)
{
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (filter->item_count == 0)
		return SB_OK;
	const auto *ends = static_cast<const unsigned char *>(directory);
	const bool is_first = block_of(blocks_of(filter), hash) == 0;
	const uint32_t begin = is_first ? 0 : load_le<uint32_t>(ends);
	const sb_status status = range_of(filter, begin, load_le<uint32_t>(is_first ? ends : ends + 4), offset, size);
	*offset += SB_TBF_HEADER;
	return status;
}

sb_status streambloom::exact_find(const sb_tbf *filter, const void *block, size_t size, uint64_t hash, uint64_t *units)
{
	*units = 0;
	if (size == 0)
		return SB_OK;
	const auto *begin = static_cast<const unsigned char *>(block);
	exact_block items;
	const sb_status status = items.open(filter, block_of(blocks_of(filter), hash), begin, begin + size);
	return status == SB_OK ? items.find(hash, units) : status;
}

sb_status streambloom::exact_count(const sb_tbf *filter, const void *cells, uint64_t hash, uint64_t *units)
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	size_t offset;
	size_t size;
	*units = 0;
	exact_directory_range(filter, hash, &offset, &size);
	if (sb_status status = exact_block_range(filter, hash, bytes + (offset - SB_TBF_HEADER), &offset, &size); status != SB_OK)
		return status;
	return exact_find(filter, bytes + (offset - SB_TBF_HEADER), size, hash, units);
}
