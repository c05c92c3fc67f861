/* hash_list.cpp: see hash_list.hpp. */
#include "base/hash_list.hpp"

#include "base/stop.hpp"

#include <algorithm>

using namespace streambloom;

constexpr uint64_t largest_units = UINT64_C(1) << 62; /* counts are below this */

/* ------------------------------------------------------------------- writing */

namespace {

/* A block of items, and the list that it belongs to. */
struct block_to_write
{
	const hash_list &list;
	items_to_list items;
	int k;

	bool last_of_bucket(size_t i) const
	{
		return i + 1 == items.count || list.digits.bucket(items.hash(i)) != list.digits.bucket(items.hash(i + 1));
	}
	uint64_t rest(size_t i) const { return (items.units(i) - 1) >> k; }

	size_t size() const
	{
		size_t bits = list.block_bits(items.count, k);
		for (size_t i = 0; list.counts && i < items.count; i++)
			bits += rest(i) != 0 ? gamma_bits(rest(i)) : 0;
		return (bits + 7) / 8;
	}
	unsigned char *write(unsigned char *out) const
	{
		const hash_digits &digits = list.digits;
		store_le(out, static_cast<uint16_t>(items.count - 1));
		if (list.counts)
			out[2] = static_cast<unsigned char>(k);
		bit_writer bits(out + list.taken() / 8);
		size_t i = 0;
		for (uint32_t bucket = 0; bucket < digits.buckets(); bucket++)
		{
			const bool taken = i < items.count && digits.bucket(items.hash(i)) == bucket;
			bits.put(taken, 1);
			while (taken && i < items.count && digits.bucket(items.hash(i)) == bucket)
				i++;
		}
		for (i = 0; i < items.count; i++)
			bits.put(last_of_bucket(i), 1);
		for (i = 0; list.counts && i < items.count; i++)
			bits.put(rest(i) != 0, 1);
		for (i = 0; i < items.count; i++)
		{
			bits.put(digits.lower_of(items.hash(i)), digits.lower);
			bits.put_wide(lower_bits(items.units(i) - 1, k), k);
		}
		for (i = 0; list.counts && i < items.count; i++)
			if (rest(i) != 0)
				bits.put_gamma(rest(i));
		return bits.finish();
	}
};

} // namespace

/* Returns the size of the list; also writes it, unless `out` is NULL. */
static size_t make_list(const items_to_list &items, unsigned char *out)
{
	const hash_list list(items.count, items.counts, out, 0);
	const size_t directory = list.directory();
	size_t end = directory;
	uint32_t next = 0;
	for (uint32_t block = 0; block < list.blocks(); block++)
	{
		const uint32_t begin = next;
		order_of_counts counts;
		for (; next < items.count && list.digits.block(items.hash(next)) == block; next++)
			counts.add(items.units(next));
		const block_to_write written = {
			list, {items.first + size_t{begin} * (1 + items.counts), next - begin, items.counts}, counts.order()};
		if (next != begin)
			end = out != nullptr ? static_cast<size_t>(written.write(out + end) - out) : end + written.size();
		if (out != nullptr)
			store_end(out + directory_entry * block, static_cast<uint32_t>(end - directory));
	}
	return end;
}

size_t streambloom::list_size(const items_to_list &items)
{
	return make_list(items, nullptr);
}

void streambloom::write_list(const items_to_list &items, unsigned char *out)
{
	(void) make_list(items, out);
}

/* ------------------------------------------------------------------- reading */

/* Reads the first bytes of a block. Returns false if they cannot be those of a block of `size` bytes in this list. */
SB_KERNEL bool read_parts(const hash_list &list, const unsigned char *block, size_t size, block_parts *out)
{
	if (size * 8 < list.taken())
		return false;
	out->items = load_le<uint16_t>(block) + 1u;
	out->order = list.counts ? block[2] : 0;
	out->last = list.taken() + list.digits.buckets();
	out->more = out->last + out->items;
	out->records = out->more + (list.counts ? out->items : 0);
	out->record = static_cast<size_t>(list.digits.lower + out->order);
	out->rest = out->records + out->items * out->record;
	return out->items <= list.items && out->order < 63 && out->rest <= size * 8;
}

/*
 * Makes a count from the two parts of count - 1 that are stored: `low`, its k lowest digits, and `rest`, the digits
 * above these. SB_BAD_CELLS: the count is too large.
 */
static sb_status put_together(uint64_t low, uint64_t rest, int order, uint64_t *units)
{
	const u128 number = u128{rest} << order | low;
	*units = static_cast<uint64_t>(number) + 1;
	return number + 1 < largest_units ? SB_OK : SB_BAD_CELLS;
}

bool list_reader::open_block()
{
	const uint32_t begin = end_;
	size_t offset = 0;
	size_t size = 0;
	status_ = SB_BAD_CELLS;
	if (list_.size >= list_.directory())
	{
		end_ = load_end(list_.bytes + directory_entry * block_);
		status_ = list_.range(begin, end_, &offset, &size);
	}
	parts_.items = next_ = 0;
	if (status_ == SB_OK && size != 0)
	{
		const unsigned char *block = list_.bytes + offset;
		if (!read_parts(list_, block, size, &parts_))
			status_ = SB_BAD_CELLS;
		bits_ = bit_reader(block, block + size);
		bits_.seek(parts_.rest);
		first_hash_ = list_.digits.first_hash(block_);
		bucket_ = 0;
		at_least_ = 0;
		record_ = parts_.records;
		if (counts_ != nullptr)
			*counts_ = {};
		find_taken();
	}
	block_++;
	return status_ == SB_OK;
}

/* If bucket_ has no items, moves it on to the next bucket that has items, or beyond the last bucket. */
void list_reader::find_taken()
{
	while (bucket_ < list_.digits.buckets())
	{
		const uint64_t taken = bits_.word_at(list_.taken() + bucket_);
		bucket_ += static_cast<uint32_t>(std::countr_zero(taken));
		if (taken != 0)
			break;
	}
}

template <bool counts>
SB_KERNEL sb_status list_reader::read_item(uint64_t *hash, uint64_t *units)
{
	const int lower_digits = list_.digits.lower;
	const uint64_t lower = bits_.at(record_, lower_digits);
	if (bucket_ >= list_.digits.buckets() || lower < at_least_)
		return SB_BAD_CELLS;
	*hash = first_hash_ + (((uint64_t{bucket_} << lower_digits) + lower) << hash_digits::dropped);
	sb_status status = SB_OK;
	if constexpr (counts)
	{
		const uint64_t low = bits_.at(record_ + static_cast<size_t>(lower_digits), parts_.order);
		const uint64_t rest = bits_.at(parts_.more + next_, 1) != 0 ? bits_.gamma() : 0;
		status = put_together(low, rest, parts_.order, units);
		if (!bits_.ok())
			status = SB_BAD_CELLS;
		if (counts_ != nullptr && status == SB_OK)
			counts_->add(*units);
	}
	record_ += parts_.record;
	at_least_ = lower + 1;
	if (bits_.at(parts_.last + next_++, 1) != 0)
	{
		at_least_ = 0;
		bucket_++;
		find_taken();
	}

	/* the last item of a block is the last one of its bucket, and no later bucket has items */
	return next_ == parts_.items && (at_least_ != 0 || bucket_ < list_.digits.buckets()) ? SB_BAD_CELLS : status;
}

template <bool counts>
size_t list_reader::read()
{
	size_t count = 0;
	while (status_ == SB_OK && count < at_once)
	{
		if (next_ == parts_.items)
		{
			if (block_ == list_.blocks() || !open_block())
				break;
			continue;
		}
		if (given_ == list_.items)
			status_ = SB_BAD_CELLS;
		for (; status_ == SB_OK && next_ < parts_.items && count < at_once && given_ < list_.items; given_++)
		{
			status_ = read_item<counts>(&hashes_[count], &units_[count]);
			count += status_ == SB_OK;
		}
		if (next_ == parts_.items && (!bits_.is_at_end() || (counts_ != nullptr && counts_->order() != parts_.order)))
			status_ = SB_BAD_CELLS;
	}
	if (status_ == SB_OK && count == 0 && (given_ != list_.items || list_.directory() + end_ != list_.size))
		status_ = SB_BAD_CELLS;
	return status_ == SB_OK ? count : 0;
}

size_t list_reader::next()
{
	return list_.counts ? read<true>() : read<false>();
}

sb_status streambloom::check_list(const hash_list &list, uint64_t *largest)
{
	order_of_counts counts;
	list_reader reader(list, list.counts ? &counts : nullptr);
	*largest = 0;
	while (const size_t count = reader.next())
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		for (size_t i = 0; i < count && list.counts; i++)
			*largest = std::max(*largest, reader.units()[i]);
	}
	return reader.status();
}

/* ------------------------------------------------------------------ look-ups */

sb_status hash_list::block_range(uint64_t hash, const void *entries, size_t *offset, size_t *length) const
{
	*offset = 0;
	*length = 0;
	if (items == 0)
		return SB_OK;
	const auto *ends = static_cast<const unsigned char *>(entries);
	const bool is_first = digits.block(hash) == 0;
	return range(is_first ? 0 : load_end(ends), load_end(is_first ? ends : ends + directory_entry), offset, length);
}

/* Reads the rest of an item whose `more` is set. */
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
SB_KERNEL sb_status find_hash_kernel(const hash_list &list, const unsigned char *block, size_t have, size_t size,
									 uint64_t hash, uint64_t *units)
{
	const hash_digits digits = list.digits;
	const uint32_t bucket = digits.bucket(hash);
	const block_bits bits(block, have);
	const size_t taken = list.taken();
	const size_t head = taken + digits.buckets();
	block_parts parts;
	if (size * 8 < head)
		return SB_BAD_CELLS;
	if (have * 8 < head)
		return SB_NEED_BYTES;
	if (bits.digits(taken + bucket, 1) == 0)
		return SB_OK;
	if (!read_parts(list, block, size, &parts))
		return SB_BAD_CELLS;
	if (have * 8 < parts.records)
		return SB_NEED_BYTES;

	uint32_t begin;
	uint32_t end;
	if (!items_of_bucket<variant>(bits, parts.last, parts.items, count_ones<variant>(bits, taken, bucket), &begin,
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
	*units = 1;
	if (!list.counts)
		return SB_OK;

	const bool more = bits.digits(parts.more + item, 1) != 0;
	const size_t count = parts.records + item * parts.record + static_cast<size_t>(digits.lower);
	const uint64_t low = parts.order == 0 ? 0 : bits.digits(count, parts.order);
	uint64_t rest = 0;
	if (more && have < size)
		return SB_NEED_BYTES;
	if (more)
		if (sb_status status = rest_of<variant>(block, size, bits, parts, item, &rest); status != SB_OK)
			return status;
	return put_together(low, rest, parts.order, units);
}
static sb_status find_hash(const hash_list &list, const unsigned char *block, size_t have, size_t size, uint64_t hash,
						   uint64_t *units);
SB_VARIANTS(sb_status, find_hash,
			(const hash_list &list, const unsigned char *block, size_t have, size_t size, uint64_t hash,
			 uint64_t *units),
			(list, block, have, size, hash, units))

sb_status streambloom::find_in_block(const hash_list &list, const void *block, size_t have, size_t size, uint64_t hash,
									 uint64_t *units)
{
	*units = 0;
	return size == 0 ? SB_OK : find_hash(list, static_cast<const unsigned char *>(block), have, size, hash, units);
}

sb_status streambloom::find_in_list(const hash_list &list, uint64_t hash, uint64_t *units)
{
	size_t offset;
	size_t size;
	*units = 0;
	if (list.size < list.directory())
		return SB_BAD_CELLS;
	list.directory_range(hash, &offset, &size);
	if (sb_status status = list.block_range(hash, list.bytes + offset, &offset, &size); status != SB_OK)
		return status;
	return find_in_block(list, list.bytes + offset, size, size, hash, units);
}
