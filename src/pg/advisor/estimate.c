/*
 * estimate.c: how the items of a column lie in the table, and what a bf index on it would take and read.
 *
 * The index's own sizes.c decides how long ranges and how large filters are, from the numbers of items of the ranges
 * that were read; the other ranges are taken to be as their nearest known ones. If all were read, the bytes of level 0
 * are exact. The bytes of an index that is then built are within 18 % on 24 columns, the pages of look-ups within a
 * factor of 2 (bench/results/advisor.md).
 */
#include "advisor/advisor.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "index/layout.h"
#include "index/sizes.h"

/* The groups of so many ranges are computed in all leaves; if there are more, some stand for others. */
#define MOST_RANGES (2048.0 * BF_INDEX_MAX_RANGES)

/* The false-positive rate of a group is the mean of so many of its ranges. */
#define RANGES_OF_RATE 16

/* ------------------------------------------------------------------------ the spread */

/* The items that are in 0, 1, 2, ... units of the sample. */
typedef struct ItemClass
{
	double		items;
	double		ranges[LENGTHS];	/* the sum over these items */
} ItemClass;

/*
 * In which share of the table's units are items that are in one unit of the sample? Items that are in i of n units have
 * a share p / (1 - p) = (i + 1) / (n - i) times how many are in i + 1 units, to those in i (Good 1953). Where items
 * differ much, those in two units have a greater share than those in one. The smaller the share of the items that are
 * meant, the greater `power` is. Returns p / (1 - p).
 */
static double
odds_of_rare(const ItemClass *classes, double units, double power)
{
	const double of_one = 2 * classes[2].items / (Max(units - 1, 1) * Max(classes[1].items, 1));
	const double of_two = 3 * classes[3].items / (Max(units - 2, 1) * Max(classes[2].items, 1));

	return of_two > of_one ? of_one * pow(of_one / of_two, power) : of_one;
}

void
bf_spread(const Sample *sample, const Sketch *sketch, Spread *spread)
{
	const double units = sketch->unit_count;
	const double times = sample->rows * sample->pages / Max(sketch->rows * sample->pages_read, 1);
	ItemClass  *classes = palloc0((sketch->unit_count + 4) * sizeof(ItemClass));
	double		seen = 0;
	double		halves = 0;
	double		odds;
	double		share;
	double		below = 0;
	double		ranges[LENGTHS] = {0};
	uint32		most_rows = 0;
	uint32		class = 0;

	*spread = (Spread) {.sample = sample, .sketch = sketch, .times = times, .items = sketch->all_items * times};
	for (const SketchItem *item = sketch->items; item < sketch->items + sketch->item_count; item++)
	{
		classes[item->units].items += item->weight;
		seen += item->weight;
		spread->tuple += item->weight * item->size;
		spread->pages += item->weight * item->pages;
		for (int length = 0; length < LENGTHS; length++)
		{
			const double count = item->ranges[length];

			classes[item->units].ranges[length] += item->weight * count;
			ranges[length] += item->weight * count;
			spread->common[length] += item->weight * count * (count - 1);
			/* an item that is in only one or two ranges of the sample may be in no other range of the table */
			if (item->rows > most_rows)
				spread->frequent[length] = count > 2 ? count * times : count;
		}
		most_rows = Max(most_rows, item->rows);
	}
	spread->tuple /= Max(seen, 1);

	/* Items that the sample lacks are to those in one unit as (1 - p) / n is to p; each is in one unit at least. */
	odds = Max(odds_of_rare(classes, units, 0.5), 1 / Max(units * times - 1, 1));
	spread->distinct = seen + Max(1 - 1 / times, 0) * classes[1].items / Max(units * odds, 1e-9);
	spread->distinct = Max(1, Min(spread->distinct, spread->items));
	spread->pages = Min(spread->pages * times, spread->distinct * sample->pages);

	/* the tenth of the items that are in the fewest units are rare; those of the last class among these tell of them */
	do
		below += classes[++class].items;
	while (below < Max(floor(seen / 10), 1) && class < sketch->unit_count);
	if (class == 1)
		odds = odds_of_rare(classes, units, 2);
	else
		odds = (class + 1) * classes[class + 1].items / (Max(units - class, 1) * Max(classes[class].items, 1));
	share = class == 1 ? odds / (1 + odds) : Min(Max(odds / (1 + odds), class / units), 2 * class / units);
	for (int length = 0; length < LENGTHS; length++)
	{
		spread->rare[length] = classes[class].ranges[length] / Max(classes[class].items, 1) *
			(1 + share / class * units * Max(times - 1, 0));
		spread->common[length] /= Max(ranges[length] * (units * (UNIT_PAGES >> length) - 1), 1);
	}

	for (uint32 i = 0; i < sketch->unit_count; i++)
	{
		const uint32 *items = sketch->units[i].items;

		spread->unit_pages += sketch->units[i].pages / units;
		spread->unit_items += items[FIRST_OF_LENGTH(LENGTHS - 1)] / units;
		halves += (items[FIRST_OF_LENGTH(LENGTHS - 2)] + items[FIRST_OF_LENGTH(LENGTHS - 2) + 1]) / units;
	}
	spread->growth = log2(2 * spread->unit_items / Max(halves, 1));
	pfree(classes);
}

/*
 * Pages that follow each other have at most as many items as a power law (Heaps 1978) gives, whose exponent is that
 * from half of a unit to a unit: it knows of items that come again nearby. Nor do they have more than if the items that
 * another unit has, too, were everywhere, and the others nowhere else.
 */
double
bf_distinct_in(const Spread *spread, double pages)
{
	const double units = pages / spread->unit_pages;
	const double common = spread->common[LENGTHS - 1];
	const double most = spread->unit_items * Min(pow(units, Max(spread->growth, 0)), common + (1 - common) * units);

	return Min(spread->distinct, Max(most, spread->distinct * pages / spread->sample->pages));
}

/* --------------------------------------------------------------------------- level 0 */

/* An index on one leaf. */
typedef struct Estimate
{
	const Spread *spread;
	BfParameters parameters[2]; /* of level 0, and of the levels above */
	bool		are_keys;
	const Leaf *leaf;
	const SketchUnit *units;	/* these tell of the leaf: its own, or of another leaf */
	const SketchUnit *end;
	double		pages;
} Estimate;

/*
 * The numbers of items of the ranges of 2^length pages that were read, in palloc'd memory. A range that lacks pages
 * gets as many as it would have, if the last page is half full.
 */
static double *
ranges_of(const Estimate *estimate, int length, uint32 *count)
{
	double	   *ranges = palloc((estimate->end - estimate->units) * (UNIT_PAGES >> length) * sizeof(double));

	*count = 0;
	for (const SketchUnit *unit = estimate->units; unit < estimate->end; unit++)
		for (uint32 first = 0; first < unit->pages; first += 1 << length)
			ranges[(*count)++] = unit->items[FIRST_OF_LENGTH(length) + (first >> length)] *
				Max((1 << length) / (unit->pages - first - 0.5), 1);
	return ranges;
}

/* The lines of a range's filter, as range_length.c estimates them. */
static double
lines_of_ranges(const Estimate *estimate, int length, uint32 samples)
{
	uint32		count;
	double	   *ranges = ranges_of(estimate, length, &count);
	const bool	is_partial = (estimate->end[-1].pages & ((1 << length) - 1)) != 0;
	const uint32 full = Max(count - is_partial, 1);
	double		lines[BF_RANGES_THAT_TELL];

	samples = Min(samples, full);
	for (uint32 i = 0; i < samples; i++)
		lines[i] = ranges[(uint64) i * full / samples] / estimate->parameters[0].load;
	pfree(ranges);
	return bf_index_size_that_tells(lines, samples);
}

/* The length of ranges, as range_length.c chooses it. */
static int
choose_length(const Estimate *estimate, Figures *figures)
{
	const Leaf *leaf = estimate->leaf;
	const double *common = estimate->spread->common;
	int			length = LENGTHS - 1;

	if (!estimate->are_keys)
		return pg_leftmost_one_pos32(bf_index_range_length_for(lines_of_ranges(estimate, length, BF_RANGES_THAT_TELL),
															   leaf->blocks, leaf->is_partition));
	while (length > 0 &&
		   !bf_index_is_short_for_keys(lines_of_ranges(estimate, length - 1, BF_RANGES_WITH_KEYS_THAT_TELL)))
		length--;
	figures->common = Max(figures->common, common[length]);
	while (length > 0 && common[length] > BF_MOST_KEYS_IN_COMMON &&
		   common[length - 1] <= common[length] - BF_FEWER_IN_COMMON)
		length--;
	return length;
}

/* ----------------------------------------------------------------------- an index */

/*
 * Fills in the number of a level's groups, as a build would make them, and their rate, and adds their pages. known[]
 * are the items of some of its ranges, or of all.
 */
static void
build_level(Estimate *estimate, int level, bool covered, const double *known, uint32 known_count,
			BfLevelToSearch *result)
{
	const BfParameters *parameters = &estimate->parameters[level > 0];
	const double most = MOST_RANGES * estimate->leaf->blocks / estimate->spread->sample->pages;
	const uint32 count = (uint32) Min(result->ranges, Max(most, BF_INDEX_MAX_RANGES));
	const double times = result->ranges / count;
	BfGroupsToBuild groups = {.covered = covered};
	uint32		before = 0;
	uint32		size = 0;

	for (uint32 begin = 0; begin < count; begin += size)
	{
		const uint32 next = Min(count - begin, BF_INDEX_MAX_RANGES);
		const uint32 last_size = size;
		double		items[BF_INDEX_MAX_RANGES];
		const BfCounts counts = {
			.items = items,
			.rate = parameters->false_positive_rate,
			.load = parameters->load,
			.hashes = parameters->hashes
		};
		uint32		lines;

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < next; i++)
			items[i] = known[(uint64) (begin + i) * known_count / count];
		if (level == 0)
			size = bf_index_group_to_build(&groups, &counts, 1, begin, next, &lines);
		else
		{
			size = bf_index_group_to_build_above(next);
			lines = bf_index_lines_for(&counts, size, size);
		}
		if (size == last_size)
			bf_index_settle_lines(&lines, &before, 1);
		before = lines;
		for (uint32 i = 0; i < RANGES_OF_RATE; i++)
			result->rate += sb_blocked_fpr(SB_BF_LINE * 8, parameters->hashes,
										   items[i * size / RANGES_OF_RATE] / lines) *
				size / count / RANGES_OF_RATE;
		estimate->pages += times * (lines / BF_POSITIONS(size));
		result->groups += times;
	}
	result->groups = ceil(result->groups);
}

/* The pages of the index and the table that a look-up reads, if `holding` ranges of level 0 hold the value. */
static double
look_up(const BfLevelToSearch *index, int level_count, double holding, BlockNumber blocks)
{
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	BfPagesRead read;

	memcpy(levels, index, sizeof levels);
	for (int i = 0; i < level_count; i++)
		levels[i].holding = i == 0 ? Min(holding, levels[i].ranges) :
			levels[i].ranges * (1 - pow(1 - 1 / levels[i].ranges, holding));
	read = bf_index_pages_of_look_up(levels, level_count, blocks);
	return read.index + read.heap;
}

/* Adds the index on a leaf to the figures. */
static void
add_leaf(Estimate *estimate, Figures *figures)
{
	const Spread *spread = estimate->spread;
	const BlockNumber blocks = estimate->leaf->blocks;
	const double share = blocks / spread->sample->pages;
	const int	length = choose_length(estimate, figures);
	const double holding[LOOK_UPS] = {0, spread->rare[length] * share, spread->frequent[length] * share};
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS] = {{0}};
	BlockNumber lengths[BF_INDEX_MAX_LEVELS];
	uint32		count;
	double	   *ranges = ranges_of(estimate, length, &count);
	int			level = 0;
	double		sum = 0;

	estimate->pages = 1;
	bf_index_level_lengths(1 << length, lengths);
	do
	{
		const double items = bf_distinct_in(spread, lengths[level]);

		levels[level].length = lengths[level];
		levels[level].ranges = level == 0 ? ceil(blocks / (double) lengths[0]) : blocks / lengths[level];
		if (level == 0)
			build_level(estimate, 0, bf_index_level_pays(1, lengths[1], 0, blocks), ranges, count, &levels[0]);
		else
			build_level(estimate, level, false, &items, 1, &levels[level]);
		level++;
	} while (level < BF_INDEX_MAX_LEVELS && lengths[level] <= blocks &&
			 bf_index_level_pays(level, lengths[level], (uint32) levels[level - 1].groups, blocks));
	figures->bytes += estimate->pages * BLCKSZ;
	for (int i = 0; i < LOOK_UPS; i++)
		figures->pages[i] += look_up(levels, level, holding[i], blocks);
	for (uint32 i = 0; i < count; i++)
		sum += ranges[i];
	if (sum > 0)
		figures->unevenness = Max(figures->unevenness, bf_index_most_items(ranges, count) * count / sum);
	pfree(ranges);
}

static BfParameters
parameters_for(double rate)
{
	BfParameters parameters = {.false_positive_rate = rate};

	parameters.load = sb_bf_items_per_line(rate, &parameters.hashes);
	return parameters;
}

void
bf_estimate(const Spread *spread, double rate, bool are_keys, Figures *figures)
{
	const Sample *sample = spread->sample;
	const Sketch *sketch = spread->sketch;
	const SketchUnit *last = sketch->units + sketch->unit_count;
	Estimate	estimate = {
		.spread = spread,
		.parameters = {parameters_for(rate), parameters_for(bf_index_upper_rate(are_keys, rate))},
		.are_keys = are_keys,
		.end = sketch->units
	};

	*figures = (Figures) {.bytes = sample->empty_count * BLCKSZ};
	for (int i = 0; i < sample->leaf_count && sketch->unit_count > 0; i++)
	{
		estimate.leaf = &sample->leaves[i];
		estimate.units = estimate.end;
		while (estimate.end < last && estimate.end->leaf == i)
			estimate.end++;
		/* of a leaf of which no unit was read, the one before tells, or the first one */
		estimate.end = Max(estimate.end, sketch->units + 1);
		estimate.units = Min(estimate.units, estimate.end - 1);
		add_leaf(&estimate, figures);
	}
}
