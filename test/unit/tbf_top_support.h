/*
 * tbf_top_support.h: what the tests of the list of hot items share: a list with its own allocator, hits, and a check
 * of the bounds that the list promises against the exact sums of the hits.
 */
#ifndef STREAMBLOOM_TBF_TOP_SUPPORT_H
#define STREAMBLOOM_TBF_TOP_SUPPORT_H

#include "tbf_support.h"
#include "tbf/tbf_top.hpp"

#include <map>

namespace test {

constexpr int64_t hour = INT64_C(3600000000);
__extension__ using u128 = unsigned __int128;

inline std::string name_of(uint64_t hash)
{
	return std::string(hash % 11, 'x') + std::to_string(hash);
}

/* A list with its own allocator. */
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

	/*
	 * Purges the list, stores it, checks the bytes, and returns the list that is read from them. `base` is the base of
	 * the filter that the list belongs to: the time for which its counts are written down, as a number of half-lives.
	 * `total` is the filter's total of hits; the check uses it as an upper bound.
	 */
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

/* Converts `amount`, in 2^-40 hits at the base, to hits at the time `at`. */
inline long double hits_at(const sb_tbf &tbf, u128 amount, int64_t base, int64_t at)
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
 * Checks the bounds of a list. `steps` is the number of stores, decays and merges that it went through. Each of them
 * may have lost 2^-40 of a hit, as of its base: the time for which its amounts are written down. The newest base is
 * taken for all, because what is lost at a newer base has decayed less.
 */
inline ::testing::AssertionResult holds(const sb_tbf &tbf, const List &list, const std::vector<Hit> &hits, int64_t at,
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
		rounding = hits_at(tbf, static_cast<u128>(steps), 0, 0); /* without decay these tests have whole weights */
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

/* Makes hits: a few items have many of them, and a long tail has few each. */
inline std::vector<Hit> zipf(Random &random, size_t count, uint64_t items, int64_t from, int64_t to, bool whole)
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

inline sb_tbf decaying(int64_t half_life)
{
	return shape(64, 2, half_life, half_life == 0 ? 0 : std::max<int64_t>(half_life / 7, 1));
}

inline std::vector<Hit> operator+(std::vector<Hit> a, const std::vector<Hit> &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

} // namespace test

#endif
