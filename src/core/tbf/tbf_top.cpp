/*
 * tbf_top.cpp: the list of the hottest items of a tbf, by Misra and Gries (1982), weighted, decayed and mergeable.
 * sb_tbf.h says what the list guarantees, and why: L <= f <= L + error for every item, and error <= W / (c + 1) apart
 * from rounding. Here L is the lower bound that the list has for the item, f the item's hits, W the hits of all items,
 * and c the limit of the list.
 *
 * L and the error are integers that count at a base of whole half-lives, as the filter's counters do. L is a lower
 * bound, so it is rounded down, and the amount lost is added to the error, which all items share. Therefore the unit
 * is 2^-40 hits: with the 2^-12 hits of sums, rounding a million hits could add 244 hits to the error.
 */
#include "tbf/tbf_top.hpp"

#include "base/hash_set.hpp"
#include "base/memory.hpp"
#include "tbf/tbf_cells.hpp"

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

/* Fills `slots` from the entries, after the entries or their indices have changed. `slots` need not be zeroed. */
static void top_index(top_list *list)
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

/* Adds an entry. REQUIRES: the item is not listed, and there is room. */
static void top_insert(top_list *list, uint64_t hash, sb_u128 least, const void *item, uint32_t length)
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
 * Sets *down and *up to value * mantissa * 2^exponent, rounded down and up. Returns false if the result is too large.
 * Of a value of more than 75 digits (2^35 hits) the highest 75 are multiplied, so that the product fits 128 bits.
 * REQUIRES: value <= largest_amount, mantissa < 2^53.
 */
static bool scaled(u128 value, uint64_t mantissa, int64_t exponent, u128 *down, u128 *up)
{
	const auto cut = static_cast<uint64_t>(std::max(bit_width(value) - 75, 0));
	*down = (value >> cut) * mantissa;
	*up = shift_right_up(value, cut) * mantissa;
	exponent += static_cast<int64_t>(cut);
	if (*up == 0)
		return true;
	if (bit_width(*up) + exponent > 120)
		return false;
	*down = exponent >= 0 ? *down << exponent : shift_right_down(*down, static_cast<uint64_t>(-exponent));
	*up = exponent >= 0 ? *up << exponent : shift_right_up(*up, static_cast<uint64_t>(-exponent));
	return true;
}

sb_status streambloom::top_scale(top_list *list, uint64_t mantissa, int exponent)
{
	if (mantissa >> 53 != 0)
		return SB_OUT_OF_RANGE;
	u128 lost = 0;
	u128 down;
	u128 up;
	for (uint32_t i = 0; i < list->count; i++)
	{
		if (!scaled(list->entries[i].least, mantissa, exponent, &down, &up))
			return SB_OVERFLOW;
		list->entries[i].least = down;
		lost = std::max(lost, up - down);
	}
	if (!scaled(list->error, mantissa, exponent, &down, &up))
		return SB_OVERFLOW;
	list->error = sum_up_to_largest(up, lost);
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

/* Chooses as many fraction bits as the largest number leaves room for. */
static conversion conversion_to(const top_list *list, int64_t base)
{
	u128 most = list->error;
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[i].least > most)
			most = list->entries[i].least;
	const int64_t up = list->any ? distance(base, list->base) : 0;
	const int64_t width = most == 0 ? 0 : bit_width(most) + up;
	const int64_t spare = std::clamp<int64_t>(stored_bits - 1 - width, -top_fraction_bits, 0);
	return {static_cast<int>(top_fraction_bits + spare), up + spare};
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

	auto *bytes = static_cast<unsigned char *>(out);
	unsigned char *place = bytes + top_section_size;
	unsigned char *item = place + top_entry_size * count;
	std::memset(bytes, 0, top_section_size);
	store_le(bytes, static_cast<uint16_t>(count));
	bytes[2] = static_cast<unsigned char>(to.fraction_bits);
	store_le(bytes + 8, static_cast<uint64_t>(to.up(list->error) + lost));
	for (uint32_t i = 0; i < count; i++, place += top_entry_size)
	{
		const top_entry *entry = &list->entries[static_cast<uint32_t>(list->scratch[i].value)];
		store_le(place, entry->hash);
		store_le(place + 8, static_cast<uint64_t>(to.down(entry->least)));
		store_le(place + 16, static_cast<uint16_t>(entry->length));
		if (entry->length != 0)
			std::memcpy(item, list->bytes + entry->offset, entry->length);
		item += entry->length;
	}
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

/* ------------------------------------------------------------------- memory */

constexpr uint32_t smallest_room = 16;

namespace {

/* The arrays of a list that have `room` entries, or a length that follows from `room`. */
struct tables
{
	void *entries = nullptr;
	void *scratch = nullptr;
	void *slots = nullptr;

	sb_status allocate(const sb_memory *memory, uint32_t room)
	{
		sb_status status = allocate_zeroed(memory, room * sizeof(top_entry), &entries);
		if (status == SB_OK)
			status = allocate_zeroed(memory, room * sizeof(top_key), &scratch);
		if (status == SB_OK)
			status = allocate_zeroed(memory, top_slots(room) * sizeof(uint32_t), &slots);
		if (status != SB_OK)
			release(memory);
		return status;
	}
	void release(const sb_memory *memory) const
	{
		for (void *block : {entries, scratch, slots})
			if (block != nullptr)
				memory->release(memory->context, block);
	}
};

} // namespace

static tables tables_of(const top_list *list)
{
	return {list->entries, list->scratch, list->slots};
}

static sb_status enlarge_tables(top_list *list, const sb_memory *memory, uint32_t room)
{
	const tables old = tables_of(list);
	tables larger;
	if (sb_status status = larger.allocate(memory, room); status != SB_OK)
		return status;
	if (list->count != 0)
		std::memcpy(larger.entries, old.entries, list->count * sizeof(top_entry));
	list->entries = static_cast<top_entry *>(larger.entries);
	list->scratch = static_cast<top_key *>(larger.scratch);
	list->slots = static_cast<uint32_t *>(larger.slots);
	list->room = room;
	top_index(list);
	old.release(memory);
	return SB_OK;
}

static sb_status enlarge_bytes(top_list *list, const sb_memory *memory)
{
	const uint32_t room = std::max(2 * list->bytes_room, list->bytes_used + SB_TOP_MAX_ITEM);
	void *larger;
	if (sb_status status = allocate_zeroed(memory, room, &larger); status != SB_OK)
		return status;
	if (list->bytes != nullptr)
	{
		std::memcpy(larger, list->bytes, list->bytes_used);
		memory->release(memory->context, list->bytes);
	}
	list->bytes = static_cast<unsigned char *>(larger);
	list->bytes_room = room;
	return SB_OK;
}

/*
 * Makes room for one more entry whose text has `length` bytes. A list of 2 * limit entries is purged; a smaller one
 * gets larger tables if they are full.
 */
static sb_status make_room(top_list *list, const sb_memory *memory, uint32_t length)
{
	const uint32_t most = 2 * list->limit;
	if (list->count >= most)
		top_purge(list);
	const uint32_t larger = std::min(std::max(2 * list->room, smallest_room), most);
	if (list->count == list->room)
		if (sb_status status = enlarge_tables(list, memory, larger); status != SB_OK)
			return status;
	return list->bytes_room - list->bytes_used < length ? enlarge_bytes(list, memory) : SB_OK;
}

void streambloom::release_list(top_list *list, const sb_memory *memory)
{
	tables_of(list).release(memory);
	if (list->bytes != nullptr)
		memory->release(memory->context, list->bytes);
	*list = {};
}

/* ------------------------------------------------------------------- adding */

sb_status streambloom::insert_item(top_list *list, const sb_memory *memory, const pending_item &item, const void *text,
								   size_t length)
{
	const auto kept = static_cast<uint32_t>(std::min<size_t>(length, SB_TOP_MAX_ITEM));
	const int64_t base = list->base;
	sb_status status = make_room(list, memory, kept);
	if (status == SB_OK)
		top_insert(list, item.hash, item.least, text, kept);
	else
		top_add_error(list, base, item.least);
	return status;
}

static sb_status add_entry(top_list *list, const sb_memory *memory, uint64_t hash, int64_t base, sb_u128 least,
						   const void *text, uint32_t length)
{
	if (top_add(list, hash, base, &least, 0))
		return SB_OK;
	return insert_item(list, memory, {hash, least}, text, length);
}

sb_status streambloom::add_section(top_list *list, const sb_memory *memory, const top_section &section, int64_t base)
{
	top_section rest = section;
	sb_top_item item;
	sb_status status = SB_OK;
	top_add_error(list, base, top_amount(&section, section.error));
	while (status == SB_OK && top_next(&rest, &item))
		status = add_entry(list, memory, item.hash, base, top_amount(&section, item.least), item.bytes, item.length);
	return status;
}

sb_status streambloom::add_stored_list(top_list *list, const sb_memory *memory, const sb_tbf *filter, const void *cells)
{
	if (!has_list(filter))
		return SB_OK;
	const unsigned char *bytes = static_cast<const unsigned char *>(cells) + counters_size(filter);
	top_section section;
	const sb_status status = top_open(bytes, filter->extra, filter->top, filter->total, &section);
	return status != SB_OK ? status : add_section(list, memory, section, filter->base);
}

sb_status streambloom::unite_lists(top_list *list, const sb_memory *memory, const top_list *other)
{
	sb_status status = SB_OK;
	if (!other->any)
		return SB_OK;
	top_add_error(list, other->base, other->error);
	for (uint32_t i = 0; i < other->count && status == SB_OK; i++)
	{
		const top_entry *entry = &other->entries[i];
		status = add_entry(list, memory, entry->hash, other->base, entry->least, other->bytes + entry->offset,
						   entry->length);
	}
	return status;
}

sb_status streambloom::add_weighted_list(top_list *list, const sb_memory *memory, const sb_tbf *filter,
										 const void *cells, double weight)
{
	if (weight == 0)
		return SB_OK;
	if (weight == 1)
		return add_stored_list(list, memory, filter, cells);

	int exponent;
	double mantissa = std::frexp(weight, &exponent);
	for (; mantissa != std::floor(mantissa); exponent--)
		mantissa *= 2;
	top_list part{};
	part.limit = filter->top;
	sb_status status = add_stored_list(&part, memory, filter, cells);
	if (status == SB_OK)
		status = top_scale(&part, static_cast<uint64_t>(mantissa), exponent);
	if (status == SB_OK)
		status = unite_lists(list, memory, &part);
	release_list(&part, memory);
	return status;
}

sb_status streambloom::decay_list(const sb_tbf *filter, const void *cells, const sb_memory *memory, int64_t base,
								  void *out, uint32_t *size)
{
	top_list list{};
	list.limit = filter->top;
	const sb_status status = add_stored_list(&list, memory, filter, cells);
	if (status == SB_OK)
	{
		top_turn(&list, base);
		*size = top_size(&list, base);
		top_write(&list, base, out);
	}
	release_list(&list, memory);
	return status;
}
