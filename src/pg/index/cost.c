/*
 * cost.c: estimates what a scan of a bf index costs, and how much of the heap it leaves to be read.
 *
 * Let a value have the share s of all rows. If its rows are strewn over the table, they are in at most s * rows
 * ranges. If equal values lie together, they are in about the share s * d of the ranges, where d is the number of
 * distinct values in a range; the size of the filters tells d. The smaller of the two estimates is used.
 *
 * The index is searched from the highest level down, so the pages that it costs are those of the highest level, and on
 * each level below those of the groups that lie in ranges which may have the item.
 *
 * The planner computes the cost of the heap from the selectivity, as if the rows were strewn over its pages. Here whole
 * ranges are read, so the planner is given the selectivity that leads it to the right number of pages.
 */
#include "index/bf_index.h"

#include <math.h>

#include "access/relation.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/* Comparing one item with the filters of one group takes as much time as this many operators. */
#define OPERATORS_PER_GROUP 10

/* What the planner uses of one level. */
typedef struct LevelFigures
{
	double		pages_per_range;
	double		groups;
	double		covered;		/* the number of ranges that the groups have together */
	double		distinct[INDEX_MAX_KEYS];	/* of each column: the items for which a range's filter was made */
} LevelFigures;

/* What the planner uses of an index. */
typedef struct IndexFigures
{
	int			levels;			/* at least 1 */
	LevelFigures level[BF_INDEX_MAX_LEVELS];
	double		rates[INDEX_MAX_KEYS];	/* the false-positive rate of each column on level 0 */
	double		upper_rate;		/* on the levels above */
} IndexFigures;

/*
 * The figures of an index that does not exist: an extension such as hypopg pretends that it does. They are those of level
 * 0 that it would have.
 */
static void
invent_figures(IndexOptInfo *info, IndexFigures *figures)
{
	LevelFigures *level = &figures->level[0];

	figures->levels = 1;
	figures->upper_rate = BF_INDEX_UPPER_FPR;
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
get_level_figures(const BfGeometry *geometry, int number, LevelFigures *figures)
{
	const BfLevel *level = &geometry->level[number];

	figures->pages_per_range = level->pages_per_range != 0 ? level->pages_per_range : BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	figures->groups = level->groups;
	figures->covered = level->covered;
	for (int column = 0; column < geometry->columns; column++)
	{
		double		lines = 0;

		for (uint32 i = level->first_place; i < level->first_place + level->places; i++)
			lines += (double) geometry->lines[i * geometry->columns + column] * geometry->place[i].ranges *
				geometry->place[i].groups;
		figures->distinct[column] =
			lines / Max(level->covered, 1) * bf_index_parameters(geometry, number, column)->load;
	}
}

static void
get_figures(IndexOptInfo *info, IndexFigures *figures)
{
	Relation	index;
	const BfGeometry *geometry;

	memset(figures, 0, sizeof *figures);
	if (info->hypothetical)
	{
		invent_figures(info, figures);
		return;
	}
	/* the planner holds a lock on it */
	index = index_open(info->indexoid, NoLock);
	geometry = bf_index_geometry(index);
	if ((double) geometry->level[0].covered * geometry->level[0].pages_per_range < info->rel->pages)
		geometry = bf_index_current_geometry(index);
	figures->levels = Max(geometry->levels, 1);
	figures->upper_rate = geometry->upper.false_positive_rate;
	for (int column = 0; column < geometry->columns; column++)
		figures->rates[column] = geometry->column[column].false_positive_rate;
	for (int level = 0; level < figures->levels; level++)
		get_level_figures(geometry, level, &figures->level[level]);
	index_close(index, NoLock);
}

/* Estimates the share of a level's ranges that have rows which satisfy a clause of this selectivity. */
static double
share_of_ranges(const LevelFigures *figures, int column, double selectivity, double rows, double ranges)
{
	double		strewn = 1 - pow(1 - 1 / ranges, selectivity * rows);
	double		together = selectivity * figures->distinct[column];

	/* At least one range: the planner cannot know that a value does not occur. */
	return Min(1, Max(Min(strewn, together), 1 / ranges));
}

/* A condition that the index is asked about. */
typedef struct Clause
{
	int			column;
	double		items;			/* that are searched for */
	double		selectivity;
} Clause;

/* Which share of a level's ranges does a search leave? */
static double
share_left(const IndexFigures *figures, int number, const Clause *clauses, int count, double rows, double heap_pages)
{
	const LevelFigures *level = &figures->level[number];
	double		ranges = Max(ceil(heap_pages / level->pages_per_range), 1);
	double		share = 1;

	for (int i = 0; i < count; i++)
	{
		const Clause *clause = &clauses[i];
		double		rate = number == 0 ? figures->rates[clause->column] : figures->upper_rate;

		/* Each item is also found in some ranges that do not have it. */
		share = Min(share, share_of_ranges(level, clause->column, clause->selectivity, rows, ranges) + clause->items * rate);
	}
	return share;
}

/*
 * How many groups of all levels does a search visit? On a level those that lie in ranges which are left of the level above,
 * and those that no range of the level above covers.
 */
static double
groups_visited(const IndexFigures *figures, const Clause *clauses, int count, double rows, double heap_pages)
{
	double		visited = 0;
	double		left = 1;		/* the share of the groups of this level that is visited */

	for (int level = figures->levels - 1; level >= 0; level--)
	{
		double		groups = figures->level[level].groups;

		visited += groups * left;
		if (level > 0)
		{
			double		below = Max(figures->level[level - 1].groups, 1);
			double		covered = Min(1, figures->level[level].covered * figures->level[level].pages_per_range / heap_pages);
			double		ranges = figures->level[level].covered * left *
				share_left(figures, level, clauses, count, rows, heap_pages);

			/* A range lies in one group of the level below, or across a border. */
			left = Min(1, Min(ranges * 1.5, below) / below * covered + (1 - covered));
		}
	}
	return visited;
}

void
bf_index_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
			  Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	List	   *quals = get_quals_from_indexclauses(path->indexclauses);
	Clause	   *clauses = palloc(Max(list_length(path->indexclauses), 1) * sizeof(Clause));
	int			count = 0;
	double		rows = Max(info->rel->tuples, 1);
	double		heap_pages = Max(info->rel->pages, 1);
	double		share,
				items_searched = 0,
				groups,
				uncovered,
				rechecked,
				wanted;
	double		qual_selectivity;
	double		random_page_cost;
	QualCost	qual_cost;
	IndexFigures figures;
	ListCell   *cell;

	get_figures(info, &figures);
	uncovered = Max(0, 1 - figures.level[0].covered * figures.level[0].pages_per_range / heap_pages);
	qual_selectivity = clauselist_selectivity(root, add_predicate_to_index_quals(info, quals), info->rel->relid,
											  JOIN_INNER, NULL);
	foreach(cell, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, cell);
		Node	   *expression = (Node *) clause->rinfo->clause;
		Clause	   *asked = &clauses[count];

		if (IsA(expression, NullTest) && ((NullTest *) expression)->nulltesttype == IS_NOT_NULL)
			continue;
		asked->column = clause->indexcol;
		asked->items = 1;
		if (IsA(expression, ScalarArrayOpExpr))
			asked->items = Max(1, sb_estimate_array_length(root, lsecond(((ScalarArrayOpExpr *) expression)->args)));
		asked->selectivity = clauselist_selectivity(root, list_make1(clause->rinfo), info->rel->relid, JOIN_INNER, NULL);
		items_searched += asked->items;
		count++;
	}
	share = share_left(&figures, 0, clauses, count, rows, heap_pages);
	share = Min(1, uncovered + (1 - uncovered) * share);
	groups = groups_visited(&figures, clauses, count, rows, heap_pages);
	pfree(clauses);

	/*
	 * The scan reads share * heap_pages pages. The planner estimates that N rows on T pages are on 2TN / (2T + N) of
	 * them (Mackert and Lohman's formula). This is solved for N.
	 */
	wanted = Min(share * heap_pages, heap_pages);
	rechecked = share * rows;
	*selectivity = share >= 1 ? 1 : 2 * heap_pages * wanted / (2 * heap_pages - wanted) / rows;
	*selectivity = Min(1, Max(*selectivity, Min(qual_selectivity, share)));
	*correlation = 1;			/* bitmap scans do not use it */

	get_tablespace_page_costs(info->reltablespace, &random_page_cost, NULL);
	*pages = Min(groups * Max(items_searched, 1), Max(info->pages, 1));
	cost_qual_eval(&qual_cost, quals, root);
	/*
	 * A page that a nested loop reads again and again stays in the cache. PostgreSQL reckons so for other indexes
	 * too.
	 */
	if (loop_count > 1)
		*total = index_pages_fetched(*pages * loop_count, info->pages, info->pages, root) * random_page_cost /
			loop_count;
	else
		*total = *pages * random_page_cost;
	*total += groups * items_searched * OPERATORS_PER_GROUP * cpu_operator_cost;
	/*
	 * All rows on the pages are compared with the conditions again; the planner counts only those that it expects to
	 * match.
	 */
	*total += Max(0, rechecked - *selectivity * rows) * (cpu_tuple_cost + qual_cost.per_tuple);
	*total += wanted * cpu_operator_cost;
	*startup = qual_cost.startup;
	*total += *startup;
}
