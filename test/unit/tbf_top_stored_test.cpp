/*
 * tbf_top_stored_test.cpp: the stored list of hot items: what a look-up reads of it, which lists are refused, and how
 * the list decays.
 */
#include "tbf_top_support.h"

using namespace test;

/* A stored filter with the list of its hot items. */
static Bytes with_list(const sb_tbf &like, const std::vector<Hit> &hits, uint32_t limit)
{
	Tbf filter = stored(like, hits);
	List list(limit);
	for (const Hit &hit : hits)
		list.add(like, hit);
	streambloom::top_purge(&list.list);
	Bytes section(streambloom::top_size(&list.list, filter.parameters.base));
	streambloom::top_write(&list.list, filter.parameters.base, section.data());
	filter.parameters.top = static_cast<uint16_t>(limit);
	filter.parameters.extra = static_cast<uint32_t>(section.size());
	return filter.value() + section;
}

/* Looks the list up by pieces. *piece gets the piece that holds the list. */
static sb_status look_up_list(const Bytes &value, size_t first, Bytes *piece, sb_lookup *lookup,
							  std::vector<sb_top_item> *items)
{
	*piece = Bytes(value.data(), std::min(first, value.size()));
	sb_status status = sb_lookup_open(lookup, SB_LOOKUP_TBF, piece->data(), piece->size(), value.size());
	EXPECT_EQ(status, SB_OK);
	items->resize(lookup->header.tbf.top);
	status = sb_lookup_top(lookup, items->data());
	if (status != SB_NEED_BYTES)
		return status;
	EXPECT_EQ(lookup->need.size, lookup->header.tbf.extra);
	EXPECT_EQ(lookup->need.offset + lookup->need.size, value.size());
	*piece = Bytes(value.data() + lookup->need.offset, lookup->need.size);
	return sb_lookup_next(lookup, piece->data(), piece->size());
}

TEST(TbfTopStored, ALookUpReadsTheListAndBoundsTheCounts)
{
	Random random(21);
	for (int round = 0; round < 40; round++)
	{
		sb_tbf like = round % 2 == 0 ? decaying(24 * hour) : shape(4096, 3, 0, 0);
		std::vector<Hit> hits = zipf(random, 2000, 300, 0, 90 * hour, false);
		Bytes value = with_list(like, hits, 20);
		for (size_t first : {size_t{SB_LOOKUP_FIRST}, size_t{1996}, value.size()})
		{
			sb_lookup list;
			Bytes piece;
			std::vector<sb_top_item> items;
			ASSERT_EQ(look_up_list(value, first, &piece, &list, &items), SB_OK);
			ASSERT_GT(list.listed, 10u);
			ASSERT_LE(list.listed, 20u);
			for (uint32_t i = 0; i < list.listed; i++)
			{
				sb_lookup one;
				ASSERT_EQ(look_up(&one, SB_LOOKUP_TBF, items[i].hash, value, first), SB_OK);
				double count = sb_tbf_count(&one.header.tbf, one.units, 90 * hour);
				double from;
				double to;
				sb_lookup_top_hits(&list, &items[i], one.units, 90 * hour, &from, &to);
				long double exact = truth(like, hits, items[i].hash, 90 * hour);
				EXPECT_LE(from, exact * (1 + 1e-15L));
				EXPECT_GE(to, exact * (1 - 1e-15L));
				EXPECT_LE(to, count);
				EXPECT_LE(from, to);
				EXPECT_TRUE(i == 0 || items[i].least <= items[i - 1].least);
				EXPECT_EQ(std::string(reinterpret_cast<const char *>(items[i].bytes), items[i].length),
						  name_of(items[i].hash));
			}
		}
	}
}

TEST(TbfTopStored, ALookUpFindsNoListWhereThereIsNone)
{
	sb_tbf empty = shape(64, 3, 0, 0);
	empty.kind = {};
	for (uint16_t top : {uint16_t{0}, uint16_t{5}})
	{
		empty.top = top;
		Bytes header(sb_tbf_size(&empty));
		sb_tbf_encode_header(&empty, header.data());
		sb_lookup list;
		Bytes piece;
		std::vector<sb_top_item> items;
		EXPECT_EQ(look_up_list(header, SB_LOOKUP_FIRST, &piece, &list, &items), SB_OK);
		EXPECT_EQ(list.listed, 0u);
	}

	/* a filter that has a hit must have a list, even an empty one */
	empty.kind = kind_of(SB_KIND_INTEGER);
	empty.flags = SB_TBF_HAS_HITS;
	Bytes header(sb_tbf_size(&empty));
	sb_tbf_encode_header(&empty, header.data());
	sb_lookup list;
	Bytes piece;
	std::vector<sb_top_item> items;
	EXPECT_EQ(look_up_list(header, SB_LOOKUP_FIRST, &piece, &list, &items), SB_BAD_LENGTH);
}

TEST(TbfTopStored, ALookUpRefusesADamagedList)
{
	Random random(22);
	sb_tbf like = decaying(24 * hour);
	const Bytes value = with_list(like, zipf(random, 1000, 200, 0, 90 * hour, false), 20);
	int refused = 0;
	for (int round = 0; round < 2000; round++)
	{
		Bytes damaged = value;
		sb_tbf tbf;
		ASSERT_EQ(sb_tbf_decode_header(value.data(), value.size(), value.size(), &tbf), SB_OK);
		size_t from = SB_TBF_HEADER + streambloom::counters_size(&tbf);
		size_t at = random() % (round % 2 == 0 ? 40 : tbf.extra);
		damaged[from + at] = static_cast<unsigned char>(random());
		sb_lookup by_pieces;
		sb_lookup whole;
		Bytes pieces[2];
		std::vector<sb_top_item> items[2];
		sb_status status = look_up_list(damaged, SB_LOOKUP_FIRST, &pieces[0], &by_pieces, &items[0]);
		ASSERT_EQ(look_up_list(damaged, damaged.size(), &pieces[1], &whole, &items[1]), status);
		ASSERT_TRUE(status == SB_OK || status == SB_BAD_LIST || status == SB_BAD_LENGTH) << status;
		refused += status != SB_OK;
	}
	EXPECT_GT(refused, 300);
}

TEST(TbfTopStored, StoresLargeNumbersWithFewerFractionBits)
{
	List list(3);
	sb_tbf tbf = decaying(hour);
	for (int i = 0; i < 1000; i++)
		list.add(tbf, {9, 0, 8e9});
	list.add(tbf, {4, 0, 1});
	for (int64_t base : {0, -1, -8})
	{
		Bytes bytes(streambloom::top_size(&list.list, base));
		streambloom::top_write(&list.list, base, bytes.data());
		streambloom::top_section section;
		sb_top_item item;
		ASSERT_EQ(streambloom::top_open(bytes.data(), bytes.size(), 3, UINT64_MAX, &section), SB_OK);
		EXPECT_LT(section.fraction_bits, 40);
		while (streambloom::top_next(&section, &item))
		{
			long double hits = ldexpl(item.hash == 9 ? 8e12L : 1, static_cast<int>(-base));
			long double least = ldexpl(static_cast<long double>(item.least), -section.fraction_bits);
			EXPECT_LE(least, hits);
			EXPECT_GE(least + ldexpl(static_cast<long double>(section.error), -section.fraction_bits), hits);
			EXPECT_GT(least, hits - ldexpl(8e12L, static_cast<int>(-base) - 58));
		}
	}
}

TEST(TbfTopStored, RefusesWhatNoListIs)
{
	List list(4);
	sb_tbf tbf = decaying(0);
	for (uint64_t i = 1; i <= 4; i++)
		list.add(tbf, {i * 100, 0, static_cast<double>(i)});
	Bytes good(streambloom::top_size(&list.list, 0));
	streambloom::top_write(&list.list, 0, good.data());
	streambloom::top_section section;
	auto status = [&](const Bytes &bytes, uint32_t limit = 4, uint64_t total = UINT64_MAX) {
		return streambloom::top_open(bytes.data(), bytes.size(), limit, total, &section);
	};
	auto with = [&](size_t at, unsigned char byte) {
		Bytes changed(good.data(), good.size());
		changed[at] = byte;
		return changed;
	};
	constexpr size_t entry = streambloom::top_section_size;
	ASSERT_EQ(status(good), SB_OK);
	EXPECT_EQ(status(good, 4, 10 << SB_TBF_HIT_BITS), SB_OK);
	EXPECT_EQ(status(good, 4, (10 << SB_TBF_HIT_BITS) - 1), SB_BAD_LIST) << "more hits than there were";
	EXPECT_EQ(status(good, 3), SB_BAD_LIST) << "more items than the filter keeps";
	EXPECT_EQ(status(with(2, 41)), SB_BAD_LIST) << "fraction bits";
	EXPECT_EQ(status(with(3, 1)), SB_BAD_LIST);
	EXPECT_EQ(status(with(7, 1)), SB_BAD_LIST);
	EXPECT_EQ(status(with(15, 128)), SB_BAD_LIST) << "error";
	EXPECT_EQ(status(with(entry + 15, 128)), SB_BAD_LIST) << "L";
	EXPECT_EQ(status(with(entry + streambloom::top_entry_size, 100)), SB_BAD_LIST)
		<< "hashes 100 and 256 + 100 - ... out of order";
	Bytes same = with(0, 4);
	std::memcpy(same.data() + entry + streambloom::top_entry_size, same.data() + entry, 8);
	EXPECT_EQ(status(same), SB_BAD_LIST) << "twice the same hash";
	Bytes nothing = with(0, 4);
	std::memset(nothing.data() + entry + 8, 0, 8);
	EXPECT_EQ(status(nothing), SB_BAD_LIST) << "L of 0";
	EXPECT_EQ(status(with(entry + 16, good[entry + 16] + 1)), SB_BAD_LENGTH);
	EXPECT_EQ(status(with(entry + 17, 2)), SB_BAD_LIST) << "longer than an item may be";
	EXPECT_EQ(status(with(0, 3)), SB_BAD_LENGTH);
	EXPECT_EQ(status(with(1, 255), 65535), SB_BAD_LENGTH);
	for (size_t size = 0; size < good.size(); size++)
		EXPECT_NE(status(Bytes(good.data(), size)), SB_OK) << size;

	/* a list that is not refused can be added to another one and read without an access outside it */
	Random random(8);
	for (int i = 0; i < 20000; i++)
	{
		Bytes bytes(good.data(), good.size());
		for (int changes = 0; changes < 3; changes++)
			bytes[random() % good.size()] = static_cast<unsigned char>(random());
		if (status(bytes) != SB_OK)
			continue;
		List some(4);
		for (int64_t base : {INT64_C(-1) << 60, INT64_C(1) << 60, INT64_C(0)})
		{
			some.add(good, 0);
			some.add(bytes, base);
		}
		for (int64_t base : {INT64_C(-1) << 60, some.list.base - 90, some.list.base, INT64_C(1) << 60})
			some.reread(base);
	}
}

/*
 * A stored list can be decayed as it is, or be read into memory, decayed to the same base and stored again. Both ways
 * give the same bytes, whether the list has few fraction bits or all 40, and however many items fall out.
 */
TEST(TbfTopStored, AStoredListDecaysAsTheGrowingOneTurns)
{
	Random random(23);
	for (int round = 0; round < 300; round++)
	{
		const auto limit = static_cast<uint32_t>(between(random, 1, 40));
		const int64_t base = between(random, -50, 50);
		List list(limit);
		for (int64_t n = between(random, 0, 60); n > 0; n--)
		{
			const int digits = static_cast<int>(between(random, 1, round % 3 == 0 ? 100 : 60));
			const u128 least = (u128{random()} << 64 | random() | 1) >> (128 - digits);
			const uint64_t hash = random();
			list.add(hash, base, least == 0 ? 1 : least, random() >> 40, name_of(hash));
		}
		streambloom::top_purge(&list.list);
		Bytes stored(streambloom::top_size(&list.list, base));
		streambloom::top_write(&list.list, base, stored.data());
		sb_tbf filter = decaying(hour);
		filter.flags = SB_TBF_HAS_HITS;
		filter.base = base;
		filter.layout = SB_TBF_EXTENSIBLE; /* no counters before the list */
		filter.total = UINT64_MAX; /* unknown */
		filter.top = static_cast<uint16_t>(limit);
		filter.extra = static_cast<uint32_t>(stored.size());
		for (uint64_t half_lives : {1u, 2u, 7u, 39u, 64u, 100u, 127u, 128u, 5000u})
		{
			List turned(limit);
			turned.add(stored, base);
			const int64_t later = base + static_cast<int64_t>(half_lives);
			streambloom::top_turn(&turned.list, later);
			Bytes expected(streambloom::top_size(&turned.list, later));
			streambloom::top_write(&turned.list, later, expected.data());

			Memory memory;
			Bytes room(stored.size());
			uint32_t size;
			ASSERT_EQ(streambloom::decay_list(&filter, stored.data(), memory, later, room.data(), &size), SB_OK);
			ASSERT_LE(size, stored.size());
			ASSERT_TRUE(same_bytes(Bytes(room.data(), size), expected)) << half_lives << " half-lives";
		}
	}
}
