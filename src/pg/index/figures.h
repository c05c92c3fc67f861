/*
 * figures.h: what the planner uses of an index to estimate costs: how many ranges and groups each level has, how many
 * items a range has, and the false-positive rates. layout.h explains levels, ranges and groups.
 */
#ifndef STREAMBLOOM_PG_INDEX_FIGURES_H
#define STREAMBLOOM_PG_INDEX_FIGURES_H

#include "base/compat.h"

#include "nodes/pathnodes.h"
#include "utils/rel.h"

#include "index/sizes.h"

/* What the planner uses of one level. */
typedef struct BfLevelFigures
{
	double		pages_per_range;
	double		groups;
	double		covered;		/* the number of ranges that the groups have together */
	double		distinct[INDEX_MAX_KEYS];	/* items for which a range's filter was made, in each column */
} BfLevelFigures;

/* What the planner uses of an index. */
typedef struct BfIndexFigures
{
	int			levels;			/* at least 1 */
	BfLevelFigures level[BF_INDEX_MAX_LEVELS];
	double		rates[INDEX_MAX_KEYS];	/* the false-positive rate of each column on level 0 */
	double		upper_rate;		/* the rate of all columns on the levels above */
} BfIndexFigures;

/*
 * Sets *figures. `index` is NULL for an index that does not exist (an extension such as hypopg pretends that it does).
 * For such an index, and for one that is damaged, the figures are made up, and the result is false. Then the index must
 * not be asked anything more. (The error of a damaged index is raised when a query scans it. In parallel mode it is
 * raised here already.)
 */
extern bool bf_index_get_figures(IndexOptInfo *info, Relation index, BfIndexFigures *figures);

#endif
