/*
 * column_advice.c: adds up what samples of a table's partitions say about a column: the sizes of indexes on it, and the
 * pages that look-ups would read (struct Advice). A sampled partition also stands for others (struct Weight). If the
 * operator class has keys inside values, "value" means a key in this file, as in advise.c.
 */
#include "advisor/advice.h"

#include <math.h>

#include "utils/memutils.h"

/*
 * This false-positive rate is proposed instead of the default one if a look-up of an absent value then reads at most
 * half as many pages, and the index still pays. It is never proposed for keys inside values.
 */
#define LOWER_RATE 0.0001

/* The values of a sample, for bf_index_ranges_of_rare_value(). */
typedef struct Ranking
{
	uint32	   *ranges;			/* in how many ranges of the sample each value is */
	uint64		values;
} Ranking;

static void
rank_value(const KeptValue *value, void *argument)
{
	Ranking    *ranking = argument;

	ranking->ranges[ranking->values++] = value->ranges;
}

static int
compare_ranges(const void *a, const void *b)
{
	const uint32 one = *(const uint32 *) a;
	const uint32 other = *(const uint32 *) b;

	return (one > other) - (one < other);
}

/*
 * bf_index_ranges_of_rare_value() estimates in which share of a table's units (of SAMPLE_UNIT pages) a rare value is.
 * If this share is smaller than LEAST_SHARE, the value is taken to be only in the ranges of the sample: a small share
 * does not show that the value is in other ranges, too. Values that come again only in neighboring ranges, such as
 * block numbers in the log of a disk, also give a small share.
 */
#define LEAST_SHARE 0.1

/*
 * A value that is in one range of the sample may be in other ranges of the table, too. The number of these ranges is
 * estimated from how many values are in one unit (SAMPLE_UNIT pages in a row) of the sample, and how many in two. If
 * each of n units has a value with the probability p, the number of values in two units is to the number in one unit as
 * p (n - 1) / 2 is to 1 - p.
 */
double
bf_index_ranges_of_rare_value(const SampleColumn *column, bool all, uint32 units, double times)
{
	ValueStats	stats;
	Ranking		ranking = {0};
	double		ranges;

	bf_index_sample_values(column, all, &stats);
	if (stats.values == 0)
		return 1;
	ranking.ranges = MemoryContextAllocHuge(CurrentMemoryContext, stats.values * sizeof(uint32));
	bf_index_visit_values(column, all, rank_value, &ranking);
	qsort(ranking.ranges, ranking.values, sizeof(uint32), compare_ranges);
	ranges = ranking.ranges[Max(ranking.values / 10, 1) - 1];
	pfree(ranking.ranges);
	if (ranges > 1)
		return ranges * times;
	if (units > 1 && stats.rare_in_one_unit > 0)
	{
		const double odds = 2 * (stats.rare - stats.rare_in_one_unit) / ((units - 1.0) * stats.rare_in_one_unit);
		const double share = odds / (1 + odds);

		if (share >= LEAST_SHARE)
			ranges += share * units * (times - 1);
	}
	return ranges;
}

/* A bf, B-tree or GIN index of a table with rows has at least this many pages: the meta page and another page. */
#define LEAST_PAGES 2

/*
 * `bytes` is the size of the index on a sampled partition. Returns the bytes of the indexes on all partitions for
 * which this partition stands.
 */
static double
weighted_bytes(double bytes, const Weight *weight)
{
	const double least = Min(bytes, LEAST_PAGES * BLCKSZ);

	return least * weight->partitions + (bytes - least) * weight->pages;
}

/*
 * Adds the figures of a bf index on a partition. `frequent` is the number of ranges that hold the most frequent value.
 */
static void
add_figures(const BfModel *model, double frequent, const Weight *weight, Figures *figures)
{
	const double absent = bf_index_model_look_up(model, 0);

	figures->bytes += weighted_bytes(model->pages * BLCKSZ, weight);
	figures->pages_absent += absent * weight->partitions;
	figures->pages_frequent += absent * weight->partitions +
		(bf_index_model_look_up(model, frequent) - absent) * weight->pages;
}

void
bf_index_add_advice(const Sample *sample, const SampleColumn *column, const Weight *weight, Advice *advice)
{
	const double scale = bf_index_times_read(sample);
	ValueStats	stats;
	BfModel		model,
				lower;
	double		distinct,
				frequent;

	bf_index_sample_values(column, false, &stats);
	distinct = Min(bf_index_distinct_values(&stats, sample->contiguous, sample->pages_read, sample->heap_blocks),
				   column->items * scale);
	bf_index_model(sample, column, column->rate, distinct, &model);
	bf_index_model(sample, column, LOWER_RATE, distinct, &lower);
	frequent = bf_index_most_frequent(column)->ranges;
	/*
	 * The number of ranges is scaled up from the sample to the table. But a value that is in only one or two ranges of
	 * the sample may be in no other range of the table.
	 */
	if (frequent > 2)
		frequent *= model.ranges[0] / Max(column->range_count, 1);
	advice->heap_pages += sample->heap_blocks * weight->pages;
	advice->toast_pages += sample->toast_blocks * weight->pages;
	advice->unevenness = Max(advice->unevenness, bf_index_unevenness(column));
	advice->rows += sample->rows * scale * weight->pages;
	advice->items += column->items * scale * weight->pages;
	advice->distinct += distinct;
	/*
	 * If the sample ended inside a page, `scale` counts only a part of this page, but stats.pages counts the whole
	 * page. So their product may be too large. It is limited, because no value is on more pages than the table has.
	 */
	advice->value_pages += Min(ldexp((double) stats.pages, stats.zeros) * scale, distinct * sample->heap_blocks) *
		weight->pages;
	add_figures(&model, frequent, weight, &advice->bf);
	add_figures(&lower, frequent, weight, &advice->bf_lower);
	advice->parts[advice->part_count++] = (PartModels) {.bf = model, .bf_lower = lower, .pages = weight->pages};
	/*
	 * With another rate than the default one, CREATE INDEX may choose another length of ranges than the one that was
	 * sampled. So the options give this length. But they do not give it if a partition was sampled, because one length
	 * may not suit all partitions.
	 */
	advice->lower_options = sample->is_partition ? psprintf(" WITH (false_positive_rate = %g)", LOWER_RATE) :
		psprintf(" WITH (false_positive_rate = %g, pages_per_range = %u)", LOWER_RATE, column->pages_per_range);
	if (column->has_btree && !column->too_wide && !column->items_are_keys)
		advice->btree_bytes += weighted_bytes(bf_index_model_btree(sample, column, distinct), weight);
	else
		advice->btree_possible = false;
	if (column->keys != NULL && advice->gin_possible)
	{
		KeyStats	keys;

		bf_index_sample_key_stats(sample, column, &keys);
		advice->gin_possible = keys.is_possible;
		if (keys.is_possible)
			advice->gin_bytes += weighted_bytes(bf_index_model_gin(sample, column, &keys), weight);
	}
	else
		advice->gin_possible = false;
}

/*
 * Returns how many more pages a look-up reads if `holding` ranges of level 0 hold the value, compared with a value that
 * no range holds. An index with one level has few ranges, and its last range may be short. So there the result is
 * computed in proportion: the extra pages for a value that all ranges hold, multiplied by the share of the ranges that
 * hold this value.
 */
static double
extra_of(const BfModel *model, double holding)
{
	const double absent = bf_index_model_look_up(model, 0);

	if (model->levels == 1)
		return Min(1, holding / model->ranges[0]) * (bf_index_model_look_up(model, model->ranges[0]) - absent);
	return bf_index_model_look_up(model, holding) - absent;
}

void
bf_index_set_rare_extra(double ranges, Advice *advice)
{
	for (int i = 0; i < advice->part_count; i++)
	{
		const PartModels *part = &advice->parts[i];
		const double holding = ranges * part->bf.heap_pages / advice->heap_pages;

		advice->bf.rare_extra += part->pages * extra_of(&part->bf, holding);
		advice->bf_lower.rare_extra += part->pages * extra_of(&part->bf_lower, holding);
	}
}
