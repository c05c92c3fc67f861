/*
 * tbf_top_test.cpp: the list of hot items. Whatever was done with the list, for every item L <= f <= L + error, and
 * error <= W / (c + 1). f is the exact sum of the item's hits, W that of all hits, c the limit of entries, and L the
 * number in the item's entry, or 0 if it has none.
 */
#include "tbf_top_support.h"

using namespace test;

TEST(TbfTop, AHitIsBoundedFromBothSides)
{
	Random random(1);
	for (int i = 0; i < 2000; i++)
	{
		int64_t half_life = between(random, 1, 1000) * between(random, 1, hour);
		sb_tbf tbf = shape(64, 2, half_life, between(random, 1, half_life));
		sb_moment moment;
		sb_u128 least;
		sb_u128 lost;
		uint64_t counted;
		int64_t at = between(random, -1000 * hour, 1000 * hour);
		double weight = std::exp(60 * uniform(random) - 38);
		sb_tbf_moment(tbf.half_life, tbf.epoch, at, &moment);
		streambloom::top_hit(&moment, weight, &least, &lost);
		ASSERT_EQ(sb_tbf_hit(&moment, weight, &counted), SB_OK);
		long double x = static_cast<long double>(floor_quotient(at, tbf.epoch)) * static_cast<long double>(tbf.epoch) /
						static_cast<long double>(half_life);
		long double exact = static_cast<long double>(weight) *
							exp2l(x - static_cast<long double>(moment.half_lives) + streambloom::top_fraction_bits);
		EXPECT_LE(static_cast<long double>(least), exact * (1 + 1e-15L));
		EXPECT_GE(static_cast<long double>(least + lost), exact * (1 - 1e-15L));
		EXPECT_LE(static_cast<long double>(lost), exact * 0x1p-28L + 2);
		EXPECT_TRUE(least <= u128{counted} << (streambloom::top_fraction_bits - SB_TBF_HIT_BITS))
			<< "the counters count less";
	}
}

TEST(TbfTop, WholeWeightsWithoutDecayAreExact)
{
	sb_tbf tbf = decaying(0);
	Random random(2);
	std::vector<Hit> hits = zipf(random, 3000, 400, 0, 0, true);
	for (uint32_t limit : {1u, 2u, 7u, 50u})
	{
		List list(limit);
		for (size_t i = 0; i < hits.size(); i++)
		{
			list.add(tbf, hits[i]);
			if (i % 500 == 499)
			{
				EXPECT_TRUE(holds(tbf, list, {hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(i) + 1}, 0));
			}
		}
		EXPECT_TRUE(holds(tbf, list.reread(0), hits, 0)) << limit;
	}
	List roomy(1000); /* more than there are items, so nothing is ever purged */
	for (const Hit &hit : hits)
		roomy.add(tbf, hit);
	EXPECT_TRUE(roomy.list.error == 0);
	for (const auto &[hash, least] : roomy.all())
		EXPECT_EQ(static_cast<long double>(least) * 0x1p-40L, truth(tbf, hits, hash, 0));
	List again = roomy.reread(0);
	EXPECT_TRUE(again.all() == roomy.all());
	EXPECT_TRUE(again.list.error == 0);
}

TEST(TbfTop, HoldsInAnyOrderOfTime)
{
	Random random(3);
	for (int64_t half_life : {hour, 24 * hour, 7 * 24 * hour, 3 * hour / 1000})
	{
		sb_tbf tbf = decaying(half_life);
		std::vector<Hit> hits = zipf(random, 1500, 300, -40 * hour, 40 * hour, false);
		for (int order = 0; order < 3; order++)
		{
			if (order < 2)
				std::sort(hits.begin(), hits.end(),
						  [&](const Hit &a, const Hit &b) { return (a.at < b.at) == (order == 0) && a.at != b.at; });
			else
				std::shuffle(hits.begin(), hits.end(), random);
			for (uint32_t limit : {1u, 9u, 60u})
			{
				List list(limit);
				for (const Hit &hit : hits)
					list.add(tbf, hit);
				int64_t newest = std::max_element(hits.begin(), hits.end(), [](const Hit &a, const Hit &b) {
									 return a.at < b.at;
								 })->at;
				EXPECT_EQ(list.list.base, floor_quotient(floor_quotient(newest, tbf.epoch) * tbf.epoch, half_life));
				EXPECT_TRUE(holds(tbf, list, hits, newest)) << limit << " in order " << order;
				EXPECT_TRUE(holds(tbf, list, hits, newest - 3 * half_life)) << limit << " in order " << order;
				EXPECT_TRUE(holds(tbf, list.reread(list.list.base), hits, newest, 1));
				EXPECT_TRUE(holds(tbf, list.reread(list.list.base - 32), hits, newest, 2));
			}
		}
	}
}

TEST(TbfTop, HoldsHoweverItWasSplitStoredMergedAndDecayed)
{
	Random random(4);
	for (int round = 0; round < 60; round++)
	{
		int64_t half_life = round % 4 == 0 ? 0 : between(random, 1, 50) * hour;
		sb_tbf tbf = decaying(half_life);
		auto limit = static_cast<uint32_t>(between(random, 1, 30));
		std::vector<List> lists;
		std::vector<std::vector<Hit>> hits;
		int64_t newest = INT64_MIN;
		double steps = 0;
		for (int i = 0; i < 6; i++)
		{
			int64_t start = between(random, -200, 200) * hour;
			hits.push_back(zipf(random, 150, 60, start, start + 30 * hour, half_life == 0));
			lists.emplace_back(limit);
			for (const Hit &hit : hits.back())
			{
				lists.back().add(tbf, hit);
				newest = std::max(newest, hit.at);
			}
		}
		while (lists.size() > 1)
		{
			/* a random list is stored and read, decayed, or added to another one */
			auto i = static_cast<size_t>(between(random, 0, static_cast<int64_t>(lists.size()) - 1));
			steps++;
			switch (between(random, 0, 2))
			{
				case 0:
				{
					/* the oldest base that a filter with this newest hit may have */
					int64_t oldest = lists[i].list.base;
					if (half_life != 0)
						for (const Hit &hit : hits[i])
							oldest = std::max(oldest, floor_quotient(hit.at, half_life));
					List again = lists[i].reread(
						half_life == 0 ? 0 : std::min(lists[i].list.base, oldest - between(random, 0, 32)));
					lists[i].swap(again);
					break;
				}
				case 1:
					if (half_life != 0)
						streambloom::top_turn(&lists[i].list, lists[i].list.base + between(random, 0, 5));
					break;
				default:
					if (i != lists.size() - 1)
					{
						lists[i].add(lists.back());
						hits[i] = hits[i] + hits.back();
						lists.pop_back();
						hits.pop_back();
					}
			}
			for (size_t j = 0; j < lists.size(); j++)
				ASSERT_TRUE(holds(tbf, lists[j], hits[j], newest, 100 * steps)) << "round " << round;
		}
	}
}

TEST(TbfTop, MergesDifferentLimitsByTheSmaller)
{
	sb_tbf tbf = decaying(24 * hour);
	Random random(5);
	std::vector<Hit> first = zipf(random, 2000, 500, 0, 90 * hour, false);
	std::vector<Hit> second = zipf(random, 1000, 500, 40 * hour, 190 * hour, false);
	List small(10);
	List large(100);
	for (const Hit &hit : first)
		small.add(tbf, hit);
	for (const Hit &hit : second)
		large.add(tbf, hit);
	List one(large);
	one.list.limit = 10; /* the limit may be lowered under the number of items: these stay until the next purge */
	one.add(small);
	small.add(large);
	EXPECT_TRUE(holds(tbf, one, first + second, 190 * hour));
	EXPECT_TRUE(holds(tbf, small, first + second, 190 * hour));
	EXPECT_LE(one.reread(one.list.base).list.count, 10u);
	EXPECT_TRUE(holds(tbf, one.reread(one.list.base), first + second, 190 * hour, 1));
}

TEST(TbfTop, ScalesByAnyWeight)
{
	sb_tbf tbf = decaying(24 * hour);
	Random random(6);
	std::vector<Hit> hits = zipf(random, 2000, 500, 0, 90 * hour, false);
	for (double weight : {1.0, 0.5, 3.0, 0.1, 1e-5, 12345.678, 0x1p-30, 1 / 3.0})
	{
		List list(20);
		for (const Hit &hit : hits)
			list.add(tbf, hit);
		int exponent;
		auto mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(weight, &exponent), 52));
		ASSERT_EQ(streambloom::top_scale(&list.list, mantissa, exponent - 52), SB_OK);
		std::vector<Hit> scaled = hits;
		for (Hit &hit : scaled)
			hit.weight *= weight;
		EXPECT_TRUE(holds(tbf, list, scaled, 90 * hour, 4)) << weight;
	}
	/* the bounds are exact where they can be, whatever the form of the number */
	List list(5);
	list.add(decaying(0), {7, 0, 1000});
	List same(list);
	ASSERT_EQ(streambloom::top_scale(&same.list, 3, 0), SB_OK);
	EXPECT_TRUE(same.all().at(7) == u128{3000} << 40 && same.list.error == 0);
	ASSERT_EQ(streambloom::top_scale(&same.list, 1, -3), SB_OK);
	EXPECT_TRUE(same.all().at(7) == u128{375} << 40 && same.list.error == 0);
	ASSERT_EQ(streambloom::top_scale(&same.list, UINT64_C(1) << 52, -52 - 46), SB_OK);
	EXPECT_TRUE(same.all().at(7) == 5 && same.list.error == 1) << "375 * 2^-46 hits are 5.86 * 2^-40";
	ASSERT_EQ(streambloom::top_scale(&same.list, 1, -200), SB_OK);
	EXPECT_EQ(same.list.count, 0u);
	EXPECT_TRUE(same.list.error == 2) << "what is gone, and the error itself";
	EXPECT_EQ(streambloom::top_scale(&list.list, UINT64_C(1) << 53, 0), SB_OUT_OF_RANGE);
	EXPECT_EQ(streambloom::top_scale(&list.list, 1, 119), SB_OVERFLOW);
	List none(5);
	none.add(decaying(0), {7, 0, 1000});
	ASSERT_EQ(streambloom::top_scale(&none.list, 0, 5), SB_OK);
	EXPECT_TRUE(none.list.count == 0 && none.list.error == 0);
}

/* What a decay, a late hit or a store cuts off L is added to the error, to the last 2^-40 hit. */
TEST(TbfTop, WhatLLosesTheErrorGains)
{
	List list(3);
	auto least_of = [](const List &of, uint64_t hash) { return of.all().at(hash); };
	list.add(1, 10, 1001, 0, name_of(1));
	list.add(2, 10, 1000, 0, name_of(2));
	EXPECT_TRUE(list.list.error == 0);
	List turned(list);
	streambloom::top_turn(&turned.list, 11);
	EXPECT_TRUE(least_of(turned, 1) == 500 && least_of(turned, 2) == 500 && turned.list.error == 1);
	streambloom::top_turn(&turned.list, 12);
	EXPECT_TRUE(least_of(turned, 1) == 250 && turned.list.error == 1)
		<< "half of the old one, rounded up; nothing new is lost";
	streambloom::top_turn(&turned.list, 5);
	EXPECT_TRUE(least_of(turned, 1) == 250 && turned.list.base == 12) << "never back";

	list.add(1, 8, 7, 0, name_of(1)); /* late: L grows by 7 / 4 */
	EXPECT_TRUE(least_of(list, 1) == 1002 && list.list.error == 1);
	list.add(1, 8, 8, 5, name_of(1)); /* by between 8 / 4 and 13 / 4 */
	EXPECT_TRUE(least_of(list, 1) == 1004 && list.list.error == 3);
	list.add(3, 2, 255, 0, name_of(3)); /* so late that only the error grows */
	EXPECT_TRUE(list.list.count == 2 && list.list.error == 4);

	List exact = list.reread(10);
	EXPECT_TRUE(exact.all() == list.all() && exact.list.error == 4);
	List later = list.reread(13); /* 1004 / 8, 1000 / 8, 4 / 8 */
	EXPECT_TRUE(least_of(later, 1) == 125 && least_of(later, 2) == 125 && later.list.error == 2);
	List gone = list.reread(30);
	EXPECT_TRUE(gone.list.count == 0 && gone.list.error == 2);
}

/*
 * Between two half-lives the factor of decay has no exact binary form: the lower bound must not use the factor that
 * is rounded up.
 */
TEST(TbfTop, ALowerBoundIsRoundedDown)
{
	Random random(9);
	for (int i = 0; i < 1000; i++)
	{
		int64_t half_life = between(random, 1000, 1000 * hour);
		sb_tbf tbf = shape(64, 2, half_life, 1);
		int64_t at = between(random, 0, half_life);
		streambloom::top_section section{1, 40, 0, nullptr, nullptr, 0};
		double from;
		double to;
		streambloom::top_bounds(&tbf, section.fraction_bits, section.error, UINT64_C(1) << 40, at, &from, &to);
		long double exact = exp2l(-static_cast<long double>(at) / static_cast<long double>(half_life));
		EXPECT_LE(from, exact * (1 + oracle_error)) << at << " of " << half_life;
		EXPECT_GE(to, exact * (1 - oracle_error)) << at << " of " << half_life;
		EXPECT_GE(from, exact * (1 - 3e-9L));
	}
}

TEST(TbfTop, BoundsHoldAtAnyTime)
{
	sb_tbf tbf = decaying(24 * hour);
	Random random(7);
	std::vector<Hit> hits = zipf(random, 1000, 200, 0, 90 * hour, false);
	List list(20);
	for (const Hit &hit : hits)
		list.add(tbf, hit);
	streambloom::top_purge(&list.list);
	for (int64_t base : {list.list.base, list.list.base - 9})
	{
		Bytes bytes(streambloom::top_size(&list.list, base));
		streambloom::top_write(&list.list, base, bytes.data());
		tbf.base = base;
		for (int64_t at : {INT64_C(0), 90 * hour, 91 * hour, 95 * hour + 17, 10000 * hour, -300 * hour, 500000 * hour})
		{
			streambloom::top_section section;
			sb_top_item item;
			ASSERT_EQ(streambloom::top_open(bytes.data(), bytes.size(), 20, UINT64_MAX, &section), SB_OK);
			EXPECT_GT(section.count, 10u);
			while (streambloom::top_next(&section, &item))
			{
				double from;
				double to;
				streambloom::top_bounds(&tbf, section.fraction_bits, section.error, item.least, at, &from, &to);
				long double exact = truth(tbf, hits, item.hash, at);
				EXPECT_LE(from, exact * (1 + 1e-15L)) << at;
				EXPECT_GE(to, exact * (1 - 1e-15L)) << at;
				EXPECT_GE(to, from);
				EXPECT_GE(from * (1 + 1e-8),
						  hits_at(tbf, streambloom::top_amount(&section, item.least), base, at) * (1 - 1e-15L))
					<< "much is given away at " << at;
			}
		}
		/* so long ago that a double cannot hold it */
		streambloom::top_section section;
		ASSERT_EQ(streambloom::top_open(bytes.data(), bytes.size(), 20, UINT64_MAX, &section), SB_OK);
		double from;
		double to;
		streambloom::top_bounds(&tbf, section.fraction_bits, section.error, 1, -5000 * 24 * hour, &from, &to);
		EXPECT_TRUE(std::isinf(to));
		streambloom::top_bounds(&tbf, section.fraction_bits, section.error, 1, 5000 * 24 * hour, &from, &to);
		EXPECT_EQ(from, 0);
		EXPECT_GT(to, 0);
	}
}

/* Forged lists with the largest possible numbers saturate, and do not wrap. */
TEST(TbfTop, ForgedNumbersDoNotWrap)
{
	Bytes section(streambloom::top_section_size + streambloom::top_entry_size);
	section[0] = 1;
	std::memset(section.data() + 8, 255, 7);
	section[15] = 127;
	section[streambloom::top_section_size] = 1;
	std::memset(section.data() + streambloom::top_section_size + 8, 255, 7);
	section[streambloom::top_section_size + 15] = 127;
	List list(3);
	for (int i = 0; i < 3; i++)
	{
		list.add(section, 0);
		for (int doubling = 0; doubling < 30; doubling++)
		{
			List copy(list);
			u128 before = list.all().at(1);
			list.add(copy);
			EXPECT_TRUE(list.all().at(1) >= before);
			EXPECT_TRUE(list.list.error >= copy.list.error);
		}
		List again = list.reread(-1000);
		EXPECT_TRUE(again.all().at(1) > 0);
	}
}

/* A list that never got an item has no table either. */
TEST(TbfTop, EmptyOneCanBeScaledAndTurned)
{
	streambloom::top_list list{};
	list.limit = 10;
	streambloom::top_add_error(&list, 0, 5);
	EXPECT_EQ(streambloom::top_scale(&list, 3, -1), SB_OK);
	streambloom::top_turn(&list, 3);
	streambloom::top_purge(&list);
	EXPECT_EQ(list.count, 0u);
	EXPECT_GE(list.error, 1u);
}

/* Texts that are empty: the list then has no memory for texts. */
TEST(TbfTop, AllItemsMayBeEmptyStrings)
{
	List list(2);
	for (uint64_t hash = 1; hash <= 5; hash++)
		list.insert(hash, hash * 1000, "");
	List again = list.reread(0);
	EXPECT_EQ(again.list.count, 2u);
	EXPECT_EQ(again.list.bytes_used, 0u);
	streambloom::top_turn(&again.list, 60);
	streambloom::top_turn(&again.list, 200);
	EXPECT_EQ(again.list.count, 0u);
}

/* Whoever writes the log chooses the items, and so their hashes. */
TEST(TbfTop, ChosenItemsDoNotCrowdTheTable)
{
	for (int low_bits : {0, 20, 40})
	{
		List list(5000);
		for (uint64_t i = 1; i <= 10000; i++)
			list.add(low_bits == 0 ? i * 3 : i << low_bits, 0, u128{1} << 40, 0, "");
		ASSERT_EQ(list.list.count, 10000u);
		const uint32_t slots = streambloom::top_slots(list.list.room);
		uint32_t longest = 0; /* the longest row of slots in use, which is the longest search */
		uint32_t row = 0;
		for (uint32_t slot = 0; slot < 2 * slots; slot++)
		{
			row = list.list.slots[slot % slots] != 0 ? row + 1 : 0;
			longest = std::max(longest, row);
		}
		EXPECT_LT(longest, 200u) << low_bits;
	}
}
