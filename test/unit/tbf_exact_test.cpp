/*
 * tbf_exact_test.cpp: the exact form of a small tbf as bytes. Items are written in few bytes, read, and looked up. The
 * largest count of the items outside a list is found. Bytes that are no exact form are refused.
 */
#include "tbf_support.h"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"

#include <map>

using namespace test;
using streambloom::exact_item;

namespace {

using Items = std::vector<exact_item>;

/* The bytes behind the header, and the fields of the header that tell how to read them. */
struct Exact
{
	sb_tbf filter{};
	Bytes cells;

	explicit Exact(const Items &items)
	{
		const auto count = static_cast<uint32_t>(items.size());
		cells = Bytes(streambloom::list_size(streambloom::to_list(items.data(), count)));
		streambloom::write_list(streambloom::to_list(items.data(), count), cells.data());
		uint64_t largest = 0;
		for (const exact_item &item : items)
			largest = std::max(largest, item.units);
		filter.flags = SB_TBF_EXACT | SB_TBF_HAS_HITS;
		filter.item_count = count;
		filter.payload = static_cast<uint32_t>(cells.size());
		filter.cell_bits = streambloom::narrowest_cell(largest);
	}
};

Items items_of(const std::map<uint64_t, uint64_t> &counts)
{
	Items items;
	for (const auto &[hash, units] : counts)
		items.push_back({hash, units});
	return items;
}

constexpr uint64_t one = UINT64_C(1) << (64 - SB_KEPT_HASH_BITS); /* hashes differ by at least this */
constexpr uint64_t last = SB_KEPT_HASH_MASK;

/* Counts as a log has them: most are small, few are large. Hashes are below 2^hash_digits times `one`. */
Items random_items(Random &random, size_t count, int hash_digits = SB_KEPT_HASH_BITS, int unit_digits = 61)
{
	std::map<uint64_t, uint64_t> counts;
	while (counts.size() < count)
		counts[(random() >> (64 - hash_digits)) * one] = 1 + (random() >> (63 - unit_digits)) /
																 (1 + (random() >> between(random, 3, 63)));
	for (auto &[hash, units] : counts)
		units = std::min(units, SB_TBF_MAX_CELL - 1);
	return items_of(counts);
}

bool operator==(const Items &a, const Items &b)
{
	return std::equal(a.begin(), a.end(), b.begin(), b.end(),
					  [](const exact_item &x, const exact_item &y) { return x.hash == y.hash && x.units == y.units; });
}

sb_status read(const sb_tbf &filter, const Bytes &cells, Items *out)
{
	streambloom::exact_reader reader(&filter, cells.data());
	out->clear();
	while (const size_t count = reader.next())
		for (size_t i = 0; i < count; i++)
			out->push_back({reader.hashes()[i], reader.units()[i]});
	return reader.status();
}

/* Looks a hash up like a caller who has only the bytes of the directory and those of the block. */
sb_status find(const Exact &exact, uint64_t hash, uint64_t *units)
{
	const streambloom::hash_list list = streambloom::list_of(&exact.filter, exact.cells.data());
	size_t offset;
	size_t size;
	list.directory_range(hash, &offset, &size);
	const Bytes directory(exact.cells.data() + offset, size);
	if (sb_status status = list.block_range(hash, directory.data(), &offset, &size); status != SB_OK)
		return status;
	for (size_t have : {std::min(list.head(), size), size * (hash % 8) / 8, size})
	{
		const Bytes block(exact.cells.data() + offset, have);
		const sb_status status = streambloom::find_in_block(list, block.data(), have, size, hash, units);
		if (status != SB_NEED_BYTES)
			return status;
	}
	ADD_FAILURE() << "the whole block is not enough";
	return SB_NEED_BYTES;
}

void expect_round_trip(const Items &items)
{
	Exact exact(items);
	Items back;
	uint64_t largest;
	ASSERT_EQ(streambloom::check_list(streambloom::list_of(&exact.filter, exact.cells.data()), &largest), SB_OK) << items.size();
	ASSERT_EQ(read(exact.filter, exact.cells, &back), SB_OK) << items.size();
	ASSERT_TRUE(back == items) << items.size();
}

} // namespace

TEST(TbfExact, GivesBackWhatWasWritten)
{
	Random random(1);
	for (size_t count : std::initializer_list<size_t>{0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 4095,
													  4096, 65535, 65536})
		for (int unit_digits : {0, 3, 13, 61})
			expect_round_trip(random_items(random, count, SB_KEPT_HASH_BITS, unit_digits));
	for (int i = 0; i < 2000; i++)
		expect_round_trip(random_items(random, random() % 200, SB_KEPT_HASH_BITS, static_cast<int>(random() % 62)));
}

TEST(TbfExact, HoldsTheFirstAndTheLastHashAndTheLargestCount)
{
	constexpr uint64_t most = SB_TBF_MAX_CELL - 1;
	expect_round_trip({{0, 1}});
	expect_round_trip({{last, most}});
	expect_round_trip({{0, most}, {one, 1}, {last - one, 2}, {last, most}});
}

TEST(TbfExact, HoldsItemsThatWereChosenToCrowd)
{
	Random random(2);
	for (int digits : {17, 20, 40, 47})
	{
		expect_round_trip(random_items(random, 65536, digits, 3));
		Items high = random_items(random, 5000, digits, 3);
		for (exact_item &item : high)
			item.hash += last - ((UINT64_C(1) << digits) - 1) * one;
		expect_round_trip(high);
	}
}

TEST(TbfExact, FindsEveryItemAndNoOther)
{
	Random random(3);
	for (size_t count : std::initializer_list<size_t>{1, 2, 50, 64, 1000, 65536})
	{
		const Items items = random_items(random, count);
		const Exact exact(items);
		uint64_t units;
		for (const exact_item &item : items)
		{
			ASSERT_EQ(find(exact, item.hash, &units), SB_OK);
			ASSERT_EQ(units, item.units);
			ASSERT_EQ(find(exact, item.hash | ~SB_KEPT_HASH_MASK, &units), SB_OK);
			ASSERT_EQ(units, item.units) << "bits that are not kept do not matter";
			ASSERT_EQ(find(exact, item.hash + one, &units), SB_OK);
			ASSERT_EQ(units, 0u) << "two random hashes would have to be neighbours";
		}
		for (uint64_t hash : {uint64_t{0}, UINT64_MAX, random()})
		{
			ASSERT_EQ(find(exact, hash, &units), SB_OK);
			ASSERT_EQ(units, 0u);
		}
	}
	uint64_t units;
	ASSERT_EQ(find(Exact({}), 7, &units), SB_OK);
	EXPECT_EQ(units, 0u);
}

/*
 * At most 7 bytes per item, and 10 bytes in addition. If counts have 12 binary digits after the point, this holds from
 * 2,000 items on; with fewer items it is at most 8 bytes per item.
 */
TEST(TbfExact, TakesAtMostSevenBytesAnItem)
{
	Random random(4);
	for (size_t count : std::initializer_list<size_t>{1, 10, 100, 500, 2000, 10000, 65536})
		for (bool decays : {false, true})
		{
			Items items = random_items(random, count, SB_KEPT_HASH_BITS, 0);
			for (exact_item &item : items)
			{
				const uint64_t hits = 1 + static_cast<uint64_t>(
											  1 / (1 - uniform(random) * 0.999)); /* a power law, up to 1000 */
				item.units = decays ? hits * 4096 + random() % 4096 : hits;
			}
			const size_t bytes = Exact(items).cells.size();
			EXPECT_LE(bytes, (decays && count < 2000 ? 8 : 7) * count + 10) << count << (decays ? " decaying" : "");
		}
}

/* Any bytes are refused, unless they are exactly the bytes as which their items would be written. */
TEST(TbfExact, RefusesEveryOtherWayToWriteTheSameItems)
{
	Random random(5);
	size_t accepted = 0;
	for (int round = 0; round < 20000; round++)
	{
		Exact exact(random_items(random, 1 + random() % 100, SB_KEPT_HASH_BITS, static_cast<int>(random() % 62)));
		for (uint64_t i = random() % 3 + 1; i > 0; i--)
			exact.cells[random() % exact.cells.size()] ^= static_cast<unsigned char>(1u << random() % 8);
		if (random() % 4 == 0)
			exact.filter.item_count = static_cast<uint32_t>(1 + random() % 120);
		uint64_t largest;
		const sb_status status = streambloom::check_list(streambloom::list_of(&exact.filter, exact.cells.data()), &largest);
		Items items;
		const sb_status reading = read(exact.filter, exact.cells, &items);
		uint64_t units;
		(void) find(exact, random(), &units);
		ASSERT_TRUE(status == SB_OK || status == SB_BAD_CELLS);
		if (status != SB_OK)
			continue;
		accepted++;
		ASSERT_EQ(reading, SB_OK);
		ASSERT_EQ(items.size(), exact.filter.item_count);
		ASSERT_TRUE(same_bytes(Exact(items).cells, exact.cells));
	}
	EXPECT_GT(accepted, 100u) << "a flipped bit of a hash or a count makes another set of items";
}

TEST(TbfExact, KnowsTheLargestCountOfTheOthers)
{
	Random random(5);
	for (size_t count : std::initializer_list<size_t>{0, 1, 2, 64, 1000, 65536})
		for (int unit_bits : {0, SB_TBF_HIT_BITS})
		{
			Exact exact(random_items(random, count, SB_KEPT_HASH_BITS, 20));
			exact.filter.unit_bits = static_cast<uint8_t>(unit_bits);
			Items items;
			ASSERT_EQ(read(exact.filter, exact.cells, &items), SB_OK);
			/* leaves out the items with the largest counts; among the hashes to leave out are some that no item has */
			std::sort(items.begin(), items.end(),
					  [](const exact_item &a, const exact_item &b) { return a.units > b.units; });
			for (size_t left_out : {size_t{0}, size_t{1}, count / 3, count})
			{
				left_out = std::min(left_out, count);
				std::vector<uint64_t> except;
				for (size_t i = 0; i < left_out; i++)
					except.insert(except.end(),
								  {items[i].hash, items[i].hash | (random() & ~SB_KEPT_HASH_MASK), random()});
				except.push_back(random());
				std::sort(except.begin(), except.end());
				const double expected = left_out == count ?
											0 :
											std::ldexp(static_cast<double>(items[left_out].units), -unit_bits);
				double largest;
				ASSERT_EQ(
					sb_tbf_largest_count(&exact.filter, exact.cells.data(), except.data(), except.size(), &largest),
					SB_OK);
				ASSERT_EQ(largest, expected) << count << " items, without " << left_out;
			}
		}
}
