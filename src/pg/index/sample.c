/*
 * sample.c: which alternatives of a long condition an estimate looks for. The *alternatives* of a condition are the
 * values of an = ANY or the queries of a LIKE ANY. A *long* condition has more than BF_SAMPLE_MOST of them.
 *
 * Most alternatives are alike: each of some thousand addresses is in few rows. So a sample of them tells of all. But
 * one may be in most rows of the table, and a sample leaves it out as a rule. So the most common alternatives by
 * PostgreSQL's statistics are looked for in any case, and each of them stands for itself alone.
 */
#include "index/sample.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "index/keys.h"

/*
 * Alternatives may be queries, such as the patterns of a LIKE ANY. To find out which of them match the most rows, each
 * query is tried with at most MOST_VALUES values that the column's statistics have: the most common values and bounds
 * of the histogram. Fewer values are taken if all queries together would need more than MOST_TRIED tries.
 */
#define MOST_VALUES 32
#define MOST_TRIED 65536

static uint32
count_alternatives(const Condition *condition)
{
	if (condition->unknown)
		return 0;
	return condition->by_keys != NULL ? condition->by_keys->query_count : condition->count;
}

bool
bf_index_is_long(const Condition *condition)
{
	return count_alternatives(condition) > BF_SAMPLE_MOST;
}

/* ------------------------------------------------------------------ common alternatives */

/* The statistics of the values in a column of the index; NULL if there are none. */
static HeapTuple
get_statistics(Relation index, int column)
{
	const AttrNumber attribute = index->rd_index->indkey.values[column];

	if (attribute == 0)			/* an expression: the index has its statistics */
		return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(index)), Int16GetDatum(column + 1),
							   BoolGetDatum(false));
	return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(index->rd_index->indrelid), Int16GetDatum(attribute),
						   BoolGetDatum(false));
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a,
				y = *(const uint32 *) b;

	return x < y ? -1 : x > y;
}

static bool
is_common(const BfSample *sample, uint32 number)
{
	for (uint32 i = 0; i < sample->common_count; i++)
		if (sample->common[i] == number)
			return true;
	return false;
}

/* Finds the most common values (`known`, the most common first) among the condition's values. */
static void
find_common_values(BfSample *sample, Relation index, const AttStatsSlot *known)
{
	const Condition *condition = &sample->whole;
	ItemHasher *hasher = item_hasher_for_index(bf_index_item_type(index, condition->column),
											   index->rd_indcollation[condition->column], CurrentMemoryContext);

	for (int i = 0; i < known->nvalues && sample->common_count < BF_SAMPLE_COMMON; i++)
	{
		const uint64 hash = item_hash(hasher, known->values[i]);
		const uint64 *found = bsearch(&hash, condition->hashes, condition->count, sizeof hash, item_compare_hashes);

		/* two known values may have one hash: the class may take for equal what the statistics tell apart */
		if (found != NULL && !is_common(sample, found - condition->hashes))
			sample->common[sample->common_count++] = found - condition->hashes;
	}
}

/* Adds `weight` to the score of each query that can match this value. */
static void
score_queries(const Condition *condition, Datum value, double weight, double *scores)
{
	bool	   *nulls;
	int32		count;
	Datum	   *keys = bf_index_extract_keys(condition->class, value, &count, &nulls);
	uint64	   *hashes = palloc(Max(count, 1) * sizeof(uint64));
	uint32		have = 0;

	for (int32 i = 0; i < count; i++)
		if (nulls == NULL || !nulls[i])
			hashes[have++] = item_hash(condition->hasher, keys[i]);
	qsort(hashes, have, sizeof(uint64), item_compare_hashes);
	for (uint32 i = 0; i < condition->count; i++)
		condition->present[i] = bsearch(&condition->hashes[i], hashes, have, sizeof(uint64),
										item_compare_hashes) != NULL;
	for (uint32 i = 0; i < condition->by_keys->query_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (bf_index_key_query_can_match(condition->by_keys, i, condition->present))
			scores[i] += weight;
	}
	pfree(hashes);
}

/* Finds the queries that match the most rows, by the values that the statistics have. */
static void
find_common_queries(BfSample *sample, HeapTuple statistics, const AttStatsSlot *known)
{
	const Condition *condition = &sample->whole;
	const uint32 queries = condition->by_keys->query_count;
	const int	most = Max(1, Min(MOST_VALUES, MOST_TRIED / queries));
	const int	of_known = Min(known->nvalues, Max(most / 2, 1));
	double	   *scores = palloc0(queries * sizeof(double));
	double		others = 1 - ((Form_pg_statistic) GETSTRUCT(statistics))->stanullfrac;
	AttStatsSlot histogram;

	for (int i = 0; i < known->nnumbers; i++)
		others -= known->numbers[i];
	for (int i = 0; i < of_known; i++)
		score_queries(condition, known->values[i], known->numbers[i], scores);
	if (get_attstatsslot(&histogram, statistics, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
	{
		const int	bounds = Min(histogram.nvalues, most - of_known);

		for (int i = 0; i < bounds; i++)
			score_queries(condition, histogram.values[(int64) i * histogram.nvalues / bounds], Max(others, 0) / bounds,
						  scores);
		free_attstatsslot(&histogram);
	}
	while (sample->common_count < BF_SAMPLE_COMMON)
	{
		uint32		best = 0;

		for (uint32 i = 1; i < queries; i++)
			if (scores[i] > scores[best])
				best = i;
		if (scores[best] <= 0)
			break;
		sample->common[sample->common_count++] = best;
		scores[best] = 0;
	}
	pfree(scores);
}

void
bf_index_begin_sample(BfSample *sample, const Condition *condition, Relation index)
{
	HeapTuple	statistics = get_statistics(index, condition->column);
	AttStatsSlot known = {0};

	*sample = (BfSample) {.whole = *condition};
	if (!HeapTupleIsValid(statistics))
		return;
	(void) get_attstatsslot(&known, statistics, STATISTIC_KIND_MCV, InvalidOid,
							ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS);
	if (condition->by_keys != NULL)
		find_common_queries(sample, statistics, &known);
	else
		find_common_values(sample, index, &known);
	free_attstatsslot(&known);
	ReleaseSysCache(statistics);
	qsort(sample->common, sample->common_count, sizeof(uint32), compare_numbers);
}

/* ------------------------------------------------------------------ parts of a condition */

/* Sets *condition to the alternatives with these numbers, which are ascending. */
static void
take(const BfSample *sample, const uint32 *numbers, uint32 count, Condition *condition)
{
	*condition = sample->whole;
	if (condition->by_keys != NULL)
	{
		condition->by_keys = bf_index_choose_queries(sample->whole.by_keys, numbers, count);
		condition->hashes = condition->by_keys->hashes;
		condition->count = condition->by_keys->count;
		return;
	}
	condition->hashes = palloc(Max(count, 1) * sizeof(uint64));
	condition->count = count;
	for (uint32 i = 0; i < count; i++)
		condition->hashes[i] = sample->whole.hashes[numbers[i]];
}

void
bf_index_take_common(const BfSample *sample, Condition *condition)
{
	take(sample, sample->common, sample->common_count, condition);
}

double
bf_index_take_others(const BfSample *sample, uint32 most, Condition *condition)
{
	const uint32 others = count_alternatives(&sample->whole) - sample->common_count;
	const uint32 count = Min(others, most);
	uint32	   *numbers = palloc(count * sizeof(uint32));

	for (uint32 i = 0; i < count; i++)
	{
		/* at first numbers[i] counts among the alternatives that are not common; the loop makes it count among all */
		numbers[i] = (uint64) i * others / count;
		for (uint32 k = 0; k < sample->common_count && sample->common[k] <= numbers[i]; k++)
			numbers[i]++;
	}
	take(sample, numbers, count, condition);
	pfree(numbers);
	return (double) others / count;
}
