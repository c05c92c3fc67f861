/*
 * estimate.c: asks an index while a query is planned.
 *
 * The planner's guess of how many rows a regular expression, an array or a value whose rows lie together will leave
 * is a share of the table. The index knows better. If the values that a query compares with are known when it is
 * planned, a few pages of the index are read, as its execution will read them: from the highest level down, spread
 * evenly over what is left there. What they leave is taken to be left everywhere. (PostgreSQL asks B-trees for the
 * ends of a column while it plans; see get_actual_variable_range() in selfuncs.c.)
 *
 * The answer bounds the cost of the index's paths, and the pages that these read; the number of rows that
 * PostgreSQL expects stays. It is an estimate: it may be too small after rows were written, and nothing but a
 * choice between plans depends on it.
 *
 * EXPLAIN shows costs. So tables whose rows row-level security or a security barrier may hide are not asked, nor
 * are columns that the user may not read. No predicate lock is taken, and no scan is counted.
 */
#include "index/search.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/estimate.h"

/* So many pages of an index are read at most, and so many items of a condition are looked for. */
#define MOST_PAGES 16
#define MOST_ITEMS 16

/* Of the partitions of a table so many are asked. The others are taken to be as these are in the mean. */
#define MOST_CHILDREN 8

static bool enabled = true;

/* ---------------------------------------------------- what was asked in this statement */

/* An answer, for an index and the conditions whose values are known. */
typedef struct Answer
{
	Oid			index;
	List	   *conditions;		/* RestrictInfos, as the planner has them */
	Index		parent;			/* the table in the query of which this one is a partition; or 0 */
	uint32		shape;			/* which columns are compared with which operators */
	bool		is_known;
	BfEstimate	estimate;
} Answer;

/* The answers of one statement. They are forgotten with the memory in which it is planned. */
typedef struct Answers
{
	const PlannerGlobal *statement;
	MemoryContext context;
	List	   *all;
	MemoryContextCallback forget;
} Answers;

static Answers *answers;

static void
forget_answers(void *argument)
{
	if (answers == argument)
		answers = NULL;
}

/*
 * The answers of this statement. A statement that is planned meanwhile takes their place: then some are asked for
 * twice.
 */
static Answers *
answers_of(PlannerInfo *root)
{
	if (answers == NULL || answers->statement != root->glob || answers->context != root->planner_cxt)
	{
		answers = MemoryContextAllocZero(root->planner_cxt, sizeof(Answers));
		answers->statement = root->glob;
		answers->context = root->planner_cxt;
		answers->forget.func = forget_answers;
		answers->forget.arg = answers;
		MemoryContextRegisterResetCallback(root->planner_cxt, &answers->forget);
	}
	return answers;
}

static bool
are_same(const List *a, const List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
		if (list_nth(a, i) != list_nth(b, i))
			return false;
	return true;
}

/* -------------------------------------------------------------- may the index be asked? */

/*
 * May rows of the table be hidden from the user? Then its costs must not tell of them, not even for operators that
 * are leakproof.
 */
static bool
may_hide_rows(PlannerInfo *root)
{
	if (root->qual_security_level > 0)
		return true;
	for (PlannerInfo *above = root->parent_root; above != NULL; above = above->parent_root)
	{
		ListCell   *cell;

		foreach(cell, above->parse->rtable)
			if (lfirst_node(RangeTblEntry, cell)->security_barrier)
				return true;
	}
	return false;
}

/* The table in the query of which this one is a partition or child; or the table itself. */
static Index
topmost_parent(const RelOptInfo *rel)
{
	return rel->top_parent_relids != NULL ? bms_singleton_member(rel->top_parent_relids) : rel->relid;
}

/* May the user read this column of the index? Rights are those on the table that the query names. */
static bool
may_read(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	const RelOptInfo *rel = info->rel;
	Oid			child = planner_rt_fetch(rel->relid, root)->relid;
	Oid			table = planner_rt_fetch(topmost_parent(rel), root)->relid;
	Oid			user = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	AttrNumber	attribute = info->indexkeys[column];

	if (pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK)
		return true;
	if (attribute <= 0)
		return false;			/* an expression, whose columns are not looked for */
	if (table != child)
		attribute = get_attnum(table, get_attname(child, attribute, false));
	return attribute > 0 && pg_attribute_aclcheck(table, attribute, user, ACL_SELECT) == ACLCHECK_OK;
}

/* ------------------------------------------------------------- what the index is asked */

/*
 * Makes a key of a condition, with the column of the index on its left, if what it compares with is known. Returns
 * false if not, or if that is NULL.
 */
static bool
make_key(PlannerInfo *root, const IndexOptInfo *info, int column, Node *clause, ScanKeyData *key)
{
	Oid			operator;
	Oid			left_type,
				right_type;
	int			strategy;
	Node	   *argument;
	int			flags = 0;

	memset(key, 0, sizeof *key);
	key->sk_attno = column + 1;
	if (IsA(clause, NullTest))
	{
		key->sk_flags = SK_ISNULL | SK_SEARCHNULL;
		return ((NullTest *) clause)->nulltesttype == IS_NULL;
	}
	if (IsA(clause, OpExpr))
	{
		operator = ((OpExpr *) clause)->opno;
		argument = get_rightop(clause);
		key->sk_collation = ((OpExpr *) clause)->inputcollid;
	}
	else if (IsA(clause, ScalarArrayOpExpr))
	{
		operator = ((ScalarArrayOpExpr *) clause)->opno;
		argument = lsecond(((ScalarArrayOpExpr *) clause)->args);
		key->sk_collation = ((ScalarArrayOpExpr *) clause)->inputcollid;
		flags = SK_SEARCHARRAY;
	}
	else
		return false;
	argument = estimate_expression_value(root, argument);
	if (!IsA(argument, Const) || ((Const *) argument)->constisnull)
		return false;
	get_op_opfamily_properties(operator, info->opfamily[column], false, &strategy, &left_type, &right_type);
	key->sk_flags = flags;
	key->sk_strategy = strategy;
	key->sk_subtype = right_type;
	key->sk_argument = ((Const *) argument)->constvalue;
	return true;
}

/* The sample of a condition's items that is looked for. Returns how many times as many there are. */
static double
sample_items(Condition *condition)
{
	const uint32 all = condition->count;

	if (condition->by_keys != NULL || all <= MOST_ITEMS)
		return 1;
	for (uint32 i = 0; i < MOST_ITEMS; i++)
		condition->hashes[i] = condition->hashes[(uint64) i * all / MOST_ITEMS];
	condition->count = MOST_ITEMS;
	return (double) all / MOST_ITEMS;
}

/* -------------------------------------------------------------------- the walk */

/* Pages of the heap that are left when a level was looked at. */
typedef struct Part
{
	uint64		first,
				end;
	double		weight;			/* so many times such pages are left */
	ItemSet    *items;
} Part;

typedef struct Walk
{
	Descent		descent;
	Size		words;			/* of the items of a part, of all conditions */
	int			count;			/* of the parts */
	int			room;
	Part	   *parts;
	double		index_pages;	/* that a search reads */
} Walk;

static void
add_part(Walk *next, uint64 first, uint64 end, double weight, const ItemSet *items)
{
	Size		size = next->words * sizeof(ItemSet);

	if (next->count == next->room)
	{
		next->room = Max(64, 2 * next->room);
		next->parts = next->parts == NULL ? palloc(next->room * sizeof(Part)) : repalloc(next->parts, next->room * sizeof(Part));
	}
	next->parts[next->count] = (Part) {.first = first, .end = end, .weight = weight, .items = palloc(size)};
	memcpy(next->parts[next->count++].items, items, size);
}

/*
 * The part that has the page at `place`, where the covered pages of all parts are counted by their weights. Sets
 * *page to it.
 */
static const Part *
find_part(const Walk *walk, double place, uint64 covered, uint64 *page)
{
	const Part *last = NULL;

	for (int i = 0; i < walk->count; i++)
	{
		const Part *part = &walk->parts[i];
		uint64		end = Min(part->end, covered);
		double		pages;

		if (end <= part->first)
			continue;
		pages = (end - part->first) * part->weight;
		last = part;
		if (place < pages)
		{
			*page = Min(part->first + (uint64) (place / part->weight), end - 1);
			return part;
		}
		place -= pages;
	}
	if (last != NULL)
		*page = Min(last->end, covered) - 1;
	return last;
}

/*
 * Looks at groups of a level, spread evenly over the parts that are left. The parts become those that are left
 * after it. Returns how many pages of the heap these are; `prior` is the share that is expected of a level, for
 * what was not looked at.
 */
static double
walk_level(Walk *walk, int level, double prior)
{
	Descent    *descent = &walk->descent;
	const BfLevel *of = &descent->geometry->level[level];
	const uint64 covered = (uint64) of->covered * of->pages_per_range;
	Walk		next = {.words = walk->words};
	uint64		seen[MOST_PAGES];
	int			visits = 0;
	double		inside = 0,		/* pages of the parts that groups of this level cover */
				outside = 0,
				examined = 0,	/* of the pages inside: those looked at, and of these those that are left */
				left = 0;
	const uint32 opened = descent->opened;

	for (int i = 0; i < walk->count; i++)
	{
		const Part *part = &walk->parts[i];

		inside += (Max(Min(part->end, covered), part->first) - part->first) * part->weight;
		outside += (part->end - Max(Min(part->end, covered), part->first)) * part->weight;
	}
	/* 7 and MOST_PAGES have no common divisor, so that the first few places are spread evenly too. */
	for (int i = 0; i < MOST_PAGES && inside > 0 && descent->opened < descent->most_opened && !descent->failed; i++)
	{
		uint64		page = 0;
		const Part *part = find_part(walk, inside * ((i * 7) % MOST_PAGES + 0.5) / MOST_PAGES, covered, &page);
		BfGroup		group;
		uint64		first,
					end;
		Mask		candidates;
		bool		again = false;

		bf_index_find_group(descent->geometry, level, page / of->pages_per_range, &group);
		first = Max(part->first, (uint64) group.first_range * of->pages_per_range);
		end = Min(Min(part->end, covered), ((uint64) group.first_range + group.ranges) * of->pages_per_range);
		for (int k = 0; k < visits; k++)
			again |= seen[k] == first;
		if (again)
			continue;
		seen[visits++] = first;
		bf_index_check_group(descent, &group, first, end, part->items, &candidates);
		examined += (end - first) * part->weight;
		for (uint64 range = first / of->pages_per_range; range * of->pages_per_range < end && !descent->failed; range++)
		{
			uint64		range_first = Max(range * of->pages_per_range, first);
			uint64		range_end = Min((range + 1) * of->pages_per_range, end);

			if (!bf_index_has_range(&candidates, range - group.first_range))
				continue;
			left += (range_end - range_first) * part->weight;
			if (level > 0)
				add_part(&next, range_first, range_end, part->weight,
						 &descent->search->level[level].found[(range - group.first_range) * walk->words]);
		}
	}
	if (inside > 0 && examined > 0)
	{
		const double unit = examined / visits;
		const bool	all = examined >= inside * 0.999;

		for (int i = 0; i < next.count; i++)
			next.parts[i].weight *= inside / examined;
		left = all ? left : inside * (left + prior * unit) / (examined + unit);
		walk->index_pages += (descent->opened - opened) * inside / examined;
	}
	else
		left = inside * prior;
	for (int i = 0; i < walk->count && level > 0; i++)
	{
		const Part *part = &walk->parts[i];

		if (part->end > covered)
			add_part(&next, Max(part->first, covered), part->end, part->weight, part->items);
	}
	walk->parts = next.parts;
	walk->count = next.count;
	walk->room = next.room;
	return left + outside;
}

/* Estimates which share of the heap's pages the search leaves. Returns false if a page is not what it should be. */
static bool
walk_down(Walk *walk, BlockNumber heap_blocks, const double *priors, BfEstimate *estimate)
{
	Descent    *descent = &walk->descent;
	const BfGeometry *geometry = descent->geometry;
	const int	top = geometry->levels - 1;
	double		left = heap_blocks;

	bf_index_prepare_levels(descent->search, geometry->levels);
	walk->words = (Size) descent->search->count * descent->search->words;
	add_part(walk, 0, heap_blocks, 1, descent->search->everything);
	for (int level = top; level >= 0 && left > 0; level--)
	{
		double		before = left;
		double		expected = level == top ? priors[level] : Min(1, priors[level] / Max(priors[level + 1], 1e-9));

		descent->most_opened = descent->opened + (MOST_PAGES - descent->opened) / (level + 1);
		left = walk_level(walk, level, expected);
		if (descent->failed)
			return false;
		/*
		 * The parts stand for those that were found. Where some are expected and none was found, the rest is
		 * expected too.
		 */
		if (walk->count == 0 && level > 0)
		{
			left = Min(left, before) * Min(1, priors[0] / Max(priors[level], 1e-9));
			break;
		}
	}
	estimate->share = Min(1, left / heap_blocks);
	estimate->index_pages = walk->index_pages;
	return true;
}

/* Asks the index. In a memory context that is forgotten afterwards. */
static bool
ask(Relation index, const RelOptInfo *rel, ScanKeyData *keys, int count, const double *priors, BfEstimate *estimate)
{
	Walk		walk = {.descent = {.index = index}};
	BfSearch   *search = bf_index_begin_search(keys, count, GetActiveSnapshot());
	double		more = 1;

	bf_index_hash_search(search, index);
	for (int i = 0; i < count; i++)
		more = Max(more, sample_items(&search->conditions[i]));
	walk.descent.search = search;
	walk.descent.index_blocks = RelationGetNumberOfBlocks(index);
	walk.descent.geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	*estimate = (BfEstimate) {0};
	if (bf_index_finds_nothing(search))
		return true;
	if (!search->trusted || walk.descent.geometry->levels == 0 || !walk_down(&walk, rel->pages, priors, estimate))
		return false;
	if (walk.descent.unasked)
		estimate->share = Min(estimate->share, priors[0]);
	if (more > 1)
	{
		estimate->share = 1 - pow(1 - estimate->share, more);
		estimate->index_pages = Min(estimate->index_pages * more, walk.descent.index_blocks);
	}
	return true;
}

/* --------------------------------------------------------------- for cost.c */

/*
 * What was answered before for the same, or how it is to be asked for partitions of which enough were asked. NULL:
 * ask.
 */
static Answer *
find_answer(List *all, const Answer *wanted)
{
	ListCell   *cell;
	int			children = 0;
	Answer		mean = *wanted;

	foreach(cell, all)
	{
		Answer	   *answer = lfirst(cell);

		if (answer->index == wanted->index && are_same(answer->conditions, wanted->conditions))
			return answer;
		if (wanted->parent != 0 && answer->parent == wanted->parent && answer->shape == wanted->shape && answer->is_known)
		{
			children++;
			mean.estimate.share += answer->estimate.share;
			mean.estimate.index_pages += answer->estimate.index_pages;
		}
	}
	if (children < MOST_CHILDREN)
		return NULL;
	mean.estimate.share /= children;
	mean.estimate.index_pages /= children;
	mean.is_known = true;
	mean.parent = 0;			/* it is no answer of its own */
	return memcpy(palloc(sizeof mean), &mean, sizeof mean);
}

/*
 * Is this a plan for certain parameters, over many partitions? To plan these takes longer than to leave them out
 * when a plan without parameters is executed (../chunks). PostgreSQL compares the costs of the two kinds of plans,
 * and must not find this one cheaper for what the indexes say.
 */
static bool
is_better_generic(PlannerInfo *root, Index parent)
{
	return parent != 0 && root->glob->boundParams != NULL && root->simple_rel_array[parent]->nparts > MOST_CHILDREN;
}

int
bf_index_estimate(PlannerInfo *root, const IndexOptInfo *info, Relation index, const List *clauses, const double *priors,
				  BfEstimate *estimate)
{
	ScanKeyData *keys = palloc(Max(list_length(clauses), 1) * sizeof(ScanKeyData));
	Answer		wanted = {.index = info->indexoid};
	Answer	   *answer;
	Answers    *known;
	MemoryContext caller;
	int			count = 0;
	ListCell   *cell;

	if (!enabled || index == NULL || info->rel->pages == 0 || !ActiveSnapshotSet() || may_hide_rows(root))
		return 0;
	foreach(cell, clauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, cell);
		RestrictInfo *qual = linitial_node(RestrictInfo, clause->indexquals);

		if (list_length(clause->indexquals) != 1 || !may_read(root, info, clause->indexcol) ||
			!make_key(root, info, clause->indexcol, (Node *) qual->clause, &keys[count]))
			continue;
		wanted.shape = (wanted.shape * 31 + clause->indexcol) * 31 + keys[count].sk_strategy;
		wanted.conditions = lappend(wanted.conditions, qual);
		count++;
	}
	if (count == 0)
		return 0;
	if (info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
		wanted.parent = topmost_parent(info->rel);
	if (is_better_generic(root, wanted.parent))
		return 0;
	known = answers_of(root);
	answer = find_answer(known->all, &wanted);
	if (answer == NULL)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf index estimate", ALLOCSET_SMALL_SIZES);

		caller = MemoryContextSwitchTo(context);
		wanted.is_known = ask(index, info->rel, keys, count, priors, &wanted.estimate);
		MemoryContextSwitchTo(root->planner_cxt);
		answer = memcpy(palloc(sizeof wanted), &wanted, sizeof wanted);
		answer->conditions = list_copy(wanted.conditions);
		/* Another statement may have been planned meanwhile, by a function of an operator class. */
		known = answers_of(root);
		known->all = lappend(known->all, answer);
		MemoryContextSwitchTo(caller);
		MemoryContextDelete(context);
	}
	*estimate = answer->estimate;
	return answer->is_known ? count : 0;
}

void
bf_index_estimate_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_index_estimates",
							 "Lets the planner ask bf indexes how much of a table a condition leaves.",
							 "Otherwise it goes by the table's statistics alone.",
							 &enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
