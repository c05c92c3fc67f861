/*
 * model.c: computes what a bf index on a column would take and read, and what a B-tree would take, from a sample of the
 * table (sample.c). For bf_index_advise() (advise.c).
 */
#include "base/compat.h"

#include <math.h>

#include "access/nbtree.h"
#include "miscadmin.h"

#include "advisor/model.h"
#include "index/layout.h"
#include "index/sizes.h"

/* ----------------------------------------------------------- the model of bf */

double
bf_index_unevenness(const SampleColumn *column)
{
	double	   *items = palloc(Max(column->range_count, 1) * sizeof(double));
	double		sum = 0;
	double		most = 0;

	for (uint32 i = 0; i < column->range_count; i++)
		sum += items[i] = column->ranges[i].items;
	if (sum > 0)
		most = bf_index_most_items(items, column->range_count) * column->range_count / sum;
	pfree(items);
	return sum == 0 ? 1 : most;
}

/* Returns a BfCounts with these numbers of items of ranges, and with the load and number of hashes for this rate. */
static BfCounts
counts_at(double rate, const double *items)
{
	uint8		hashes;
	const double load = sb_bf_items_per_line(rate, &hashes);

	return (BfCounts) {.items = items, .rate = rate, .load = load, .hashes = hashes};
}

/*
 * Adds groups for these ranges to a level of the model, as a build would make them. `covered` is as in BfGroupsToBuild.
 * The table may end inside the last range: share_of_last is the share of this range's pages that exist. This share is
 * used only if the last range is alone in its group. Otherwise the other ranges tell how large the group's filters are.
 */
static void
add_groups(BfModel *model, int level, bool covered, const SampledRange *ranges, uint32 count, double share_of_last)
{
	BfGroupsToBuild groups = {.level = level, .covered = covered};
	uint32		before = 0;
	uint32		last_size = 0;
	uint32		begin = 0;

	while (count > 0)
	{
		const uint32 next = Min(count, BF_INDEX_MAX_RANGES);
		double		items[BF_INDEX_MAX_RANGES];
		const BfCounts counts = counts_at(model->rate[level], items);
		bool		any_full = false;
		uint32		lines;
		uint32		size;

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < next; i++)
			any_full |= ranges[i].full;
		for (uint32 i = 0; i < next; i++)
			items[i] = ranges[i].full ? ranges[i].items : any_full ? -1 : ranges[i].items / Max(share_of_last, 0.01);
		size = bf_index_group_to_build(&groups, &counts, 1, begin, next, &lines);
		if (size == last_size)
			bf_index_settle_lines(&lines, &before, 1);
		before = lines;
		last_size = size;
		model->pages += lines / BF_POSITIONS(size);
		model->groups[level]++;
		ranges += size;
		begin += size;
		count -= size;
	}
}

/*
 * Fills ranges[] with `count` ranges, spread evenly over the `known_count` ranges known[]. With fewer ranges than known
 * ones some are left out, with more ranges some are repeated.
 */
static void
spread(const SampledRange *known, uint32 known_count, SampledRange *ranges, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
		ranges[i] = known[(uint64) i * known_count / count];
}

/* Adds groups for `count` ranges to a level of the model, `times` times. known[] has the items of some such ranges. */
static void
add_alike(BfModel *model, int level, bool covered, const SampledRange *known, uint32 known_count, uint32 count,
		  double times)
{
	SampledRange *ranges = palloc(count * sizeof(SampledRange));
	BfModel		part = {0};

	part.rate[level] = model->rate[level];
	spread(known, known_count, ranges, count);
	add_groups(&part, level, covered, ranges, count, 1);
	model->pages += times * part.pages;
	model->groups[level] += times * part.groups[level];
	pfree(ranges);
}

/*
 * Adds level 0 of a sampled table to the model. The sample has the beginning of the table, and ranges strewn over the
 * rest of it. The beginning may be unlike the rest, so it stands for itself alone. The strewn ranges, put one after
 * the other, stand for the rest. (If no range was strewn, the beginning stands for the whole table.)
 */
static void
add_level_0(BfModel *model, const Sample *sample, const SampleColumn *column, bool covered)
{
	const double all = model->ranges[0];
	const uint32 known = Min(column->range_count, (uint32) ceil(sample->contiguous / model->length[0]));
	const bool	any_strewn = known < column->range_count;
	const SampledRange *strewn = any_strewn ? column->ranges + known : column->ranges;
	const uint32 strewn_count = column->range_count - (any_strewn ? known : 0);
	/* the beginning, up to the end of its last block of 125 ranges */
	const uint32 first = (uint32) Min(all, ceil(known / (double) BF_INDEX_MAX_RANGES) * BF_INDEX_MAX_RANGES);
	SampledRange *ranges = palloc(Max(first, 1) * sizeof(SampledRange));
	const double blocks = floor((all - first) / BF_INDEX_MAX_RANGES);
	const uint32 rest = (uint32) fmod(all - first, BF_INDEX_MAX_RANGES);
	/* of 125 ranges; fewer strewn ranges stand for one */
	const uint32 sampled_blocks = Max(strewn_count / BF_INDEX_MAX_RANGES, 1);
	const uint32 sampled = sampled_blocks * BF_INDEX_MAX_RANGES;

	if (column->range_count == 0)
		return;
	memcpy(ranges, column->ranges, Min(known, first) * sizeof(SampledRange));
	if (first > known)
		spread(strewn, strewn_count, ranges + known, first - known);
	add_groups(model, 0, covered, ranges, first, 1);
	if (blocks > 0)
		add_alike(model, 0, covered, strewn, Min(strewn_count, sampled), sampled, blocks / sampled_blocks);
	if (rest > 0)
		add_alike(model, 0, covered, strewn, strewn_count, rest, 1);
	model->groups[0] = ceil(model->groups[0]);
	pfree(ranges);
}

/*
 * Estimates the number of distinct values in the first `pages` pages of the table. For some lengths the sample has
 * counted them (items_from_start). From the longest of these lengths on, the number is taken to grow by a power law
 * (Heaps 1978) to `distinct`, which is the number in the whole table.
 */
static double
distinct_from_start(const SampleColumn *column, const Sample *sample, double distinct, double pages)
{
	double		read = Max(sample->contiguous, 1);
	int			level;

	for (level = 1; level < BF_INDEX_MAX_LEVELS; level++)
		if (column->items_from_start[level] != 0)
		{
			BlockNumber lengths[BF_INDEX_MAX_LEVELS];

			bf_index_level_lengths(column->pages_per_range, lengths);
			if (lengths[level] == pages)
				return column->items_from_start[level];
			if (read > pages)
				continue;
			/* this level is the last one for which the number is known */
			if (level + 1 == BF_INDEX_MAX_LEVELS || column->items_from_start[level + 1] == 0)
			{
				double		known = column->items_from_start[level];
				double		power = log(Max(distinct / known, 1)) /
					log(Max(sample->heap_blocks / (double) lengths[level], 1.001));

				return known * pow(pages / lengths[level], Min(power, 1));
			}
		}
	/* If the number is known for no length, it is taken to be in proportion to the pages. */
	return distinct * pages / Max(sample->heap_blocks, 1);
}

/*
 * Estimates the number of distinct values in `pages` pages anywhere in the table. The beginning of the table may be
 * unlike the rest, so the number there is only one estimate. The other one is a lower bound: if the table is cut into
 * parts of this length, a part has the fewest values on average if each value is in only one part. The larger estimate
 * is taken.
 */
static double
distinct_in(const SampleColumn *column, const Sample *sample, double distinct, double pages)
{
	return Max(distinct_from_start(column, sample, distinct, pages), distinct * pages / Max(sample->heap_blocks, 1));
}

void
bf_index_model(const Sample *sample, const SampleColumn *column, double rate, double distinct, BfModel *model)
{
	const BlockNumber length = Max(column->pages_per_range, 1);
	const double upper_rate = bf_index_upper_rate(column->items_are_keys, rate);
	/* the last page is taken for half full */
	const double share_of_last =
		sample->heap_blocks == 0 ? 0 : ((sample->heap_blocks - 1) % length + 0.5) / length;
	BlockNumber lengths[BF_INDEX_MAX_LEVELS];
	bool		covered;

	memset(model, 0, sizeof *model);
	bf_index_level_lengths(column->pages_per_range, lengths);
	model->heap_pages = sample->heap_blocks;
	model->pages = 1;
	if (sample->heap_blocks == 0)
		return;
	model->levels = 1;
	model->rate[0] = rate;
	model->length[0] = lengths[0];
	model->ranges[0] = ceil(model->heap_pages / lengths[0]);
	covered = bf_index_level_pays(1, lengths[1], 0, sample->heap_blocks);
	if (sample->pages_read == sample->heap_blocks)
		add_groups(model, 0, covered, column->ranges, column->range_count, share_of_last);
	else
		add_level_0(model, sample, column, covered);
	for (int level = 1; level < BF_INDEX_MAX_LEVELS; level++)
	{
		SampledRange range = {.full = true};
		uint32		rest;

		if (!bf_index_level_pays(level, lengths[level], model->groups[level - 1], sample->heap_blocks) ||
			lengths[level] > sample->heap_blocks)
			break;
		range.items = (uint32) Min(distinct_in(column, sample, distinct, lengths[level]), UINT32_MAX);
		model->levels++;
		model->rate[level] = upper_rate;
		model->length[level] = lengths[level];
		model->ranges[level] = sample->heap_blocks / lengths[level];
		rest = (uint32) fmod(model->ranges[level], BF_INDEX_MAX_RANGES);
		add_alike(model, level, false, &range, 1, BF_INDEX_MAX_RANGES,
				  floor(model->ranges[level] / BF_INDEX_MAX_RANGES));
		if (rest > 0)
			add_alike(model, level, false, &range, 1, rest, 1);
	}
}

double
bf_index_model_look_up(const BfModel *model, double holding)
{
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	BfPagesRead read;

	for (int i = 0; i < model->levels; i++)
	{
		const double ranges = model->ranges[i];

		levels[i] = (BfLevelToSearch) {
			.length = model->length[i],
			.ranges = ranges,
			.groups = model->groups[i],
			.holding = i == 0 ? holding : ranges * (1 - pow(1 - 1 / Max(ranges, 1), holding)),
			.rate = model->rate[i]
		};
	}
	read = bf_index_pages_of_look_up(levels, model->levels, model->heap_pages);
	return read.index + read.heap;
}

/* ------------------------------------------------------- the model of a B-tree */

/*
 * Of a page of a B-tree: the bytes for tuples and line pointers, and how many of these are left free when an index is
 * built. The third number is the bytes of the largest tuple with several rows (nbtsort.c).
 */
#define BTREE_SPACE (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData)))
#define BTREE_LEFT_FREE (BLCKSZ * (100 - BTREE_DEFAULT_FILLFACTOR) / 100)
#define BTREE_LARGEST_POSTING (MAXALIGN_DOWN(BLCKSZ / 10) - sizeof(ItemIdData))

/* The bytes that one more row takes, if many rows with its value share tuples. */
#define BTREE_BYTES_OF_ROW 6.15

typedef struct BtreeModel
{
	bool		deduplicates;
	double		scale;			/* rows of the table for each row of the sample */
	double		bytes;			/* of all leaf tuples, with their line pointers */
	double		tuples;
	double		rows;
	double		keys;			/* the sum over the values of the size of a tuple with one row */
	double		values;
	/*
	 * Values that are in only one unit (sample.h), and not in the beginning of the table, do not count in `bytes`,
	 * `tuples` and `rows`. They count in the next four, and are not scaled up to the table.
	 */
	double		single_bytes;
	double		single_tuples;
	double		single_values;
	double		single_rows;
} BtreeModel;

/* Returns the bytes of all tuples of a value with `rows` rows, and adds the number of tuples to *tuples. */
static double
btree_bytes(double key, double rows, bool deduplicates, double *tuples)
{
	double		most = floor((BTREE_LARGEST_POSTING - key) / sizeof(ItemPointerData));
	double		full,
				rest;

	if (!deduplicates || rows <= 1 || most < 2)
	{
		*tuples += rows;
		return rows * (key + sizeof(ItemIdData));
	}
	full = floor(rows / most);
	rest = rows - full * most;
	*tuples += full + (rest > 0 ? 1 : 0);
	return full * (MAXALIGN((Size) (key + most * sizeof(ItemPointerData))) + sizeof(ItemIdData)) +
		(rest <= 0 ? 0 : rest <= 1 ? key + sizeof(ItemIdData) :
		 MAXALIGN((Size) ceil(key + rest * sizeof(ItemPointerData))) + sizeof(ItemIdData));
}

static void
add_value(const KeptValue *value, void *argument)
{
	BtreeModel *model = argument;

	model->keys += value->key_size;
	model->values++;
	if (value->is_new && value->units == 1)
	{
		model->single_values++;
		model->single_rows += value->rows;
		model->single_bytes += btree_bytes(value->key_size, value->rows, model->deduplicates, &model->single_tuples);
	}
	else
	{
		/*
		 * A value that is in several units is taken to be in the rest of the table, too. So its rows are scaled up from
		 * the sample to the table.
		 */
		double		rows = value->units == 1 ? value->rows : value->rows * model->scale;

		model->rows += rows;
		model->bytes += btree_bytes(value->key_size, rows, model->deduplicates, &model->tuples);
	}
}

double
bf_index_model_btree(const Sample *sample, const SampleColumn *column, double distinct)
{
	const double scale = bf_index_times_read(sample);
	const double kept = ldexp(1, column->zeros);
	BtreeModel	model = {.deduplicates = column->deduplicates, .scale = scale};
	double		key,
				row,
				tuple,
				leaves,
				pages;

	bf_index_visit_values(column, false, add_value, &model);
	if (model.values == 0)
		return BLCKSZ;
	key = model.keys / model.values;
	row = model.deduplicates ? BTREE_BYTES_OF_ROW : key + sizeof(ItemIdData);
	model.bytes *= kept;
	model.tuples *= kept;
	model.rows *= kept;
	if (model.single_values > 0)
	{
		/*
		 * The single values (see BtreeModel) stand for all values of the table except the other values of the sample.
		 * So the table has `more` times as many single values as the sample, with as many rows each.
		 */
		double		more = Max(1,
							   (distinct - (model.values - model.single_values) * kept) / (model.single_values * kept));

		model.bytes += model.single_bytes * kept * more;
		model.tuples += model.single_tuples * kept * more;
		model.rows += model.single_rows * kept * more;
	}
	/*
	 * The few values with very many rows may not be among those that were kept. Then the rows of the kept values are
	 * fewer than those of the table. The bytes of the missing rows are added.
	 */
	model.bytes = Max(model.bytes + (sample->rows * scale - model.rows) * row, distinct * (key + sizeof(ItemIdData)));
	tuple = model.bytes / Max(Max(model.tuples, distinct), 1);	/* a value has at least one tuple */
	/*
	 * CREATE INDEX begins a new page when less than a tenth of the page is free. A page also has a high key, which is
	 * one more tuple.
	 */
	leaves = ceil(model.bytes / (BTREE_SPACE - BTREE_LEFT_FREE - (key + sizeof(ItemIdData)) + tuple / 2));
	pages = leaves;
	while (leaves > 1)
	{
		leaves = ceil(leaves * (key + sizeof(ItemIdData)) / (BTREE_SPACE * (BTREE_NONLEAF_FILLFACTOR / 100.0)));
		pages += leaves;
	}
	return (pages + 1) * BLCKSZ;
}
