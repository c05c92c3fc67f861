/*
 * tbf_top_test.cpp: the list of hot items: for every item L <= f <= L + error and error <= W / (c + 1), whatever
 * happened to the list; against the exact sums of the hits.
 */
#include "support.h"
#include "tbf/tbf_top.hpp"

#include "tbf/tbf_top.hpp"

#include <map>

using namespace test;

namespace {

constexpr int64_t hour = INT64_C(3600000000);
__extension__ using u128 = unsigned __int128;

std::string name_of(uint64_t hash)
{
	return std::string(hash % 11, 'x') + std::to_string(hash);
}

/* A list in memory of its own. */
class List
{
public:
	streambloom::top_list list{};

	explicit List(uint32_t limit) { list.limit = limit; }
	List(const List &other) : List(other.list.limit)
	{
		EXPECT_EQ(streambloom::unite_lists(&list, *memory_, &other.list), SB_OK);
	}
	List &operator=(const List &) = delete;
	~List() { streambloom::release_list(&list, *memory_); }
	void swap(List &other)
	{
		std::swap(list, other.list);
		memory_.swap(other.memory_);
	}

	void insert(uint64_t hash, u128 least, const std::string &item)
	{
		EXPECT_EQ(streambloom::insert_item(&list, *memory_, {hash, least}, item.data(), item.size()), SB_OK);
	}
	void add(uint64_t hash, int64_t half_lives, sb_u128 least, sb_u128 lost, const std::string &item)
	{
		if (!streambloom::top_add(&list, hash, half_lives, &least, lost))
			insert(hash, least, item);
	}
	void add(const sb_tbf &tbf, const Hit &hit)
	{
		sb_moment moment;
		sb_u128 least;
		sb_u128 lost;
		sb_tbf_moment(tbf.half_life, tbf.epoch, hit.at, &moment);
		streambloom::top_hit(&moment, hit.weight, &least, &lost);
		if (hit.weight != 0)
			add(hit.hash, moment.half_lives, least, lost, name_of(hit.hash));
	}
	void add(const List &other) { EXPECT_EQ(streambloom::unite_lists(&list, *memory_, &other.list), SB_OK); }

	/* Stored for a filter of this base, checked, and read again. */
	List reread(int64_t base, uint64_t total = UINT64_MAX)
	{
		streambloom::top_purge(&list);
		EXPECT_LE(list.count, list.limit);
		Bytes section(streambloom::top_size(&list, base));
		streambloom::top_write(&list, base, section.data());
		List again(list.limit);
		again.add(section, base, total);
		return again;
	}
	void add(const Bytes &bytes, int64_t base, uint64_t total = UINT64_MAX)
	{
		streambloom::top_section section;
		ASSERT_EQ(streambloom::top_open(bytes.data(), bytes.size(), list.limit, total, &section), SB_OK);
		EXPECT_EQ(streambloom::add_section(&list, *memory_, section, base), SB_OK);
	}

	std::map<uint64_t, u128> all() const
	{
		std::map<uint64_t, u128> result;
		for (uint32_t i = 0; i < list.count; i++)
			EXPECT_TRUE(result.emplace(list.entries[i].hash, u128{list.entries[i].least}).second) << "listed twice";
		return result;
	}
	std::string item(uint64_t hash) const
	{
		for (uint32_t i = 0; i < list.count; i++)
			if (list.entries[i].hash == hash)
				return std::string(reinterpret_cast<const char *>(list.bytes) + list.entries[i].offset,
								   list.entries[i].length);
		return "not listed";
	}

private:
	std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
};

/* 2^-40 hits at the base as hits at a time. */
long double hits_at(const sb_tbf &tbf, u128 amount, int64_t base, int64_t at)
{
	long double distance = 0;
	if (tbf.half_life != 0)
	{
		long double start = static_cast<long double>(floor_quotient(at, tbf.epoch)) *
							static_cast<long double>(tbf.epoch);
		distance = static_cast<long double>(base) - start / static_cast<long double>(tbf.half_life);
	}
	return static_cast<long double>(amount) * exp2l(distance - streambloom::top_fraction_bits);
}

/*
 * steps: stores, decays, merges: each may have lost one 2^-40 hit at its base, and at most there is one newer than all.
 */
::testing::AssertionResult holds(const sb_tbf &tbf, const List &list, const std::vector<Hit> &hits, int64_t at,
								 double steps = 0)
{
	std::map<uint64_t, long double> sums;
	long double total = 0;
	int64_t newest = list.list.base;
	for (const Hit &hit : hits)
	{
		long double now = static_cast<long double>(hit.weight) * faded(tbf.half_life, tbf.epoch, hit.at, at);
		sums[hit.hash] += now;
		total += now;
		if (tbf.half_life != 0)
			newest = std::max(newest, floor_quotient(hit.at, tbf.half_life));
	}
	const long double noise = 1e-15L * total;
	long double error = hits_at(tbf, list.list.error, list.list.base, at);
	long double rounding = total * 0x1p-29L +
						   hits_at(tbf, static_cast<u128>(static_cast<double>(2 * hits.size()) + 2 * steps + 2), newest,
								   at);
	if (tbf.half_life == 0)
		rounding = hits_at(tbf, static_cast<u128>(steps), 0, 0); /* these tests' weights without decay are whole */
	if (error > total / (list.list.limit + 1) + rounding + noise)
		return ::testing::AssertionFailure()
			   << "the error " << error << " exceeds W / (c + 1), W " << total << ", c " << list.list.limit;

	auto listed = list.all();
	long double all_listed = 0;
	for (const auto &[hash, least] : listed)
	{
		if (!sums.contains(hash))
			return ::testing::AssertionFailure() << "lists what was never added";
		if (list.item(hash) != name_of(hash))
			return ::testing::AssertionFailure() << "calls " << name_of(hash) << " " << list.item(hash);
		all_listed += hits_at(tbf, least, list.list.base, at);
	}
	if ((list.list.limit + 1) * (error - rounding) + all_listed > total + noise)
		return ::testing::AssertionFailure() << "(c + 1) * error + the sum of L exceeds W";
	for (const auto &[hash, sum] : sums)
	{
		bool is_listed = listed.contains(hash);
		long double least = is_listed ? hits_at(tbf, listed[hash], list.list.base, at) : 0;
		if (least > sum + noise)
			return ::testing::AssertionFailure() << "L " << least << " of " << sum << " hits";
		if (sum > least + error + noise)
			return ::testing::AssertionFailure() << "L + error " << least + error << " of " << sum << " hits";
		if (!is_listed && sum > total / (list.list.limit + 1) + rounding + noise)
			return ::testing::AssertionFailure() << "a share of " << sum / total << " is not listed";
	}
	return ::testing::AssertionSuccess();
}

/* A few heavy items in a long tail. */
std::vector<Hit> zipf(Random &random, size_t count, uint64_t items, int64_t from, int64_t to, bool whole)
{
	std::vector<Hit> hits(count);
	for (Hit &hit : hits)
	{
		auto rank = static_cast<uint64_t>(std::pow(static_cast<double>(items), uniform(random)));
		hit = {rank * UINT64_C(0x9e3779b97f4a7c15), between(random, from, to),
			   whole ? static_cast<double>(between(random, 0, 3)) : std::exp(6 * uniform(random) - 3)};
	}
	return hits;
}

sb_tbf decaying(int64_t half_life)
{
	return shape(64, 2, half_life, half_life == 0 ? 0 : std::max<int64_t>(half_life / 7, 1));
}

std::vector<Hit> operator+(std::vector<Hit> a, const std::vector<Hit> &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

} // namespace

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
	List roomy(1000); /* more than there are items: nothing is ever purged */
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
			/* any of them is stored and read, decays, or goes into another */
			auto i = static_cast<size_t>(between(random, 0, static_cast<int64_t>(lists.size()) - 1));
			steps++;
			switch (between(random, 0, 2))
			{
				case 0:
				{
					/* as far behind its newest hit as a filter's base may lie */
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
	one.list.limit = 10; /* as the PostgreSQL side does it: what is in the table stays until the next purge */
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
	/* exact where it can be, whatever the form of the number */
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

/* What is cut off L by a decay, a late hit or a store is found again in the error, to the last 2^-40 hit. */
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

	list.add(1, 8, 7, 0, name_of(1)); /* late: 7 / 4 */
	EXPECT_TRUE(least_of(list, 1) == 1002 && list.list.error == 1);
	list.add(1, 8, 8, 5, name_of(1)); /* between 8 / 4 and 13 / 4 */
	EXPECT_TRUE(least_of(list, 1) == 1004 && list.list.error == 3);
	list.add(3, 2, 255, 0, name_of(3)); /* too late to leave a trace but in the error */
	EXPECT_TRUE(list.list.count == 2 && list.list.error == 4);

	List exact = list.reread(10);
	EXPECT_TRUE(exact.all() == list.all() && exact.list.error == 4);
	List later = list.reread(13); /* 1004 / 8, 1000 / 8, 4 / 8 */
	EXPECT_TRUE(least_of(later, 1) == 125 && least_of(later, 2) == 125 && later.list.error == 2);
	List gone = list.reread(30);
	EXPECT_TRUE(gone.list.count == 0 && gone.list.error == 2);
}

/* Between two half-lives the factor is no binary number: the lower bound must not use the one that is rounded up. */
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
		/* so long ago that no double holds it */
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

/* -------------------------------------------------------------------- look-ups */

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

/* Asks for the list by pieces; the piece that holds it stays in *piece. */
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

TEST(TbfTop, ALookUpReadsTheListAndBoundsTheCounts)
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

TEST(TbfTop, ALookUpFindsNoListWhereThereIsNone)
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

	/* after a hit there has to be one, and be it empty */
	empty.kind = kind_of(SB_KIND_INTEGER);
	empty.flags = SB_TBF_HAS_HITS;
	Bytes header(sb_tbf_size(&empty));
	sb_tbf_encode_header(&empty, header.data());
	sb_lookup list;
	Bytes piece;
	std::vector<sb_top_item> items;
	EXPECT_EQ(look_up_list(header, SB_LOOKUP_FIRST, &piece, &list, &items), SB_BAD_LENGTH);
}

TEST(TbfTop, ALookUpRefusesADamagedList)
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

TEST(TbfTop, StoresLargeNumbersWithFewerFractionBits)
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

TEST(TbfTop, RefusesWhatNoListIs)
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

	/* whatever is not refused can be read without a step outside, and be added up */
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
 * A stored list decays to the bytes that the growing list stores after it was turned to the same base, with few and
 * with all fraction bits, and whatever number of items falls out.
 */
TEST(TbfTop, AStoredListDecaysAsTheGrowingOneTurns)
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
		filter.total = UINT64_MAX; /* not known */
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

			Bytes room(stored.size());
			uint32_t size;
			ASSERT_EQ(streambloom::decay_list(&filter, stored.data(), half_lives, room.data(), &size), SB_OK);
			ASSERT_LE(size, stored.size());
			ASSERT_TRUE(same_bytes(Bytes(room.data(), size), expected)) << half_lives << " half-lives";
		}
	}
}

/* Forged lists with the largest numbers there are saturate instead of wrapping. */
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

/* A list that nothing ever came into has no table either. */
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

/* Whoever writes the log chooses the items, and so their hashes. */
/* Then the list has no memory for texts. */
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

TEST(TbfTop, ChosenItemsDoNotCrowdTheTable)
{
	for (int low_bits : {0, 20, 40})
	{
		List list(5000);
		for (uint64_t i = 1; i <= 10000; i++)
			list.add(low_bits == 0 ? i * 3 : i << low_bits, 0, u128{1} << 40, 0, "");
		ASSERT_EQ(list.list.count, 10000u);
		const uint32_t slots = streambloom::top_slots(list.list.room);
		uint32_t longest = 0; /* row of slots in use: what a search passes at most */
		uint32_t row = 0;
		for (uint32_t slot = 0; slot < 2 * slots; slot++)
		{
			row = list.list.slots[slot % slots] != 0 ? row + 1 : 0;
			longest = std::max(longest, row);
		}
		EXPECT_LT(longest, 200u) << low_bits;
	}
}
