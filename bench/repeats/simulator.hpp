/*
 * simulator.hpp: the age-partitioned, the Stable and the Importance-aware Bloom filter exactly as their papers
 * describe them: without blocks, packed cells or a common clock. A generator of the C++ library, seeded with the
 * item's hash, draws the positions. The answers of the core must agree with those of the simulation within noise.
 * This file includes nothing of the core.
 */
#ifndef REPEATS_SIMULATOR_HPP
#define REPEATS_SIMULATOR_HPP

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace repeats {

/*
 * Shtul, Baquero, Almeida 2020: slices s_0 .. s_(k+l-1), each with a hash function of its own. An insertion sets a
 * bit in each of s_0 .. s_(k-1). After a generation the slices shift: the last one is dropped, and an empty one comes
 * in front. A query is true if k consecutive slices match. For windows of time a generation ends with its time
 * (Rodrigues et al. 2023).
 */
class SimulatedAbf
{
public:
	SimulatedAbf(int k, int l, uint64_t bits, int64_t length) : k_(k), bits_(bits), length_(length)
	{
		for (int i = 0; i < k + l; i++)
			slices_.push_back({std::vector<bool>(bits), next_function_++});
	}
	bool step(uint64_t hash, int64_t position, double)
	{
		for (const int64_t now = position < 0 ? -((-position + length_ - 1) / length_) : position / length_;
			 begun_ && generation_ < now; generation_++)
			shift();
		if (!begun_)
			generation_ = position / length_;
		begun_ = true;

		int run = 0;
		bool found = false;
		for (size_t i = 0; i < slices_.size() && !found; i++)
		{
			run = slices_[i].bit[place(hash, slices_[i].function)] ? run + 1 : 0;
			found = run == k_;
		}
		for (int i = 0; i < k_; i++)
			slices_[static_cast<size_t>(i)].bit[place(hash, slices_[static_cast<size_t>(i)].function)] = true;
		return found;
	}

private:
	struct Slice
	{
		std::vector<bool> bit;
		uint64_t function;
	};
	uint64_t place(uint64_t hash, uint64_t function) const
	{
		std::minstd_rand generator(static_cast<uint32_t>(hash ^ hash >> 32) ^
								   static_cast<uint32_t>(function * 2654435761u));
		generator.discard(2);
		return (static_cast<uint64_t>(generator()) << 20 ^ generator()) % bits_;
	}
	void shift()
	{
		slices_.pop_back();
		slices_.push_front({std::vector<bool>(bits_), next_function_++});
	}

	int k_;
	uint64_t bits_;
	int64_t length_;
	int64_t generation_ = 0;
	bool begun_ = false;
	uint64_t next_function_ = 1;
	std::deque<Slice> slices_;
};

/*
 * Deng, Rafiei 2006: test the K cells of the item; decrement P cells that are drawn one by one; set the K cells to Max.
 */
class SimulatedStable
{
public:
	SimulatedStable(uint32_t cells, int k, int evictions, int max)
		: cells_(cells), k_(k), evictions_(evictions), max_(max)
	{
	}
	bool step(uint64_t hash, int64_t, double)
	{
		std::mt19937_64 generator(hash);
		size_t places[16];
		bool found = true;
		for (int i = 0; i < k_; i++)
		{
			places[i] = generator() % cells_.size();
			found = found && cells_[places[i]] != 0;
		}
		for (int i = 0; i < evictions_; i++)
		{
			unsigned char &cell = cells_[random_() % cells_.size()];
			cell = static_cast<unsigned char>(std::max(cell - 1, 0));
		}
		for (int i = 0; i < k_; i++)
			cells_[places[i]] = static_cast<unsigned char>(max_);
		return found;
	}

private:
	std::vector<unsigned char> cells_;
	int k_;
	int evictions_;
	int max_;
	std::mt19937_64 random_{7};
};

/*
 * Bhoraskar et al. 2013: like SimulatedStable, but each of the K cells becomes max(cell, value). IBF-2C (Algorithm
 * 1): the value is Max for an importance of at least the middle, else Max / 2. IBF-MC (Algorithm 2): Max classes of
 * the importances from 0 to 1.
 */
class SimulatedImportant
{
public:
	SimulatedImportant(bool two_class, uint32_t cells, int k, int evictions, int max)
		: two_class_(two_class), cells_(cells), k_(k), evictions_(evictions), max_(max)
	{
	}
	bool step(uint64_t hash, int64_t, double importance)
	{
		const int value = two_class_ ? (importance >= 0.5 ? max_ : max_ / 2) :
									   std::min(max_, 1 + static_cast<int>(importance * max_));
		std::mt19937_64 generator(hash);
		size_t places[16];
		bool found = true;
		for (int i = 0; i < k_; i++)
		{
			places[i] = generator() % cells_.size();
			found = found && cells_[places[i]] != 0;
		}
		for (int i = 0; i < evictions_; i++)
		{
			unsigned char &cell = cells_[random_() % cells_.size()];
			cell = static_cast<unsigned char>(std::max(cell - 1, 0));
		}
		for (int i = 0; i < k_; i++)
			cells_[places[i]] = static_cast<unsigned char>(std::max<int>(cells_[places[i]], value));
		return found;
	}

private:
	bool two_class_;
	std::vector<unsigned char> cells_;
	int k_;
	int evictions_;
	int max_;
	std::mt19937_64 random_{8};
};

} // namespace repeats

#endif
