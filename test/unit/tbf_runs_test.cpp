/*
 * tbf_runs_test.cpp: builders whose items arrive sorted by hash and are merged into runs: the same bytes as of one
 * builder that had all hits, whatever is done with a run. Runs are made of a few items here.
 */
#include "tbf_builder_support.h"

#include "base/short_words.hpp"
#include "tbf/tbf_builder.hpp"

#include <cmath>
#include <functional>
#include <utility>

using namespace test;

namespace {

/* As long as it lives, so many items that arrive are merged. */
class MergedFrom
{
public:
	explicit MergedFrom(uint64_t items) : before_(std::exchange(streambloom::merged_from_items, items)) {}
	~MergedFrom() { streambloom::merged_from_items = before_; }
	MergedFrom(const MergedFrom &) = delete;
	MergedFrom &operator=(const MergedFrom &) = delete;

private:
	uint64_t before_;
};

bool is_run(const Owned &builder)
{
	return builder->form == streambloom::sums_form::items && builder->set.dense;
}

Owned filled(const sb_memory *memory, const sb_tbf &plan, bool self_sized, const std::vector<Hit> &hits)
{
	Owned builder = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, self_sized);
	add_all(builder.get(), hits);
	EXPECT_EQ(sb_tbf_builder_settle(builder.get()), SB_OK);
	return builder;
}

/* What tbf_agg's leader does: begins a builder like the first that arrives, and unites all with it. */
Owned led(const sb_memory *memory, const std::vector<Bytes> &states)
{
	sb_tbf_builder *leader = nullptr;
	for (const Bytes &bytes : states)
	{
		const Owned worker = arrived(memory, bytes);
		if (leader == nullptr)
			EXPECT_EQ(sb_tbf_builder_like(memory, worker.get(), &leader), SB_OK);
		EXPECT_EQ(unite(leader, worker.get()), SB_OK);
	}
	return Owned(leader);
}

std::vector<uint64_t> hashes_sent(const Owned &builder)
{
	std::vector<uint64_t> hashes;
	streambloom::item_reader reader(builder.get());
	while (const size_t count = reader.next())
		hashes.insert(hashes.end(), reader.hashes(), reader.hashes() + count);
	return hashes;
}

/* The part of the hits that this worker has. */
std::vector<Hit> part_of(const std::vector<Hit> &hits, size_t worker, size_t workers)
{
	std::vector<Hit> part;
	for (size_t i = worker; i < hits.size(); i += workers)
		part.push_back(hits[i]);
	return part;
}

} // namespace

TEST(ShortWords, AreReadAsTheyWereWritten)
{
	Random random(1);
	for (size_t count = 0; count < 70; count++)
	{
		std::vector<uint64_t> words(count);
		for (uint64_t &word : words)
			word = random() % 5 == 0 ? 0 : random() >> (random() % 64);
		Bytes bytes(streambloom::most_short_words(count) + 8);
		const unsigned char *end = streambloom::put_short_words(bytes.data(), words.data(), count);
		ASSERT_LE(static_cast<size_t>(end - bytes.data()), streambloom::most_short_words(count));
		const Bytes written(bytes.data(), static_cast<size_t>(end - bytes.data()));
		std::vector<uint64_t> read(count);
		ASSERT_EQ(streambloom::take_short_words(written.data(), written.data() + written.size(), read.data(), count),
				  written.data() + written.size());
		ASSERT_EQ(read, words);
		for (size_t size = 0; size < written.size(); size++)
		{
			const Bytes cut(written.data(), size);
			ASSERT_EQ(streambloom::take_short_words(cut.data(), cut.data() + size, read.data(), count), nullptr);
		}
	}

	/* lengths above 8, and a second word where there is none */
	uint64_t words[2];
	for (const unsigned char first : {0x09, 0x90, 0xff})
	{
		Bytes bytes(40);
		bytes[0] = first;
		EXPECT_EQ(streambloom::take_short_words(bytes.data(), bytes.data() + bytes.size(), words, 2), nullptr);
	}
	Bytes bytes(3);
	bytes[0] = 0x11;
	EXPECT_NE(streambloom::take_short_words(bytes.data(), bytes.data() + 3, words, 2), nullptr);
	EXPECT_EQ(streambloom::take_short_words(bytes.data(), bytes.data() + 3, words, 1), nullptr);
}

/* Of every load of the set; many hashes have no place at its end, and go on at its beginning. */
TEST(TbfRuns, ItemsTravelInTheOrderOfTheirHashes)
{
	Random random(2);
	Memory memory;
	for (const uint64_t least : {UINT64_C(0), UINT64_MAX - 2000, UINT64_MAX - (UINT64_C(1) << 60)})
		for (size_t count = 1; count < 700; count += 1 + count / 9)
		{
			std::vector<Hit> hits(count);
			for (Hit &hit : hits)
				hit = {least + random() % (UINT64_MAX - least), static_cast<int64_t>(random() % 50) * hour, 1};
			hits.push_back({0, 0, 1});
			hits.push_back({UINT64_MAX, 0, 1});
			const Owned worker = filled(memory, planned(1, hour, true), true, hits);
			const Bytes bytes = sent(worker.get());
			const Owned there = arrived(memory, bytes);
			const std::vector<uint64_t> hashes = hashes_sent(there);
			ASSERT_EQ(hashes.size(), worker->set.count);
			ASSERT_EQ(hashes.front(), 0u);
			if (worker->set.secret[0] == 0)
				ASSERT_TRUE(std::is_sorted(hashes.begin(), hashes.end())) << count;
			ASSERT_TRUE(same_bytes(stored_by(there.get()).value(), stored_by(worker.get()).value()));
		}
}

/*
 * Any number of workers, which have some items in common, or hits in other planes; and whatever comes after the
 * merging.
 */
TEST(TbfRuns, LeaveNoTrace)
{
	MergedFrom few(1);
	Random random(3);
	Memory memory;
	for (const bool self_sized : {false, true})
		for (const int64_t half_life : {INT64_C(0), hour})
			for (const uint16_t flags : {0, SB_TBF_MINIMUM_INCREASE})
				for (const uint64_t items : {3u, 40u, 1200u})
					for (size_t workers = 1; workers <= 4; workers++)
					{
						sb_tbf plan = self_sized ? planned(1, half_life, true) : planned(20000, half_life);
						plan.flags |= flags;
						std::vector<Hit> hits = hits_of(random, 3 * items, items, 80);
						if (workers > 2) /* the planes of one are not those of another */
							std::sort(hits.begin(), hits.end(), [](const Hit &a, const Hit &b) { return a.at < b.at; });
						std::vector<Bytes> states;
						for (size_t worker = 0; worker < workers; worker++)
						{
							const size_t share = hits.size() / workers;
							const auto begin = hits.begin() + static_cast<ptrdiff_t>(worker * share);
							const std::vector<Hit> part = workers > 2 ?
															  std::vector<Hit>(
																  begin, worker + 1 == workers ?
																			 hits.end() :
																			 begin + static_cast<ptrdiff_t>(share)) :
															  part_of(hits, worker, workers);
							states.push_back(sent(filled(memory, plan, self_sized, part).get()));
						}
						const Owned one = filled(memory, plan, self_sized, hits);
						const Tbf expected = stored_by(one.get());
						const Owned leader = led(memory, states);
						SCOPED_TRACE(items);
						ASSERT_TRUE(is_run(leader));
						ASSERT_EQ(leader->set.count, one->set.count);
						ASSERT_TRUE(same_bytes(stored_by(leader.get()).value(), expected.value()));
						ASSERT_TRUE(is_run(leader)); /* to store it changes nothing */
						const Bytes further = sent(leader.get());
						ASSERT_TRUE(same_bytes(stored_by(arrived(memory, further).get()).value(), expected.value()));

						/* added to */
						const std::vector<Hit> more = hits_of(random, 60, 30, 90);
						add_all(leader.get(), more);
						add_all(one.get(), more);
						ASSERT_FALSE(is_run(leader));
						const Tbf added = stored_by(leader.get());
						if (flags == 0)
							ASSERT_TRUE(same_bytes(added.value(), stored_by(one.get()).value()));
						hits.insert(hits.end(), more.begin(), more.end());
						expect_no_undercount(added, hits);

						/* united with one that is no run, and given a stored filter */
						const Owned again = led(memory, states);
						const Owned other = filled(memory, plan, self_sized, more);
						ASSERT_EQ(unite(again.get(), other.get()), SB_OK);
						ASSERT_TRUE(same_bytes(stored_by(again.get()).value(), added.value()) || flags != 0);
						sb_difference difference;
						const Owned takes = led(memory, states);
						const Tbf filter = stored_by(filled(memory, plan, self_sized, more).get());
						ASSERT_EQ(sb_tbf_builder_add_filter(takes.get(), &filter.parameters, filter.cells.data(), 1,
															&difference),
								  SB_OK);
						expect_no_undercount(stored_by(takes.get()), hits);
					}
}

/* A run of more items than a set may hold goes over to cells, at the same number of items as a set does. */
TEST(TbfRuns, AreOutgrownAsSetsAre)
{
	MergedFrom few(1);
	Random random(4);
	Memory memory;
	streambloom::outgrown = {124, 2};
	for (uint64_t items = 20; items < 200; items += 3)
	{
		const sb_tbf plan = planned(1, hour, true);
		const std::vector<Hit> hits = hits_of(random, 6 * items, items, 40);
		std::vector<Bytes> states;
		for (size_t worker = 0; worker < 3; worker++)
			states.push_back(sent(filled(memory, plan, true, part_of(hits, worker, 3)).get()));
		const Owned one = filled(memory, plan, true, hits);
		const Owned leader = led(memory, states);
		EXPECT_EQ(leader->form, one->form) << items;
		EXPECT_TRUE(same_bytes(stored_by(leader.get()).value(), stored_by(one.get()).value())) << items;
	}
	streambloom::outgrown = {};
}

/* Hashes that crowd are not sorted, since their set has a secret. */
TEST(TbfRuns, WhatIsNotSortedIsAddedToASet)
{
	MergedFrom few(1);
	Random random(5);
	Memory memory;
	const sb_tbf plan = planned(1, hour, true);
	std::vector<Hit> crowd(3000);
	for (size_t i = 0; i < crowd.size(); i++)
		crowd[i] = {i, static_cast<int64_t>(i % 3) * hour, 1};
	const Owned worker = filled(memory, plan, true, crowd);
	ASSERT_NE(worker->set.secret[0], 0u);
	const std::vector<Hit> hits = hits_of(random, 3000, 900, 40);
	std::vector<Hit> all = crowd;
	all.insert(all.end(), hits.begin(), hits.end());
	const Tbf expected = stored_by(filled(memory, plan, true, all).get());
	const Bytes unsorted = sent(worker.get());
	const Bytes sorted = sent(filled(memory, plan, true, hits).get());
	EXPECT_TRUE(same_bytes(stored_by(led(memory, {sorted, unsorted}).get()).value(), expected.value()));
	EXPECT_TRUE(same_bytes(stored_by(led(memory, {unsorted, sorted}).get()).value(), expected.value()));
}

TEST(TbfRuns, TooManyHitsOverflow)
{
	MergedFrom few(1);
	Memory memory;
	const sb_tbf plan = planned(1, hour, true);
	const std::vector<Hit> hits(
		5, Hit{7, 15 * hour, std::ldexp(1.0, 32)}); /* a little more than half of what a word may hold */
	const Bytes state = sent(filled(memory, plan, true, hits).get());
	const Owned leader = led(memory, {state});
	ASSERT_TRUE(is_run(leader));
	EXPECT_EQ(unite(leader.get(), arrived(memory, state).get()), SB_OVERFLOW);
}

TEST(TbfRuns, LoseNothingAndLeakNothingWhereMemoryEndsOrTheyAreStopped)
{
	MergedFrom few(1);
	Random random(6);
	Memory memory;
	const sb_tbf plan = planned(1, hour, true);
	const std::vector<Hit> hits = hits_of(random, 4000, 1500, 40);
	std::vector<Bytes> states;
	for (size_t worker = 0; worker < 3; worker++)
		states.push_back(sent(filled(memory, plan, true, part_of(hits, worker, 3)).get()));
	auto lead = [&](Memory *room, sb_status failure, const std::function<void()> &relieve) {
		const Owned first = arrived(*room, states[0]);
		sb_tbf_builder *like = nullptr;
		sb_status status = sb_tbf_builder_like(*room, first.get(), &like);
		if (status != SB_OK)
		{
			ASSERT_EQ(status, failure);
			relieve();
			ASSERT_EQ(sb_tbf_builder_like(*room, first.get(), &like), SB_OK);
		}
		const Owned builder(like);
		for (const Bytes &bytes : states)
		{
			const Owned worker = arrived(memory, bytes);
			status = unite(builder.get(), worker.get());
			if (status == SB_OK)
				continue;
			ASSERT_EQ(status, failure);
			relieve();
			ASSERT_EQ(unite(builder.get(), worker.get()), SB_OK);
		}
		relieve();
		expect_no_undercount(stored_by(builder.get()), hits);
	};
	for (uint64_t at = 2; at < 12; at++)
	{
		SCOPED_TRACE(at);
		Memory room;
		room.fails_at = at;
		lead(&room, SB_NO_MEMORY, [&] { room.fails_at = UINT64_MAX; });
		ASSERT_FALSE(HasFailure());
	}
	uint64_t interrupted = 0;
	for (uint64_t at = 1; at < 60; at++)
	{
		SCOPED_TRACE(at);
		Memory room;
		std::vector<Owned> workers;
		for (const Bytes &bytes : states)
			workers.push_back(arrived(room, bytes));
		sb_tbf_builder *like = nullptr;
		ASSERT_EQ(sb_tbf_builder_like(room, workers[0].get(), &like), SB_OK);
		const Owned builder(like);
		{
			StopsAt stops(at);
			for (const Owned &worker : workers)
				if (const sb_status status = unite(builder.get(), worker.get()); status != SB_OK)
				{
					ASSERT_EQ(status, SB_INTERRUPTED);
					interrupted++;
					questions_left = UINT64_MAX;
					ASSERT_EQ(unite(builder.get(), worker.get()), SB_OK);
				}
		}
		expect_no_undercount(stored_by(builder.get()), hits);
	}
	EXPECT_GT(interrupted, 5u);
}

/* Whatever is accepted can be merged, also where hashes come twice or in no order. */
TEST(TbfRuns, DamagedStatesAreMergedOrRefused)
{
	MergedFrom few(1);
	Random random(7);
	Memory memory;
	const sb_tbf plan = planned(1, hour, true);
	const Bytes good = sent(filled(memory, plan, true, hits_of(random, 90, 30, 40)).get());
	uint64_t taken = 0;
	uint64_t runs = 0;
	for (int i = 0; i < 20000; i++)
	{
		Bytes bytes = good;
		for (int changes = i % 3; changes >= 0; changes--)
		{
			const size_t from = i % 2 == 0 ? 0 : good.size() / 2; /* the items are at the end */
			bytes[from + random() % (good.size() - from)] ^= static_cast<unsigned char>(1u << (random() % 8));
		}
		sb_tbf_builder *out;
		if (sb_tbf_builder_deserialize(memory, bytes.data(), bytes.size(), &out) != SB_OK)
			continue;
		const Owned damaged(out);
		sb_tbf_builder *begun_like = nullptr;
		ASSERT_EQ(sb_tbf_builder_like(memory, damaged.get(), &begun_like), SB_OK);
		const Owned leader(begun_like);
		taken++;
		Tbf filter;
		void *value;
		Memory room;
		if (unite(leader.get(), damaged.get()) == SB_OK)
			runs += is_run(leader);
		for (sb_tbf_builder *any : {leader.get(), damaged.get()})
			if (sb_tbf_builder_store(any, room, 0, &filter.parameters, &value) == SB_OK)
				room.memory.release(room.memory.context, value);
	}
	EXPECT_GT(taken, 1000u);
	EXPECT_GT(runs, 500u);
	EXPECT_LT(runs, taken);
}
