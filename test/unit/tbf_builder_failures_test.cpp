/*
 * tbf_builder_failures_test.cpp: sb_tbf_builder when memory ends, the caller wants to stop, or a number grows too
 * large. A call that fails loses nothing of what was added before, leaks nothing, and may be repeated. (An overflow may
 * also lose hits that are still pending, that is, that earlier calls have taken but not yet added.)
 */
#include "tbf_builder_support.h"

#include <functional>

using namespace test;

namespace {

/* The core asks whether to stop. The answer becomes "stop" at the question with this number (1: the next question). */
uint64_t questions_left;
bool asked_after_stop;

bool stop_at_a_question()
{
	asked_after_stop |= questions_left == 0;
	return questions_left == 0 || --questions_left == 0;
}

class StopsAt
{
public:
	explicit StopsAt(uint64_t question)
	{
		questions_left = question;
		asked_after_stop = false;
		sb_set_stop(stop_at_a_question);
	}
	~StopsAt() { sb_set_stop(nullptr); }
	StopsAt(const StopsAt &) = delete;
	StopsAt &operator=(const StopsAt &) = delete;
};

/* What a test does with builders, step by step. Each step may fail, and is then repeated. */
struct Life
{
	sb_tbf plan;
	sb_tbf_sums_of of;
	bool self_sized;
	std::vector<Hit> hits;
	std::vector<Hit> others;
	Tbf filter; /* to add to the builder, unless its `cells` are empty */
};

/*
 * Does all steps of `life`. A call may return `failure` instead of SB_OK; then `relieve` takes the limits away, and
 * the same call must succeed. `in` has the hits of all calls that returned SB_OK.
 */
void live(const Life &life, const sb_memory *memory, sb_status failure, const std::function<void()> &relieve)
{
	std::vector<Hit> in;
	auto tried = [&](const std::function<sb_status()> &call) {
		sb_status status = call();
		if (status == SB_OK)
			return;
		ASSERT_EQ(status, failure);
		relieve();
		ASSERT_EQ(call(), SB_OK);
	};
	sb_tbf_builder *begun_one = nullptr;
	sb_tbf_builder *begun_other = nullptr;
	tried([&] { return sb_tbf_builder_begin(memory, &life.plan, life.of, life.self_sized, &begun_one); });
	Owned builder(begun_one);
	tried(
		[&] { return sb_tbf_builder_begin(memory, &life.plan, SB_TBF_SUMS_OF_ITEMS, life.self_sized, &begun_other); });
	Owned other(begun_other);
	for (const Hit &hit : life.hits)
		tried([&] { return add(builder.get(), hit); });
	for (const Hit &hit : life.others)
		tried([&] { return add(other.get(), hit); });

	const bool travels = (life.plan.flags & SB_TBF_OPTIONS) == 0;
	void *bytes = nullptr;
	size_t size = 0;
	Owned came;
	if (travels)
	{
		tried([&] { return sb_tbf_builder_serialize(other.get(), memory, 0, SIZE_MAX, &bytes, &size); });
		sb_tbf_builder *there = nullptr;
		tried([&] { return sb_tbf_builder_deserialize(memory, bytes, size, &there); });
		came.reset(there);
		tried([&] { return unite(builder.get(), came.get()); });
		tried([&] {
			sb_tbf stored;
			void *value;
			const sb_status status = sb_tbf_builder_store(came.get(), memory, 0, &stored, &value);
			if (status == SB_OK)
				memory->release(memory->context, value);
			return status;
		});
		in = life.others;
	}
	in.insert(in.end(), life.hits.begin(), life.hits.end());
	if (life.filter.cells.size() != 0)
	{
		sb_difference difference;
		tried([&] {
			return sb_tbf_builder_add_filter(builder.get(), &life.filter.parameters, life.filter.cells.data(), 0.3,
											 &difference);
		});
	}
	Tbf result;
	void *value = nullptr;
	tried([&] { return sb_tbf_builder_store(builder.get(), memory, 0, &result.parameters, &value); });
	result.cells = Bytes(static_cast<unsigned char *>(value) + SB_TBF_HEADER,
						 sb_tbf_size(&result.parameters) - SB_TBF_HEADER);
	memory->release(memory->context, value);
	came.reset();
	if (travels)
		memory->release(memory->context, bytes);
	expect_no_undercount(result, in);

	/* a builder that begins with the stored value */
	sb_tbf_builder *begun_again = nullptr;
	tried([&] { return sb_tbf_builder_of(memory, &result.parameters, result.cells.data(), &begun_again); });
	Owned again(begun_again);
	for (const Hit &hit : life.hits)
		tried([&] { return add(again.get(), hit); });
	Tbf twice;
	tried([&] { return sb_tbf_builder_store(again.get(), memory, 0, &twice.parameters, &value); });
	twice.cells = Bytes(static_cast<unsigned char *>(value) + SB_TBF_HEADER,
						sb_tbf_size(&twice.parameters) - SB_TBF_HEADER);
	memory->release(memory->context, value);
	in.insert(in.end(), life.hits.begin(), life.hits.end());
	expect_no_undercount(twice, in);
	sb_tbf decayed;
	const int64_t later = twice.parameters.newest + 3 * std::max<int64_t>(twice.parameters.half_life, 1);
	tried([&] { return sb_tbf_decay(&twice.parameters, twice.cells.data(), later, memory, 0, &decayed, &value); });
	EXPECT_EQ(value != nullptr, twice.parameters.half_life != 0);
	if (value != nullptr)
		memory->release(memory->context, value);
}

std::vector<Life> lives()
{
	Random random(9);
	std::vector<Life> all;
	sb_tbf small = shape(128, 3, hour, hour);
	small.layout = SB_TBF_EXTENSIBLE;
	small.top = 3;
	all.push_back(
		{small, SB_TBF_SUMS_OF_ITEMS, false, hits_of(random, 40, 15, 70), hits_of(random, 90, 80, 20), Tbf()});
	small.top = 0;
	const sb_tbf wide = shape(256, 3, hour, hour);
	all.push_back({small, SB_TBF_SUMS_OF_CELLS, false, hits_of(random, 30, 15, 70), hits_of(random, 60, 50, 20),
				   stored(wide, hits_of(random, 30, 9, 30))});
	const sb_tbf any = planned(1, hour, true);
	all.push_back(
		{any, SB_TBF_SUMS_OF_ITEMS, true, hits_of(random, 150, 100, 70), hits_of(random, 150, 100, 70), Tbf()});
	sb_tbf raising = planned(300, hour);
	raising.flags |= SB_TBF_MINIMUM_INCREASE;
	all.push_back({raising, SB_TBF_SUMS_OF_CELLS, false, hits_of(random, 1800, 1500, 70), {}, Tbf()});
	all.push_back({planned(300, hour), SB_TBF_SUMS_OF_ITEMS, false, hits_of(random, 1800, 1500, 70),
				   hits_of(random, 900, 700, 20), Tbf()});
	sb_tbf recurring = planned(300, 0);
	recurring.flags |= SB_TBF_RECURRING_MINIMUM;
	all.push_back({recurring, SB_TBF_SUMS_OF_CELLS, false, hits_of(random, 1200, 900, 0), {}, Tbf()});

	/* adds a list with a weight to a builder whose list is shorter */
	Memory memory;
	sb_tbf listed = wide;
	listed.top = 5;
	Owned with_list = begun(memory, listed, SB_TBF_SUMS_OF_ITEMS);
	add_all(with_list.get(), hits_of(random, 50, 20, 30));
	small.top = 3;
	all.push_back({small, SB_TBF_SUMS_OF_CELLS, false, hits_of(random, 40, 15, 70), hits_of(random, 60, 50, 20),
				   stored_by(with_list.get())});

	/* hashes that crowd, so that the set takes a secret */
	std::vector<Hit> crowd(900);
	for (size_t i = 0; i < crowd.size(); i++)
		crowd[i] = {hash_of(i), static_cast<int64_t>(i % 3) * hour, 1};
	all.push_back(
		{planned(20000, hour), SB_TBF_SUMS_OF_ITEMS, false, crowd, {crowd.begin() + 300, crowd.begin() + 700}, Tbf()});

	/*
	 * exact filters that are added to a builder of cells and to one of items, and a filter with cells that is added to
	 * a builder that sizes itself
	 */
	Owned few = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
	add_all(few.get(), hits_of(random, 300, 200, 30));
	const Tbf exact = stored_by(few.get());
	sb_tbf told = shape(1024, any.hash_count, hour, any.epoch);
	told.expected_items = 100;
	all.push_back({told, SB_TBF_SUMS_OF_CELLS, false, hits_of(random, 40, 15, 70), hits_of(random, 60, 50, 20), exact});
	all.push_back(
		{any, SB_TBF_SUMS_OF_ITEMS, true, hits_of(random, 150, 100, 70), hits_of(random, 150, 100, 70), exact});
	all.push_back({any, SB_TBF_SUMS_OF_ITEMS, true, hits_of(random, 90, 60, 70), hits_of(random, 150, 100, 70),
				   stored(told, hits_of(random, 30, 9, 30))});
	return all;
}

} // namespace

TEST(TbfBuilderFailures, LosesNothingAndLeaksNothingWhenMemoryEnds)
{
	for (const Life &life : lives())
	{
		Memory all;
		live(life, all, SB_OK, [] {});
		for (uint64_t at = 0; at < all.allocations; at += 1 + all.allocations / 300)
		{
			SCOPED_TRACE(at);
			Memory memory;
			memory.fails_at = at;
			live(life, memory, SB_NO_MEMORY, [&] { memory.fails_at = UINT64_MAX; });
			ASSERT_FALSE(::testing::Test::HasFailure());
		}
	}
}

TEST(TbfBuilderFailures, LosesNothingAndLeaksNothingWhenItIsStopped)
{
	for (const Life &life : lives())
	{
		uint64_t questions;
		{
			Memory memory;
			StopsAt never(UINT64_MAX);
			live(life, memory, SB_OK, [] {});
			questions = UINT64_MAX - questions_left;
		}
		ASSERT_GT(questions, 10u);
		for (uint64_t at = 1; at <= questions; at += 1 + questions / 300)
		{
			SCOPED_TRACE(at);
			Memory memory;
			StopsAt stops(at);
			live(life, memory, SB_INTERRUPTED, [&] {
				EXPECT_FALSE(asked_after_stop);
				questions_left = UINT64_MAX;
			});
			ASSERT_FALSE(::testing::Test::HasFailure());
		}
	}
}

/*
 * The first plane of an empty builder cannot be made. Nothing was added then, so the builder is still empty: what it
 * stores is an empty filter that can be read.
 */
TEST(TbfBuilderFailures, IsStillEmptyIfItsFirstPlaneCannotBeMade)
{
	Random random(59);
	for (const int64_t half_life : {INT64_C(0), hour})
	{
		sb_tbf cells = shape(2 * SB_TBF_BLOCK, 3, half_life, hour);
		cells.layout = SB_TBF_EXTENSIBLE;
		sb_tbf exact = planned(1, half_life, true);
		exact.hash_count = 3;
		exact.epoch = cells.epoch;
		Memory other;
		Owned few = begun(other, exact, SB_TBF_SUMS_OF_ITEMS, true);
		add_all(few.get(), hits_of(random, 20, 10, 50));
		const Tbf filters[] = {stored_by(few.get()), stored(cells, hits_of(random, 20, 10, 50))};
		const std::vector<Hit> hits = hits_of(random, 20, 10, 50);
		const auto first = [&](sb_tbf_builder *builder, size_t what) {
			sb_difference difference;
			return what == 2 ? add(builder, hits[0]) :
							   sb_tbf_builder_add_filter(builder, &filters[what].parameters, filters[what].cells.data(),
														 1, &difference);
		};
		for (size_t what = 0; what < 3; what++)
			for (const auto &[of, self_sized] :
				 {std::pair(SB_TBF_SUMS_OF_CELLS, false), std::pair(SB_TBF_SUMS_OF_ITEMS, false),
				  std::pair(SB_TBF_SUMS_OF_ITEMS, true)})
			{
				sb_status status = SB_NO_MEMORY;
				for (uint64_t at = 0; status == SB_NO_MEMORY; at++)
				{
					SCOPED_TRACE(testing::Message()
								 << half_life << " " << what << " " << of << " " << self_sized << " " << at);
					Memory memory;
					Owned builder = begun(memory, self_sized ? exact : cells, of, self_sized);
					memory.fails_at = memory.allocations + at;
					status = first(builder.get(), what);
					memory.fails_at = UINT64_MAX;
					EXPECT_TRUE(readable(stored_by(builder.get())));
					add_all(builder.get(), hits);
					expect_no_undercount(stored_by(builder.get()), hits);
					ASSERT_FALSE(::testing::Test::HasFailure());
				}
				EXPECT_EQ(status, SB_OK);
			}
	}
}

/*
 * A builder has a plane of sums for each 16 half-lives (tbf_sums.hpp). A plane that is too old falls out: it is
 * cleared, and used again. With very many items it has hundreds of megabytes. To clear it without asking whether to
 * stop would delay a cancel. (Planes of cells are released instead.)
 */
TEST(TbfBuilderFailures, PlanesThatFellOutAreClearedInPieces)
{
	Memory memory;
	auto filled = [&] {
		Owned builder = begun(memory, planned(1000000, hour), SB_TBF_SUMS_OF_ITEMS);
		for (uint64_t i = 0; i < 100000; i++)
			EXPECT_EQ(add(builder.get(),
						  {i * UINT64_C(0x9e3779b97f4a7c15), static_cast<int64_t>(i / 25000) * SB_TBF_PLANE * hour, 1}),
					  SB_OK);
		EXPECT_EQ(sb_tbf_builder_settle(builder.get()), SB_OK);
		return builder;
	};
	const Hit late = {1, 1000 * hour, 1};
	uint64_t questions;
	Owned undisturbed = filled();
	{
		StopsAt never(UINT64_MAX);
		ASSERT_EQ(add(undisturbed.get(), late), SB_OK);
		questions = UINT64_MAX - questions_left;
	}
	ASSERT_GE(questions, 2u);
	const Bytes expected = stored_by(undisturbed.get()).value();
	for (uint64_t at : {uint64_t{1}, questions})
	{
		SCOPED_TRACE(at);
		Owned builder = filled();
		{
			StopsAt stops(at);
			EXPECT_EQ(add(builder.get(), late), SB_INTERRUPTED);
			EXPECT_FALSE(asked_after_stop);
		}
		ASSERT_EQ(add(builder.get(), late), SB_OK);
		EXPECT_TRUE(same_bytes(stored_by(builder.get()).value(), expected));
	}
}

/* A hit that overflows is lost. Hits that were still pending with it may be lost, too. What was settled stays. */
TEST(TbfBuilderFailures, OverflowComesWithALaterCallAndTheRestStays)
{
	Memory memory;
	Random random(10);
	for (sb_tbf_sums_of of : {SB_TBF_SUMS_OF_ITEMS, SB_TBF_SUMS_OF_CELLS})
	{
		Owned builder = begun(memory, planned(20000, 0), of);
		const std::vector<Hit> hits = hits_of(random, 5000, 3000, 0);
		add_all(builder.get(), hits);
		ASSERT_EQ(sb_tbf_builder_settle(builder.get()), SB_OK);
		sb_status status = SB_OK;
		for (int i = 0; i < 1 << 20 && status == SB_OK; i++)
			status = add(builder.get(), {5, 0, 0x1p33 - 1});
		EXPECT_EQ(status, SB_OVERFLOW);
		ASSERT_EQ(sb_tbf_builder_settle(builder.get()), SB_OK);
		ASSERT_EQ(add(builder.get(), {6, 0, 1}), SB_OK);
		expect_no_undercount(stored_by(builder.get()), hits);
	}
}

/* PL/pgSQL variables need this: a variable must not get a hit with which it could not be stored. */
TEST(TbfBuilderFailures, KnowsBeforehandWhetherTheTotalWillFit)
{
	Random random(1951);
	int refused = 0;
	for (int round = 0; round < 300; round++)
	{
		const bool decays = round % 3 != 0;
		sb_tbf plan = shape(64, 3, decays ? hour : 0, decays ? hour : 0);
		plan.kind = kind_of(SB_KIND_INTEGER);
		Memory memory;
		const Owned builder = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, true);
		for (int i = 0; i < 60; i++)
		{
			const Hit hit = {random(), static_cast<int64_t>(random() % 300) * hour,
							 std::ldexp(1.0, static_cast<int>(between(random, 20, 32)))};
			const uint64_t count = UINT64_C(1) << between(random, 0, 20);
			sb_moment moment;
			uint64_t value;
			sb_tbf_moment(plan.half_life, plan.epoch, hit.at, &moment);
			ASSERT_EQ(sb_tbf_hit(&moment, hit.weight, &value), SB_OK);
			const sb_status expected = sb_tbf_builder_check_total(builder.get(), &moment, value, count);

			/* other items each time, so only the total can become too large */
			sb_status status = SB_OK;
			for (uint64_t n = 0; n < std::min<uint64_t>(count, 4) && status == SB_OK; n++)
				status = sb_tbf_builder_check_total(builder.get(), &moment, value, n);
			if (expected != SB_OK)
			{
				EXPECT_EQ(expected, SB_TOTAL_OVERFLOW);
				refused++;
				continue;
			}
			EXPECT_EQ(status, SB_OK);
			if (count > 4)
				continue;
			for (uint64_t n = 0; n < count; n++)
				ASSERT_EQ(add(builder.get(), {random(), hit.at, hit.weight}), SB_OK);
			Tbf stored;
			EXPECT_NE(store(builder.get(), &stored), SB_TOTAL_OVERFLOW);
		}
	}
	EXPECT_GT(refused, 100);
}
