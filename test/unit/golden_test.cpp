/*
 * golden_test.cpp: reads the golden files of bf and tbf, which every version that knows format version 1 must be able
 * to read, and makes the same bytes.
 *
 * golden/make_golden.py wrote the golden files. It is a second implementation that shares no code with the core. The
 * files are never written again: a test that fails on them has found a change of format. (There was one exception,
 * before the first release, when the hashes in stored values got 48 bits: since then a list of hashes takes five
 * bytes per item and can become lines of any size, and an item of an exact tbf takes five bytes instead of seven.)
 */
#include "golden.h"
#include "tbf_support.h"

using namespace test;

TEST(Golden, Hashes)
{
	std::istringstream lines(golden_text("hashes.txt"));
	int64_t item;
	uint64_t hash;
	int read = 0;
	for (std::string line; std::getline(lines, line); read++)
	{
		std::istringstream(line) >> std::dec >> item >> std::hex >> hash;
		EXPECT_EQ(sb_hash_int64(item), hash) << item;
	}
	EXPECT_EQ(read, 8);
}

TEST(Golden, PlacesInABf)
{
	std::istringstream lines(golden_text("bf_places.txt"));
	int read = 0;
	for (std::string text; std::getline(lines, text); read++)
	{
		std::istringstream in(text);
		uint64_t hash;
		uint32_t filter_lines;
		size_t line;
		char colon;
		in >> std::hex >> hash >> std::dec >> filter_lines >> colon >> line;
		sb_bf bf = Bf(1, 16).parameters;
		bf.line_count = filter_lines;
		Bytes header(SB_BF_HEADER);
		sb_bf_encode_header(&bf, header.data());
		sb_lookup lookup;
		ASSERT_EQ(sb_lookup_open(&lookup, SB_LOOKUP_BF, header.data(), header.size(), sb_bf_size(&bf)), SB_OK);
		EXPECT_EQ(sb_lookup_item(&lookup, hash), SB_NEED_BYTES);
		EXPECT_EQ(lookup.need.offset, SB_BF_HEADER + line * SB_BF_LINE) << text;
		EXPECT_EQ(lookup.need.size, size_t{SB_BF_LINE}) << text;
		EXPECT_EQ(sb_bf_line_of(bf.line_count, hash), line) << text;

		Bf one(1, 16);
		Bf expected(1, 16);
		one.add(hash);
		size_t bits = 0;
		for (unsigned bit; in >> bit; bits++)
			expected.lines[bit / 8] = static_cast<unsigned char>(expected.lines[bit / 8] | 1u << bit % 8);
		EXPECT_EQ(bits, 16u);
		EXPECT_TRUE(same_bytes(one.lines, expected.lines)) << text;
	}
	EXPECT_EQ(read, 17 * 4);
}

TEST(Golden, PlacesInATbf)
{
	std::istringstream lines(golden_text("tbf_places.txt"));
	int read = 0;
	for (std::string text; std::getline(lines, text); read++)
	{
		std::istringstream in(text);
		uint64_t hash;
		sb_tbf tbf = shape(64, 16, 0, 0);
		uint32_t block;
		char colon;
		in >> std::hex >> hash >> std::dec >> tbf.block_count >> tbf.block_cells >> colon >> block;
		EXPECT_EQ(tbf_block(&tbf, hash), block) << text;
		uint16_t positions[SB_TBF_MAX_HASHES];
		tbf_positions(&tbf, hash, positions);
		for (uint16_t position : positions)
		{
			uint16_t expected;
			ASSERT_TRUE(in >> expected);
			EXPECT_EQ(position, expected) << text;
		}
	}
	EXPECT_EQ(read, 17 * 4);
}

/* The core accepts the golden value, finds its items, and writes the same bytes today. */
static void expect_golden(const std::string &name, const Bf &made, const std::vector<int64_t> &items)
{
	Bytes value = golden_bytes(name);
	sb_bf read;
	ASSERT_EQ(sb_bf_decode_header(value.data(), value.size(), value.size(), &read), SB_OK);
	for (int64_t item : items)
	{
		sb_lookup lookup;
		ASSERT_EQ(look_up(&lookup, SB_LOOKUP_BF, sb_hash_int64(item), value), SB_OK);
		EXPECT_TRUE(lookup.found);
	}
	EXPECT_TRUE(same_bytes(made.value(), value));
}

TEST(Golden, BfEmpty)
{
	Bf bf(4, 7);
	bf.parameters.kind = {};
	bf.parameters.expected_items = 150;
	expect_golden("bf_empty", bf, {});
}

TEST(Golden, BfOfIntegers)
{
	Bf bf(6, 6, 0.02);
	bf.parameters.widened = 1;
	std::vector<int64_t> items;
	for (int64_t item = 1; item <= 100; item++)
	{
		bf.add(sb_hash_int64(item));
		items.push_back(item);
	}
	expect_golden("bf_integers", bf, items);
}

TEST(Golden, BfOfANamedKind)
{
	Bf bf(1, 16, 1e-5);
	bf.parameters.kind = named_kind("inet", 0xdeadbeef);
	bf.parameters.expected_items = 10;
	bf.add(sb_hash_int64(-5));
	expect_golden("bf_named", bf, {-5});
}

TEST(Golden, BfOfTextInUtf8)
{
	Bf bf(1, 1, 0.5);
	bf.parameters.kind = kind_of(SB_KIND_TEXT, 6);
	bf.parameters.expected_items = 10;
	bf.add(sb_hash_int64(7));
	bf.add(sb_hash_int64(8));
	expect_golden("bf_text", bf, {7, 8});
}

static void expect_golden_exact(const std::string &name, uint8_t hashes, double fpr, int64_t first, int64_t last)
{
	std::vector<int64_t> items;
	std::vector<uint64_t> item_hashes;
	for (int64_t item = first; item <= last; item++)
	{
		items.push_back(item);
		item_hashes.push_back(sb_hash_int64(item));
	}
	expect_golden(name, Bf::exact(Bf(1, hashes, fpr).parameters, item_hashes), items);
}

TEST(Golden, BfExact)
{
	expect_golden_exact("bf_exact_none", 6, 0.01, 1, 0);
	expect_golden_exact("bf_exact_one", 10, 0.001, 42, 42);
	expect_golden_exact("bf_exact_few", 6, 0.01, -3, 3);
	expect_golden_exact("bf_exact_blocks", 6, 0.01, 1000, 1299);
}

static void expect_golden(const std::string &name, const Tbf &made)
{
	Bytes value = golden_bytes(name);
	sb_tbf read;
	ASSERT_EQ(sb_tbf_decode_header(value.data(), value.size(), value.size(), &read), SB_OK);
	EXPECT_EQ(sb_tbf_check(&read, value.data() + SB_TBF_HEADER), SB_OK);
	EXPECT_TRUE(same_bytes(made.value(), value));
}

static constexpr int64_t hour = INT64_C(3600000000);
static constexpr int64_t day = 24 * hour;

static sb_tbf golden_shape(bool decays, uint32_t decaying_cells = 128)
{
	sb_tbf tbf = decays ? shape(decaying_cells, 4, day, hour) : shape(64, 3, 0, 0);
	tbf.expected_items = 20;
	return tbf;
}

static Tbf golden_decaying(uint32_t cells = 128)
{
	std::vector<Hit> hits;
	for (int64_t i = 0; i < 20; i++)
		hits.push_back({sb_hash_int64(i), 1000 * day + 37 * i * hour + 12345, 1});
	return stored(golden_shape(true, cells), hits);
}

TEST(Golden, TbfEmpty)
{
	Tbf empty{golden_shape(true), Bytes(128)};
	expect_golden("tbf_empty", empty);
}

TEST(Golden, TbfUndecayed)
{
	std::vector<Hit> hits;
	for (int64_t i = 1; i <= 20; i++)
		hits.push_back({sb_hash_int64(i), 77, static_cast<double>(i)});
	expect_golden("tbf_undecayed", stored(golden_shape(false), hits));
}

TEST(Golden, TbfOfWideCounters)
{
	expect_golden("tbf_wide",
				  stored(golden_shape(false),
						 {{sb_hash_int64(1), 0, 5e9}, {sb_hash_int64(2), 0, 70000}, {sb_hash_int64(3), 0, 1}}));
}

TEST(Golden, TbfDecaying)
{
	expect_golden("tbf_decaying", golden_decaying());
}

TEST(Golden, TbfOfSeveralBlocks)
{
	expect_golden("tbf_blocks", golden_decaying(2 * SB_TBF_BLOCK));
}

TEST(Golden, TbfBeforeTheYear2000)
{
	std::vector<Hit> hits;
	for (int64_t i = 0; i < 20; i++)
		hits.push_back({sb_hash_int64(i), -10 * day + 5 * i * hour - 1, static_cast<double>(1 + i)});
	expect_golden("tbf_before_2000", stored(golden_shape(true), hits));
}

TEST(Golden, TbfDecayed)
{
	Tbf filter = golden_decaying();
	expect_golden("tbf_decayed", filter.decayed((filter.parameters.base + 5) * day));
}

TEST(Golden, TbfMerged)
{
	Tbf filter = golden_decaying();
	Tbf later = filter.decayed((filter.parameters.base + 5) * day);
	expect_golden("tbf_merged", merged(golden_shape(true), {&later, &filter}));
}

/* A filter of integers that sizes itself. */
static Tbf golden_exact(int64_t half_life, const std::vector<Hit> &hits)
{
	sb_tbf plan;
	EXPECT_EQ(sb_tbf_plan(0, 0.01, half_life, half_life != 0 ? hour : 0, true, &plan), SB_OK);
	plan.kind = kind_of(SB_KIND_INTEGER);
	Builder builder(plan, SB_TBF_SUMS_OF_ITEMS, true);
	builder.add(hits);
	return builder.stored();
}

TEST(Golden, TbfExact)
{
	std::vector<Hit> hits;
	for (int64_t i = 1; i < 300; i++)
		hits.push_back({sb_hash_int64(i * i % 150), 0, static_cast<double>(i)});
	expect_golden("tbf_exact", golden_exact(0, hits));
	expect_golden("tbf_exact_one", golden_exact(0, {{sb_hash_int64(7), 0, 1}}));
}

TEST(Golden, TbfExactDecaying)
{
	std::vector<Hit> hits;
	for (int64_t i = 0; i < 20; i++)
		hits.push_back({sb_hash_int64(i), 1000 * day + 37 * i * hour + 12345, 1});
	expect_golden("tbf_exact_decaying", golden_exact(day, hits));
}
