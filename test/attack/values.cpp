/*
 * values.cpp: random histories of filters, compared with models that share no code with the core.
 *
 * sbf and ibf are simulated cell by cell, as the papers (Deng, Rafiei 2006; Bhoraskar et al. 2013) and docs/format.md
 * describe a step. After every batch of steps these must be the same: the answers (duplicate or not), the bytes of the
 * cells, the numbers of items and steps, and, while any cell is not zero, the generator. The core must accept the whole
 * value. A bf is compared with the set of its items.
 *
 * STREAMBLOOM_SEED chooses the histories. STREAMBLOOM_SECONDS is how long the histories of this file, of
 * values_tbf.cpp and of values_abf.cpp run together (3 if not set). A run that has compared too little has failed.
 */
#include "bf_builder_support.h"
#include "histories.h"

#include <iterator>
#include <map>
#include <set>

using namespace test;

namespace {

/* ------------------------------------------------------------------ sbf, ibf */

/* A simulation written from the papers: an array of small numbers and a generator, but no packed bits. */
class Simulator
{
public:
	Simulator(uint32_t m, unsigned k, unsigned p, int scheme, uint64_t seed)
		: cells_(m), k_(k), p_(p), scheme_(scheme), state_(seed)
	{
	}

	bool step(uint64_t hash, unsigned value)
	{
		std::vector<uint32_t> mine;
		for (unsigned j = 1; j <= k_; j++)
			mine.push_back(scaled(finalized(hash + j * golden)));
		bool duplicate = true;
		for (uint32_t cell : mine)
			duplicate = duplicate && cells_[cell] != 0;
		evict();
		for (uint32_t cell : mine)
			cells_[cell] = std::max(cells_[cell], value);
		return duplicate;
	}
	void evict()
	{
		if (p_ == 0)
			return;
		const auto m = static_cast<uint32_t>(cells_.size());
		if (scheme_ != SB_VALUE_WEIGHTED)
		{
			uint32_t first = scaled(draw());
			for (unsigned i = 0; i < p_; i++)
				lose((first + i) % m);
			return;
		}
		unsigned evicted = 0;
		for (uint64_t tries = 0; tries < 32 * uint64_t{p_} && evicted < p_; tries++)
		{
			sb_u128 product = static_cast<sb_u128>(draw()) * m;
			auto cell = static_cast<uint32_t>(product >> 64);
			auto rest = static_cast<uint64_t>(product);
			if (cells_[cell] > 0 && rest <= UINT64_MAX / cells_[cell])
			{
				lose(cell);
				evicted++;
			}
		}
	}
	void unite(const Simulator &other)
	{
		for (size_t i = 0; i < cells_.size(); i++)
			cells_[i] = std::max(cells_[i], other.cells_[i]);
		state_ = std::max(state_, other.state_);
	}
	unsigned cell(size_t i) const { return cells_[i]; }
	uint64_t state() const { return state_; }
	bool nothing_left() const
	{
		return std::all_of(cells_.begin(), cells_.end(), [](unsigned cell) { return cell == 0; });
	}

private:
	static constexpr uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
	static uint64_t finalized(uint64_t x)
	{
		x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
		return x ^ x >> 31;
	}
	uint64_t draw()
	{
		state_ += golden;
		return finalized(state_);
	}
	uint32_t scaled(uint64_t r) const { return static_cast<uint32_t>(static_cast<sb_u128>(r) * cells_.size() >> 64); }
	void lose(uint32_t cell)
	{
		if (cells_[cell] > 0)
			cells_[cell]--;
	}

	std::vector<unsigned> cells_;
	unsigned k_;
	unsigned p_;
	int scheme_;
	uint64_t state_;
};

/* The value that an importance sets, by the f of the paper and of docs/format.md. */
unsigned value_of(int scheme, unsigned max, double low, double high, double importance)
{
	if (scheme == SB_STABLE)
		return max;
	if (scheme == SB_TWO_CLASS)
		return importance >= low ? max : max / 2;
	if (importance <= low)
		return 1;
	if (importance >= high)
		return max;
	return static_cast<unsigned>(std::min<double>(max, 1 + std::floor((importance - low) / (high - low) * max)));
}

struct Simulated
{
	sb_stable filter{};
	Bytes cells;
	Simulator simulator;
	uint64_t items = 0;
	uint64_t steps = 0;

	uint64_t compare() const
	{
		/* packs the cells of the simulation into bits */
		std::vector<unsigned char> packed(cells.size());
		for (uint32_t i = 0; i < filter.cell_count; i++)
			for (unsigned bit = 0; bit < filter.bits; bit++)
				if ((simulator.cell(i) >> bit & 1) != 0)
				{
					size_t at = size_t{i} * filter.bits + bit;
					packed[at / 8] = static_cast<unsigned char>(packed[at / 8] | 1u << at % 8);
				}
		EXPECT_EQ(std::memcmp(packed.data(), cells.data(), packed.size()), 0);
		EXPECT_EQ(filter.items, items);
		EXPECT_EQ(filter.steps, steps);
		if (!simulator.nothing_left())
		{
			EXPECT_EQ(filter.random, simulator.state());
		}
		Bytes header(SB_STABLE_HEADER);
		sb_stable_encode_header(&filter, header.data());
		sb_stable read;
		EXPECT_EQ(
			sb_stable_decode_header(header.data(), SB_STABLE_HEADER, sb_stable_size(&filter), SB_STABLE_EITHER, &read),
			SB_OK);
		EXPECT_EQ(sb_stable_check_cells(&read, cells.data()), SB_OK);
		return filter.cell_count;
	}
};

void stable_history(Random &random, uint64_t *compared)
{
	auto scheme = static_cast<sb_scheme>(below(random, 4));
	double low = scheme == SB_STABLE ? 0 : uniform(random) * 10 - 5;
	double high = scheme == SB_STABLE || scheme == SB_TWO_CLASS ? low : low + 0.1 + uniform(random) * 100;
	int bits = static_cast<int>((scheme == SB_STABLE ? 1 : 2) + below(random, scheme == SB_STABLE ? 8 : 7));
	uint64_t bytes = 64 + below(random, below(random, 2) == 0 ? 60 : 3000);
	uint64_t cells = bytes * 8 / static_cast<uint64_t>(bits);
	int64_t evictions = static_cast<int64_t>(below(random, 4) == 0 ? below(random, cells + 1) : below(random, 40));
	auto like = [&] {
		sb_stable filter{};
		EXPECT_EQ(sb_stable_plan(bytes, 0.01, scheme, low, high, static_cast<int>(1 + below(random, 16)), bits,
								 evictions, random(), &filter),
				  SB_OK);
		return filter;
	};
	const sb_stable plan = like();
	auto make = [&](uint64_t seed) {
		Simulated made{plan, Bytes(sb_stable_cell_bytes(&plan)),
					   Simulator(plan.cell_count, plan.hash_count, plan.evictions, scheme, seed)};
		made.filter.seed = made.filter.random = seed;
		return made;
	};
	std::vector<Simulated> filters;
	filters.push_back(make(plan.seed));
	filters.push_back(make(random()));

	const uint64_t distinct = 1 + below(random, 400);
	for (int batch = 0; batch < 30; batch++)
	{
		Simulated &one = filters[below(random, 2)];
		switch (below(random, 8))
		{
			case 0: /* the other filter is united with this one: each cell becomes the larger of the two */
			{
				Simulated &other = filters[&one == &filters[0] ? 1 : 0];
				sb_stable joined;
				sb_difference difference{};
				ASSERT_EQ(sb_stable_plan_union(&one.filter, &other.filter, &joined, &difference), SB_OK);
				ASSERT_EQ(joined.seed, std::max(one.filter.seed, other.filter.seed));
				ASSERT_EQ(sb_stable_unite(&joined, one.cells.data(), other.cells.data()), SB_OK);
				one.filter = joined;
				one.simulator.unite(other.simulator);
				one.items += other.items;
				one.steps += other.steps;
				break;
			}
			case 1: /* decay without items */
			{
				/* stops when all cells are zero: from then on the core need not draw numbers */
				for (uint64_t steps = below(random, 30); steps > 0 && !one.simulator.nothing_left(); steps--)
				{
					(void) sb_stable_decay(&one.filter, one.cells.data(), 1);
					one.simulator.evict();
					one.steps++;
				}
				break;
			}
			default:
			{
				uint64_t count = 1 + below(random, 200);
				std::vector<uint64_t> hashes;
				std::vector<uint8_t> values;
				std::vector<unsigned char> expected;
				for (uint64_t i = 0; i < count; i++)
				{
					uint64_t hash = sb_hash_int64(static_cast<int64_t>(below(random, distinct)));
					double importance = uniform(random) * 130 - 15;
					unsigned value = value_of(scheme, (1u << bits) - 1, low, high, importance);
					ASSERT_EQ(sb_stable_value_of(&one.filter, nullptr, importance), value) << importance;
					hashes.push_back(hash);
					values.push_back(static_cast<uint8_t>(value));
					expected.push_back(one.simulator.step(hash, value));
				}
				one.filter.kind = kind_of(SB_KIND_INTEGER);
				auto duplicates = std::make_unique<bool[]>(count);
				if (below(random, 2) == 0)
					sb_stable_steps(&one.filter, one.cells.data(), hashes.data(), values.data(), count,
									duplicates.get());
				else
					for (uint64_t i = 0; i < count; i++)
						sb_stable_steps(&one.filter, one.cells.data(), &hashes[i], &values[i], 1, &duplicates[i]);
				for (uint64_t i = 0; i < count; i++)
					ASSERT_EQ(duplicates[i], expected[i] != 0) << "step " << i;
				one.items += count;
				one.steps += count;
				*compared += count;
			}
		}
		*compared += one.compare();
		if (::testing::Test::HasFailure())
			return;
	}
}

/* ------------------------------------------------------------------------ bf */

struct Set
{
	sb_bf bf{};
	Bytes lines;
	std::set<uint64_t> items;
};

void bf_history(Random &random, uint64_t *compared)
{
	const auto hashes = static_cast<uint8_t>(1 + below(random, 16));
	const uint32_t smallest = static_cast<uint32_t>(1 + below(random, 9));
	auto make = [&](int doublings) {
		Set set;
		set.bf.kind = kind_of(SB_KIND_INTEGER);
		set.bf.line_count = smallest << doublings;
		set.bf.hash_count = hashes;
		set.bf.fpr = 0.01;
		set.lines = Bytes(sb_bf_size(&set.bf) - SB_BF_HEADER);
		return set;
	};
	std::vector<Set> sets;
	for (int i = 0; i < 3; i++)
		sets.push_back(make(static_cast<int>(below(random, 6))));
	for (int step = 0; step < 30; step++)
	{
		Set &one = sets[below(random, sets.size())];
		Set &other = sets[below(random, sets.size())];
		switch (below(random, 6))
		{
			case 0: /* a union or an intersection: no item of the result may be missed */
			case 1:
			{
				bool all = below(random, 2) == 0;
				Set both;
				sb_difference difference{};
				ASSERT_EQ(sb_bf_plan_union(&one.bf, &other.bf, &both.bf, &difference), SB_OK);
				both.lines = Bytes(sb_bf_size(&both.bf) - SB_BF_HEADER);
				ASSERT_EQ(sb_bf_combine(&both.bf, both.lines.data(), &one.bf, one.lines.data(), false), SB_OK);
				ASSERT_EQ(sb_bf_combine(&both.bf, both.lines.data(), &other.bf, other.lines.data(), !all), SB_OK);
				if (all)
				{
					both.items = one.items;
					both.items.insert(other.items.begin(), other.items.end());
				}
				else
					std::set_intersection(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(),
										  std::inserter(both.items, both.items.end()));
				one = both;
				break;
			}
			case 2: /* folds; the next union may widen it again */
			{
				int halvings = static_cast<int>(below(random, 4));
				uint32_t before = one.bf.line_count;
				sb_status status = sb_bf_fold(&one.bf, one.lines.data(), halvings, one.lines.data());
				ASSERT_EQ(status, before % (1u << halvings) == 0 ? SB_OK : SB_OUT_OF_RANGE);
				one.lines = Bytes(one.lines.data(), sb_bf_size(&one.bf) - SB_BF_HEADER);
				break;
			}
			case 3: /* two builders get the items, and one is sent to the other: the same bytes as without a builder */
			{
				Memory memory;
				sb_bf plan = one.bf;
				plan.widened = 0;
				plan.expected_items = 1;
				BfBuilder leader(memory, plan);
				BfBuilder worker(memory, plan);
				Bf all(plan);
				for (uint64_t item : one.items)
				{
					(below(random, 2) == 0 ? leader : worker).add({item});
					all.add(item);
				}
				const Bytes bytes = worker.serialized();
				BfBuilder arrived(memory, bytes);
				leader.unite(arrived);
				ASSERT_TRUE(same_bytes(leader.result().value(), all.value()));
				break;
			}
			default: /* items in one order and in another, one by one and many at once: the same bytes */
			{
				std::vector<uint64_t> items;
				for (uint64_t i = 1 + below(random, 300); i > 0; i--)
					items.push_back(sb_hash_int64(static_cast<int64_t>(below(random, 100000))));
				Set again = one;
				sb_bf_add_many(&one.bf, one.lines.data(), items.data(), items.size());
				one.items.insert(items.begin(), items.end());
				std::shuffle(items.begin(), items.end(), random);
				for (uint64_t item : items)
					sb_bf_add_many(&again.bf, again.lines.data(), &item, 1);
				ASSERT_TRUE(same_bytes(again.lines, one.lines));
			}
		}
		Bytes header(SB_BF_HEADER);
		sb_bf_encode_header(&one.bf, header.data());
		sb_bf read;
		ASSERT_EQ(sb_bf_decode_header(header.data(), SB_BF_HEADER, sb_bf_size(&one.bf), &read), SB_OK);
		std::vector<uint64_t> items(one.items.begin(), one.items.end());
		auto found = std::make_unique<bool[]>(items.size() + 1);
		ASSERT_EQ(sb_bf_contains_many(&one.bf, one.lines.data(), items.data(), items.size(), found.get()), SB_OK);
		for (size_t i = 0; i < items.size(); i++)
		{
			sb_lookup lookup;
			ASSERT_EQ(look_up(&lookup, SB_LOOKUP_BF, items[i], header, one.lines), SB_OK);
			ASSERT_TRUE(found[i] && lookup.found) << "a miss in step " << step;
		}
		*compared += items.size();
	}
}

} // namespace

TEST(AttackValues, StableFiltersTakeTheStepsOfThePapers)
{
	run_histories("sbf, ibf", 100000, stable_history);
}

TEST(AttackValues, BfNeverMisses)
{
	run_histories("bf", 20000, bf_history);
}
