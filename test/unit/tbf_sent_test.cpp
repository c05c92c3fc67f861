/*
 * tbf_sent_test.cpp: builders of parallel workers. However the hits were split over builders, and in whatever order
 * these were sent and united, the stored bytes are those of one builder with all hits. Only a list of hot items depends
 * on how the hits were split.
 */
#include "tbf_builder_support.h"

#include <functional>

using namespace test;

namespace {

Owned like(const sb_memory *memory, const Owned &other)
{
	sb_tbf_builder *builder = nullptr;
	EXPECT_EQ(sb_tbf_builder_like(memory, other.get(), &builder), SB_OK);
	return Owned(builder);
}

/* Builders with the hits, each of which goes to one of them. */
std::vector<Owned> split(const sb_memory *memory, const sb_tbf &plan, bool self_sized, const std::vector<Hit> &hits,
						 size_t parts, Random &random)
{
	std::vector<Owned> workers;
	for (size_t i = 0; i < parts; i++)
		workers.push_back(begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, self_sized));
	for (const Hit &hit : hits)
		EXPECT_EQ(add(workers[random() % parts].get(), hit), SB_OK);
	return workers;
}

/* Makes a builder with these hits, and adds them to `whole`, too. */
Owned worker(const sb_memory *memory, const std::vector<Hit> &hits, const Owned &whole)
{
	Owned made = like(memory, whole);
	add_all(made.get(), hits);
	add_all(whole.get(), hits);
	return made;
}

/* Sends each builder to a new one, as tbf_agg_combine() does. */
Owned united(const sb_memory *memory, const std::vector<Owned> &workers)
{
	Owned leader;
	for (const Owned &worker : workers)
	{
		const Bytes bytes = sent(worker.get());
		Owned there = arrived(memory, bytes);
		if (leader == nullptr)
			leader = like(memory, there);
		EXPECT_EQ(unite(leader.get(), there.get()), SB_OK);
	}
	return leader;
}

/* Plans for this many items: with and without decay and a list, in both layouts. */
std::vector<sb_tbf> plans(uint64_t items)
{
	std::vector<sb_tbf> all;
	for (int64_t half_life : {INT64_C(0), hour})
		for (bool listed : {false, true})
			for (bool flat : {false, true})
			{
				sb_tbf plan = planned(items, half_life);
				plan.top = listed ? 7 : 0;
				plan.layout = flat ? SB_TBF_FLAT : SB_TBF_EXTENSIBLE;
				all.push_back(plan);
			}
	return all;
}

} // namespace

TEST(TbfSent, AnySplitGivesTheSameBytes)
{
	Random random(1);
	Memory memory;
	for (const sb_tbf &plan : plans(20000))
		for (uint64_t items : {900u, 6000u})
			for (int64_t hours : {1, 100})
				for (size_t parts : {2u, 7u})
				{
					const std::vector<Hit> hits = hits_of(random, 2 * items, items, hours);
					Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
					add_all(whole.get(), hits);
					std::vector<Owned> workers = split(memory, plan, false, hits, parts, random);
					std::shuffle(workers.begin(), workers.end(), random);
					Owned leader = united(memory, workers);
					Bytes expected = stored_by(whole.get()).value();
					if (plan.top != 0) /* what a list has depends on how the hits were split */
						expected = stored_by(united(memory, workers).get()).value();
					ASSERT_TRUE(same_bytes(stored_by(leader.get()).value(), expected));
					ASSERT_TRUE(same_bytes(stored_by(leader.get()).value(), expected)) << "stored twice";
				}
}

/* Filters that size themselves: exact up to 65,536 items, then with cells. */
TEST(TbfSent, TheNumberOfDifferentItemsDecidesTheSize)
{
	Random random(2);
	Memory memory;
	const sb_tbf plan = planned(1, hour, true);
	for (uint64_t items : {SB_TBF_EXACT_ITEMS + 0u, SB_TBF_EXACT_ITEMS + 1u})
	{
		/* each item comes to two builders */
		std::vector<Hit> hits;
		std::vector<Owned> workers;
		for (size_t i = 0; i < 3; i++)
			workers.push_back(begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, true));
		Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, true);
		for (uint64_t i = 0; i < 2 * items; i++)
		{
			const Hit hit = {hash_of(i % items), static_cast<int64_t>(random() % 20) * hour, 1};
			ASSERT_EQ(add(whole.get(), hit), SB_OK);
			ASSERT_EQ(add(workers[(i % items + i / items) % 3].get(), hit), SB_OK);
		}
		Owned leader = united(memory, workers);
		const Tbf expected = stored_by(whole.get());
		EXPECT_EQ(expected.parameters.flags & SB_TBF_EXACT, items > SB_TBF_EXACT_ITEMS ? 0 : SB_TBF_EXACT);
		EXPECT_TRUE(same_bytes(stored_by(leader.get()).value(), expected.value()));
	}
}

/* A newer plane makes planes of earlier states fall out. */
TEST(TbfSent, PlanesFallOut)
{
	Random random(4);
	Memory memory;
	const sb_tbf plan = planned(20000, hour);
	for (int64_t later : {10, 30, 50, 70, 1000})
		for (bool newest_first : {false, true})
		{
			std::vector<Owned> workers;
			Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
			for (int64_t i = 0; i < 3; i++)
			{
				std::vector<Hit> hits = hits_of(random, 2000, 1500, 20);
				for (Hit &hit : hits)
					hit.at += i * later * hour;
				workers.push_back(worker(memory, hits, whole));
			}
			if (newest_first)
				std::reverse(workers.begin(), workers.end());
			Owned leader = united(memory, workers);
			EXPECT_TRUE(same_bytes(stored_by(leader.get()).value(), stored_by(whole.get()).value()));
		}
}

/* A call that fails loses nothing, and can be repeated. */
TEST(TbfSent, LoseNothingWhenMemoryEndsOrSomebodyStops)
{
	static uint64_t questions_left;
	Random random(8);
	Memory memory;
	const sb_tbf plan = planned(20000, hour);
	const std::vector<Hit> hits = hits_of(random, 3000, 2000, 40);
	std::vector<Bytes> states;
	for (const Owned &worker : split(memory, plan, false, hits, 3, random))
		states.push_back(sent(worker.get()));
	for (bool stops : {false, true})
		for (uint64_t at = 0; at < 600; at += 1 + at / 10)
		{
			SCOPED_TRACE(at);
			Memory limited;
			limited.fails_at = stops ? UINT64_MAX : at;
			questions_left = stops ? at : UINT64_MAX;
			sb_set_stop([] { return questions_left == 0 || --questions_left == 0; });
			auto tried = [&](const std::function<sb_status()> &call) {
				const sb_status status = call();
				if (status == SB_OK)
					return;
				EXPECT_EQ(status, stops ? SB_INTERRUPTED : SB_NO_MEMORY);
				limited.fails_at = UINT64_MAX;
				questions_left = UINT64_MAX;
				ASSERT_EQ(call(), SB_OK);
			};
			Owned leader;
			for (const Bytes &bytes : states)
			{
				sb_tbf_builder *out = nullptr;
				tried([&] { return sb_tbf_builder_deserialize(limited, bytes.data(), bytes.size(), &out); });
				Owned there(out);
				if (leader == nullptr)
				{
					tried([&] { return sb_tbf_builder_like(limited, there.get(), &out); });
					leader.reset(out);
				}
				tried([&] { return unite(leader.get(), there.get()); });
			}
			Tbf filter;
			void *value = nullptr;
			tried([&] { return sb_tbf_builder_store(leader.get(), limited, 0, &filter.parameters, &value); });
			filter.cells = Bytes(static_cast<unsigned char *>(value) + SB_TBF_HEADER,
								 sb_tbf_size(&filter.parameters) - SB_TBF_HEADER);
			limited.memory.release(limited.memory.context, value);
			expect_no_undercount(filter, hits);
			sb_set_stop(nullptr);
		}
}

/*
 * The core asks its caller again and again whether to stop. Here one of the answers is yes: in each round that of a
 * later question. The result is SB_INTERRUPTED, or the whole value if fewer questions are asked.
 */
TEST(TbfSent, AStopGivesNoWrongCounters)
{
	static uint64_t questions_left;
	Random random(10);
	Memory memory;
	for (bool flat : {false, true})
	{
		sb_tbf plan = planned(6000, hour);
		plan.layout = flat ? SB_TBF_FLAT : SB_TBF_EXTENSIBLE;
		const Owned leader = united(memory, split(memory, plan, false, hits_of(random, 3000, 2000, 10), 3, random));
		const Bytes expected = stored_by(leader.get()).value();
		uint64_t at = 0;
		for (bool stopped = true; stopped;)
		{
			sb_tbf parameters;
			void *value = nullptr;
			questions_left = ++at;
			sb_set_stop([] { return questions_left > 0 && --questions_left == 0; });
			const sb_status status = sb_tbf_builder_store(leader.get(), memory, 0, &parameters, &value);
			sb_set_stop(nullptr);
			stopped = questions_left == 0;
			ASSERT_EQ(status, stopped ? SB_INTERRUPTED : SB_OK) << at;
			if (stopped)
				continue;
			EXPECT_TRUE(same_bytes(Bytes(value, sb_tbf_size(&parameters)), expected));
			memory.memory.release(memory.memory.context, value);
		}
		EXPECT_GT(at, 10u);
	}
}

/* The states of several workers have items in common. The number of different ones decides whether they become cells. */
TEST(TbfSent, OutgrowASetTogether)
{
	Random random(6);
	Memory memory;
	streambloom::outgrown = {508, 2};
	const sb_tbf plan = planned(1, hour, true);
	for (uint64_t items : {50u, 200u, 317u, 318u, 319u, 900u})
		for (size_t parts : {2u, 3u, 8u})
		{
			SCOPED_TRACE(items);
			std::vector<Hit> hits = hits_of(random, 4 * items, items, 9);
			for (uint64_t i = 0; i < items; i++)
				hits.push_back({hash_of(i), 0, 1});
			Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, true);
			add_all(whole.get(), hits);
			Owned leader = united(memory, split(memory, plan, true, hits, parts, random));
			EXPECT_TRUE(same_bytes(stored_by(leader.get()).value(), stored_by(whole.get()).value()));
		}
	streambloom::outgrown = {};
}

/*
 * Hashes that somebody has chosen so that they collide. In such sets a secret of the process decides where a hash lies,
 * so the slots are in no order.
 */
TEST(TbfSent, ASetWithASecretIsSortedAsWell)
{
	Random random(7);
	Memory memory;
	const sb_tbf plan = planned(30000, hour);
	std::vector<Hit> hits;
	for (uint64_t i = 0; i < 8000; i++)
		hits.push_back({i << (64 - SB_KEPT_HASH_BITS), static_cast<int64_t>(i % 30) * hour, 1});
	Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
	add_all(whole.get(), hits);
	std::vector<Owned> workers = split(memory, plan, false, hits, 3, random);
	ASSERT_EQ(sb_tbf_builder_settle(workers[0].get()), SB_OK);
	EXPECT_NE(workers[0]->sums.set.secret[0], 0u);
	Owned leader = united(memory, workers);
	EXPECT_TRUE(same_bytes(stored_by(leader.get()).value(), stored_by(whole.get()).value()));
}

/* A forged state with more items than a set may have is refused. */
TEST(TbfSent, MoreItemsThanASetMayHaveAreRefused)
{
	Memory memory;
	const sb_tbf plan = planned(1, hour, true);
	Owned builder = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, true);
	for (uint64_t item = 0; item < 900; item++)
		ASSERT_EQ(add(builder.get(), {hash_of(item), 0, 1}), SB_OK);
	const Bytes bytes = sent(builder.get());
	sb_tbf_builder *out = nullptr;
	streambloom::outgrown = {508, 2};
	EXPECT_EQ(sb_tbf_builder_deserialize(memory, bytes.data(), bytes.size(), &out), SB_BAD_LENGTH);
	streambloom::outgrown = {};
	EXPECT_EQ(sb_tbf_builder_deserialize(memory, bytes.data(), bytes.size(), &out), SB_OK);
	Owned there(out);
}
