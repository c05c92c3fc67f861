/*
 * tbf_recurring_test.cpp: the core's part of recurring minimum: when a minimum recurs, looking hashes up in a set,
 * which tables are valid, and that filters with a table are not merged. The minimum of an item, its smallest counter,
 * recurs if two or more of its cells have it. The table has items whose minimum does not recur.
 */
#include "tbf_support.h"

#include "tbf/tbf_cells.hpp"

#include <map>
#include <unordered_map>

using namespace test;

static sb_tbf recurring(uint32_t cells, uint8_t hashes)
{
	sb_tbf like = shape(cells, hashes, 0, 0);
	like.flags = SB_TBF_RECURRING_MINIMUM;
	return like;
}

/* The cells of an item, with their counters. Positions that coincide are one cell. */
static std::map<uint16_t, uint64_t> cells_of(const sb_tbf &tbf, uint64_t hash, const std::vector<uint64_t> &counters)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	std::map<uint16_t, uint64_t> cells;
	tbf_positions(&tbf, hash, positions);
	for (int i = 0; i < tbf.hash_count; i++)
		cells[positions[i]] = counters[positions[i]];
	return cells;
}

/* The table of a filter: the hits of each entry by its hash. */
static std::map<uint64_t, uint64_t> table_of(const Tbf &filter)
{
	std::map<uint64_t, uint64_t> table;
	for (uint64_t i = 0; i < streambloom::recurring_entries(&filter.parameters); i++)
	{
		streambloom::recurring_entry entry;
		streambloom::read_entry(filter.cells.data() + streambloom::counters_size(&filter.parameters), i, &entry);
		table[entry.hash] = entry.hits;
	}
	return table;
}

/* An item gets an entry, with its minimum, if only one cell holds the minimum after the hit. */
TEST(Recurring, MinimumIsHeldByTwoDifferentCells)
{
	Random random(1);
	int seen[2] = {};
	for (uint8_t hashes : std::initializer_list<uint8_t>{1, 2, 4, 16})
		for (int round = 0; round < 40; round++)
		{
			Builder sums(recurring(64, hashes));
			std::vector<Hit> hits;
			for (int i = 0; i < 20; i++)
				hits.push_back({random() & SB_KEPT_HASH_MASK, 0, static_cast<double>(between(random, 1, 3))});
			if (round % 4 == 0) /* a counter of 64 bits is spread over two planes when it is added again */
				hits.push_back({random() & SB_KEPT_HASH_MASK, 0, 0x1p32});
			sums.add(hits);
			Tbf before = sums.stored();
			for (const Hit &hit : hits)
			{
				Builder again(before);
				ASSERT_EQ(again.add(Hit{hit.hash, 0, 1}), SB_OK);
				Tbf after = again.stored();
				uint64_t least = UINT64_MAX;
				int holders = 0;
				for (const auto &[cell, counter] : cells_of(again.plan(), hit.hash, after.counters()))
				{
					holders = counter < least ? 1 : holders + (counter == least);
					least = std::min(least, counter);
				}
				const auto had = table_of(before);
				const auto has = table_of(after);
				if (had.contains(hit.hash))
				{
					ASSERT_EQ(has.at(hit.hash), had.at(hit.hash) + (UINT64_C(1) << SB_TBF_HIT_BITS));
				}
				else
				{
					ASSERT_EQ(has.contains(hit.hash), holders == 1);
					if (holders == 1)
					{
						ASSERT_EQ(has.at(hit.hash), least << SB_TBF_HIT_BITS);
					}
					seen[holders > 1]++;
				}
				before = after;
			}
		}
	EXPECT_GT(seen[0], 100);
	EXPECT_GT(seen[1], 100);
}

TEST(Recurring, FindsHashesOfTheSetAndNoOthers)
{
	Random random(2);
	for (uint64_t capacity : {8u, 64u, 1024u})
	{
		std::vector<uint64_t> slots(capacity + 1);
		sb_hash_set set = set_over(slots, capacity, 0);
		std::unordered_map<uint64_t, uint64_t> slot_of;
		for (uint64_t i = 0; streambloom::hash_set_has_room(&set); i++)
		{
			uint64_t hash = i % 3 == 0 ? i / 3 : random() % 4 * capacity + random() % 8; /* 0 too; many share a slot */
			slot_of[hash] = streambloom::hash_set_insert(&set, hash);
		}
		for (const auto &[hash, slot] : slot_of)
			EXPECT_EQ(streambloom::hash_set_find(&set, hash), slot);
		for (int i = 0; i < 1000; i++)
			if (uint64_t hash = random() % (8 * capacity); !slot_of.contains(hash))
			{
				EXPECT_EQ(streambloom::hash_set_find(&set, hash), UINT64_MAX);
			}
	}
}

static sb_status checked(const Bytes &value)
{
	sb_tbf tbf;
	sb_status status = sb_tbf_decode_header(value.data(), value.size(), value.size(), &tbf);
	return status == SB_OK ? sb_tbf_check(&tbf, value.data() + SB_TBF_HEADER) : status;
}

static Bytes with_table(uint8_t unit_bits, const std::vector<streambloom::recurring_entry> &entries, size_t cut = 0)
{
	Builder sums(recurring(64, 3));
	EXPECT_EQ(sums.add(Hit{hash_of(1), 0, 3}), SB_OK);
	if (unit_bits != 0)
	{
		EXPECT_EQ(sums.add(Hit{hash_of(1), 0, 0.5}), SB_OK);
	}
	Tbf filter = sums.stored();
	EXPECT_EQ(filter.parameters.unit_bits, unit_bits);
	Bytes table(entries.size() * streambloom::recurring_entry_size);
	for (size_t i = 0; i < entries.size(); i++)
		streambloom::write_entry(table.data(), i, &entries[i]);
	filter.parameters.extra = static_cast<uint32_t>(table.size() - cut);
	EXPECT_EQ(streambloom::recurring_entries(&filter.parameters),
			  (table.size() - cut) / streambloom::recurring_entry_size);
	return filter.value() + Bytes(table.data(), table.size() - cut);
}

TEST(Recurring, TablesThatCannotBeAreRefused)
{
	constexpr uint64_t hit = UINT64_C(1) << SB_TBF_HIT_BITS;
	EXPECT_EQ(checked(with_table(0, {})), SB_OK);
	constexpr uint64_t one = UINT64_C(1) << (64 - SB_KEPT_HASH_BITS);
	constexpr uint64_t last = SB_KEPT_HASH_MASK;
	EXPECT_EQ(checked(with_table(0, {{0, hit}, {one, 3 * hit}, {last, SB_TBF_MAX_CELL - hit}})), SB_OK);
	EXPECT_EQ(checked(with_table(4, {{7 * one, 1}, {8 * one, SB_TBF_MAX_CELL - 1}})), SB_OK);

	EXPECT_EQ(checked(with_table(0, {{7 * one, hit + 1}})), SB_BAD_CELLS);
	EXPECT_EQ(checked(with_table(4, {{7 * one, 0}})), SB_BAD_CELLS);
	EXPECT_EQ(checked(with_table(4, {{7 * one, SB_TBF_MAX_CELL}})), SB_BAD_CELLS);
	EXPECT_EQ(checked(with_table(4, {{7 * one, UINT64_MAX}})), SB_BAD_CELLS);
	EXPECT_EQ(checked(with_table(4, {{7 * one, 1}, {7 * one, 1}})), SB_BAD_CELLS);
	EXPECT_EQ(checked(with_table(4, {{8 * one, 1}, {7 * one, 1}})), SB_BAD_CELLS);
	EXPECT_EQ(checked(with_table(4, {{7 * one + 1, 1}})), SB_BAD_CELLS); /* a bit that is not kept */
	EXPECT_EQ(checked(with_table(4, {{7 * one, 1}, {8 * one, 1}}, 8)), SB_BAD_HEADER);

	/* the length of the value depends on the header; a filter without hits has no table */
	Bytes value = with_table(0, {{7 * one, hit}});
	EXPECT_EQ(checked(Bytes(value.data(), value.size() - streambloom::recurring_entry_size)), SB_BAD_LENGTH);
	value[4] = SB_TBF_HAS_HITS;
	EXPECT_NE(checked(value), SB_OK);
	sb_tbf empty = recurring(64, 3);
	empty.extra = streambloom::recurring_entry_size;
	Bytes header(sb_tbf_size(&empty));
	sb_tbf_encode_header(&empty, header.data());
	EXPECT_EQ(checked(header), SB_BAD_HEADER);
}

TEST(Recurring, IsNotMerged)
{
	sb_tbf with = recurring(64, 3);
	sb_tbf without = shape(64, 3, 0, 0);
	sb_tbf out;
	sb_difference difference;
	EXPECT_EQ(sb_tbf_plan_merge(&with, &without, &out, &difference), SB_DIFFERENT);
	EXPECT_STREQ(difference.parameter, "recurring_minimum");
	EXPECT_EQ(difference.left, 1);
	EXPECT_EQ(difference.right, 0);
	EXPECT_EQ(sb_tbf_plan_merge(&with, &with, &out, &difference), SB_DIFFERENT);
}
