/*
 * format_test.cpp: stored headers of bf and tbf. What was written is read back. A corrupt header is refused, or is at
 * least consistent. Also: which kinds of items are equal, and the texts of statuses. golden_test.cpp reads the golden
 * files.
 */
#include "tbf_support.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

using namespace test;

/* ------------------------------------------------------------- random headers */

static sb_kind random_kind(Random &random)
{
	auto code = static_cast<sb_kind_code>(between(random, 0, SB_KIND_NAMED));
	auto detail = static_cast<uint32_t>(random());
	if (code == SB_KIND_NAMED)
	{
		std::string name(static_cast<size_t>(between(random, 1, SB_KIND_NAME_SIZE - 1)), ' ');
		for (char &c : name)
			c = static_cast<char>(between(random, 1, 255));
		return named_kind(name, detail);
	}
	return kind_of(code, code == SB_KIND_TEXT || code == SB_KIND_CHARACTER ? detail : 0);
}

static double random_rate(Random &random)
{
	return std::clamp(std::exp2(-1 - 19 * uniform(random)), SB_BF_MIN_FPR, SB_BF_MAX_FPR);
}

static sb_bf random_bf(Random &random)
{
	sb_bf bf{};
	bf.kind = random_kind(random);
	bf.line_count = static_cast<uint32_t>(between(random, 1, int64_t{SB_BF_MAX_LINES} >> (random() % 22)));
	bf.hash_count = static_cast<uint8_t>(between(random, 1, SB_BF_MAX_HASHES));
	bf.widened = static_cast<uint8_t>(between(random, 0, __builtin_ctz(bf.line_count)));
	bf.expected_items = random() >> (1 + random() % 63);
	bf.fpr = random_rate(random);
	if (bf.kind.code != SB_KIND_NONE && random() % 4 == 0)
	{
		bf.flags = SB_BF_EXACT;
		bf.line_count = 0;
		bf.widened = 0;
		bf.expected_items = 0;
		bf.item_count = static_cast<uint32_t>(between(random, 1, SB_BF_EXACT_ITEMS));
		bf.payload = static_cast<uint32_t>(between(random, 1, SB_MAX_BYTES - SB_BF_HEADER));
	}
	return bf;
}

static sb_tbf random_tbf(Random &random)
{
	sb_tbf tbf{};
	tbf.kind = random_kind(random);
	tbf.block_cells = SB_TBF_BLOCK;
	if (random() % 2 == 0)
	{
		tbf.block_count = 1;
		tbf.block_cells = static_cast<uint16_t>(SB_TBF_MIN_BLOCK << between(random, 0, 6));
	}
	else
		tbf.block_count = static_cast<uint32_t>(
			between(random, 1, int64_t{SB_TBF_MAX_CELLS / SB_TBF_BLOCK} >> (random() % 15)));
	tbf.hash_count = static_cast<uint8_t>(between(random, 1, SB_TBF_MAX_HASHES));
	tbf.cell_bits = static_cast<uint8_t>(8 << (random() % 4));
	while (sb_tbf_size(&tbf) > SB_MAX_BYTES)
		tbf.cell_bits /= 2;
	tbf.expected_items = random() >> (1 + random() % 63);
	tbf.fpr = random_rate(random);
	bool decays = random() % 3 != 0;
	bool hits = random() % 4 != 0;
	tbf.unit_bits = decays || random() % 2 == 0 ? SB_TBF_UNIT_BITS : 0;
	if (decays)
	{
		tbf.half_life = between(random, 1, INT64_C(1) << (random() % 61));
		tbf.epoch = between(random, 1, INT64_C(1) << (random() % 61));
	}
	if (hits)
	{
		if (tbf.kind.code == SB_KIND_NONE)
			tbf.kind = kind_of(SB_KIND_UUID);
		tbf.flags = SB_TBF_HAS_HITS;
		tbf.total = random() >> (1 + random() % 63);
		if (decays)
		{
			sb_moment moment;
			sb_tbf_moment(tbf.half_life, tbf.epoch, between(random, -SB_TBF_MAX_TIME, SB_TBF_MAX_TIME), &moment);
			tbf.base = moment.half_lives;
			tbf.newest = moment.epoch_start;
			tbf.slack = random() >> (2 + random() % 62);
			if (random() % 2 == 0)
				tbf.flags |= SB_TBF_FORGOTTEN;
		}
	}
	return tbf;
}

template <typename Filter>
struct Format;

template <>
struct Format<sb_bf>
{
	static constexpr size_t header = SB_BF_HEADER;
	static sb_bf make(Random &random) { return random_bf(random); }
	static size_t size(const sb_bf &bf) { return sb_bf_size(&bf); }
	static void encode(const sb_bf &bf, void *out) { sb_bf_encode_header(&bf, out); }
	static sb_status decode(const void *data, size_t have, size_t total, sb_bf *out)
	{
		return sb_bf_decode_header(data, have, total, out);
	}
};

template <>
struct Format<sb_tbf>
{
	static constexpr size_t header = SB_TBF_HEADER;
	static sb_tbf make(Random &random) { return random_tbf(random); }
	static size_t size(const sb_tbf &tbf) { return sb_tbf_size(&tbf); }
	static void encode(const sb_tbf &tbf, void *out) { sb_tbf_encode_header(&tbf, out); }
	static sb_status decode(const void *data, size_t have, size_t total, sb_tbf *out)
	{
		return sb_tbf_decode_header(data, have, total, out);
	}
};

template <typename Filter>
static Bytes encoded(const Filter &filter)
{
	Bytes header(Format<Filter>::header);
	Format<Filter>::encode(filter, header.data());
	return header;
}

template <typename Filter>
class Header : public ::testing::Test
{
};

class FilterNames
{
public:
	template <typename Filter>
	static std::string GetName(int)
	{
		return std::is_same_v<Filter, sb_bf> ? "bf" : "tbf";
	}
};
using Filters = ::testing::Types<sb_bf, sb_tbf>;
TYPED_TEST_SUITE(Header, Filters, FilterNames);

TYPED_TEST(Header, WhatWasWrittenIsReadBack)
{
	Random random(81);
	for (int round = 0; round < 20000; round++)
	{
		TypeParam filter = Format<TypeParam>::make(random);
		Bytes header = encoded(filter);
		TypeParam read;
		size_t total = Format<TypeParam>::size(filter);
		ASSERT_EQ(Format<TypeParam>::decode(header.data(), header.size(), total, &read), SB_OK) << round;
		EXPECT_TRUE(same_bytes(encoded(read), header));
		EXPECT_EQ(Format<TypeParam>::size(read), total);
		EXPECT_TRUE(sb_kind_equal(&read.kind, &filter.kind));
		EXPECT_EQ(read.hash_count, filter.hash_count);
		EXPECT_EQ(read.widened, filter.widened);
		EXPECT_EQ(read.expected_items, filter.expected_items);
		EXPECT_EQ(read.fpr, filter.fpr);
	}
}

TYPED_TEST(Header, BeginsWithMagicTypeAndVersion)
{
	Random random(82);
	Bytes header = encoded(Format<TypeParam>::make(random));
	EXPECT_EQ(header[0], 'S');
	EXPECT_EQ(header[1], 'B');
	EXPECT_EQ(header[2], (std::is_same_v<TypeParam, sb_bf> ? 1 : 4));
	EXPECT_EQ(header[3], 1);
}

TYPED_TEST(Header, RefusesEveryTruncation)
{
	Random random(83);
	for (int round = 0; round < 50; round++)
	{
		TypeParam filter = Format<TypeParam>::make(random);
		Bytes header = encoded(filter);
		size_t total = Format<TypeParam>::size(filter);
		for (size_t have = 0; have < header.size(); have++)
		{
			Bytes part(header.data(), have); /* exactly the bytes that there are, so that a read beyond is seen */
			TypeParam read;
			EXPECT_EQ(Format<TypeParam>::decode(part.data(), have, have, &read), SB_TRUNCATED);
			EXPECT_EQ(Format<TypeParam>::decode(part.data(), have, total, &read), SB_TRUNCATED);
		}
	}
}

TYPED_TEST(Header, RefusesEveryOtherTotalLength)
{
	Random random(84);
	for (int round = 0; round < 1000; round++)
	{
		TypeParam filter = Format<TypeParam>::make(random);
		Bytes header = encoded(filter);
		size_t right = Format<TypeParam>::size(filter);
		size_t header_size = Format<TypeParam>::header;
		for (size_t total : {right - 1, right + 1, right - 64, right + 64, right * 2, header_size, size_t{0}, SIZE_MAX})
		{
			TypeParam read;
			EXPECT_EQ(Format<TypeParam>::decode(header.data(), header.size(), total, &read), SB_BAD_LENGTH) << total;
		}
	}
}

/*
 * After one byte was changed, a header that is accepted agrees with the length of the value, and is written back to
 * the same bytes.
 */
TYPED_TEST(Header, EveryMutationIsRefusedOrConsistent)
{
	Random random(85);
	int accepted = 0;
	int refused = 0;
	for (int round = 0; round < 40; round++)
	{
		TypeParam filter = Format<TypeParam>::make(random);
		const Bytes header = encoded(filter);
		size_t total = Format<TypeParam>::size(filter);
		for (size_t at = 0; at < header.size(); at++)
			for (int change = 1; change < 256; change++)
			{
				Bytes changed = header;
				changed[at] = static_cast<unsigned char>(changed[at] ^ change);
				TypeParam read;
				if (Format<TypeParam>::decode(changed.data(), changed.size(), total, &read) != SB_OK)
				{
					refused++;
					continue;
				}
				accepted++;
				EXPECT_EQ(Format<TypeParam>::size(read), total) << "byte " << at;
				EXPECT_TRUE(same_bytes(encoded(read), changed)) << "byte " << at;
			}
	}
	EXPECT_GT(accepted, 0);
	EXPECT_GT(refused, accepted / 4);
}

TYPED_TEST(Header, RandomBytesAfterTheMagicAreRefusedOrConsistent)
{
	Random random(86);
	for (int round = 0; round < 200000; round++)
	{
		Bytes header = encoded(Format<TypeParam>::make(random));
		for (int changes = static_cast<int>(random() % 12); changes >= 0; changes--)
			header[4 + random() % (header.size() - 4)] = static_cast<unsigned char>(random());
		TypeParam read;
		size_t total = random() % 3 != 0 ? 64 * (random() % 1000) : random();
		if (Format<TypeParam>::decode(header.data(), header.size(), total, &read) == SB_OK)
		{
			EXPECT_EQ(Format<TypeParam>::size(read), total);
			EXPECT_TRUE(same_bytes(encoded(read), header));
			EXPECT_LE(total, size_t{SB_MAX_BYTES});
		}
	}
}

TYPED_TEST(Header, SaysWhatIsWrong)
{
	Random random(87);
	TypeParam filter = Format<TypeParam>::make(random);
	size_t total = Format<TypeParam>::size(filter);
	auto status_of = [&](size_t at, int value) {
		Bytes header = encoded(filter);
		header[at] = static_cast<unsigned char>(value);
		TypeParam read;
		return Format<TypeParam>::decode(header.data(), header.size(), total, &read);
	};
	EXPECT_EQ(status_of(0, 'X'), SB_BAD_MAGIC);
	EXPECT_EQ(status_of(1, 'b'), SB_BAD_MAGIC);
	for (int type : {0, 2, 3, 5, 255})
		EXPECT_EQ(status_of(2, type), SB_BAD_TYPE);
	EXPECT_EQ(status_of(2, std::is_same_v<TypeParam, sb_bf> ? 4 : 1), SB_BAD_TYPE);
	for (int version : {0, 2, 255})
		EXPECT_EQ(status_of(3, version), SB_BAD_VERSION);
	EXPECT_EQ(status_of(4, 0x80), SB_BAD_HEADER);
	EXPECT_EQ(status_of(5, 0x01), SB_BAD_HEADER);
}

TYPED_TEST(Header, RefusesKindsThatNobodyWrites)
{
	Random random(88);
	TypeParam filter = Format<TypeParam>::make(random);
	size_t total = Format<TypeParam>::size(filter);
	auto accepted = [&](const sb_kind &kind) {
		filter.kind = kind;
		Bytes header = encoded(filter);
		TypeParam read;
		return Format<TypeParam>::decode(header.data(), header.size(), total, &read) == SB_OK;
	};
	EXPECT_TRUE(accepted(kind_of(SB_KIND_TEXT, 6)));
	EXPECT_TRUE(accepted(kind_of(SB_KIND_CHARACTER, 6)));
	EXPECT_TRUE(accepted(named_kind("inet", 99)));
	EXPECT_TRUE(accepted(named_kind(std::string(SB_KIND_NAME_SIZE - 1, 'x'), 99)));
	EXPECT_FALSE(accepted(kind_of(SB_KIND_INTEGER, 6)));
	EXPECT_FALSE(accepted(kind_of(static_cast<sb_kind_code>(13))));
	EXPECT_FALSE(accepted(named_kind("", 99)));

	sb_kind kind = kind_of(SB_KIND_INTEGER);
	kind.name[0] = 'x';
	EXPECT_FALSE(accepted(kind));
	kind = named_kind("inet", 1);
	kind.name[SB_KIND_NAME_SIZE - 1] = 'x';
	EXPECT_FALSE(accepted(kind));
	std::memset(kind.name, 'x', sizeof kind.name);
	EXPECT_FALSE(accepted(kind));
}

TYPED_TEST(Header, RefusesRatesOutsideTheRange)
{
	Random random(89);
	TypeParam filter = Format<TypeParam>::make(random);
	size_t total = Format<TypeParam>::size(filter);
	for (double fpr : {0.0, -0.01, 0.51, 1.0, 0.9e-6, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL})
	{
		filter.fpr = fpr;
		Bytes header = encoded(filter);
		TypeParam read;
		EXPECT_EQ(Format<TypeParam>::decode(header.data(), header.size(), total, &read), SB_BAD_HEADER) << fpr;
	}
}

/* No stored value is larger than SB_MAX_BYTES, even if its length agrees with its header. */
TEST(BfHeader, RefusesAValueBeyondTheLargest)
{
	sb_bf bf = Bf(1, 5).parameters;
	bf.line_count = SB_BF_MAX_LINES;
	Bytes header = encoded(bf);
	sb_bf read;
	EXPECT_EQ(sb_bf_decode_header(header.data(), header.size(), sb_bf_size(&bf), &read), SB_OK);
	for (uint32_t lines : {SB_BF_MAX_LINES + 1, UINT32_MAX})
	{
		bf.line_count = lines;
		header = encoded(bf);
		EXPECT_EQ(sb_bf_decode_header(header.data(), header.size(), sb_bf_size(&bf), &read), SB_BAD_HEADER);
	}
}

TEST(TbfHeader, RefusesAValueBeyondTheLargest)
{
	sb_tbf tbf = shape(SB_TBF_BLOCK, 4, 0, 0);
	tbf.flags = SB_TBF_HAS_HITS;
	for (int bits : {8, 16, 32, 64})
		for (uint32_t blocks = 1; blocks <= SB_TBF_MAX_CELLS / SB_TBF_BLOCK * 2; blocks *= 2)
		{
			tbf.cell_bits = static_cast<uint8_t>(bits);
			tbf.block_count = blocks;
			size_t total = sb_tbf_size(&tbf);
			Bytes header = encoded(tbf);
			sb_tbf read;
			bool fits = total <= SB_MAX_BYTES && sb_tbf_cells(&tbf) <= SB_TBF_MAX_CELLS;
			sb_status status = sb_tbf_decode_header(header.data(), header.size(), total, &read);
			EXPECT_EQ(status == SB_OK, fits) << blocks << " blocks of " << bits << " bits: " << total << " bytes";
		}
}

/* -------------------------------------------------------------------- tbf's own */

static sb_status decoded(const sb_tbf &tbf)
{
	Bytes header = encoded(tbf);
	sb_tbf read;
	return sb_tbf_decode_header(header.data(), header.size(), sb_tbf_size(&tbf), &read);
}

TEST(TbfHeader, RefusesContradictions)
{
	sb_tbf good = shape(1024, 4, 3600000000, 60000000);
	good.flags = SB_TBF_HAS_HITS;
	good.base = 100;
	good.newest = INT64_C(3600000000) * 100;
	good.total = 5000;
	good.slack = 7;
	ASSERT_EQ(decoded(good), SB_OK);

	auto refused = [&](auto change) {
		sb_tbf bad = good;
		change(bad);
		return decoded(bad) == SB_BAD_HEADER;
	};
	EXPECT_TRUE(refused([](sb_tbf &t) { t.kind = {}; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.hash_count = 0; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.hash_count = 17; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.block_count = 0; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.block_count = 2; })); /* blocks of so few cells occur only alone */
	EXPECT_TRUE(refused([](sb_tbf &t) { t.block_cells = 32; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.block_cells = 1000; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.block_cells = 8192; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.layout = 2; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.layout = 1, t.payload = 4; })); /* a directory without blocks */
	EXPECT_TRUE(refused([](sb_tbf &t) { t.top = SB_TBF_MAX_TOP + 1; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.extra = 1; }));						  /* there is no list and no table */
	EXPECT_TRUE(refused([](sb_tbf &t) { t.flags |= SB_TBF_RECURRING_MINIMUM; })); /* this filter decays */
	EXPECT_TRUE(refused([](sb_tbf &t) { t.cell_bits = 0; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.cell_bits = 12; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.cell_bits = 128; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.unit_bits = 0; })); /* filters that decay count in sixteenths */
	EXPECT_TRUE(refused([](sb_tbf &t) { t.unit_bits = 3; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.widened = 5; })); /* 1024 cells / 2^5 would be fewer than 64 */
	EXPECT_TRUE(refused([](sb_tbf &t) { t.half_life = 0; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.half_life = -1; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.epoch = 0; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.epoch = INT64_MIN; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.newest++; })); /* newest must be a multiple of the epoch */
	EXPECT_TRUE(refused([](sb_tbf &t) { t.newest = INT64_MAX; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.newest = INT64_MIN; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.base = INT64_MAX; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.base = INT64_MIN; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.slack = SB_TBF_MAX_CELL; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.total = UINT64_MAX; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.flags = 0; }));
	EXPECT_TRUE(refused([](sb_tbf &t) { t.flags = SB_TBF_FORGOTTEN; }));
}

/*
 * A look-up reads the header and then a part of the directory, so the header must describe a directory that lies
 * within the value.
 */
TEST(TbfHeader, RefusesExactFiltersWithoutRoomForTheirDirectory)
{
	sb_tbf exact = shape(SB_TBF_MIN_BLOCK, 4, 0, 0);
	exact.flags = SB_TBF_HAS_HITS | SB_TBF_EXACT;
	exact.block_count = 0;
	exact.block_cells = 0;
	for (uint32_t items : std::initializer_list<uint32_t>{1, 63, 64, 127, 128, 2000, SB_TBF_EXACT_ITEMS})
	{
		/* three bytes for each block of 64 to 127 items */
		const uint32_t directory = 3 * (items < 64 ? 1 : std::bit_floor(items / 64));
		exact.item_count = items;
		for (uint32_t payload : {1u, directory - 1, directory})
		{
			exact.payload = payload;
			EXPECT_EQ(decoded(exact), SB_BAD_HEADER) << items << " items in " << payload << " bytes";
		}
		exact.payload = directory + 1;
		EXPECT_EQ(decoded(exact), SB_OK) << items;
	}
}

TEST(TbfHeader, KeepsEveryField)
{
	Random random(91);
	for (int round = 0; round < 5000; round++)
	{
		sb_tbf tbf = random_tbf(random);
		Bytes header = encoded(tbf);
		sb_tbf read;
		ASSERT_EQ(sb_tbf_decode_header(header.data(), header.size(), sb_tbf_size(&tbf), &read), SB_OK);
		EXPECT_EQ(read.flags, tbf.flags);
		EXPECT_EQ(read.block_count, tbf.block_count);
		EXPECT_EQ(read.block_cells, tbf.block_cells);
		EXPECT_EQ(read.layout, tbf.layout);
		EXPECT_EQ(read.cell_bits, tbf.cell_bits);
		EXPECT_EQ(read.unit_bits, tbf.unit_bits);
		EXPECT_EQ(read.half_life, tbf.half_life);
		EXPECT_EQ(read.epoch, tbf.epoch);
		EXPECT_EQ(read.base, tbf.base);
		EXPECT_EQ(read.newest, tbf.newest);
		EXPECT_EQ(read.slack, tbf.slack);
		EXPECT_EQ(read.total, tbf.total);
	}
}

/* ---------------------------------------------------------------------- kinds */

TEST(Kind, EqualsItselfAndNothingElse)
{
	const sb_kind kinds[] = {kind_of(SB_KIND_NONE),	   kind_of(SB_KIND_INTEGER), kind_of(SB_KIND_TEXT, 6),
							 kind_of(SB_KIND_TEXT, 8), kind_of(SB_KIND_UUID),	 named_kind("inet", 1),
							 named_kind("inet", 2),	   named_kind("cidr", 1)};
	for (const sb_kind &a : kinds)
		for (const sb_kind &b : kinds)
			EXPECT_EQ(sb_kind_equal(&a, &b), &a == &b);
}

/* --------------------------------------------------------------------- statuses */

TEST(StatusText, IsThereForEveryStatusAndSaysSomethingElseForEach)
{
	std::set<std::string> texts;
	for (int status = SB_OK; status <= SB_DIFFERENT; status++)
	{
		const char *text = sb_status_text(static_cast<sb_status>(status));
		ASSERT_NE(text, nullptr);
		EXPECT_NE(*text, 0);
		texts.insert(text);
	}
	EXPECT_EQ(texts.size(), static_cast<size_t>(SB_DIFFERENT) + 1);
}
