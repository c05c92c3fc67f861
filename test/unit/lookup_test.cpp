/*
 * lookup_test.cpp: looking items up in a bf with lines, a tbf with cells, an sbf or an ibf. Whatever pieces of a value
 * are handed over, the answer is the one that the whole value gives. For tbf, sbf and ibf the tests compute the answer
 * from the cells, too. Whatever the bytes are, nothing is read outside of the pieces.
 */
#include "stable_support.h"
#include "tbf_support.h"
#include "tbf/tbf_cells.hpp"

#include <map>

using namespace test;

static constexpr int64_t hour = INT64_C(3600000000);

/* The answer of a look-up, and what the look-up needed. */
struct Answer
{
	sb_status status = SB_OK;
	bool found = false;
	uint64_t units = 0;
	int pieces = 0;	  /* how many pieces it asked for after the first one */
	size_t bytes = 0; /* the bytes of those pieces */

	bool says_the_same_as(const Answer &other) const
	{
		return status == other.status && (status != SB_OK || (found == other.found && units == other.units));
	}
};

static Answer ask(sb_lookup_type type, uint64_t hash, const Bytes &value, size_t first)
{
	Answer answer;
	sb_lookup lookup;
	answer.status = look_up(&lookup, type, hash, first, value.size(), [&](size_t offset, size_t size) {
		if (offset != 0)
		{
			answer.pieces++;
			answer.bytes += size;
		}
		return Bytes(value.data() + offset, size);
	});
	answer.found = lookup.found;
	answer.units = lookup.units;
	return answer;
}

/*
 * Looks the hash up with the whole value at hand. By pieces the answer is the same, however many bytes the first
 * piece has.
 */
static Answer ask_both_ways(Random &random, sb_lookup_type type, uint64_t hash, const Bytes &value,
							Answer *by_pieces = nullptr)
{
	Answer whole = ask(type, hash, value, value.size());
	EXPECT_EQ(whole.pieces, 0);
	Answer fewest = ask(type, hash, value, SB_LOOKUP_FIRST);
	EXPECT_TRUE(fewest.says_the_same_as(whole)) << fewest.status << " and " << whole.status;
	Answer some = ask(type, hash, value, static_cast<size_t>(between(random, SB_LOOKUP_FIRST, SB_LOOKUP_FIRST + 3000)));
	EXPECT_TRUE(some.says_the_same_as(whole)) << some.status << " and " << whole.status;
	EXPECT_LE(some.pieces, fewest.pieces);
	if (by_pieces != nullptr)
		*by_pieces = fewest;
	return whole;
}

static void spoil(Random &random, Bytes *value, size_t from)
{
	for (int64_t n = between(random, 1, 20); n > 0 && value->size() > from; n--)
		(*value)[from + random() % (value->size() - from)] = static_cast<unsigned char>(random());
}

/* ------------------------------------------------------------------------ bf */

TEST(LookupBf, BySlicesIsInTheWhole)
{
	Random random(801);
	int found = 0;
	for (int round = 0; round < 300; round++)
	{
		Bf bf(static_cast<uint32_t>(between(random, 1, 700)), static_cast<uint8_t>(between(random, 1, 16)));
		bf.add(random_hashes(random(), bf.parameters.line_count * size_t{60}));
		Bytes value = bf.value();
		for (int i = 0; i < 100; i++)
		{
			uint64_t hash = i == 0 ? 0 : i == 1 ? UINT64_MAX : random();
			Answer by_pieces;
			Answer answer = ask_both_ways(random, SB_LOOKUP_BF, hash, value, &by_pieces);
			ASSERT_EQ(answer.status, SB_OK);
			ASSERT_EQ(answer.found, bf.contains(hash));
			EXPECT_EQ(answer.units, 0u);
			EXPECT_LE(by_pieces.pieces, 1);
			EXPECT_EQ(by_pieces.bytes, by_pieces.pieces == 0 ? 0u : size_t{SB_BF_LINE});
			found += answer.found;
		}
	}
	EXPECT_GT(found, 1000);
	EXPECT_LT(found, 29000);
}

TEST(LookupBf, AsksForTheNextItemOfTheSameValue)
{
	Bf bf(500, 7);
	std::vector<uint64_t> items = random_hashes(802, 2000);
	bf.add(items);
	Bytes value = bf.value();
	sb_lookup lookup;
	Bytes piece(value.data(), SB_LOOKUP_FIRST);
	ASSERT_EQ(sb_lookup_open(&lookup, SB_LOOKUP_BF, piece.data(), piece.size(), value.size()), SB_OK);
	items.resize(4000);
	for (size_t i = 2000; i < 4000; i++)
		items[i] = items[i - 2000] + 1;
	for (uint64_t hash : items)
	{
		sb_status status = sb_lookup_item(&lookup, hash);
		while (status == SB_NEED_BYTES)
		{
			piece = Bytes(value.data() + lookup.need.offset, lookup.need.size);
			status = sb_lookup_next(&lookup, piece.data(), piece.size());
		}
		ASSERT_EQ(status, SB_OK);
		ASSERT_EQ(lookup.found, bf.contains(hash));
	}
}

/* A filter without a kind has no items, whatever its lines hold. */
TEST(LookupBf, WithoutItemsNothingIsFound)
{
	Random random(803);
	Bf bf(9, 3);
	bf.parameters.kind = {};
	for (size_t i = 0; i < bf.lines.size(); i++)
		bf.lines[i] = 0xff;
	Answer by_pieces;
	EXPECT_FALSE(ask_both_ways(random, SB_LOOKUP_BF, random(), bf.value(), &by_pieces).found);
	EXPECT_EQ(by_pieces.pieces, 0);
}

/* ----------------------------------------------------------------------- tbf */

/* A flat filter with random counters, some of them zero. */
static Tbf random_counters(Random &random, uint32_t cells, bool recurring)
{
	Tbf filter;
	bool decays = !recurring && random() % 2 == 0;
	filter.parameters = shape(cells, static_cast<uint8_t>(between(random, 1, 16)), decays ? hour : 0, hour);
	filter.parameters.flags = static_cast<uint16_t>(SB_TBF_HAS_HITS | (recurring ? SB_TBF_RECURRING_MINIMUM : 0));
	int bits = 8 << (random() % 4);
	filter.parameters.cell_bits = static_cast<uint8_t>(bits);
	filter.cells = Bytes(filter.cell_bytes());
	uint64_t zeros = random() % 4;
	for (size_t i = 0; i < cells; i++)
	{
		uint64_t value = random() % 4 < zeros ?
							 0 :
							 (random() >> (64 - bits) >> (random() % static_cast<uint64_t>(bits))) % SB_TBF_MAX_CELL;
		if (i == 0)
			value = UINT64_C(1) << (bits - 3); /* at least one counter needs the full width */
		for (size_t byte = 0; byte < static_cast<size_t>(bits / 8); byte++)
			filter.cells[i * static_cast<size_t>(bits / 8) + byte] = static_cast<unsigned char>(value >> (8 * byte));
	}
	return filter;
}

/* The stored value of the filter with this table of recurring minimum. */
static Bytes with_table(Tbf filter, const std::map<uint64_t, uint64_t> &table)
{
	Bytes stored(table.size() * streambloom::recurring_entry_size);
	uint64_t i = 0;
	for (const auto &[hash, hits] : table)
	{
		streambloom::recurring_entry entry{hash, hits};
		streambloom::write_entry(stored.data(), i++, &entry);
	}
	filter.parameters.extra = static_cast<uint32_t>(stored.size());
	return filter.value() + stored;
}

static uint64_t smallest_counter(const sb_tbf &tbf, const std::vector<uint64_t> &counters, uint64_t hash)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t least = UINT64_MAX;
	tbf_positions(&tbf, hash, positions);
	for (int i = 0; i < tbf.hash_count; i++)
		least = std::min(least, counters[size_t{tbf_block(&tbf, hash)} * tbf.block_cells + positions[i]]);
	return least;
}

TEST(LookupTbf, BySlicesIsInTheWhole)
{
	Random random(811);
	int found = 0;
	int pieces[4] = {};
	for (int round = 0; round < 200; round++)
	{
		Tbf filter = random_counters(random, 64u << (random() % 10), false);
		if (random() % 2 == 0)
			filter = filter.relaid();
		Bytes value = filter.value();
		std::vector<uint64_t> counters = filter.counters();
		for (int i = 0; i < 50; i++)
		{
			uint64_t hash = i == 0 ? 0 : i == 1 ? UINT64_MAX : random();
			Answer by_pieces;
			Answer answer = ask_both_ways(random, SB_LOOKUP_TBF, hash, value, &by_pieces);
			ASSERT_EQ(answer.status, SB_OK);
			ASSERT_EQ(answer.units, smallest_counter(filter.parameters, counters, hash));
			ASSERT_EQ(answer.found, answer.units != 0);
			ASSERT_LE(by_pieces.pieces, filter.parameters.layout == SB_TBF_FLAT ? 1 : 2);
			found += answer.found;
			pieces[by_pieces.pieces]++;
		}
	}
	EXPECT_GT(found, 1000);
	EXPECT_LT(found, 9000);
	EXPECT_GT(pieces[1], 1000);
	EXPECT_GT(pieces[2], 1000);
}

/* All counters are zero: there is no directory and no block, so a look-up reads nothing. */
TEST(LookupTbf, WithoutCountersNothingIsFound)
{
	Random random(812);
	for (uint16_t flags : {uint16_t{0}, uint16_t{SB_TBF_HAS_HITS}})
	{
		Tbf filter;
		filter.parameters = shape(8192, 4, hour, hour);
		filter.parameters.layout = SB_TBF_EXTENSIBLE;
		filter.parameters.flags = flags;
		Answer by_pieces;
		EXPECT_FALSE(ask_both_ways(random, SB_LOOKUP_TBF, random(), filter.value(), &by_pieces).found);
		EXPECT_EQ(by_pieces.pieces, 0);
		EXPECT_EQ(by_pieces.status, SB_OK);
	}
}

constexpr uint64_t one_hash = UINT64_C(1) << (64 - SB_KEPT_HASH_BITS); /* the hashes of a tbf differ by at least this */

/*
 * A table of recurring minimum (hash, hits) with random hashes. If `how` is 0, they are spread evenly, as real hashes
 * are; 1 and 2 give uneven ones, as somebody may choose them.
 */
static std::map<uint64_t, uint64_t> random_table(Random &random, uint64_t entries, int how)
{
	std::map<uint64_t, uint64_t> table;
	while (table.size() < entries)
	{
		uint64_t hash = random();
		if (how == 1)
			hash >>= random() % 64;
		else if (how == 2)
			hash = (random() % 8 << 61) + table.size() * one_hash;
		table[hash & SB_KEPT_HASH_MASK] = (1 + (random() >> (20 + random() % 40))) << SB_TBF_HIT_BITS;
	}
	return table;
}

TEST(LookupTbf, FindsWhatIsInTheTableOfRecurringMinimum)
{
	Random random(813);
	int most = 0;
	uint64_t in_table = 0;
	for (int round = 0; round < 60; round++)
	{
		Tbf filter = random_counters(random, 4096u << (random() % 3), true);
		if (random() % 2 == 0)
			filter = filter.relaid();
		std::vector<uint64_t> counters = filter.counters();
		std::map<uint64_t, uint64_t> table = random_table(random, random() % (round % 2 == 0 ? 300 : 20000), round % 3);
		Bytes value = with_table(filter, table);

		std::vector<uint64_t> asked = {0, UINT64_MAX};
		for (const auto &[hash, hits] : table)
			if (random() % (table.size() / 40 + 1) == 0)
				asked.insert(asked.end(), {hash, hash + 1, hash - one_hash, hash + one_hash});
		for (uint64_t hash : asked)
		{
			Answer by_pieces;
			Answer answer = ask_both_ways(random, SB_LOOKUP_TBF, hash, value, &by_pieces);
			uint64_t least = smallest_counter(filter.parameters, counters, hash);
			const uint64_t kept = hash & SB_KEPT_HASH_MASK;
			bool listed = least != 0 && table.contains(kept);
			ASSERT_EQ(answer.status, SB_OK);
			ASSERT_EQ(answer.units, listed ? table[kept] >> SB_TBF_HIT_BITS : least);
			in_table += listed;
			if (round % 3 == 0)
				most = std::max(most, by_pieces.pieces);
			ASSERT_LE(by_pieces.pieces, 2 + 4 + 8);
		}
	}
	EXPECT_GT(in_table, 500u);
	EXPECT_LE(most, 2 + 4); /* for hashes that are spread evenly, mostly one slice of the table or two */
}

/* The hits of an entry are rounded up to units. */
TEST(LookupTbf, EntriesAreRoundedUpToUnits)
{
	Random random(814);
	for (uint8_t unit_bits : {uint8_t{0}, uint8_t{SB_TBF_UNIT_BITS}})
		for (uint64_t hits : {UINT64_C(1), UINT64_C(255), UINT64_C(256), UINT64_C(257), UINT64_C(4096), UINT64_C(4097),
							  SB_TBF_MAX_CELL - 1})
		{
			Tbf filter = random_counters(random, 64, true);
			filter.parameters.unit_bits = unit_bits;
			for (size_t i = 0; i < filter.cells.size(); i++)
				filter.cells[i] = 1;
			Answer answer = ask_both_ways(random, SB_LOOKUP_TBF, 9 * one_hash,
										  with_table(filter, {{9 * one_hash, hits}}));
			EXPECT_EQ(answer.units, unit_bits == 0 ? (hits + 4095) / 4096 : (hits + 255) / 256);
		}
}

TEST(LookupTbf, EntriesThatCannotBeAreRefused)
{
	Random random(815);
	for (uint64_t hits : {UINT64_C(0), SB_TBF_MAX_CELL, UINT64_MAX})
	{
		Tbf filter = random_counters(random, 64, true);
		for (size_t i = 0; i < filter.cells.size(); i++)
			filter.cells[i] = 1;
		EXPECT_EQ(ask_both_ways(random, SB_LOOKUP_TBF, 9 * one_hash, with_table(filter, {{9 * one_hash, hits}})).status,
				  SB_BAD_CELLS);
	}
}

/* ----------------------------------------------------------------- sbf and ibf */

TEST(LookupStable, BySlicesIsInTheWhole)
{
	Random random(821);
	int found = 0;
	for (int round = 0; round < 200; round++)
	{
		auto scheme = static_cast<sb_scheme>(random() % 4);
		Stable filter(
			static_cast<uint64_t>(between(random, 64, 5000)), scheme, static_cast<int>(between(random, 1, 16)),
			static_cast<int>(between(random, scheme == SB_STABLE ? 1 : 2, 8)), between(random, 0, 50), 0.01, random());
		for (uint32_t i = 0; i < filter.parameters.cell_count / 5; i++)
			filter.step(random(), uniform(random));
		Bytes value = filter.stored();
		for (int i = 0; i < 50; i++)
		{
			uint64_t hash = i == 0 ? 0 : i == 1 ? UINT64_MAX : random();
			if (i % 2 == 0)
			{
				filter.step(hash, 1.0);
				value = filter.stored();
			}
			bool expected = true;
			for (int j = 0; j < filter.parameters.hash_count; j++)
				expected &= filter.value(stable_cell(&filter.parameters, hash, j)) != 0;
			Answer by_pieces;
			Answer answer = ask_both_ways(random, SB_LOOKUP_STABLE, hash, value, &by_pieces);
			ASSERT_EQ(answer.status, SB_OK);
			ASSERT_EQ(answer.found, expected);
			ASSERT_LE(by_pieces.pieces, filter.parameters.hash_count);
			ASSERT_LE(by_pieces.bytes, 2u * filter.parameters.hash_count);
			found += answer.found;
		}
	}
	EXPECT_GT(found, 4000);
	EXPECT_LT(found, 9500);
}

TEST(LookupStable, WithoutItemsNothingIsFound)
{
	Random random(822);
	Stable filter(100, SB_STABLE, 3, 3, 0);
	for (size_t i = 0; i + 1 < filter.cells.size(); i++)
		filter.cells[i] = 0xff;
	Answer by_pieces;
	EXPECT_FALSE(ask_both_ways(random, SB_LOOKUP_STABLE, random(), filter.stored(), &by_pieces).found);
	EXPECT_EQ(by_pieces.pieces, 0);
}

/* --------------------------------------------------------------- damaged values */

static Bytes random_value(Random &random, sb_lookup_type type)
{
	if (type == SB_LOOKUP_BF)
	{
		Bf bf(static_cast<uint32_t>(between(random, 1, 50)), 5);
		bf.add(random_hashes(random(), 300));
		return bf.value();
	}
	if (type == SB_LOOKUP_STABLE)
	{
		Stable filter(static_cast<uint64_t>(between(random, 64, 500)), static_cast<sb_scheme>(random() % 4), 4, 3, 5);
		for (int i = 0; i < 300; i++)
			filter.step(random(), uniform(random));
		return filter.stored();
	}
	bool recurring = random() % 2 == 0;
	Tbf filter = random_counters(random, 64u << (random() % 9), recurring);
	if (random() % 4 != 0)
		filter = filter.relaid();
	return recurring ? with_table(filter, random_table(random, random() % 1000, static_cast<int>(random() % 3))) :
					   filter.value();
}

/*
 * A damaged header gets the same status as from the function that reads headers. type_name is the type that was asked
 * for. One look-up type serves sbf and ibf; for it, type_name is the one of the two that the value claims to be.
 */
TEST(Lookup, RefusesHeadersAsTheirReadersDo)
{
	Random random(831);
	int refused = 0;
	for (int round = 0; round < 6000; round++)
	{
		auto type = static_cast<sb_lookup_type>(random() % 3);
		Bytes value = random_value(random,
								   static_cast<sb_lookup_type>(random() % 8 == 0 ? random() % 3 : uint64_t{type}));
		if (random() % 4 != 0)
			value[random() % 128 % value.size()] = static_cast<unsigned char>(random() % 2 == 0 ? random() :
																								  random() % 5);
		if (random() % 8 == 0)
			value = Bytes(value.data(), random() % value.size());
		sb_bf bf;
		sb_tbf tbf;
		sb_stable stable;
		sb_status expected = type == SB_LOOKUP_BF ?
								 sb_bf_decode_header(value.data(), value.size(), value.size(), &bf) :
							 type == SB_LOOKUP_TBF ?
								 sb_tbf_decode_header(value.data(), value.size(), value.size(), &tbf) :
								 sb_stable_decode_header(value.data(), value.size(), value.size(), SB_STABLE_EITHER,
														 &stable);
		Bytes first(value.data(), std::min<size_t>(value.size(), SB_LOOKUP_FIRST));
		sb_lookup lookup;
		ASSERT_EQ(sb_lookup_open(&lookup, type, first.data(), first.size(), value.size()), expected);
		std::string name = value.size() > 2 && value[2] == 3 ? "ibf" : "sbf";
		EXPECT_EQ(lookup.type_name, type == SB_LOOKUP_BF ? "bf" : type == SB_LOOKUP_TBF ? "tbf" : name);
		refused += expected != SB_OK;
	}
	EXPECT_GT(refused, 1000);
	EXPECT_LT(refused, 5000);
}

/* Any bytes behind the header are refused or give an answer. If the value is read in pieces, the result is the same. */
TEST(Lookup, SurvivesAnyCells)
{
	Random random(832);
	int refused = 0;
	int answered = 0;
	for (int round = 0; round < 3000; round++)
	{
		auto type = static_cast<sb_lookup_type>(round % 3);
		Bytes value = random_value(random, type);
		spoil(random, &value, type == SB_LOOKUP_BF ? SB_BF_HEADER : 128);
		if (type == SB_LOOKUP_TBF && random() % 2 == 0)
			for (size_t i = 128; i < std::min<size_t>(value.size(), 128 + 16); i++) /* directory, head of a block */
				value[i] = static_cast<unsigned char>(random() % 3 == 0 ? random() : random() % 4);
		for (int i = 0; i < 5; i++)
		{
			Answer answer = ask_both_ways(random, type, random(), value);
			ASSERT_TRUE(answer.status == SB_OK || (type == SB_LOOKUP_TBF && answer.status == SB_BAD_CELLS))
				<< answer.status;
			refused += answer.status != SB_OK;
			answered += answer.status == SB_OK;
		}
	}
	EXPECT_GT(refused, 500);
	EXPECT_GT(answered, 10000);
}
