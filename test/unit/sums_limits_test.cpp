/*
 * sums_limits_test.cpp: the limits of sums. Counters, totals and slack that grow too large are reported; planes fall
 * out (tbf_sums.hpp explains planes); times are extreme.
 */
#include "tbf_support.h"

using namespace test;

static constexpr int64_t hour = INT64_C(3600000000);

/* ------------------------------------------------------------------------- overflow */

TEST(SumsOverflow, OfACounterIsSaidAndNeverWraps)
{
	for (int64_t half_life : {INT64_C(0), hour})
		for (int64_t at : {INT64_C(0), 7 * hour, 15 * hour})
		{
			sb_tbf like = shape(64, 1, half_life, half_life);
			Builder sums(like);
			std::vector<Hit> hits;
			sb_status status = SB_OK;
			for (int i = 0; i < 2000000; i++)
			{
				Hit hit{hash_of(1), at, 1.5e10};
				status = sums.add(hit);
				if (status != SB_OK)
					break;
				hits.push_back(hit);
				if (i % 1000 == 0 || i < 20)
				{
					Tbf filter = sums.stored();
					ASSERT_GE(filter.count(hash_of(1), at), 1.5e10 * static_cast<double>(hits.size()));
				}
			}
			EXPECT_EQ(status, SB_OVERFLOW);
			EXPECT_GT(hits.size(), 0u);
		}
}

static Tbf full_of(sb_tbf like, uint64_t units, uint64_t total, uint64_t slack)
{
	Tbf filter;
	filter.parameters = like;
	filter.parameters.flags = SB_TBF_HAS_HITS;
	filter.parameters.total = total;
	filter.parameters.slack = slack;
	filter.parameters.cell_bits = units >> 32 ? 64 : units >> 16 ? 32 : units >> 8 ? 16 : 8;
	filter.cells = Bytes(filter.cell_bytes());
	size_t width = filter.parameters.cell_bits / 8u;
	for (size_t i = 0; i < sb_tbf_cells(&like); i++)
		for (size_t byte = 0; byte < width; byte++)
			filter.cells[i * width + byte] = static_cast<unsigned char>(units >> (8 * byte));
	EXPECT_TRUE(readable(filter));
	return filter;
}

/*
 * Adds a filter again and again, until there is an overflow. Expects that one comes, and that no sum has wrapped
 * before.
 */
static void expect_an_end(const Tbf &filter, uint64_t at_most, sb_status expected = SB_OVERFLOW)
{
	Builder sums(filter.parameters);
	sb_status status = SB_OK;
	long double added = 0;
	for (uint64_t i = 0; i < at_most && status == SB_OK; i++)
	{
		status = sums.add(filter);
		if (status != SB_OK)
			break;
		added += 1;
		Tbf so_far;
		status = sums.store(&so_far);
		if (status == SB_OK)
		{
			auto units = static_cast<long double>(filter.cell(0));
			EXPECT_GE(static_cast<long double>(so_far.count(hash_of(1), 0)) * (1 << filter.parameters.unit_bits),
					  units * added);
			EXPECT_GE(static_cast<long double>(so_far.parameters.total),
					  static_cast<long double>(filter.parameters.total) * added);
			EXPECT_GE(static_cast<long double>(so_far.parameters.slack),
					  static_cast<long double>(filter.parameters.slack) * added);
		}
	}
	EXPECT_EQ(status, expected);
}

TEST(SumsOverflow, OfMergedCountersIsSaid)
{
	for (int64_t half_life : {INT64_C(0), hour})
		for (int bits = 50; bits < 62; bits++)
			expect_an_end(full_of(shape(64, 2, half_life, half_life), UINT64_C(1) << bits, 5, 0), UINT64_C(1) << 14);
}

TEST(SumsOverflow, OfTheTotalIsSaid)
{
	for (int64_t half_life : {INT64_C(0), hour})
		for (int bits = 50; bits < 63; bits++)
			expect_an_end(full_of(shape(64, 2, half_life, half_life), 1, UINT64_C(1) << bits, 0), UINT64_C(1) << 13,
						  SB_TOTAL_OVERFLOW);
	expect_an_end(full_of(shape(64, 2, hour, hour), 1, INT64_MAX, 0), 3, SB_TOTAL_OVERFLOW);
}

TEST(SumsOverflow, OfTheSlackIsSaid)
{
	for (int bits = 50; bits < 62; bits++)
		expect_an_end(full_of(shape(64, 2, hour, hour), 1, 1, UINT64_C(1) << bits), UINT64_C(1) << 12);
	expect_an_end(full_of(shape(64, 2, hour, hour), 1, 1, SB_TBF_MAX_CELL - 1), 3);
}

TEST(SumsOverflow, OfAddedPlanesIsSaid)
{
	sb_tbf like = shape(64, 2, hour, hour);
	Builder sums(like);
	int index = sums.turned(0);
	std::vector<uint64_t> words(64, SB_TBF_MAX_CELL / 2);
	words[0] = SB_TBF_MAX_CELL / 2 - 1;
	Cells plane(like, words);
	EXPECT_EQ(streambloom::add_cell_plane(sums.sums().planes[index].cells, plane), SB_OK);
	EXPECT_EQ(streambloom::add_cell_plane(sums.sums().planes[index].cells, plane), SB_OVERFLOW);
}

TEST(SumsOverflow, OfAWordIsSaidAtEveryPlaceOfAPlane)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t half_lives = 0; half_lives < 16; half_lives++)
	{
		Builder sums(like);
		int index = sums.turned(half_lives);
		uint64_t most = (SB_TBF_MAX_CELL >> half_lives) - 1;
		EXPECT_EQ(add_to_cell(sums.sums(), index, 3, half_lives, UINT64_MAX), SB_OVERFLOW);
		EXPECT_EQ(add_to_cell(sums.sums(), index, 3, half_lives, most + 1), SB_OVERFLOW);
		EXPECT_EQ(word_of(sums.sums().planes[index].cells, 3), 0u);
		EXPECT_EQ(add_to_cell(sums.sums(), index, 3, half_lives, most), SB_OK);
		EXPECT_EQ(word_of(sums.sums().planes[index].cells, 3), most << half_lives);
		EXPECT_EQ(add_to_cell(sums.sums(), index, 3, half_lives, 1), SB_OVERFLOW);
		EXPECT_EQ(word_of(sums.sums().planes[index].cells, 3), most << half_lives);
	}
}

/* SB_MAX_BYTES limits a value: 2^26 counters of 32 bits fit, 2^26 counters of 64 bits do not. */
TEST(SumsOverflow, OfTheLargestValueIsSaid)
{
	sb_tbf like = shape(1u << 26, 1, 0, 0);
	Cells plane(like);
	streambloom::tbf_sums sums{};
	int index = streambloom::sums_turn(&sums, 0);
	sums.planes[index].cells = plane;
	sums.newest = 0;

	Memory memory;
	Bytes cells(1u << 20);
	sb_tbf stored;
	sb_tbf flat;
	void *value;
	ASSERT_EQ(add_to_cell(sums, index, 12345, 0, UINT64_C(4096) * UINT32_MAX), SB_OK);
	ASSERT_EQ(streambloom::sums_store(&sums, nullptr, &like, &stored, cells.data(), cells.size()), SB_OK);
	EXPECT_EQ(stored.cell_bits, 32);
	flat = stored;
	flat.layout = SB_TBF_FLAT;
	EXPECT_LE(sb_tbf_size(&flat), size_t{SB_MAX_BYTES});
	ASSERT_EQ(add_to_cell(sums, index, 12345, 0, 1), SB_OK);
	ASSERT_EQ(streambloom::sums_store(&sums, nullptr, &like, &stored, cells.data(), cells.size()), SB_OK);
	EXPECT_EQ(sb_tbf_set_layout(&stored, cells.data(), SB_TBF_FLAT, memory, 0, &flat, &value), SB_TOO_LARGE);
}

/* A merge that does not fit at the oldest base gets the lowest base at which it fits. */
TEST(SumsOverflow, OfAMergeRaisesTheBaseFirst)
{
	sb_tbf like = shape(64, 1, hour, hour);
	Tbf old_filter = stored(like, {{hash_of(1), 0, 1}});
	Tbf new_filter = stored(like, {{hash_of(1), 30 * hour, 1e10}});
	Tbf both = joined(old_filter, new_filter);
	EXPECT_GT(both.parameters.base, 0);
	EXPECT_LE(both.parameters.base, 30);
	EXPECT_GE(both.count(hash_of(1), 30 * hour), 1e10);
	EXPECT_LE(both.count(hash_of(1), 30 * hour), 1.001e10);
}

/* --------------------------------------------------------------------------- planes */

TEST(SumsTurn, KeepsTheNewestFourPlanes)
{
	Builder sums(shape(64, 2, hour, hour));
	EXPECT_EQ(sums.turned(0), 0);
	EXPECT_EQ(sums.turned(15), 0);
	EXPECT_EQ(sums.turned(16), 0);
	EXPECT_EQ(sums.turned(0), 1);
	EXPECT_EQ(sums.turned(-1), 2);
	EXPECT_EQ(sums.turned(-17), 3);
	EXPECT_EQ(sums.turned(-32), 3);
	EXPECT_FALSE(sums.sums().dropped_loss);
	EXPECT_EQ(sums.turned(-33), -1);
	EXPECT_EQ(sums.turned(63), 0);
	EXPECT_EQ(sums.turned(16), 2);
	EXPECT_EQ(sums.turned(0), 3);
	EXPECT_EQ(sums.turned(-1), -1);
}

TEST(SumsTurn, MovesWordsWithTheirPlane)
{
	Builder sums(shape(64, 2, hour, hour));
	for (int64_t plane = 0; plane < 4; plane++)
	{
		int index = sums.turned(plane * 16);
		ASSERT_EQ(index, 0);
		ASSERT_EQ(add_to_cell(sums.sums(), index, 5, plane * 16, static_cast<uint64_t>(100 + plane)), SB_OK);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(word_of(sums.sums().planes[i].cells, 5), 103u - static_cast<uint64_t>(i));
	ASSERT_EQ(sums.turned(5 * 16), 0);
	EXPECT_EQ(word_of(sums.sums().planes[0].cells, 5), 0u);
	EXPECT_EQ(word_of(sums.sums().planes[1].cells, 5), 0u);
	EXPECT_EQ(word_of(sums.sums().planes[2].cells, 5), 103u);
	EXPECT_EQ(word_of(sums.sums().planes[3].cells, 5), 102u);
	ASSERT_EQ(sums.turned(1000000), 0);
	for (const streambloom::plane_sums &plane : sums.sums().planes)
		EXPECT_EQ(word_of(plane.cells, 5), 0u);
}

/* At all times that the interface allows, what is stored can be read back. */
TEST(Sums, AtTheExtremesOfTimeAreReadable)
{
	const int64_t lengths[] = {1, 2, 1000, INT64_C(1) << 50, SB_TBF_MAX_TIME - 1, SB_TBF_MAX_TIME};
	const int64_t times[] = {-SB_TBF_MAX_TIME, -SB_TBF_MAX_TIME / 2, -1, 0, 1, SB_TBF_MAX_TIME / 2, SB_TBF_MAX_TIME};
	for (int64_t half_life : lengths)
		for (int64_t epoch : lengths)
			for (int64_t first : times)
				for (int64_t then : times)
				{
					sb_tbf like = shape(64, 2, half_life, epoch);
					std::vector<Hit> hits = {{hash_of(1), first, 3}, {hash_of(2), then, 5}};
					Tbf filter = stored(like, hits);
					EXPECT_TRUE(readable(filter)) << half_life << " " << epoch << " " << first << " " << then;
					EXPECT_GE(filter.count(hash_of(1), first), 3);
					EXPECT_GE(filter.count(hash_of(2), then), 5);
					Tbf other = stored(like, {{hash_of(3), 0, 1}});
					EXPECT_TRUE(readable(joined(filter, other)));
				}
}
