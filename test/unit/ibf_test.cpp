/*
 * ibf_test.cpp: the Importance-aware Bloom filter. It tests which values importances become, which cells value-weighted
 * eviction chooses, and which filter errs how often: the plain Bloom filter has the most false positives, then come the
 * sbf, the scheme two_class and the scheme multi_class. The order of false negatives is the opposite one.
 */
#include "stable_support.h"

#include <limits>
#include <unordered_set>

using namespace test;

static const double infinite = std::numeric_limits<double>::infinity();

static sb_stable planned(sb_scheme scheme, double low, double high, int bits)
{
	sb_stable out;
	EXPECT_EQ(sb_stable_plan(1000, 0.01, scheme, low, high, 5, bits, 10, 0, &out), SB_OK);
	return out;
}

/* ---------------------------------------------------------------- importance */

TEST(IbfImportance, TwoClassIsMaxFromTheThresholdOn)
{
	for (int bits = 2; bits <= 8; bits++)
	{
		sb_stable ibf = planned(SB_TWO_CLASS, 10, 10, bits);
		const int max = (1 << bits) - 1;
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, 10), max);
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, infinite), max);
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, std::nextafter(10, 0)), max / 2);
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, -infinite), max / 2);
	}
}

TEST(IbfImportance, MultiClassIsLinearAndClipped)
{
	sb_stable ibf = planned(SB_MULTI_CLASS, 0, 70, 3);
	for (double importance : {-infinite, -1.0, -0.0, 0.0, 5.0, 9.99})
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, importance), 1) << importance;
	for (int value = 2; value <= 7; value++)
	{
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, 10.0 * value - 10), value);
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, 10.0 * value - 0.5), value);
	}
	for (double importance : {70.0, 71.0, 1e300, infinite})
		EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, importance), 7) << importance;
	ibf = planned(SB_VALUE_WEIGHTED, -1e307, 1e307, 8);
	EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, 0), 128);
	ibf = planned(SB_MULTI_CLASS, 1, std::nextafter(1, 2), 8); /* the narrowest range */
	EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, 1), 1);
	EXPECT_EQ(sb_stable_value_of(&ibf, nullptr, std::nextafter(1, 2)), 255);
}

TEST(IbfImportance, UniformOnesGiveUniformValues)
{
	sb_stable ibf = planned(SB_MULTI_CLASS, 0, 1, 4);
	std::vector<int> counts(16);
	Random random(5);
	for (int i = 0; i < 150000; i++)
		counts[sb_stable_value_of(&ibf, nullptr, uniform(random))]++;
	EXPECT_EQ(counts[0], 0);
	for (int value = 1; value <= 15; value++)
		EXPECT_NEAR(counts[static_cast<size_t>(value)], 10000, 500);
}

/*
 * A step sets a cell to max(cell, value), as the analysis of Bhoraskar et al. (2013) assumes: an unimportant item
 * neither raises a cell to Max nor lowers it.
 */
TEST(Ibf, SetsCellsToTheLargerOfTheTwo)
{
	Stable ibf(1000, SB_TWO_CLASS, 5, 3, 0);
	uint64_t hash = 12345;
	auto cell = stable_cell(&ibf.parameters, hash, 0);
	ibf.step(hash, 0.0);
	EXPECT_EQ(ibf.value(cell), 3);
	ibf.step(hash, 0.0);
	EXPECT_EQ(ibf.value(cell), 3); /* Algorithm 1 as printed would make it 7 */
	ibf.step(hash, 1.0);
	EXPECT_EQ(ibf.value(cell), 7);
	ibf.step(hash, 0.0);
	EXPECT_EQ(ibf.value(cell), 7);
}

/* ------------------------------------------------------- value-weighted eviction */

/* A cell that is not zero is chosen with probability inversely proportional to its value. */
TEST(IbfValueWeighted, ChoosesInverselyToTheValue)
{
	Stable ibf(4096, SB_VALUE_WEIGHTED, 1, 3, 1);
	Random random(17);
	for (int i = 0; i < 8000; i++)
		ibf.step(random(), static_cast<uint8_t>(between(random, 1, 7)));
	const Stable filled = ibf;
	uint64_t counts[SB_STABLE_MAX_VALUE + 1];
	EXPECT_EQ(sb_stable_count(&filled.parameters, filled.cells.data(), counts), SB_OK);
	ASSERT_GT(counts[0], 1000u);
	double all = 0;
	for (int value = 1; value <= 7; value++)
		all += static_cast<double>(counts[value]) / value;

	/* each eviction starts from the same filter, so that the shares do not change */
	const int evictions = 50000;
	std::vector<double> chosen(8);
	int in_vain = 0;
	for (int i = 0; i < evictions; i++)
	{
		Bytes before = ibf.cells;
		ibf.decay(1);
		size_t at = 0;
		while (at < before.size() && before[at] == ibf.cells[at])
			at++;
		in_vain += at == before.size(); /* none of 32 tries chose a cell: it was 0, or refused for its value */
		/* the changed byte holds parts of at most four cells: look at these */
		for (auto cell = static_cast<uint32_t>(at * 8 / 3 > 0 ? at * 8 / 3 - 1 : 0);
			 cell < std::min<size_t>(ibf.parameters.cell_count, at * 8 / 3 + 5) && at < before.size(); cell++)
		{
			uint8_t was = stable_value(&filled.parameters, before, cell);
			if (was != ibf.value(cell))
			{
				EXPECT_EQ(was - 1, ibf.value(cell));
				chosen[was]++;
				break;
			}
		}
		ibf.cells = filled.cells;
	}
	EXPECT_NEAR(in_vain, evictions * std::pow(1 - all / filled.parameters.cell_count, 32), 30);
	for (int value = 1; value <= 7; value++)
	{
		double expected = (evictions - in_vain) * (static_cast<double>(counts[value]) / value) / all;
		EXPECT_NEAR(chosen[static_cast<size_t>(value)], expected, 4.5 * std::sqrt(expected)) << value;
	}
}

TEST(IbfValueWeighted, GivesUpInAnEmptyFilter)
{
	Stable ibf(4096, SB_VALUE_WEIGHTED, 1, 3, 10);
	uint64_t state = 0;
	for (int i = 0; i < 32 * 10; i++)
		(void) streambloom::draw(&state);
	ibf.decay(1);
	EXPECT_EQ(ibf.parameters.random, state); /* it made 32 P tries, and no more */
}

TEST(IbfValueWeighted, TendsToItsMeanField)
{
	for (int64_t evictions : {2, 6, 12, 16, 40})
	{
		Stable ibf(4096, SB_VALUE_WEIGHTED, 5, 3, evictions);
		Measured measured = measure(ibf, long_stream / 8);
		sb_stable_chain chain = ibf.chain();
		EXPECT_NEAR(measured.zeros, sb_stable_zeros(&chain), 0.005) << evictions;
	}
}

/* The default filter is planned for uniform importances. Lower importances lead to fewer false positives. */
TEST(IbfValueWeighted, KeepsTheRateOfUniformImportances)
{
	for (double fpr : {0.2, 0.01})
	{
		Stable ibf(4096, SB_VALUE_WEIGHTED, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, fpr);
		auto rate = [&](auto importance_of) {
			Stable filter(ibf.parameters);
			return measure(filter, long_stream / 8,
						   [&](uint64_t hash, double uniform) { return filter.step(hash, importance_of(uniform)); });
		};
		Measured uniform = rate([](double x) { return x; });
		Measured low = rate([](double x) { return x * x; });
		Measured unimportant = rate([](double) { return 0.0; });
		EXPECT_LE(uniform.false_positives, 1.02 * fpr + uniform.sampling_error);
		EXPECT_GE(uniform.false_positives, 0.6 * fpr - uniform.sampling_error);
		EXPECT_LE(low.false_positives, uniform.false_positives + uniform.sampling_error);
		EXPECT_LE(unimportant.false_positives, low.false_positives + low.sampling_error);
	}
}

/*
 * The share of the most important repeats that is missed. The most important are those in the highest seventh of the
 * range of importances, which multi_class keeps in its highest class. 30 % of the stream repeat one of the last `reach`
 * new items. Importances are uniform numbers to the power `skew`.
 */
static double missed_of_the_important(Stable filter, double skew, uint64_t reach)
{
	Random random(31);
	std::vector<std::pair<uint64_t, double>> seen;
	double repeats = 0, missed = 0;
	for (int i = 0; i < 30000; i++)
	{
		bool repeat = !seen.empty() && random() % 10 < 3;
		if (!repeat)
		{
			uint64_t hash = random();
			seen.emplace_back(hash, std::pow(uniform(random), skew));
		}
		const auto [hash, importance] = repeat ?
											seen[seen.size() - 1 - random() % std::min<uint64_t>(seen.size(), reach)] :
											seen.back();
		bool duplicate = filter.step(hash, importance);
		if (repeat && importance >= 6.0 / 7)
		{
			repeats++;
			missed += !duplicate;
		}
	}
	return missed / repeats;
}

/*
 * With its default evictions, value_weighted remembers the most important items at least as well as a multi_class
 * filter of the same size that has the evictions of an sbf. (A multi_class filter with its own default evictions is
 * better; these are chosen for uniform importances.)
 */
TEST(IbfValueWeighted, RemembersTheImportantAtLeastAsWellAsMultiClassWithTheEvictionsOfAnSbf)
{
	for (double fpr : {0.2, 0.01, 0.001})
	{
		Stable weighted(8192, SB_VALUE_WEIGHTED, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, fpr);
		Stable sbf(8192, SB_STABLE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, fpr);
		Stable multi(8192, SB_MULTI_CLASS, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, sbf.parameters.evictions, fpr);
		for (double skew : {0.5, 1.0, 4.0})
			for (uint64_t reach : {1000u, 5000u})
				EXPECT_LE(missed_of_the_important(weighted, skew, reach), missed_of_the_important(multi, skew, reach))
					<< fpr << ' ' << skew << ' ' << reach;
	}
}

/* ------------------------------------------------------------- who errs how often */

struct Errors
{
	double false_positives;
	double false_negatives;
	double weighted_false_negatives;
};

/*
 * A stream of which 30 % are repeats. Importances do not depend on repeats (Bhoraskar et al. 2013, synthetic data 1).
 */
static Errors errors(Stable filter)
{
	Random random(21);
	std::vector<uint64_t> seen;
	double news = 0, repeats = 0, weight = 0;
	Errors result{};
	for (int i = 0; i < 300000; i++)
	{
		bool repeat = !seen.empty() && random() % 10 < 3;
		/* a repeat is one of the last 30,000 new items */
		uint64_t hash = repeat ? seen[seen.size() - 1 - random() % std::min<size_t>(seen.size(), 30000)] : random();
		double importance = static_cast<double>(hash >> 40) * 0x1p-24;
		bool duplicate = filter.step(hash, importance);
		if (repeat)
		{
			repeats++;
			weight += importance;
			result.false_negatives += !duplicate;
			result.weighted_false_negatives += duplicate ? 0 : importance;
		}
		else
		{
			seen.push_back(hash);
			news++;
			result.false_positives += duplicate;
		}
	}
	result.false_positives /= news;
	result.false_negatives /= repeats;
	result.weighted_false_negatives /= weight;
	return result;
}

TEST(Ibf, ErrsInTheOrderOfThePaper)
{
	Errors bf = errors(Stable(16384, SB_STABLE, 5, 1, 0));
	Errors sbf = errors(Stable(16384, SB_STABLE, 5, 3, 10));
	Errors two_class = errors(Stable(16384, SB_TWO_CLASS, 5, 3, 10));
	Errors multi_class = errors(Stable(16384, SB_MULTI_CLASS, 5, 3, 10));

	EXPECT_GT(bf.false_positives, sbf.false_positives);
	EXPECT_GT(sbf.false_positives, two_class.false_positives + 0.02);
	EXPECT_GT(two_class.false_positives, multi_class.false_positives + 0.02);

	EXPECT_EQ(bf.false_negatives, 0);
	EXPECT_GT(sbf.false_negatives, 0.01);
	EXPECT_GT(two_class.false_negatives, sbf.false_negatives + 0.01);
	EXPECT_GT(multi_class.false_negatives, two_class.false_negatives + 0.01);

	EXPECT_LT(two_class.weighted_false_negatives, 0.97 * two_class.false_negatives);
	EXPECT_LT(multi_class.weighted_false_negatives, 0.97 * multi_class.false_negatives);
	EXPECT_NEAR(sbf.weighted_false_negatives, sbf.false_negatives, 0.01);
}

TEST(Ibf, MissesRepeatsByImportanceAsTheRecursionSays)
{
	const int samples = static_cast<int>(long_stream / 400 / 100 * 100);
	Stable ibf(16384, SB_MULTI_CLASS, 5, 3, 25);
	sb_stable_chain chain = ibf.chain();
	double work[128];
	Random random(4);
	Random others(6);
	for (int i = 0; i < 50000; i++)
		ibf.step(random(), uniform(others));
	const uint64_t gap = 3000;
	double before = 2;
	for (uint8_t value = 1; value <= 7; value++)
	{
		int missed = 0;
		for (int i = 0; i < samples; i += 100)
		{
			/*
			 * each 30th of 3,000 items is planted: it sets its cells to `value`. Each planted item is looked up when
			 * about as many items as the gap says have come after it
			 */
			std::vector<uint64_t> planted;
			for (int j = 0; j < 100; j++)
			{
				planted.push_back(random());
				ibf.step(planted.back(), value);
				for (int l = 0; l < 29; l++)
					ibf.step(random(), uniform(others));
			}
			for (uint64_t item : planted)
			{
				missed += !ibf.contains(item);
				for (int l = 0; l < 30; l++)
					ibf.step(random(), uniform(others));
			}
		}
		double foretold = sb_stable_false_negatives(&chain, value, gap, work);
		/*
		 * the formula assumes that each cell has the value to which the item sets it. A cell may have been higher,
		 * so the result is an upper bound
		 */
		double rate = static_cast<double>(missed) / samples;
		double sampling = 0.01 + 4 * std::sqrt(foretold * (1 - foretold) / samples);
		EXPECT_LE(rate, foretold + sampling) << int{value};
		EXPECT_LE(rate, before + sampling);
		if (value == 7)
		{
			EXPECT_NEAR(rate, foretold, sampling);
		}
		before = rate;
	}
	EXPECT_LT(before, 0.5);
}
