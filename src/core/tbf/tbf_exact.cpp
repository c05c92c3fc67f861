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

static uint32_t blocks_for(uint32_t items)
{
	return items < 32 ? 1 : std::bit_floor(items / 32);
}

static uint32_t blocks_of(const sb_tbf *filter)
{
	return filter->item_count == 0 ? 0 : blocks_for(filter->item_count);
}

/* The order of the Rice code of hashes. REQUIRES: items > 0. */
static int order_of_hashes(uint32_t items)
{
	return 64 - static_cast<int>(std::bit_width(items));
}

static uint64_t first_hash_of(uint32_t block, uint32_t blocks)
{
	const int digits = std::countr_zero(blocks);
	return digits == 0 ? 0 : static_cast<uint64_t>(block) << (64 - digits);
}

static uint64_t last_hash_of(uint32_t block, uint32_t blocks)
{
	return first_hash_of(block, blocks) + (UINT64_MAX >> std::countr_zero(blocks));
}

/* The order of the code of counts, from how many of them have how many digits. */
namespace {

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

/* A block of so many items, which are not none. */
template <typename Bits>
static void put_block(Bits *bits, const exact_item *items, size_t count, uint64_t first_hash, int order)
{
	order_of_counts counts;
	for (size_t i = 0; i < count; i++)
		counts.add(items[i].units);
	const int k = counts.order();
	put_gamma(bits, count);
	bits->put(static_cast<uint64_t>(k), 6);
	uint64_t from = first_hash;
	for (size_t i = 0; i < count; i++)
	{
		const uint64_t distance = items[i].hash - from;
		const uint64_t less_one = items[i].units - 1;
		bits->zeros_and_one(distance >> order);
		bits->put_wide(lower_bits(distance, order), order);
		put_gamma(bits, (less_one >> k) + 1);
		bits->put_wide(lower_bits(less_one, k), k);
		from = items[i].hash + 1;
	}
}

/* The items of each block to visit(block, items, count). */
template <typename Visit>
static void for_each_block(const exact_item *items, uint32_t count, Visit visit)
{
	const uint32_t blocks = blocks_for(count);
	const exact_item *end = items + count;
	for (uint32_t block = 0; block < blocks; block++)
	{
		const uint64_t last = last_hash_of(block, blocks);
		const exact_item *begin = items;
		while (items < end && items->hash <= last)
			items++;
		visit(block, begin, static_cast<size_t>(items - begin));
	}
}

size_t streambloom::exact_size(const exact_item *items, uint32_t count)
{
	if (count == 0)
		return 0;
	const uint32_t blocks = blocks_for(count);
	const int order = order_of_hashes(count);
	size_t size = size_t{4} * blocks;
	for_each_block(items, count, [&](uint32_t block, const exact_item *of_block, size_t many) {
		bit_meter bits;
		if (many != 0)
			put_block(&bits, of_block, many, first_hash_of(block, blocks), order);
		size += bits.bytes();
	});
	return size;
}

void streambloom::exact_write(const exact_item *items, uint32_t count, unsigned char *out)
{
	if (count == 0)
		return;
	const uint32_t blocks = blocks_for(count);
	const int order = order_of_hashes(count);
	unsigned char *const first_block = out + size_t{4} * blocks;
	unsigned char *end = first_block;
	for_each_block(items, count, [&](uint32_t block, const exact_item *of_block, size_t many) {
		bit_writer bits(end);
		if (many != 0)
			put_block(&bits, of_block, many, first_hash_of(block, blocks), order);
		end = bits.finish();
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
	const uint32_t blocks = blocks_of(filter);
	bits_ = bit_reader(begin, end);
	left_ = bits_.gamma();
	order_of_counts_ = static_cast<int>(bits_.get(6));
	order_of_hashes_ = order_of_hashes(filter->item_count);
	from_ = first_hash_of(block, blocks);
	last_ = last_hash_of(block, blocks);
	return bits_.ok() && left_ <= filter->item_count ? SB_OK : SB_BAD_CELLS;
}

sb_status exact_block::next(exact_item *out)
{
	const uint64_t quotient = bits_.zeros_before_one(most_zeros);
	const u128 hash = (u128{quotient} << order_of_hashes_) + bits_.get(order_of_hashes_) + from_;
	const uint64_t quotient_of_units = bits_.gamma() - 1;
	const u128 units = (u128{quotient_of_units} << order_of_counts_) + bits_.get(order_of_counts_) + 1;
	if (!bits_.ok() || hash > last_ || units >= SB_TBF_MAX_CELL)
		return SB_BAD_CELLS;
	*out = {static_cast<uint64_t>(hash), static_cast<uint64_t>(units)};
	from_ = hash + 1;
	left_--;
	return SB_OK;
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
	sb_status status = items.open(filter, block_of(blocks_of(filter), hash), begin, begin + size);
	exact_item item = {};
	while (status == SB_OK && items.left() > 0)
	{
		status = items.next(&item);
		if (status != SB_OK || item.hash >= hash)
			break;
	}
	if (status == SB_OK && item.hash == hash && item.units != 0)
		*units = item.units;
	return status;
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
