/*
 * tbf_outgrown_test.cpp: builders that size themselves and have outgrown their set of items. Such a builder no longer
 * has a sum for each item, but one for each cell of the largest filter that it can become. The tests unite such
 * builders with builders of every form, and add stored filters to them. The limits are made small here.
 */
#include "tbf_builder_support.h"

#include "tbf/tbf_builder.hpp"

#include <array>

using namespace test;

namespace {

/*
 * As long as an object of this class lives, builders outgrow a set of `slots` slots, and then have `blocks` blocks.
 * (A set of 60 slots is outgrown with 38 items.)
 */
class SmallLimits
{
public:
	explicit SmallLimits(uint32_t blocks = 2, uint64_t slots = 60) { streambloom::outgrown = {slots, blocks}; }
	~SmallLimits() { streambloom::outgrown = {}; }
	SmallLimits(const SmallLimits &) = delete;
	SmallLimits &operator=(const SmallLimits &) = delete;
};

constexpr size_t few = 20;
constexpr size_t many = 300;

bool is_outgrown(const sb_tbf_builder *builder)
{
	return !streambloom::has_items(&builder->sums);
}

Owned self_sized(const sb_memory *memory, const sb_tbf &plan, const std::vector<Hit> &hits)
{
	Owned builder = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, true);
	add_all(builder.get(), hits);
	EXPECT_EQ(sb_tbf_builder_settle(builder.get()), SB_OK);
	return builder;
}

Owned like(const sb_memory *memory, const Owned &other)
{
	sb_tbf_builder *builder = nullptr;
	EXPECT_EQ(sb_tbf_builder_like(memory, other.get(), &builder), SB_OK);
	return Owned(builder);
}

sb_status add_filter(const Owned &builder, const Tbf &filter)
{
	sb_difference difference;
	return sb_tbf_builder_add_filter(builder.get(), &filter.parameters, filter.cells.data(), 1, &difference);
}

std::vector<Hit> joined_hits(std::vector<Hit> a, const std::vector<Hit> &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

} // namespace

/*
 * The leader of a parallel tbf_agg has no state when the first one arrives from a worker. So it first begins an empty
 * builder like the one that has arrived.
 */
TEST(TbfOutgrown, ALikeOneHasTheSameCells)
{
	SmallLimits limits;
	Random random(1);
	Memory memory;
	for (int64_t half_life : {INT64_C(0), hour})
	{
		const std::vector<Hit> hits = hits_of(random, 4 * many, many, 20);
		Owned worker = self_sized(memory, planned(1, half_life, true), hits);
		ASSERT_TRUE(is_outgrown(worker.get()));
		const Bytes bytes = sent(worker.get());
		Owned there = arrived(memory, bytes);
		Owned leader = like(memory, there);
		EXPECT_TRUE(is_outgrown(leader.get()));
		EXPECT_EQ(sb_tbf_cells(sb_tbf_builder_parameters(leader.get())),
				  sb_tbf_cells(sb_tbf_builder_parameters(worker.get())));
		ASSERT_EQ(unite(leader.get(), there.get()), SB_OK);
		const Tbf expected = stored_by(worker.get());
		EXPECT_EQ(sb_tbf_cells(&expected.parameters), uint64_t{2} * SB_TBF_BLOCK);
		expect_no_undercount(expected, hits);
		EXPECT_TRUE(same_bytes(stored_by(leader.get()).value(), expected.value()));
		add_all(leader.get(), hits);
		EXPECT_TRUE(readable(stored_by(leader.get())));
	}
}

/* In either order, outgrown or not, sent or not, two builders give the same bytes. */
TEST(TbfOutgrown, MeetsEveryForm)
{
	SmallLimits limits;
	Random random(3);
	Memory memory;
	for (int64_t half_life : {INT64_C(0), hour})
		for (const size_t items : {few, many})
			for (const size_t others : {few, many})
			{
				const sb_tbf any = planned(1, half_life, true);
				const std::vector<Hit> hits = hits_of(random, 4 * items, items, 90);
				const std::vector<Hit> more = hits_of(random, 4 * others, others, 90);
				const Tbf expected = stored_by(self_sized(memory, any, joined_hits(hits, more)).get());
				expect_no_undercount(expected, joined_hits(hits, more));
				for (int way = 0; way < 4; way++)
				{
					Owned a = self_sized(memory, any, hits);
					Owned b = self_sized(memory, any, more);
					const Bytes first = sent(a.get());
					const Bytes second = sent(b.get());
					if (way % 2 == 1)
						a = arrived(memory, first);
					if (way / 2 == 1)
						b = arrived(memory, second);
					ASSERT_EQ(unite(a.get(), b.get()), SB_OK);
					EXPECT_TRUE(same_bytes(stored_by(a.get()).value(), expected.value()))
						<< items << " " << others << " " << way;
					const Bytes further = sent(a.get());
					Owned next = arrived(memory, further);
					EXPECT_TRUE(same_bytes(stored_by(next.get()).value(), expected.value()))
						<< items << " " << others << " " << way;
				}
			}
}

/* A filter with cells that sizes itself, of one hit. */
static Tbf with_cells(const sb_memory *memory, const sb_tbf &any, int64_t at)
{
	sb_tbf larger = shape(4 * SB_TBF_BLOCK, any.hash_count, any.half_life, any.epoch);
	larger.layout = SB_TBF_EXTENSIBLE;
	larger.expected_items = 0;
	Owned cells = begun(memory, larger, SB_TBF_SUMS_OF_CELLS);
	add_all(cells.get(), {{UINT64_MAX / 3, at}});
	return stored_by(cells.get());
}

/*
 * When a set is outgrown, the sums of filters with cells that have been added join those of the items. If these filters
 * are newer, planes move then: in the middle of an exact filter, of which some items are in the sums already. Its large
 * counts have two parts, which lie in two planes; from 64 to 79 hours only the newer one of these is kept.
 */
TEST(TbfOutgrown, PlanesMoveWhileAnExactFilterIsAdded)
{
	Random random(5);
	Memory memory;
	const sb_tbf any = planned(1, hour, true);
	for (int round = 0; round < 48; round++)
	{
		const int64_t later = std::array<int64_t, 6>{20, 40, 65, 75, 80, 200}[static_cast<size_t>(round % 6)];
		const double weights[] = {round / 6 % 2 == 0 ? 1.0 : 0x1p-10, round / 12 % 2 == 0 ? 1.0 : 3.0};
		const double of_hit = round / 24 == 0 ? 1.0 : 0x1p21;
		std::vector<Hit> hits;
		for (size_t i = 0; i < 3000; i++)
			hits.push_back({random() | 1, 2 * hour, of_hit});
		const Tbf exact = stored_by(self_sized(&memory.memory, any, hits).get());
		ASSERT_TRUE(streambloom::is_exact(&exact.parameters));
		const Tbf cells = with_cells(&memory.memory, any, later * hour);

		SmallLimits limits(4, 1500);
		Tbf results[2];
		for (int order = 0; order < 2; order++)
		{
			sb_difference difference;
			Owned builder = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
			for (int i = 0; i < 2; i++)
			{
				const Tbf &filter = i == order ? cells : exact;
				ASSERT_EQ(sb_tbf_builder_add_filter(builder.get(), &filter.parameters, filter.cells.data(),
													weights[i == order ? 0 : 1], &difference),
						  SB_OK);
			}
			ASSERT_TRUE(is_outgrown(builder.get()));
			results[order] = stored_by(builder.get());
		}
		EXPECT_TRUE(same_bytes(results[0].value(), results[1].value())) << later << " " << of_hit;
		for (const Hit &hit : hits)
			ASSERT_GE(results[0].count(hit.hash, later * hour),
					  weights[1] * of_hit * std::exp2(2.0 - static_cast<double>(later)))
				<< later;
	}
}

/*
 * A set is outgrown only by different items. And it gets room for all items of an exact filter before the first of them
 * comes: they come in the order of their hashes, and would fill the beginning of a set that grows step by step, which
 * would then use the secret (sb_hash_set.h).
 */
TEST(TbfOutgrown, ExactFiltersGetRoomForTheirDifferentItems)
{
	Random random(7);
	Memory memory;
	const sb_tbf any = planned(1, hour, true);
	const auto exact_filter = [&](size_t items) {
		std::vector<Hit> hits;
		for (size_t i = 0; i < items; i++)
			hits.push_back({random(), 2 * hour});
		return stored_by(self_sized(&memory.memory, any, hits).get());
	};
	{
		const Tbf filter = exact_filter(500);
		SmallLimits limits(2, 1500);
		Owned builder = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
		for (int times = 0; times < 3; times++)
			ASSERT_EQ(add_filter(builder, filter), SB_OK);
		EXPECT_FALSE(is_outgrown(builder.get()));
		EXPECT_EQ(builder->sums.set.count, 500u);
	}
	Owned builder = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
	for (const size_t items : {65000u, 30000u, 65000u})
		ASSERT_EQ(add_filter(builder, exact_filter(items)), SB_OK);
	EXPECT_EQ(builder->sums.set.secret[0], 0u);
	EXPECT_EQ(builder->sums.set.count, 160000u);
}

/* The same while pending hits are added. */
TEST(TbfOutgrown, PlanesMoveWhilePendingHitsAreAdded)
{
	Random random(6);
	Memory memory;
	const sb_tbf any = planned(1, hour, true);
	for (const int64_t later : {INT64_C(20), INT64_C(40), INT64_C(200)})
	{
		const Tbf cells = with_cells(&memory.memory, any, later * hour);
		SmallLimits limits(2, 4092);
		Owned pending = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
		Owned settled = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
		ASSERT_EQ(add_filter(pending, cells), SB_OK);
		ASSERT_EQ(add_filter(settled, cells), SB_OK);
		for (size_t i = 0; i < 3000; i++)
		{
			const std::vector<Hit> hit = {{random() | 1, 2 * hour}};
			add_all(pending.get(), hit);
			add_all(settled.get(), hit);
			ASSERT_EQ(sb_tbf_builder_settle(settled.get()), SB_OK);
		}
		ASSERT_EQ(sb_tbf_builder_settle(pending.get()), SB_OK);
		ASSERT_TRUE(is_outgrown(pending.get()));
		EXPECT_TRUE(same_bytes(stored_by(pending.get()).value(), stored_by(settled.get()).value())) << later;
	}
}

/*
 * Filters with cells are added before and after the items outgrow their set, here and in another builder. The filters
 * have fewer or more blocks than the builder gets, and a planned number of items or none.
 */
TEST(TbfOutgrown, KeepsFiltersWithCells)
{
	Random random(4);
	Memory memory;
	for (int round = 0; round < 64; round++)
	{
		const int64_t half_life = round % 4 < 2 ? 0 : hour;
		const sb_tbf any = planned(1, half_life, true);
		sb_tbf told = shape(round % 8 < 4 ? 256 : 4 * SB_TBF_BLOCK, any.hash_count, half_life, any.epoch);
		told.layout = SB_TBF_EXTENSIBLE;
		told.expected_items = round % 16 < 8 ? 100 : 0;
		if (round % 3 == 0)
			told.flags |= SB_TBF_MINIMUM_INCREASE;
		const std::vector<Hit> in_cells = hits_of(random, 100, 30, 1 + round);
		Owned cells = begun(memory, told, SB_TBF_SUMS_OF_CELLS);
		add_all(cells.get(), in_cells);
		const Tbf filter = stored_by(cells.get());

		std::vector<Hit> all = in_cells;
		std::vector<Tbf> exact;
		std::vector<size_t> order = {0, 1, 2, 3, 4};
		for (size_t i = 0; i < 4; i++)
		{
			const std::vector<Hit> hits = hits_of(random, 60, 15 + i * 7, 1 + round);
			exact.push_back(stored_by(self_sized(memory, any, hits).get()));
			ASSERT_TRUE(streambloom::is_exact(&exact.back().parameters));
			all = joined_hits(all, hits);
		}
		SmallLimits limits(round % 2 == 0 ? 2 : 8);
		for (int way = 0; way < 12; way++)
		{
			std::shuffle(order.begin(), order.end(), random);
			Owned a = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
			Owned b = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
			for (size_t i : order)
			{
				const Owned &to = way % 3 == 0 || i % 2 == 0 ? a : b;
				ASSERT_EQ(add_filter(to, i == 4 ? filter : exact[i]), SB_OK) << round << " " << way;
			}
			const Bytes first = sent(a.get());
			const Bytes second = sent(b.get());
			if (way % 2 == 0)
				b = arrived(memory, second);
			if (way % 4 == 1)
				a = arrived(memory, first);
			Owned leader = like(memory, a);
			ASSERT_EQ(unite(leader.get(), a.get()), SB_OK) << round << " " << way;
			ASSERT_EQ(unite(leader.get(), b.get()), SB_OK) << round << " " << way;
			ASSERT_EQ(unite(b.get(), a.get()), SB_OK) << round << " " << way;
			for (const Owned &united : {std::ref(leader), std::ref(b)})
			{
				const Tbf result = stored_by(united.get());
				expect_no_undercount(result, all);
				const Bytes further = sent(united.get());
				Owned next = arrived(memory, further);
				EXPECT_TRUE(same_bytes(stored_by(next.get()).value(), result.value())) << round << " " << way;
			}
		}
	}
}
