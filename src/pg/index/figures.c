/*
 * figures.c: computes from the geometry of an index (geometry.h) the figures that the planner uses (figures.h). Makes
 * figures up for an index that does not exist or cannot be read.
 */
#include "index/figures.h"

#include <math.h>

#include "index/attempt.h"
#include "index/geometry.h"
#include "index/layout.h"

/*
 * Makes up figures for an index that is damaged or does not exist (an extension such as hypopg pretends that it
 * does): those of an index that has level 0 only.
 */
static void
invent_figures(IndexOptInfo *info, BfIndexFigures *figures)
{
	BfLevelFigures *level = &figures->level[0];

	figures->levels = 1;
	figures->upper_rate = bf_index_upper_rate(false, BF_INDEX_DEFAULT_FPR);
	level->pages_per_range = BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	level->covered = ceil(info->rel->pages / level->pages_per_range);
	level->groups = ceil(level->covered / BF_INDEX_MAX_RANGES);
	for (int column = 0; column < info->nkeycolumns; column++)
	{
		level->distinct[column] = info->rel->tuples / Max(level->covered, 1);
		figures->rates[column] = BF_INDEX_DEFAULT_FPR;
	}
}

/* Reads the figures of one level. */
static void
get_level_figures(const BfGeometry *geometry, int number, BfLevelFigures *figures)
{
	const BfLevel *level = &geometry->level[number];

	figures->pages_per_range = level->pages_per_range != 0 ? level->pages_per_range : BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	figures->groups = level->groups;
	figures->covered = level->covered;
	for (int column = 0; column < geometry->columns; column++)
	{
		double		lines = 0;

		for (uint32 i = level->first_stretch; i < level->first_stretch + level->stretches; i++)
			lines += (double) geometry->lines[i * geometry->columns + column] * geometry->stretch[i].ranges *
				geometry->stretch[i].groups;
		figures->distinct[column] =
			lines / Max(level->covered, 1) * bf_index_parameters(geometry, number, column)->load;
	}
}

/* The argument of read_figures(). */
typedef struct Reading
{
	IndexOptInfo *info;
	Relation	index;
	BfIndexFigures *figures;
} Reading;

static void
read_figures(void *argument)
{
	const Reading *reading = argument;
	BfIndexFigures *figures = reading->figures;
	const BfGeometry *geometry = bf_index_geometry(reading->index);

	if ((double) geometry->level[0].covered * geometry->level[0].pages_per_range < reading->info->rel->pages)
		geometry = bf_index_current_geometry(reading->index);
	figures->levels = Max(geometry->levels, 1);
	figures->upper_rate = geometry->upper.false_positive_rate;
	for (int column = 0; column < geometry->columns; column++)
		figures->rates[column] = geometry->column[column].false_positive_rate;
	for (int level = 0; level < figures->levels; level++)
		get_level_figures(geometry, level, &figures->level[level]);
}

/* Does the relation cache have all that the figures come from? Then nothing is read, and nothing can fail. */
static bool
are_figures_cached(const IndexOptInfo *info, Relation index)
{
	const BfGeometry *geometry = index->rd_amcache;

	return geometry != NULL &&
		(double) geometry->level[0].covered * geometry->level[0].pages_per_range >= info->rel->pages;
}

bool
bf_index_get_figures(IndexOptInfo *info, Relation index, BfIndexFigures *figures)
{
	Reading		reading = {.info = info, .index = index, .figures = figures};

	memset(figures, 0, sizeof *figures);
	if (index != NULL && are_figures_cached(info, index))
	{
		read_figures(&reading);
		return true;
	}
	if (index != NULL && bf_index_try(read_figures, &reading))
		return true;
	invent_figures(info, figures);
	return false;
}
