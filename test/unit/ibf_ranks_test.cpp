/*
 * ibf_ranks_test.cpp: an ibf without a range of importances, which ranks each importance among those of the latest
 * items (the sample). Values are spread evenly, the false-positive rate is kept (unless the importances keep rising),
 * and important items are remembered longer. A sample that cannot be right is refused. Unions do not depend on their
 * order.
 */
#include "stable_support.h"

#include <functional>

using namespace test;

static const double infinite = std::numeric_limits<double>::infinity();

static Stable ranking(sb_scheme scheme = SB_MULTI_CLASS, uint64_t bytes = 4096, uint64_t seed = 0, double fpr = 0.01)
{
	sb_stable plan;
	EXPECT_EQ(
		sb_stable_plan(bytes, fpr, scheme, NAN, NAN, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, seed, &plan),
		SB_OK);
	EXPECT_TRUE(plan.ranked);
	return Stable(plan);
}

static uint64_t seen(const Stable &ibf)
{
	uint64_t number;
	std::memcpy(&number, ibf.cells.data() + ibf.cells.size() - SB_STABLE_SAMPLE_BYTES, sizeof number);
	return number;
}

/* Importances as real streams have them, and others that nobody would expect. */
struct Importances
{
	const char *name;
	std::function<double(Random &, uint64_t)> of;
};
static const Importances all_importances[] = {
	{"uniform", [](Random &random, uint64_t) { return uniform(random); }},
	{"a long tail", [](Random &random, uint64_t) { return 1 / (1 - uniform(random)); }},
	{"negative", [](Random &random, uint64_t) { return -1e300 * uniform(random); }},
	{"all equal", [](Random &, uint64_t) { return 7.0; }},
	{"two values", [](Random &random, uint64_t) { return random() % 10 == 0 ? 1.0 : 0.0; }},
	{"nearly all are the highest", [](Random &random, uint64_t) { return random() % 10 != 0 ? 1.0 : 0.0; }},
	{"three values", [](Random &random, uint64_t) { return static_cast<double>(random() % 3); }},
	{"infinite ones",
	 [](Random &random, uint64_t) { return random() % 4 == 0 ? infinite :
										   random() % 3 == 0 ? -infinite :
															   0.0; }},
	{"rising", [](Random &, uint64_t i) { return static_cast<double>(i); }},
};

TEST(IbfRanks, ValuesAreSpreadEvenly)
{
	Stable ibf = ranking();
	Random random(11);
	std::vector<int> counts(8);
	for (int i = 0; i < 70000; i++)
	{
		const double importance = 1 / (1 - uniform(random));
		sb_stable_note_importance(&ibf.parameters, ibf.cells.data(), importance);
		counts[sb_stable_value_of(&ibf.parameters, ibf.cells.data(), importance)]++;
	}
	EXPECT_EQ(counts[0], 0);
	for (int value = 1; value <= 7; value++)
		EXPECT_NEAR(counts[static_cast<size_t>(value)], 10000, 1500) << value;
}

TEST(IbfRanks, AHigherImportanceNeverGetsALowerValue)
{
	for (const sb_scheme scheme : {SB_TWO_CLASS, SB_MULTI_CLASS, SB_VALUE_WEIGHTED})
		for (const auto &importances : all_importances)
		{
			Stable ibf = ranking(scheme);
			Random random(12);
			for (uint64_t i = 0; i < 3000; i++)
			{
				const double importance = importances.of(random, i);
				sb_stable_note_importance(&ibf.parameters, ibf.cells.data(), importance);
				const double other = i % 2 == 0 ? importances.of(random, i) : std::nextafter(importance, infinite);
				const auto value = sb_stable_value_of(&ibf.parameters, ibf.cells.data(), importance);
				const auto of_other = sb_stable_value_of(&ibf.parameters, ibf.cells.data(), other);
				ASSERT_TRUE(value >= 1 && value <= ibf.max()) << importances.name;
				ASSERT_TRUE(other == importance ? of_other == value :
												  (other < importance) == (of_other < value) || of_other == value)
					<< importances.name << ": " << importance << " " << other;
			}
		}
}

/* P, the evictions of a step, is planned for uniform ranks. The rate must hold for all importances but rising ones. */
TEST(IbfRanks, TheRateHoldsWhateverTheImportancesAre)
{
	for (const sb_scheme scheme : {SB_TWO_CLASS, SB_MULTI_CLASS})
		for (const auto &importances : all_importances)
		{
			Stable ibf = ranking(scheme, 2048, 3, 0.05);
			Random random(13);
			uint64_t duplicates = 0;
			const uint64_t warm = 20000;
			const uint64_t many = 120000;
			for (uint64_t i = 0; i < many; i++)
				duplicates += ibf.step(sb_hash_int64(static_cast<int64_t>(i)), importances.of(random, i)) && i >= warm;
			const double rate = static_cast<double>(duplicates) / static_cast<double>(many - warm);
			/*
			 * Rising importances: each is the highest so far, so no sample of earlier ones can rank it. The rate is
			 * not promised.
			 */
			if (std::string(importances.name) != "rising")
			{
				EXPECT_LT(rate, 0.05 * 1.1) << importances.name << ", scheme " << scheme;
			}
		}
}

/* Of the most important fifth of a stream, the share of items that are forgotten after `gap` other items. */
static double missed_of_the_important(Stable ibf, const Importances &importances, uint64_t gap, bool ranked)
{
	Random random(14);
	Random again(14);
	uint64_t asked = 0;
	uint64_t missed = 0;
	for (uint64_t i = 0; i < 60000; i++)
	{
		const double importance = importances.of(random, i);
		(void) ibf.step(sb_hash_int64(static_cast<int64_t>(i)), ranked ? importance : 1.0);
		if (i < gap)
			continue;
		const double then = importances.of(again, i - gap);
		if (i > 20000 && then >= 5) /* the importance 1 / (1 - u) is at least 5 for a fifth of all u */
		{
			asked++;
			missed += !ibf.contains(sb_hash_int64(static_cast<int64_t>(i - gap)));
		}
	}
	EXPECT_GT(asked, 5000u);
	return static_cast<double>(missed) / static_cast<double>(asked);
}

TEST(IbfRanks, TheMostImportantFifthIsForgottenHalfAsOftenAsByAnSbf)
{
	sb_stable plan;
	ASSERT_EQ(
		sb_stable_plan(4096, 0.01, SB_STABLE, 0, 0, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, 0, &plan),
		SB_OK);
	const Importances &tail = all_importances[1];
	const double sbf = missed_of_the_important(Stable(plan), tail, 400, false);
	const double ibf = missed_of_the_important(ranking(), tail, 400, true);
	EXPECT_GT(sbf, 0.02);
	EXPECT_LT(ibf, sbf / 2) << sbf;
}

TEST(IbfRanks, TheSampleFollowsTheStream)
{
	Stable ibf = ranking();
	for (int i = 0; i < 20000; i++)
		sb_stable_note_importance(&ibf.parameters, ibf.cells.data(), 1);
	EXPECT_EQ(sb_stable_value_of(&ibf.parameters, ibf.cells.data(), 2), 7);
	for (int i = 0; i < 40000; i++)
		sb_stable_note_importance(&ibf.parameters, ibf.cells.data(), 3);
	EXPECT_EQ(sb_stable_value_of(&ibf.parameters, ibf.cells.data(), 2), 1);
	EXPECT_EQ(seen(ibf), 60000u);
}

TEST(IbfRanks, ComesBackAndRefusesWhatIsNoSample)
{
	for (const uint64_t items : {0u, 1u, 63u, 64u, 65u, 5000u})
	{
		Stable ibf = ranking();
		Random random(15);
		for (uint64_t i = 0; i < items; i++)
			(void) ibf.step(sb_hash_int64(static_cast<int64_t>(i)), uniform(random) - 0.5);
		const Bytes value = ibf.stored();
		EXPECT_EQ(value.size(), items == 0 ? SB_STABLE_HEADER : SB_STABLE_HEADER + 4096 + SB_STABLE_SAMPLE_BYTES);
		sb_stable out;
		ASSERT_EQ(read(value, &out), SB_OK);
		EXPECT_TRUE(out.ranked);
		if (items == 0)
			continue;

		const size_t sample = value.size() - SB_STABLE_SAMPLE_BYTES;
		const auto with = [&](size_t at, const void *bytes, size_t size) {
			Bytes changed = value;
			std::memcpy(changed.data() + at, bytes, size);
			sb_stable ignored;
			return read(changed, &ignored);
		};
		const uint64_t more = items + 1;
		const double minus_zero = -0.0;
		EXPECT_EQ(with(sample, &more, sizeof more), SB_BAD_CELLS);
		for (const double bad : {static_cast<double>(NAN), minus_zero})
			EXPECT_EQ(with(sample + 8, &bad, sizeof bad), SB_BAD_CELLS);
		if (items > 1)
		{
			EXPECT_EQ(with(sample + 8, &infinite, sizeof infinite), SB_BAD_CELLS);
		}
		if (items < SB_STABLE_SAMPLE)
		{
			EXPECT_EQ(with(sample + 8 + 8 * SB_STABLE_SAMPLE - 8, &infinite, sizeof infinite), SB_BAD_CELLS);
		}
	}
	Stable sbf(1000, SB_STABLE, 5, 3, 10);
	Bytes value = sbf.stored();
	value.data()[47] = 1;
	sb_stable out;
	EXPECT_EQ(read(value, &out), SB_BAD_HEADER);
}

TEST(IbfRanks, UnionsDoNotDependOnTheirOrder)
{
	Random random(16);
	std::vector<Stable> filters;
	for (uint64_t seed = 0; seed < 4; seed++)
	{
		filters.push_back(ranking(SB_MULTI_CLASS, 1000, seed));
		for (uint64_t i = 0; i < 50 + 50 * (seed / 2); i++)
			(void) filters.back().step(random(), uniform(random));
	}
	std::vector<size_t> order = {0, 1, 2, 3};
	Bytes first;
	do
	{
		Stable all = filters[order[0]];
		for (size_t i = 1; i < order.size(); i++)
		{
			sb_stable joined;
			sb_difference difference;
			ASSERT_EQ(sb_stable_plan_union(&all.parameters, &filters[order[i]].parameters, &joined, &difference),
					  SB_OK);
			ASSERT_EQ(sb_stable_unite(&joined, all.cells.data(), filters[order[i]].cells.data()), SB_OK);
			all.parameters = joined;
		}
		if (first.size() == 0)
			first = all.stored();
		EXPECT_TRUE(same_bytes(all.stored(), first));
	} while (std::next_permutation(order.begin(), order.end()));

	sb_stable ranged;
	sb_stable joined;
	sb_difference difference;
	ASSERT_EQ(sb_stable_plan(1000, 0.01, SB_MULTI_CLASS, 0, 1, filters[0].parameters.hash_count,
							 filters[0].parameters.bits, filters[0].parameters.evictions, 0, &ranged),
			  SB_OK);
	EXPECT_EQ(sb_stable_plan_union(&filters[0].parameters, &ranged, &joined, &difference), SB_DIFFERENT);
}
