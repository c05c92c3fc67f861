/*
 * estimate.c: asks an index while a query is planned.
 *
 * The planner's guess of how many rows a regular expression, an array or a value whose rows lie together will leave
 * is a share of the table. The index knows better. If the values that a query compares with are known when it is
 * planned, a few pages of the index are read, as its execution will read them (walk.c). If they are not known, one page
 * tells how much ranges have in common. (PostgreSQL asks B-trees for the ends of a column while it plans; see
 * get_actual_variable_range() in selfuncs.c.)
 *
 * The answer bounds the cost of the index's paths, and the pages that these read; the number of rows that
 * PostgreSQL expects stays. It is an estimate: it may be too small after rows were written, and nothing but a
 * choice between plans depends on it.
 *
 * EXPLAIN shows costs. So tables whose rows row-level security or a security barrier may hide are not asked, nor
 * are columns that the user may not read. No predicate lock is taken, and no scan is counted. An index that is
 * damaged, and a function of an operator class that fails, lead to no estimate, and to no error: a query that uses the
 * index raises it.
 */
#include "index/estimate.h"

#include "access/xact.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/attempt.h"
#include "index/geometry.h"
#include "index/keys.h"
#include "index/walk.h"

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
	uint32		shape;			/* a hash of which columns are compared, how, and with what: the same for all partitions */
	bool		is_known;
	BfEstimate	estimate;
} Answer;

/* Which share of the items of a column's ranges is in other ranges, too. Negative: that is not known. */
typedef struct Common
{
	Oid			index;
	int			column;
	uint32		name;			/* a hash of it, the same for all partitions */
	Index		parent;			/* as above */
	double		share;
} Common;

/* The answers of one statement. They are forgotten with the memory in which it is planned. */
typedef struct Answers
{
	const PlannerGlobal *statement;
	MemoryContext context;
	List	   *all;
	List	   *common;
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

/* The table in the query of which this one is a partition or child; or the table itself. Above it may be a UNION ALL. */
static Index
topmost_table(const PlannerInfo *root, const RelOptInfo *rel)
{
	Index		relid = rel->relid;

	while (root->append_rel_array != NULL && root->append_rel_array[relid] != NULL)
	{
		Index		parent = root->append_rel_array[relid]->parent_relid;

		if (planner_rt_fetch(parent, root)->rtekind != RTE_RELATION)
			break;
		relid = parent;
	}
	return relid;
}

/* May the user read this column of the index? Rights are those on the table that the query names. */
static bool
may_read(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	const RelOptInfo *rel = info->rel;
	Oid			child = planner_rt_fetch(rel->relid, root)->relid;
	Oid			table = planner_rt_fetch(topmost_table(root, rel), root)->relid;
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

/* ----------------------------------------------------------------- without errors */

/* Is this an error because of which there is no estimate? All others end the statement: it was cancelled, or has no memory. */
static bool
is_no_estimate(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) != ERRCODE_OPERATOR_INTERVENTION &&
		ERRCODE_TO_CATEGORY(sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES;
}

bool
bf_index_try(void (*work) (void *argument), void *argument)
{
	ErrorData  *error;

	if (IsInParallelMode())
	{
		/* A function plans a query of its own. No subtransaction can begin. */
		work(argument);
		return true;
	}
	error = bf_index_attempt(work, argument, is_no_estimate);
	if (error != NULL)
		FreeErrorData(error);
	return error == NULL;
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

/* ------------------------------------------------------------- the same in all partitions */

/* A hash of the name of an index's column in the table. */
static uint32
name_of(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	AttrNumber	attribute = info->indexkeys[column];
	char	   *name;
	uint32		hash;

	if (attribute == 0)
		return column;			/* an expression */
	name = get_attname(planner_rt_fetch(info->rel->relid, root)->relid, attribute, false);
	hash = string_hash(name, NAMEDATALEN);
	pfree(name);
	return hash;
}

/* So many bytes of a value tell it from others. */
#define BYTES_THAT_TELL 256

/* A hash of what a key compares with, and how. */
static uint32
hash_key(const ScanKeyData *key)
{
	uint32		hash = hash_combine(key->sk_flags, key->sk_strategy);
	int16		length;
	bool		by_value;

	if ((key->sk_flags & SK_ISNULL) != 0)
		return hash;
	get_typlenbyval((key->sk_flags & SK_SEARCHARRAY) != 0 ? ANYARRAYOID : key->sk_subtype, &length, &by_value);
	if (by_value)
		return hash_combine(hash, hash_bytes((const unsigned char *) &key->sk_argument, sizeof(Datum)));
	return hash_combine(hash, hash_bytes((const unsigned char *) DatumGetPointer(key->sk_argument),
										 Min(datumGetSize(key->sk_argument, by_value, length), BYTES_THAT_TELL)));
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

/* A search that is to be carried out in part. */
typedef struct Question
{
	Relation	index;
	BlockNumber heap_blocks;
	ScanKeyData *keys;
	int			count;
	const double *priors;
	bool		is_known;
	BfEstimate	estimate;
} Question;

static void
ask(void *argument)
{
	Question   *question = argument;

	question->is_known = bf_index_walk(question->index, question->heap_blocks, question->keys, question->count, question->priors,
									   &question->estimate);
}

/* May the index be asked at all? */
static bool
may_ask(PlannerInfo *root, const IndexOptInfo *info, Relation index)
{
	return enabled && index != NULL && info->rel->pages > 0 && ActiveSnapshotSet() && !may_hide_rows(root);
}

int
bf_index_estimate(PlannerInfo *root, const IndexOptInfo *info, Relation index, const List *clauses, const double *priors,
				  BfEstimate *estimate)
{
	ScanKeyData *keys = palloc(Max(list_length(clauses), 1) * sizeof(ScanKeyData));
	Answer		wanted = {.index = info->indexoid};
	Answer	   *answer;
	Answers    *known;
	const bool	is_child = info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL;
	int			count = 0;
	ListCell   *cell;

	if (!may_ask(root, info, index))
		return 0;
	foreach(cell, clauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, cell);
		RestrictInfo *qual = linitial_node(RestrictInfo, clause->indexquals);

		if (list_length(clause->indexquals) != 1 || !may_read(root, info, clause->indexcol) ||
			!make_key(root, info, clause->indexcol, (Node *) qual->clause, &keys[count]))
			continue;
		if (is_child)
			wanted.shape = hash_combine(wanted.shape, hash_combine(name_of(root, info, clause->indexcol), hash_key(&keys[count])));
		wanted.conditions = lappend(wanted.conditions, qual);
		count++;
	}
	if (count == 0)
		return 0;
	if (is_child)
		wanted.parent = topmost_table(root, info->rel);
	if (is_better_generic(root, wanted.parent))
		return 0;
	known = answers_of(root);
	answer = find_answer(known->all, &wanted);
	if (answer == NULL)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf index estimate", ALLOCSET_SMALL_SIZES);
		MemoryContext caller = MemoryContextSwitchTo(context);
		Question	question = {.index = index, .heap_blocks = info->rel->pages, .keys = keys, .count = count, .priors = priors};

		wanted.is_known = bf_index_try(ask, &question) && question.is_known;
		wanted.estimate = question.estimate;
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

/* ---------------------------------------------------------- values that are not known */

/* What was found before, or how it is with partitions of which enough were looked at. NULL: look. */
static const Common *
find_common(List *all, const Common *wanted)
{
	ListCell   *cell;
	int			children = 0;
	Common		mean = *wanted;

	foreach(cell, all)
	{
		const Common *common = lfirst(cell);

		if (common->index == wanted->index && common->column == wanted->column)
			return common;
		if (wanted->parent != 0 && common->parent == wanted->parent && common->name == wanted->name && common->share >= 0)
		{
			children++;
			mean.share += common->share;
		}
	}
	if (children < MOST_CHILDREN)
		return NULL;
	mean.share /= children;
	return memcpy(palloc(sizeof mean), &mean, sizeof mean);
}

typedef struct Look
{
	Relation	index;
	int			column;
	double		share;
} Look;

static void
look(void *argument)
{
	Look	   *at = argument;

	at->share = bf_index_common_items(at->index, bf_index_geometry(at->index), at->column);
}

double
bf_index_estimate_common(PlannerInfo *root, const IndexOptInfo *info, Relation index, int column)
{
	Common		wanted = {.index = info->indexoid, .column = column};
	const Common *common;

	if (!may_ask(root, info, index) || !may_read(root, info, column))
		return -1;
	if (info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
	{
		wanted.parent = topmost_table(root, info->rel);
		wanted.name = name_of(root, info, column);
	}
	common = find_common(answers_of(root)->common, &wanted);
	if (common == NULL)
	{
		Look		at = {.index = index, .column = column};
		MemoryContext caller = MemoryContextSwitchTo(root->planner_cxt);
		Answers    *known = answers_of(root);

		wanted.share = bf_index_try(look, &at) ? at.share : -1;
		common = memcpy(palloc(sizeof wanted), &wanted, sizeof wanted);
		known->common = lappend(known->common, (void *) common);
		MemoryContextSwitchTo(caller);
	}
	return common->share;
}

void
bf_index_estimate_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_index_estimates",
							 "Lets the planner ask bf indexes how much of a table a condition leaves.",
							 "Otherwise it goes by the table's statistics alone.",
							 &enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
