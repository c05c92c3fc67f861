/* estimate.c: see estimate.h. */
#include "advisor/estimate.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "index/layout.h"
#include "index/sizes.h"

/* So many leaves, the largest ones, stand for themselves alone; as many others stand for the rest. */
#define LEAVES_ALONE 32

/* A bf, B-tree or GIN index of a table with rows has at least this many pages: the meta page and another page. */
#define LEAST_PAGES 2

/* The groups of so many ranges are computed; if there are more, some stand for others. */
#define MOST_RANGES (2048 * BF_INDEX_MAX_RANGES)

/* The ranges of a leaf, in their order: all, or some of them. */
typedef struct Ranges
{
	double	   *items;			/* negative: the range lacks pages */
	uint32		count;
} Ranges;

/* An index on one leaf. */
typedef struct Model
{
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	int			level_count;
	double		heap_pages;
	double		pages;			/* of the index */
} Model;

typedef struct Estimate
{
	const Sample *sample;
	const Sketch *sketch;
	BfParameters parameters[2]; /* of level 0, and of the levels above */
	bool		are_keys;
	double		distinct;
} Estimate;

double
bf_times(const Sample *sample, const Sketch *sketch)
{
	return sample->rows * sample->pages / Max(sketch->rows * sample->pages_read, 1);
}

typedef struct Rare
{
	double		frequent;		/* items in more than two units: the sample is taken to have all of the table */
	double		rare;
	double		in_one_unit;
	double		units;			/* the sum, over the rare items, of the number of units that each is in */
} Rare;

static void
count_rare(const KeptItem *item, double weight, void *argument)
{
	Rare	   *rare = argument;

	if (item->units > 2)
	{
		rare->frequent += weight;
		return;
	}
	rare->rare += weight;
	rare->in_one_unit += item->units == 1 ? weight : 0;
	rare->units += item->units * weight;
}

/*
 * Estimator Duj2a of Haas and Stokes (1998), with units instead of rows, so that it does no harm if the rows of an item
 * lie next to each other. Within a third of the truth where items are strewn; where each is in one place, exact.
 */
double
bf_distinct(const Sample *sample, const Sketch *sketch)
{
	const double share = 1 / Max(bf_times(sample, sketch), 1);
	Rare		rare = {0};

	bf_sketch_visit(sketch, count_rare, &rare);
	if (rare.rare == 0)
		return rare.frequent;
	return rare.frequent + rare.rare / (1 - (1 - share) * rare.in_one_unit / rare.units);
}

double
bf_distinct_in(const Sample *sample, const Sketch *sketch, double distinct, double pages)
{
	double		known_pages = sample->pages;
	double		known = distinct;
	double		least = distinct * Min(pages / Max(sample->pages, 1), 1);

	for (int i = GROWTHS - 1; i >= 0; i--)
	{
		const double here = UNIT_PAGES * ldexp(1, i);
		double		power;

		if (sketch->grown[i] < 1 || here >= known_pages)
			continue;
		if (here <= pages)
		{
			power = log(Max(known / sketch->grown[i], 1)) / log(known_pages / here);
			return Max(least, Min(distinct, sketch->grown[i] * pow(pages / here, Min(power, 1))));
		}
		known_pages = here;
		known = sketch->grown[i];
	}
	return Max(least, known * Min(pages / known_pages, 1));
}

/* --------------------------------------------------------------------------- level 0 */

/* The ranges of 2^length pages in units [begin, end) of the sketch. */
static Ranges
ranges_of(const Sketch *sketch, uint32 begin, uint32 end, int length)
{
	Ranges		ranges = {palloc(Max(end - begin, 1) * (UNIT_PAGES >> length) * sizeof(double))};

	for (uint32 i = begin; i < end; i++)
		for (uint32 first = 0; first < sketch->units[i].pages; first += 1 << length)
		{
			const bool	full = first + (1 << length) <= sketch->units[i].pages;

			ranges.items[ranges.count++] = full ?
				sketch->units[i].items[FIRST_OF_LENGTH(length) + (first >> length)] : -1.0;
		}
	/* The last page of a range that lacks pages is taken for half full. This matters if there is no other range. */
	if (ranges.count == 1 && ranges.items[0] < 0)
		ranges.items[0] = sketch->units[begin].items[FIRST_OF_LENGTH(length)] * (1 << length) /
			(sketch->units[begin].pages - 0.5);
	return ranges;
}

/* The size of some ranges, as range_length.c finds it; 1: as large as they should be. */
static double
size_of_ranges(const Estimate *estimate, uint32 begin, uint32 end, int length, uint32 samples, double lines)
{
	Ranges		ranges = ranges_of(estimate->sketch, begin, end, length);
	const uint32 full = ranges.count - (ranges.count > 1 && ranges.items[ranges.count - 1] < 0);
	double		sizes[BF_RANGES_THAT_TELL];

	samples = Min(samples, full);
	for (uint32 i = 0; i < samples; i++)
		sizes[i] = Max(ranges.items[(uint64) i * full / samples], 0) / estimate->parameters[0].load / lines;
	pfree(ranges.items);
	return bf_index_size_that_tells(sizes, samples);
}

static int
choose_length(const Estimate *estimate, const Leaf *leaf, uint32 begin, uint32 end)
{
	int			length = LENGTHS - 1;

	if (!estimate->are_keys)
	{
		const double lines = size_of_ranges(estimate, begin, end, length, BF_RANGES_THAT_TELL, 1);

		return pg_leftmost_one_pos32(bf_index_range_length_for(lines, leaf->blocks, leaf->is_partition));
	}
	while (length > 0 && size_of_ranges(estimate, begin, end, length - 1, BF_RANGES_WITH_KEYS_THAT_TELL,
										BF_LINES_OF_A_RANGE_WITH_KEYS) >= BF_ENOUGH_OF_A_RANGE)
		length--;
	return length;
}

/* Adds groups for these ranges to a level, `times` times, as a build would make them. */
static void
add_groups(const Estimate *estimate, Model *model, int level, bool covered, const double *items, uint32 count,
		   double times)
{
	const BfParameters *parameters = &estimate->parameters[level > 0];
	BfGroupsToBuild groups = {.level = level, .covered = covered};
	uint32		before = 0;
	uint32		last_size = 0;

	for (uint32 begin = 0; begin < count;)
	{
		const uint32 next = Min(count - begin, BF_INDEX_MAX_RANGES);
		const BfCounts counts = {
			.items = items + begin,
			.rate = parameters->false_positive_rate,
			.load = parameters->load,
			.hashes = parameters->hashes
		};
		uint32		lines;
		const uint32 size = bf_index_group_to_build(&groups, &counts, 1, begin, next, &lines);

		CHECK_FOR_INTERRUPTS();
		if (size == last_size)
			bf_index_settle_lines(&lines, &before, 1);
		before = lines;
		last_size = size;
		model->pages += times * (lines / BF_POSITIONS(size));
		model->levels[level].groups += times;
		begin += size;
	}
}

/*
 * Adds groups for `all` ranges to a level, of which the known ones were read. The other ranges are taken to be as their
 * nearest known ones, so that groups end where the ranges change.
 */
static void
add_level(const Estimate *estimate, Model *model, int level, bool covered, const Ranges *known, double all)
{
	const uint32 count = (uint32) Min(all, MOST_RANGES);
	double	   *items;

	if (known->count == all)
		add_groups(estimate, model, level, covered, known->items, known->count, 1);
	if (known->count == all || known->count == 0)
		return;
	items = MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(double));
	for (uint32 i = 0; i < count; i++)
		items[i] = known->items[(uint64) i * known->count / count];
	add_groups(estimate, model, level, covered, items, count, all / count);
	model->levels[level].groups = ceil(model->levels[level].groups);
	pfree(items);
}

/* ----------------------------------------------------------------------- an index */

/* Finds the units of a leaf; all units if none of the leaf was read. */
static void
units_of_leaf(const Sketch *sketch, uint32 leaf, uint32 *begin, uint32 *end)
{
	for (*begin = 0; *begin < sketch->unit_count && sketch->units[*begin].leaf != leaf;)
		(*begin)++;
	for (*end = *begin; *end < sketch->unit_count && sketch->units[*end].leaf == leaf;)
		(*end)++;
	if (*begin == *end)
	{
		*begin = 0;
		*end = sketch->unit_count;
	}
}

/* Fills in the model of an index on a leaf. Returns the length of its ranges. */
static int
model_leaf(const Estimate *estimate, uint32 number, Model *model, double *unevenness)
{
	const Leaf *leaf = &estimate->sample->leaves[number];
	BlockNumber lengths[BF_INDEX_MAX_LEVELS];
	Ranges		ranges;
	uint32		begin,
				end;
	int			length;
	uint32		groups = 0;
	double		sum = 0;

	memset(model, 0, sizeof *model);
	units_of_leaf(estimate->sketch, number, &begin, &end);
	length = choose_length(estimate, leaf, begin, end);

	bf_index_level_lengths(1 << length, lengths);
	model->heap_pages = leaf->blocks;
	model->pages = 1;
	ranges = ranges_of(estimate->sketch, begin, end, length);
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
	{
		double		items;
		Ranges		above = {&items, 1};

		if (level > 0 && (lengths[level] > leaf->blocks ||
						  !bf_index_level_pays(level, lengths[level], groups, leaf->blocks)))
			break;
		model->levels[level] = (BfLevelToSearch) {
			.length = lengths[level],
			.ranges = level == 0 ? ceil(model->heap_pages / lengths[0]) : leaf->blocks / lengths[level],
			.rate = estimate->parameters[level > 0].false_positive_rate
		};
		items = bf_distinct_in(estimate->sample, estimate->sketch, estimate->distinct, lengths[level]);
		add_level(estimate, model, level, level == 0 && bf_index_level_pays(1, lengths[1], 0, leaf->blocks),
				  level == 0 ? &ranges : &above, model->levels[level].ranges);
		model->level_count++;
		groups = (uint32) model->levels[level].groups;
	}
	for (uint32 i = 0; i < ranges.count; i++)
		sum += ranges.items[i] = Max(ranges.items[i], 0);
	if (sum > 0)
		*unevenness = Max(*unevenness, bf_index_most_items(ranges.items, ranges.count) * ranges.count / sum);
	pfree(ranges.items);
	return length;
}

/* The pages of the index and the table that a look-up reads, if `holding` ranges of level 0 hold the value. */
static double
look_up(const Model *model, double holding)
{
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	BfPagesRead read;

	memcpy(levels, model->levels, sizeof levels);
	for (int i = 0; i < model->level_count; i++)
		levels[i].holding = i == 0 ? holding : levels[i].ranges * (1 - pow(1 - 1 / Max(levels[i].ranges, 1), holding));
	read = bf_index_pages_of_look_up(levels, model->level_count, model->heap_pages);
	return read.index + read.heap;
}

/* ------------------------------------------------------------ rare and frequent values */

typedef struct Ranking
{
	int			length;
	uint32	   *ranges;			/* in how many ranges of the sample each item is */
	uint64		count;
	double		in_one_unit;
	double		in_two;
	uint32		most_rows;
	uint32		frequent;		/* the ranges of the item with the most rows */
} Ranking;

static void
rank(const KeptItem *item, double weight, void *argument)
{
	Ranking    *ranking = argument;

	ranking->ranges[ranking->count++] = item->ranges[ranking->length];
	ranking->in_one_unit += item->units == 1 ? weight : 0;
	ranking->in_two += item->units == 2 ? weight : 0;
	if (item->rows <= ranking->most_rows)
		return;
	ranking->most_rows = item->rows;
	ranking->frequent = item->ranges[ranking->length];
}

static int
compare_ranges(const void *a, const void *b)
{
	const uint32 one = *(const uint32 *) a;
	const uint32 other = *(const uint32 *) b;

	return (one > other) - (one < other);
}

/*
 * If a rare value is in at least this share of the table's units, it is in other ranges than those of the sample. A
 * smaller share does not show that; values that come again only in neighboring ranges give one, too.
 */
#define LEAST_SHARE 0.1

/*
 * In how many ranges of the table is a rare value: one of the tenth of the values that are in the fewest ranges? If
 * each of n units has a value with the probability p, the values in two units are to those in one as p (n - 1) / 2 to
 * 1 - p.
 */
static double
ranges_of_rare(const Sample *sample, Ranking *ranking)
{
	const double times = sample->pages / Max(sample->pages_read, 1);
	double		ranges;

	if (ranking->count == 0)
		return 1;
	qsort(ranking->ranges, ranking->count, sizeof(uint32), compare_ranges);
	ranges = ranking->ranges[Max(ranking->count / 10, 1) - 1];
	if (ranges > 1)
		return ranges * times;
	if (sample->units_read > 1 && ranking->in_one_unit > 0)
	{
		const double odds = 2 * ranking->in_two / ((sample->units_read - 1) * ranking->in_one_unit);
		const double share = odds / (1 + odds);

		if (share >= LEAST_SHARE)
			ranges += share * sample->units_read * (times - 1);
	}
	return ranges;
}

static BfParameters
parameters_for(double rate)
{
	BfParameters parameters = {.false_positive_rate = rate};

	parameters.load = sb_bf_items_per_line(rate, &parameters.hashes);
	return parameters;
}

static int
compare_leaves(const void *a, const void *b, void *leaves)
{
	const BlockNumber one = ((const Leaf *) leaves)[*(const uint32 *) a].blocks;
	const BlockNumber other = ((const Leaf *) leaves)[*(const uint32 *) b].blocks;

	return (one < other) - (one > other);
}

void
bf_estimate(const Sample *sample, const Sketch *sketch, double rate, bool are_keys, double distinct, Figures *figures)
{
	Estimate	estimate = {
		.sample = sample,
		.sketch = sketch,
		.parameters = {parameters_for(rate), parameters_for(bf_index_upper_rate(are_keys, rate))},
		.are_keys = are_keys,
		.distinct = distinct
	};
	const int	others = Max(sample->leaf_count - LEAVES_ALONE, 0);
	const int	stride = Max((others + LEAVES_ALONE - 1) / LEAVES_ALONE, 1);
	uint32	   *order = palloc(Max(sample->leaf_count, 1) * sizeof(uint32));
	Ranking		ranking = {.length = -1};
	double		rare = 1;

	memset(figures, 0, sizeof *figures);
	figures->unevenness = 1;
	figures->bytes = sample->empty_count * BLCKSZ;
	ranking.ranges = MemoryContextAllocHuge(CurrentMemoryContext, (bf_sketch_kept(sketch) + 1) * sizeof(uint32));
	for (int i = 0; i < sample->leaf_count; i++)
		order[i] = i;
	qsort_arg(order, sample->leaf_count, sizeof(uint32), compare_leaves, sample->leaves);
	for (int i = 0; i < sample->leaf_count;)
	{
		/* the middle one of some leaves that are about as large */
		const int	count = i < LEAVES_ALONE ? 1 : Min(stride, sample->leaf_count - i);
		const uint32 leaf = order[i + count / 2];
		const double share = sample->leaves[leaf].blocks / sample->pages;
		Model		model;
		const int	length = model_leaf(&estimate, leaf, &model, &figures->unevenness);
		double		frequent;

		if (length != ranking.length)
		{
			ranking = (Ranking) {.length = length, .ranges = ranking.ranges};
			bf_sketch_visit(sketch, rank, &ranking);
			rare = ranges_of_rare(sample, &ranking);
		}
		if (i == 0)
			figures->length = length;
		/* a value that is in only one or two ranges of the sample may be in no other range of the table */
		frequent = ranking.frequent * (ranking.frequent > 2 ? sample->pages / Max(sample->pages_read, 1) : 1) * share;
		figures->bytes += count * Max(model.pages, LEAST_PAGES) * BLCKSZ;
		figures->pages_absent += count * look_up(&model, 0);
		figures->pages_rare += count * look_up(&model, Min(rare * share, model.levels[0].ranges));
		figures->pages_frequent += count * look_up(&model, Min(frequent, model.levels[0].ranges));
		i += count;
	}
	pfree(ranking.ranges);
	pfree(order);
}
