/*
 * tbf_remove_test.cpp: hits are removed again. Whatever is added and removed, and however the filter is stored,
 * decayed, widened and merged in between, no item has less than the exact count of its remaining hits. Removing more
 * than an item has is refused.
 */
#include "tbf_support.h"

#include <optional>

using namespace test;

static constexpr int64_t hour = 3600000000;

struct Removed
{
	sb_status status;
	Tbf filter;
	double most;
};

static Removed removed(const Tbf &from, const Hit &hit)
{
	Removed result;
	sb_moment moment;
	uint64_t value;
	sb_tbf_moment(from.parameters.half_life, from.parameters.epoch, hit.at, &moment);
	EXPECT_EQ(sb_tbf_hit(&moment, hit.weight, &value), SB_OK);
	result.status = from.remove(hit.hash, &moment, value, &result.filter, &result.most);
	if (result.status == SB_OK)
	{
		EXPECT_TRUE(readable(result.filter));
	}
	return result;
}

static Tbf added(const Tbf &to, const Hit &hit)
{
	Builder sums(to.parameters);
	EXPECT_EQ(sums.add(to), SB_OK);
	EXPECT_EQ(sums.add(hit), SB_OK);
	return sums.stored();
}

static void expect_no_undercount(const Tbf &filter, const std::vector<Hit> &left, int64_t items, int64_t at)
{
	for (uint64_t item = 0; item < static_cast<uint64_t>(items); item++)
		ASSERT_GE(static_cast<long double>(filter.count(hash_of(item), at)),
				  truth(filter.parameters, left, hash_of(item), at) * (1 - oracle_error))
			<< "item " << item;
}

TEST(Remove, NeverUndercountsWhatIsLeft)
{
	Random random(1);
	for (int64_t half_life : {int64_t{0}, 40 * hour})
		for (uint8_t hashes : std::initializer_list<uint8_t>{1, 3, 8})
			for (uint8_t layout : std::initializer_list<uint8_t>{SB_TBF_FLAT, SB_TBF_EXTENSIBLE})
			{
				sb_tbf like = shape(64, hashes, half_life, hour);
				like.layout = layout;
				Tbf filter = Builder(like).stored();
				std::vector<Hit> left;
				int64_t now = 0;
				int removals = 0;
				for (int step = 0; step < 250; step++)
				{
					now += between(random, 0, hour);
					if (random() % 2 == 0 || left.empty())
					{
						left.push_back(
							{hash_of(random() % 30), between(random, now - 3 * hour, now),
							 random() % 3 == 0 ? uniform(random) * 4 : static_cast<double>(between(random, 1, 9))});
						filter = added(filter, left.back());
					}
					else
					{
						size_t which = random() % left.size();
						Removed result = removed(filter, left[which]);
						ASSERT_EQ(result.status, SB_OK);
						ASSERT_LE(result.filter.parameters.total, filter.parameters.total);
						filter = result.filter;
						left.erase(left.begin() + static_cast<int64_t>(which));
						removals++;
					}
					if (Tbf decayed = filter.decayed(now); sb_tbf_slack(&decayed.parameters) == 0 && random() % 10 == 0)
						filter = decayed;
					if (step % 10 == 0)
						expect_no_undercount(filter, left, 30, now);
				}
				expect_no_undercount(filter, left, 30, now + 100 * hour);
				EXPECT_GT(removals, 50);
				EXPECT_EQ(sb_tbf_slack(&filter.parameters), 0u);
			}
}

/*
 * Without decay, adding hits with integer weights and then removing them gives the bytes of before. This holds even if
 * two of the item's positions are the same cell.
 */
TEST(Remove, GivesBackTheBytesBeforeOfWholeHits)
{
	Random random(2);
	for (uint8_t layout : std::initializer_list<uint8_t>{SB_TBF_FLAT, SB_TBF_EXTENSIBLE})
		for (uint8_t hashes : std::initializer_list<uint8_t>{1, 4, 16})
		{
			sb_tbf like = shape(64, hashes, 0, 0);
			like.layout = layout;
			std::vector<Hit> hits = {{hash_of(99), 0, 1}};
			Tbf before = stored(like, hits);
			for (int i = 0; i < 100; i++)
			{
				Hit hit{random(), 0, static_cast<double>(between(random, 1, 1 << (random() % 20)))};
				Tbf after = added(before, hit);
				Removed result = removed(after, hit);
				ASSERT_EQ(result.status, SB_OK);
				ASSERT_TRUE(same_bytes(result.filter.value(), before.value()));
				before = i % 10 == 0 ? after : before;
			}
		}
}

/*
 * With decay, too, removing a hit gives back the counters as they were before it was added, if the hit lies exactly at
 * the base and has an integer weight. Removing any other hit leaves at most a unit in a counter.
 */
TEST(Remove, LeavesAtMostAUnit)
{
	Random random(3);
	sb_tbf like = shape(128, 3, 96 * hour, hour);
	for (int round = 0; round < 300; round++)
	{
		std::vector<Hit> hits = {{hash_of(1), 960 * hour, 5}, {hash_of(2), 970 * hour, 0.3}};
		Tbf before = stored(like, hits);
		bool whole = round % 2 == 0;
		Hit hit{random(), whole ? 960 * hour : between(random, 960 * hour, 970 * hour),
				whole ? 3 : uniform(random) * 9};
		Removed result = removed(added(before, hit), hit);
		ASSERT_EQ(result.status, SB_OK);
		ASSERT_EQ(result.filter.parameters.base, before.parameters.base);
		std::vector<uint64_t> left = result.filter.counters();
		std::vector<uint64_t> right = before.counters();
		for (size_t i = 0; i < left.size(); i++)
		{
			ASSERT_GE(left[i], right[i]);
			ASSERT_LE(left[i], right[i] + (whole ? 0 : 1));
		}
	}
}

/* Two positions of an item may be one cell among 64 cells, and two cells after the filter was widened. */
TEST(Remove, NeverUndercountsInWidenedAndMergedFilters)
{
	Random random(4);
	for (int round = 0; round < 100; round++)
	{
		std::vector<Hit> hits;
		for (int i = 0; i < 20; i++)
			hits.push_back({hash_of(random() % 30), 0, static_cast<double>(between(random, 1, 5))});
		std::vector<Hit> few(hits.begin(), hits.begin() + 10);
		std::vector<Hit> more(hits.begin() + 10, hits.end());
		Tbf small = stored(shape(64, 8, 0, 0), few);
		Tbf large = stored(shape(256, 8, 0, 0), more);
		Tbf both = merged(shape(256, 8, 0, 0), {&small, &large});
		while (!hits.empty())
		{
			Removed result = removed(both, hits.back());
			ASSERT_EQ(result.status, SB_OK);
			both = result.filter;
			hits.pop_back();
			expect_no_undercount(both, hits, 30, 0);
		}
	}
}

TEST(Remove, RefusesMoreThanTheItemHas)
{
	sb_tbf like = shape(1024, 4, 0, 0);
	Tbf filter = stored(like, {{hash_of(7), 0, 5}, {hash_of(8), 0, 1}});
	Removed result = removed(filter, {hash_of(7), 0, 6});
	EXPECT_EQ(result.status, SB_OUT_OF_RANGE);
	EXPECT_EQ(result.most, 5);
	result = removed(filter, {hash_of(7), 0, 5.001});
	EXPECT_EQ(result.status, SB_OUT_OF_RANGE);
	result = removed(filter, {hash_of(9), 0, 1});
	EXPECT_EQ(result.status, SB_OUT_OF_RANGE);
	EXPECT_EQ(result.most, 0);
	EXPECT_EQ(removed(filter, {hash_of(7), 0, 5}).status, SB_OK);
	result = removed(Builder(like).stored(), {hash_of(7), 0, 1});
	EXPECT_EQ(result.status, SB_OUT_OF_RANGE);

	/* hits of a time that has not come yet cannot be removed */
	Tbf decaying = stored(shape(1024, 4, hour, hour), {{hash_of(7), 10 * hour, 5}});
	EXPECT_EQ(removed(decaying, {hash_of(7), 11 * hour, 1}).status, SB_OUT_OF_RANGE);
	EXPECT_EQ(removed(decaying, {hash_of(7), SB_TBF_MAX_TIME, 1}).status, SB_OUT_OF_RANGE);
	EXPECT_EQ(removed(decaying, {hash_of(7), 9 * hour, 5}).status, SB_OK);
	EXPECT_EQ(removed(decaying, {hash_of(7), 9 * hour, 10.1}).status, SB_OUT_OF_RANGE);

	/* a hit that weighs less than a unit by now is left in, and nothing else is removed */
	Tbf old = removed(decaying, {hash_of(7), -SB_TBF_MAX_TIME, 1e9}).filter;
	EXPECT_TRUE(same_bytes(old.value(), decaying.value()));
}
