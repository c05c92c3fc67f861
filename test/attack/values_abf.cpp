/*
 * values_abf.cpp: random histories of abf, compared with a model that shares no code with the core: a list of all
 * items with their positions (times or numbers). The list says which items must be found: those in the window. From the
 * list and docs/format.md the test computes each bit of each slice.
 */
#include "abf_support.h"
#include "histories.h"

#include <map>
#include <set>

using namespace test;

namespace {

struct Arrival
{
	uint64_t hash;
	int64_t position;
};

struct Modelled
{
	Abf filter;
	std::vector<Arrival> arrivals;
	int64_t moved_to = INT64_MIN; /* the generation to which the clock was moved */
};

int64_t floor_of(int64_t a, int64_t b)
{
	return a / b - (a % b < 0 ? 1 : 0);
}

uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The whole value, computed from all items that ever came. */
Bytes expected_value(const Modelled &one)
{
	const sb_abf &p = one.filter.parameters;
	const int64_t k = p.hash_count;
	const int64_t n = k + p.generations;
	const int64_t length = (p.window + p.generations - 1) / p.generations;
	const auto count = static_cast<int64_t>(one.arrivals.size());
	int64_t newest = one.arrivals.empty() ? 0 : p.by_time ? one.moved_to : count / length;
	if (p.by_time)
		for (const Arrival &arrival : one.arrivals)
			newest = std::max(newest, floor_of(arrival.position, length));
	Bytes slices(static_cast<size_t>(p.blocks) * static_cast<size_t>(n) * p.block_bits / 8);
	bool filled = false;
	for (const Arrival &arrival : one.arrivals)
	{
		const int64_t generation = floor_of(arrival.position, length);
		const auto block = static_cast<uint64_t>(static_cast<sb_u128>(arrival.hash) * p.blocks >> 64);
		for (int64_t slice = std::max(generation - k + 1, newest - n + 1); slice <= generation; slice++)
		{
			const auto place = static_cast<uint64_t>(slice - floor_of(slice, n) * n);
			const uint64_t piece = mixed(arrival.hash + (place / 4 + 1) * UINT64_C(0x9e3779b97f4a7c15)) >>
									   16 * (place % 4) &
								   0xffff;
			const uint64_t bit = (block * static_cast<uint64_t>(n) + place) * p.block_bits +
								 (piece * p.block_bits >> 16);
			slices[bit / 8] = static_cast<unsigned char>(slices[bit / 8] | 1u << bit % 8);
			filled = true;
		}
	}
	sb_abf header = p;
	header.items = static_cast<uint64_t>(count);
	header.generation = newest;
	header.filled = filled;
	Bytes value(SB_ABF_HEADER);
	sb_abf_encode_header(&header, value.data());
	return filled ? value + slices : value;
}

void abf_history(Random &random, uint64_t *compared)
{
	const bool by_time = below(random, 3) != 0;
	const int64_t window = between(random, 1, by_time ? INT64_C(1) << below(random, 40) : 300);
	sb_abf plan;
	ASSERT_EQ(sb_abf_plan(window, by_time, 1 + below(random, 3000), 0.01,
						  below(random, 2) == 0 ? SB_ABF_CHOOSE : static_cast<int>(1 + below(random, 20)),
						  below(random, 2) == 0 ? SB_ABF_CHOOSE : static_cast<int>(1 + below(random, 40)), &plan),
			  SB_OK);
	std::vector<Modelled> filters;
	for (int i = 0; i < 3; i++)
		filters.push_back({Abf(plan), {}});
	const uint64_t distinct = 1 + below(random, 400);
	int64_t now = between(random, -20 * window, 20 * window);
	for (int step = 0; step < 25; step++)
	{
		Modelled &one = filters[below(random, filters.size())];
		const uint64_t choice = below(random, 8);
		if (choice == 0 && by_time)
		{
			const Modelled &other = filters[below(random, filters.size())];
			const std::vector<Arrival> added = other.arrivals;
			one.filter.unite(Modelled(other).filter);
			one.arrivals.insert(one.arrivals.end(), added.begin(), added.end());
			one.moved_to = std::max(one.moved_to, other.moved_to);
		}
		else if (choice == 1 && by_time)
		{
			now += between(random, 0, 2 * window);
			if (!one.arrivals.empty())
				one.moved_to = std::max(one.moved_to, sb_abf_generation(&plan, now));
			one.filter.advance(now);
		}
		else
		{
			std::vector<uint64_t> hashes;
			std::vector<int64_t> times;
			const uint64_t count = below(random, 200);
			std::map<uint64_t, int64_t> latest;
			int64_t newest = INT64_MIN;
			for (const Arrival &arrival : one.arrivals)
			{
				int64_t &known = latest.try_emplace(arrival.hash, arrival.position).first->second;
				known = std::max(known, arrival.position);
				newest = std::max(newest, arrival.position);
			}
			for (uint64_t i = 0; i < count; i++)
			{
				now += below(random, 30) == 0 ? between(random, 0, window) : between(random, 0, window / 100);
				hashes.push_back(sb_hash_int64(static_cast<int64_t>(below(random, distinct))));
				times.push_back(by_time ? now - (below(random, 4) == 0 ? between(random, 0, 2 * window) : 0) :
										  static_cast<int64_t>(one.arrivals.size() + i));
			}
			auto flags = std::make_unique<bool[]>(count + 1);
			one.filter.add_all(hashes.data(), times.data(), count, flags.get());
			for (uint64_t i = 0; i < count; i++)
			{
				/*
				 * by time, the clock is at the newest item, this one included, or where it was moved if that is later;
				 * by items, it is at this item
				 */
				const int64_t clock = by_time ?
										  std::max({newest, times[i],
													one.moved_to == INT64_MIN ? INT64_MIN :
																				one.moved_to * sb_abf_length(&plan)}) :
										  times[i];
				const auto known = latest.find(hashes[i]);
				if (known != latest.end() && clock - known->second <= window)
				{
					ASSERT_TRUE(flags[i]) << "missed " << clock - known->second << " of " << window;
				}
				int64_t &position = latest.try_emplace(hashes[i], times[i]).first->second;
				position = std::max(position, times[i]);
				newest = std::max(newest, times[i]);
				one.arrivals.push_back({hashes[i], times[i]});
			}
			*compared += count;
		}
		ASSERT_TRUE(same_bytes(one.filter.stored(), expected_value(one)));
		(*compared)++;
	}
}

} // namespace

TEST(AttackValues, AbfNeverMissesInItsWindow)
{
	run_histories("abf", 20000, abf_history);
}
