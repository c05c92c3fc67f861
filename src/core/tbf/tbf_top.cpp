/*
 * tbf_top.cpp: the list of the hottest items of a tbf, by Misra and Gries (1982), weighted, decayed and mergeable.
 * sb_top.h says what the list guarantees, and why: L <= f <= L + error for every item, and error <= W / (c + 1) apart
 * from rounding. Here L is the lower bound that the list has for the item, f the item's hits, W the hits of all items,
 * and c the limit of the list.
 *
 * L and the error are integers that count at a base of whole half-lives, as the filter's counters do. L is a lower
 * bound, so it is rounded down, and the amount lost is added to the error, which all items share. Therefore the unit
 * is 2^-40 hits: with the 2^-12 hits of sums, rounding a million hits could add 244 hits to the error.
 */
#include "base/bits.hpp"
#include "base/hash_set.hpp"
#include "tbf/tbf_top.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace streambloom;

static constexpr uint64_t one = UINT64_C(1) << 62; /* 1 in the format of sb_moment.scale */

/* Sums of amounts do not grow beyond this. Real amounts are much smaller, but those of forged lists may reach it. */
static constexpr u128 largest_amount = u128{1} << 120;

/* L and error are written with at most so many binary digits (the error may be 1 larger). Their sum fits 64 bits. */
static constexpr int stored_bits = 62;

static int bit_width(u128 value)
{
	auto high = static_cast<uint64_t>(value >> 64);
	return high ? 64 + static_cast<int>(std::bit_width(high)) :
				  static_cast<int>(std::bit_width(static_cast<uint64_t>(value)));
}

/* Takes copies: sb_u128 members are aligned to 8 bytes only, so std::min() must not take references to them. */
static u128 lesser(u128 a, u128 b)
{
	return a < b ? a : b;
}

static u128 sum_up_to_largest(u128 a, u128 b)
{
	return lesser(lesser(a, largest_amount) + lesser(b, largest_amount), largest_amount);
}

static u128 shift_right_down(u128 value, uint64_t shift)
{
	return shift >= 128 ? 0 : value >> shift;
}

/* Returns to - from, or 1,000 or -1,000 if it is beyond these: after 1,000 half-lives nothing is left of an amount. */
static int64_t distance(int64_t from, int64_t to)
{
	return std::clamp<int64_t>(to - from, -1000, 1000);
}

/* ---------------------------------------------------------------- the table */

uint32_t streambloom::top_slots(uint32_t room)
{
	return std::bit_ceil(std::max<uint32_t>(2 * room, 8));
}

/*
 * Returns the slot where this hash is, or would be. The slot always depends on the secret (sb_set_secret()), because
 * somebody may have chosen the hashes.
 */
static uint32_t slot_of(const top_list *list, uint64_t hash)
{
	uint32_t mask = top_slots(list->room) - 1;
	auto slot = static_cast<uint32_t>(secret_key(hash, process_secret)) & mask;
	while (list->slots[slot] != 0 && list->entries[list->slots[slot] - 1].hash != hash)
		slot = (slot + 1) & mask;
	return slot;
}

void streambloom::top_index(top_list *list)
{
	if (list->room == 0)
		return; /* nothing was ever listed */
	std::memset(list->slots, 0, top_slots(list->room) * sizeof *list->slots);
	for (uint32_t i = 0; i < list->count; i++)
		list->slots[slot_of(list, list->entries[i].hash)] = i + 1;
}

/* Drops the entries whose L is 0, with their texts. The other texts stay in the order of their entries. */
static void drop_nothings(top_list *list)
{
	uint32_t kept = 0;
	uint32_t used = 0;
	for (uint32_t i = 0; i < list->count; i++)
	{
		top_entry entry = list->entries[i];
		if (entry.least == 0)
			continue;
		if (entry.length != 0) /* `bytes` may be NULL if all texts are empty */
			std::memmove(list->bytes + used, list->bytes + entry.offset, entry.length);
		entry.offset = used;
		used += entry.length;
		list->entries[kept++] = entry;
	}
	list->count = kept;
	list->bytes_used = used;
	top_index(list);
}

void streambloom::top_purge(top_list *list)
{
	if (list->count <= list->limit)
		return;

	/* subtract the (c + 1)-th largest L from all; entries whose L becomes 0 are dropped */
	for (uint32_t i = 0; i < list->count; i++)
		list->scratch[i].value = list->entries[i].least;
	std::nth_element(list->scratch, list->scratch + list->limit, list->scratch + list->count,
					 [](const top_key &a, const top_key &b) { return a.value > b.value; });
	u128 cut = list->scratch[list->limit].value;
	for (uint32_t i = 0; i < list->count; i++)
		list->entries[i].least -= lesser(list->entries[i].least, cut);
	list->error = sum_up_to_largest(list->error, cut);
	drop_nothings(list);
}

void streambloom::top_turn(top_list *list, int64_t half_lives)
{
	if (!list->any)
	{
		list->any = true;
		list->base = half_lives;
		return;
	}
	if (half_lives <= list->base)
		return;

	auto shift = static_cast<uint64_t>(distance(list->base, half_lives));
	bool lost = false;
	bool nothings = false;
	for (uint32_t i = 0; i < list->count; i++)
	{
		u128 before = list->entries[i].least;
		u128 after = shift_right_down(before, shift);
		lost |= shift_right_up(before, shift) != after;
		nothings |= after == 0;
		list->entries[i].least = after;
	}
	list->error = shift_right_up(u128{list->error}, shift) + lost;
	list->base = half_lives;
	if (nothings)
		drop_nothings(list);
}

/* --------------------------------------------------------------------- hits */

void streambloom::top_hit(const sb_moment *moment, double weight, sb_u128 *least, sb_u128 *lost)
{
	*least = 0;
	*lost = 0;
	if (weight == 0)
		return;

	/*
	 * The hit is calculated as in sb_tbf_hit(). Unless the scale is exactly 1, the scale was rounded up by less than
	 * 1e-9 of itself. So a lower bound is calculated with scale - scale / 2^29, which is less than the true scale.
	 */
	int exponent;
	auto mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(weight, &exponent), 53));
	exponent -= 53;
	auto shift = static_cast<uint64_t>(62 - top_fraction_bits - exponent);
	uint64_t scale = moment->scale == one ? one : std::max(one, moment->scale - (moment->scale >> 29));
	*least = shift_right_down(static_cast<u128>(mantissa) * scale, shift);
	*lost = shift_right_up(static_cast<u128>(mantissa) * moment->scale, shift) - *least;
}

bool streambloom::top_add(top_list *list, uint64_t hash, int64_t half_lives, sb_u128 *least, sb_u128 lost)
{
	top_turn(list, half_lives);
	auto shift = static_cast<uint64_t>(distance(half_lives, list->base));
	u128 most = shift_right_up(sum_up_to_largest(*least, lost), shift);
	*least = shift_right_down(lesser(*least, largest_amount), shift);
	list->error = sum_up_to_largest(list->error, most - *least);
	if (*least == 0)
		return true;
	uint32_t place = list->count == 0 ? 0 : list->slots[slot_of(list, hash)];
	if (place == 0)
		return false;
	top_entry *entry = &list->entries[place - 1];
	entry->least = sum_up_to_largest(entry->least, *least);
	return true;
}

void streambloom::top_insert(top_list *list, uint64_t hash, sb_u128 least, const void *item, uint32_t length)
{
	list->entries[list->count] = {hash, least, list->bytes_used, length};
	if (length != 0)
		std::memcpy(list->bytes + list->bytes_used, item, length);
	list->bytes_used += length;
	list->slots[slot_of(list, hash)] = ++list->count;
}

void streambloom::top_add_error(top_list *list, int64_t half_lives, sb_u128 error)
{
	top_turn(list, half_lives);
	auto shift = static_cast<uint64_t>(distance(half_lives, list->base));
	list->error = sum_up_to_largest(list->error, shift_right_up(lesser(error, largest_amount), shift));
}

/*
 * Sets *out to value * mantissa * 2^exponent, rounded down. *lost becomes true if the exact product is larger. Returns
 * false if the result is too large. REQUIRES: value <= largest_amount, mantissa < 2^53.
 */
static bool scaled(u128 value, uint64_t mantissa, int exponent, u128 *out, bool *lost)
{
	/* the product has 174 bits at most: high * 2^64 + low, low < 2^64 */
	u128 low = static_cast<u128>(static_cast<uint64_t>(value)) * mantissa;
	u128 high = (value >> 64) * mantissa + (low >> 64);
	low = static_cast<uint64_t>(low);

	*out = 0;
	*lost = false;
	if (high == 0 && low == 0)
		return true;
	if (exponent >= 0)
	{
		if (exponent > 120 || high >> 64 != 0 || bit_width(high << 64 | low) + exponent > 120)
			return false;
		*out = (high << 64 | low) << exponent;
		return true;
	}
	if (exponent <= -64)
	{
		auto rest = static_cast<uint64_t>(-(static_cast<int64_t>(exponent) + 64));
		*out = shift_right_down(high, rest);
		*lost = low != 0 || shift_right_up(high, rest) != *out;
		return *out <= largest_amount;
	}
	if (bit_width(high) + 64 + exponent > 120)
		return false;
	*out = (high << (64 + exponent)) | (low >> -exponent);
	*lost = (low & ((u128{1} << -exponent) - 1)) != 0;
	return true;
}

sb_status streambloom::top_scale(top_list *list, uint64_t mantissa, int exponent)
{
	if (mantissa >> 53 != 0)
		return SB_OUT_OF_RANGE;
	bool any_lost = false;
	bool lost;
	u128 amount;
	for (uint32_t i = 0; i < list->count; i++)
	{
		if (!scaled(list->entries[i].least, mantissa, exponent, &amount, &lost))
			return SB_OVERFLOW;
		list->entries[i].least = amount;
		any_lost |= lost;
	}
	if (!scaled(list->error, mantissa, exponent, &amount, &lost))
		return SB_OVERFLOW;
	list->error = amount + lost + any_lost;
	drop_nothings(list);
	return SB_OK;
}

/* ------------------------------------------------------------------- storing */

/*
 * A stored list:
 *
 *   offset size
 *    0      2   entries n, 0 .. top
 *    2      1   fraction bits f, 0 .. 40: L and error count in 2^-f hits at the base
 *    3      5   zero
 *    8      8   error, below 2^63
 *   16          n entries by ascending hash, each
 *    0      8     hash
 *    8      8     L, 1 .. 2^63 - 1
 *   16      2     length of the item's bytes, 0 .. 256
 *   16+18n      the items, in the same order, without anything between them
 */
namespace {

/* How amounts in memory are converted to stored numbers: by a shift, with L rounded down and the error up. */
struct conversion
{
	int fraction_bits;
	int64_t shift; /* to the left; negative: to the right */

	u128 down(u128 amount) const
	{
		if (shift < 0)
			return cut(shift_right_down(amount, static_cast<uint64_t>(-shift)));
		if (amount == 0)
			return 0;
		return bit_width(amount) + shift > stored_bits ? largest : amount << shift;
	}
	u128 up(u128 amount) const
	{
		return shift < 0 ? cut(shift_right_up(amount, static_cast<uint64_t>(-shift))) : down(amount);
	}

	/* the largest number that is written; larger ones come only from forged lists, and become this one */
	static constexpr u128 largest = (u128{1} << stored_bits) - 1;
	static u128 cut(u128 amount) { return lesser(amount, largest); }
};

} // namespace

namespace {

/* Writes a stored list from its beginning to its end. */
class section_writer
{
public:
	section_writer(void *out, uint32_t count, int fraction_bits, u128 error)
		: begin_(static_cast<unsigned char *>(out)), entry_(begin_ + top_section_size),
		  item_(entry_ + top_entry_size * count)
	{
		std::memset(begin_, 0, top_section_size);
		store_le(begin_, static_cast<uint16_t>(count));
		begin_[2] = static_cast<unsigned char>(fraction_bits);
		store_le(begin_ + 8, static_cast<uint64_t>(error));
	}

	/* Writes one entry. REQUIRES: `count` calls in all, by ascending hash. */
	void add(uint64_t hash, u128 least, const unsigned char *text, uint32_t length)
	{
		store_le(entry_, hash);
		store_le(entry_ + 8, static_cast<uint64_t>(least));
		store_le(entry_ + 16, static_cast<uint16_t>(length));
		entry_ += top_entry_size;
		if (length != 0)
			std::memcpy(item_, text, length);
		item_ += length;
	}
	uint32_t size() const { return static_cast<uint32_t>(item_ - begin_); }

private:
	unsigned char *begin_;
	unsigned char *entry_;
	unsigned char *item_;
};

} // namespace

/*
 * Chooses as many fraction bits as the largest number, `most`, leaves room for. `up` is the shift to the left that
 * converts a number from the base of `most` to the base of the stored list.
 */
static conversion conversion_of(u128 most, int64_t up)
{
	int64_t width = most == 0 ? 0 : bit_width(most) + up;
	int64_t spare = std::clamp<int64_t>(stored_bits - 1 - width, -top_fraction_bits, 0);
	return {static_cast<int>(top_fraction_bits + spare), up + spare};
}

static conversion conversion_to(const top_list *list, int64_t base)
{
	u128 most = list->error;
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].least > most)
			most = list->entries[i].least;
	return conversion_of(most, list->any ? distance(base, list->base) : 0);
}

uint32_t streambloom::top_size(const top_list *list, int64_t base)
{
	conversion to = conversion_to(list, base);
	size_t size = top_section_size;
	for (uint32_t i = 0; i < list->count; i++)
		if (to.down(list->entries[i].least) != 0)
			size += top_entry_size + list->entries[i].length;
	return static_cast<uint32_t>(size);
}

void streambloom::top_write(const top_list *list, int64_t base, void *out)
{
	conversion to = conversion_to(list, base);
	uint32_t count = 0;
	bool lost = false;

	/* sort by hash: the high half of a key is the hash, the low half the entry's index */
	for (uint32_t i = 0; i < list->count; i++)
	{
		u128 least = list->entries[i].least;
		lost |= to.up(least) != to.down(least);
		if (to.down(least) != 0)
			list->scratch[count++].value = static_cast<u128>(list->entries[i].hash) << 64 | i;
	}
	std::sort(list->scratch, list->scratch + count,
			  [](const top_key &a, const top_key &b) { return a.value < b.value; });

	section_writer writer(out, count, to.fraction_bits, to.up(list->error) + lost);
	for (uint32_t i = 0; i < count; i++)
	{
		const top_entry *entry = &list->entries[static_cast<uint32_t>(list->scratch[i].value)];
		writer.add(entry->hash, to.down(entry->least), list->bytes + entry->offset, entry->length);
	}
}

/*
 * Writes the bytes that top_write() would write after add_section() and top_turn(), but without a list in memory. That
 * is possible because stored entries are already in the order of hashes. They are read three times: to find the largest
 * number, to count the entries that stay, and to write these.
 */
sb_status streambloom::decay_list(const sb_tbf *filter, const void *list, uint64_t half_lives, void *out,
								  uint32_t *size)
{
	top_section section;
	if (sb_status status = top_open(list, filter->extra, filter->top, filter->total, &section); status != SB_OK)
		return status;

	u128 most = 0;
	bool lost = false;
	sb_top_item item;
	for (top_section rest = section; top_next(&rest, &item);)
	{
		u128 before = top_amount(&section, item.least);
		u128 after = shift_right_down(before, half_lives);
		lost |= shift_right_up(before, half_lives) != after;
		most = std::max(most, after);
	}
	const u128 error = shift_right_up(u128{top_amount(&section, section.error)}, half_lives) + lost;
	const conversion to = conversion_of(std::max(most, error), 0);
	auto after_decay = [&] { return shift_right_down(top_amount(&section, item.least), half_lives); };

	uint32_t count = 0;
	bool cut = false;
	for (top_section rest = section; top_next(&rest, &item);)
	{
		cut |= to.up(after_decay()) != to.down(after_decay());
		count += to.down(after_decay()) != 0;
	}
	section_writer writer(out, count, to.fraction_bits, to.up(error) + cut);
	for (top_section rest = section; top_next(&rest, &item);)
		if (const u128 least = to.down(after_decay()); least != 0)
			writer.add(item.hash, least, item.bytes, item.length);
	*size = writer.size();
	return SB_OK;
}

/* ------------------------------------------------------------------- reading */

sb_status streambloom::top_open(const void *data, size_t size, uint32_t limit, uint64_t total, top_section *out)
{
	const auto *bytes = static_cast<const unsigned char *>(data);

	*out = {};
	if (size < top_section_size)
		return SB_BAD_LENGTH;
	uint32_t count = load_le<uint16_t>(bytes);
	if (size - top_section_size < size_t{top_entry_size} * count)
		return SB_BAD_LENGTH;
	*out = {count,
			bytes[2],
			load_le<uint64_t>(bytes + 8),
			bytes + top_section_size,
			bytes + top_section_size + size_t{top_entry_size} * count,
			count};
	if (count > limit || out->fraction_bits > top_fraction_bits || bytes[3] != 0 || load_le<uint32_t>(bytes + 4) != 0 ||
		out->error >> 63 != 0)
		return SB_BAD_LIST;

	size_t items = 0;
	uint64_t before = 0;
	u128 sum = 0;
	const unsigned char *entry = out->entry;
	for (uint32_t i = 0; i < count; i++, entry += top_entry_size)
	{
		auto hash = load_le<uint64_t>(entry);
		auto least = load_le<uint64_t>(entry + 8);
		auto length = load_le<uint16_t>(entry + 16);
		if ((i > 0 && hash <= before) || least == 0 || least >> 63 != 0 || length > SB_TOP_MAX_ITEM)
			return SB_BAD_LIST;
		before = hash;
		sum += least;
		items += length;
	}
	if (size != top_section_size + size_t{top_entry_size} * count + items)
		return SB_BAD_LENGTH;

	/* the sum of all L cannot exceed the total of all hits */
	if (total != UINT64_MAX && sum << (top_fraction_bits - out->fraction_bits) >
								   static_cast<u128>(total) << (top_fraction_bits - SB_TBF_HIT_BITS))
		return SB_BAD_LIST;
	return SB_OK;
}

bool streambloom::top_next(top_section *section, sb_top_item *out)
{
	if (section->left == 0)
		return false;
	*out = {load_le<uint64_t>(section->entry), load_le<uint64_t>(section->entry + 8), section->item,
			load_le<uint16_t>(section->entry + 16)};
	section->entry += top_entry_size;
	section->item += out->length;
	section->left--;
	return true;
}

sb_u128 streambloom::top_amount(const top_section *section, uint64_t stored)
{
	return static_cast<u128>(stored) << (top_fraction_bits - section->fraction_bits);
}

/* significand * 2^exponent as a double, rounded up if `up` is true, else down. */
static double as_double(u128 significand, int64_t exponent, bool up)
{
	if (significand == 0)
		return 0;
	if (exponent > 2000)
		return std::numeric_limits<double>::infinity();
	int cut = std::max(bit_width(significand) - 53, 0);
	u128 kept = up ? shift_right_up(significand, static_cast<uint64_t>(cut)) : significand >> cut;
	exponent = std::max<int64_t>(exponent, -2000);
	double value = std::ldexp(static_cast<double>(static_cast<uint64_t>(kept)), static_cast<int>(exponent) + cut);

	/* ldexp has rounded a denormal result to nearest; the next double down, or up, is a bound in any case */
	if (value < std::numeric_limits<double>::min())
		value = std::nextafter(value, up ? 1.0 : 0.0);
	return value;
}

void streambloom::top_bounds(const sb_tbf *tbf, int fraction_bits, uint64_t error, uint64_t least, int64_t at,
							 double *from, double *to)
{
	/*
	 * 2^(base - x) = 2^(base - half_lives) * inverse / 2^63, where x is the moment in half-lives since 2000. Unless x
	 * is a whole number, the inverse was rounded up by less than 1e-9 of itself.
	 */
	sb_moment moment;
	sb_tbf_moment(tbf->half_life, tbf->epoch, at, &moment);
	uint64_t inverse = moment.scale == one ? moment.inverse : moment.inverse - (moment.inverse >> 29);
	int64_t exponent = (tbf->half_life == 0 ? 0 : tbf->base - moment.half_lives) - 63 - fraction_bits;
	*from = as_double(static_cast<u128>(least) * inverse, exponent, false);
	*to = as_double(static_cast<u128>(least + error) * moment.inverse, exponent, true);
}
