/*
 * advise.c: the SQL function bf_index_advise(). It estimates from a sample of a table's pages how many bytes indexes on
 * the table's columns would take, and how many pages look-ups in them would read.
 *
 * The sample (sample.c) gives for each column the number of items of each range that was read, and how often and
 * where the column's values occur. If the operator class has keys inside values (such as the elements of an array),
 * the keys are the items, and "value" means a key in this file. From the sample model.c computes:
 *
 * - the bytes of a bf index on this column alone. The index's groups are computed from the ranges as build.c makes
 *   groups, by the same functions for the sizes. If all of the table was read, level 0 is about as large as that of a
 *   real index, which has the items of some deleted rows, too. The levels above are estimated in any case;
 * - the bytes of a B-tree: its leaves are filled in the way of nbtsort.c, and equal values share tuples;
 * - the bytes of a GIN index with the same keys, or with the trigrams of a text (model_gin.c);
 * - the pages that a look-up reads: those of the index, level by level, and those of the table's ranges.
 *
 * If the table is partitioned, leaves.c chooses the partitions that are sampled. column_advice.c adds up what the
 * samples say about a column, and judge.c says whether an index on it pays.
 */
#include "base/compat.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/rls.h"

#include "advisor/advice.h"
#include "advisor/leaves.h"
#include "advisor/sample.h"
#include "base/call.h"
#include "index/functions.h"
#include "index/handler.h"
#include "index/keys.h"

/* ------------------------------------------------------------------ rights */

/* Raises an error if row-level security would hide rows of the table from the user. */
static void
check_rights(Oid table, Form_pg_class form)
{
	if (check_enable_rls(table, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot sample table \"%s\" under row-level security", NameStr(form->relname)),
				 errdetail("Its policies would not be applied to its rows."),
				 errhint("Ask as a role that row-level security does not apply to.")));
}

static bool
may_read_column(Oid table, AttrNumber attnum)
{
	return pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(table, attnum, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/*
 * Raises an error if this is no table that can be sampled, if the user may read none of its columns, or if row-level
 * security hides rows from the user. Called before the table is locked, and again when the table is locked.
 */
static void
check_table(Oid table)
{
	FormData_pg_class form;

	if (!bf_index_class_form(table, &form))
		bf_index_refuse_missing(table);
	if (form.relkind != RELKIND_RELATION && form.relkind != RELKIND_MATVIEW &&
		form.relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", NameStr(form.relname)),
				 errhint("Name a table, a partitioned table or a materialized view.")));
	if (form.relpersistence == RELPERSISTENCE_TEMP && isOtherTempNamespace(form.relnamespace))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions"),
				 errdetail("Another session made table \"%s\".", NameStr(form.relname)),
				 errhint("Call bf_index_advise() in that session.")));
	if (pg_class_aclcheck(table, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(table, GetUserId(), ACL_SELECT, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(form.relkind), NameStr(form.relname));
	check_rights(table, &form);
}

/* ------------------------------------------------------------------ columns */

/*
 * Returns the names given by the user, as an array. The argument is an array, or a text with one name, or a text such
 * as '{host,path}', which is read as an array. Returns NULL if the argument is NULL.
 */
static ArrayType *
names_argument(FunctionCallInfo fcinfo, int argno)
{
	Datum		name;
	char	   *written;

	if (PG_ARGISNULL(argno))
		return NULL;
	if (get_fn_expr_argtype(fcinfo->flinfo, argno) != TEXTOID)
		return PG_GETARG_ARRAYTYPE_P(argno);
	name = PG_GETARG_DATUM(argno);
	written = TextDatumGetCString(name);
	if (written[0] == '{')
	{
		Oid			input;
		Oid			parameter;

		getTypeInputInfo(TEXTARRAYOID, &input, &parameter);
		return DatumGetArrayTypeP(OidInputFunctionCall(input, written, parameter, -1));
	}
	return construct_array(&name, 1, TEXTOID, -1, false, TYPALIGN_INT);
}

/* Finds the columns that were asked for: those that are named, or all that the user may read. Returns their number. */
static int
choose_columns(Relation table, ArrayType *names, SampleColumn **columns)
{
	TupleDesc	descriptor = RelationGetDescr(table);
	int			count = 0;

	*columns = MemoryContextAllocHuge(CurrentMemoryContext, (Size) descriptor->natts * sizeof(SampleColumn) + 1);
	memset(*columns, 0, (Size) descriptor->natts * sizeof(SampleColumn));
	if (names != NULL)
	{
		Datum	   *elements;
		bool	   *nulls;
		int			asked;

		deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &asked);
		for (int i = 0; i < asked; i++)
		{
			const char *name = nulls[i] ? NULL : TextDatumGetCString(elements[i]);
			AttrNumber	attnum = name == NULL ? InvalidAttrNumber : get_attnum(RelationGetRelid(table), name);

			if (name == NULL)
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("the name of a column must not be NULL"),
						 errhint("Name columns of the table, or leave them out for all.")));
			if (attnum <= 0)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 errmsg("column \"%s\" of relation \"%s\" does not exist", name, RelationGetRelationName(table)),
						 errhint("Name columns of the table, or leave them out for all.")));
			if (!may_read_column(RelationGetRelid(table), attnum))
				aclcheck_error_col(ACLCHECK_NO_PRIV, OBJECT_COLUMN, RelationGetRelationName(table), name);
			for (int before = 0; before < count; before++)
				if ((*columns)[before].attnum == attnum)
					ereport(ERROR,
							(errcode(ERRCODE_DUPLICATE_COLUMN),
							 errmsg("column \"%s\" is named twice", name),
							 errhint("Name each column once.")));
			bf_index_sample_column(&(*columns)[count++], TupleDescAttr(descriptor, attnum - 1), CurrentMemoryContext);
		}
		return count;
	}
	for (int i = 0; i < descriptor->natts; i++)
		if (!TupleDescAttr(descriptor, i)->attisdropped && may_read_column(RelationGetRelid(table), i + 1))
			bf_index_sample_column(&(*columns)[count++], TupleDescAttr(descriptor, i), CurrentMemoryContext);
	return count;
}

/* ------------------------------------------------------------------ the result */

/* Rounds an estimate to tenths, so that it does not look more exact than it is. */
static double
in_tenths(double estimate)
{
	return rint(estimate * 10) / 10;
}

/*
 * Returns the name of a valid bf index on the column, without a predicate, whose items are values or keys as those of
 * the advised index are; NULL if there is none.
 */
static const char *
index_of_column(Relation table, const SampleColumn *column)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(table), column->name);
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(table))
	{
		Relation	index = try_relation_open(lfirst_oid(cell), AccessShareLock);
		const char *name = NULL;

		if (index == NULL)
			continue;
		if (index->rd_rel->relam == bf_index_am_oid() && index->rd_index->indisvalid &&
			RelationGetIndexPredicate(index) == NIL)
			for (int i = 0; i < index->rd_index->indnkeyatts && name == NULL; i++)
				if (index->rd_index->indkey.values[i] == attnum &&
					bf_index_has_keys(index, i) == column->items_are_keys)
					name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(index)),
													  RelationGetRelationName(index));
		relation_close(index, AccessShareLock);
		if (name != NULL)
			return name;
	}
	return NULL;
}

/* Returns the command CREATE INDEX, which means the same with any search_path. */
static const char *
create_index(Relation table, const SampleColumn *column, const char *options)
{
	const char *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)),
												  RelationGetRelationName(table));

	return psprintf("CREATE INDEX ON %s USING bf (%s%s%s)%s", name, quote_identifier(column->name),
					column->opclass != NULL ? " " : "", column->opclass != NULL ? column->opclass : "", options);
}

/* Puts the row of a column into the result. */
static void
put_column(ReturnSetInfo *set, Relation table, const SampleColumn *column, const Advice *advice)
{
	Datum		values[13];
	bool		nulls[13] = {false};
	int			i = 0;
	const bool	lower = bf_index_lower_rate_pays(column, advice);
	const Figures *figures = lower ? &advice->bf_lower : &advice->bf;
	const double distinct = Max(1, Min(advice->distinct, advice->items));
	bool		pays;
	const char *why = bf_index_judge(table, column, advice, figures, &pays);
	const char *index = pays ? index_of_column(table, column) : NULL;

	if (index != NULL)
	{
		why = psprintf("has the index %s; %s", index, why);
		pays = false;
	}

	memset(nulls, column->refused != NULL || advice->rows < 1, sizeof nulls);
	nulls[0] = false;
	values[i++] = CStringGetTextDatum(column->name);
	values[i++] = Int64GetDatum((int64) rint(distinct));
	values[i++] = Float8GetDatum(in_tenths(advice->items / distinct));
	values[i++] = Float8GetDatum(in_tenths(Max(1, advice->value_pages / distinct)));
	values[i++] = Int64GetDatum((int64) rint(advice->heap_pages));
	values[i++] = Int64GetDatum((int64) rint(figures->bytes));
	nulls[i] |= !advice->btree_possible;
	values[i++] = Int64GetDatum((int64) rint(advice->btree_bytes));
	nulls[i] |= !advice->gin_possible;
	values[i++] = Int64GetDatum((int64) rint(advice->gin_bytes));
	values[i++] = Float8GetDatum(in_tenths(figures->pages_absent));
	values[i++] = Float8GetDatum(in_tenths(figures->pages_absent + figures->rare_extra));
	values[i++] = Float8GetDatum(in_tenths(figures->pages_frequent));
	nulls[i] = false;
	values[i++] = CStringGetTextDatum(why);
	nulls[i] = !pays;
	values[i] = pays ? CStringGetTextDatum(create_index(table, column, lower ? advice->lower_options : "")) : (Datum) 0;
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

/* ------------------------------------------------------------------ partitions */

/*
 * The samples read at most about this many bytes of out-of-line values. Choosing the length of ranges may read a
 * quarter more.
 */
#define MOST_BYTES_FETCHED (UINT64CONST(256) * 1024 * 1024)

/*
 * Finds the columns in a partition, which may have other numbers there than in the table. Returns false if one is
 * missing.
 */
static bool
find_columns(const Sample *sample, Relation leaf, AttrNumber *numbers)
{
	for (int i = 0; i < sample->column_count; i++)
	{
		numbers[i] = get_attnum(RelationGetRelid(leaf), sample->columns[i].name);
		if (numbers[i] <= 0)
			return false;
	}
	return true;
}

/* Returns the number of pages of a table's out-of-line values. */
static BlockNumber
toast_blocks_of(Relation heap)
{
	Relation	toast = OidIsValid(heap->rd_rel->reltoastrelid) ?
		try_relation_open(heap->rd_rel->reltoastrelid, AccessShareLock) : NULL;
	BlockNumber blocks;

	if (toast == NULL)
		return 0;
	blocks = RelationGetNumberOfBlocks(toast);
	relation_close(toast, AccessShareLock);
	return blocks;
}

/* Samples some of the partitions, or the table itself, and adds up the advice for each column. */
static void
sample_leaves(Sample *sample, Leaf *leaves, int count, double pages, uint32 most, Advice *advice)
{
	const Leaf *chosen[MOST_PARTITIONS];
	Weight		weights[MOST_PARTITIONS];
	double		pages_chosen,
				pages_read = 0;
	const int	sampled = bf_index_choose_leaves(leaves, count, pages, chosen, weights, &pages_chosen);
	AttrNumber *numbers = palloc(Max(sample->column_count, 1) * sizeof(AttrNumber));

	for (int i = 0; i < sampled; i++)
	{
		const Leaf *leaf = chosen[i];
		Relation	heap = try_relation_open(leaf->oid, AccessShareLock);

		if (heap == NULL)
			continue;
		if (find_columns(sample, heap, numbers))
		{
			sample->is_partition = heap->rd_rel->relispartition;
			sample->toast_blocks = toast_blocks_of(heap);
			for (int c = 0; c < sample->column_count; c++)
				sample->columns[c].attnum = numbers[c];
			/*
			 * The bytes that earlier partitions have left are shared equally among this partition and those that come
			 * next. If nothing is left, the partition's sample ends with the first row that has an out-of-line value.
			 */
			sample->most_fetched = sample->bytes_fetched +
				Max(1, (MOST_BYTES_FETCHED - Min(MOST_BYTES_FETCHED, sample->bytes_fetched)) / (sampled - i));
			bf_index_sample_table(sample, heap, (BlockNumber) (most * (leaf->pages / pages_chosen)));
			for (int c = 0; c < sample->column_count; c++)
				if (sample->columns[c].refused == NULL)
				{
					bf_index_add_advice(sample, &sample->columns[c], &weights[i], &advice[c]);
					if (count == 1)
						bf_index_set_rare_extra(bf_index_ranges_of_rare_value(&sample->columns[c], false,
																			  sample->units,
																			  bf_index_times_read(sample)),
												&advice[c]);
				}
			pages_read += sample->pages_read;
			bf_index_forget_sample(sample);
		}
		relation_close(heap, AccessShareLock);
	}
	/*
	 * A value can be in several partitions. So the number of distinct values and the ranges of a rare value are
	 * estimated from all partitions together.
	 */
	for (int c = 0; c < sample->column_count && count > 1; c++)
		if (sample->columns[c].refused == NULL)
		{
			ValueStats	stats;

			bf_index_sample_values(&sample->columns[c], true, &stats);
			advice[c].distinct = bf_index_distinct_in_share(&stats, pages_read / pages);
			bf_index_set_rare_extra(bf_index_ranges_of_rare_value(&sample->columns[c], true, sample->units,
																  pages / Max(pages_read, 1)), &advice[c]);
		}
}

/*
 * The most pages of a sample; the most values that are kept for a column; and the most that are kept for all columns
 * together, except that each column may have 1,024.
 */
#define MOST_SAMPLE_PAGES 1048576
#define MOST_KEPT_VALUES 65536
#define MOST_KEPT_IN_ALL 1000000

SB_FUNCTION(bf_index_advise);
Datum
bf_index_advise(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			oid;
	int32		most;
	Relation	table;
	Sample		sample = {0};
	Advice	   *advice;
	Leaf	   *leaves;
	int			leaf_count,
				empty_count;
	double		pages;

	begin_rows(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return (Datum) 0;
	oid = PG_GETARG_OID(0);
	most = PG_GETARG_INT32(2);
	if (most < 2 * SAMPLE_UNIT || most > MOST_SAMPLE_PAGES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of pages of the sample out of range: %d", most),
				 errhint("It may be from %d to %d.", 2 * SAMPLE_UNIT, MOST_SAMPLE_PAGES)));
	/*
	 * Rights are checked before the lock is taken, and again afterwards, because they may have changed during the
	 * wait.
	 */
	check_table(oid);
	table = try_relation_open(oid, AccessShareLock);
	if (table == NULL)
		bf_index_refuse_missing(oid);
	check_table(oid);
	sample.column_count = choose_columns(table, names_argument(fcinfo, 1), &sample.columns);
	sample.most_kept = Min(MOST_KEPT_VALUES, Max(1024, MOST_KEPT_IN_ALL / Max(sample.column_count, 1)));
	advice = palloc0(Max(sample.column_count, 1) * sizeof(Advice));
	leaves = bf_index_find_leaves(oid, &leaf_count, &empty_count, &pages);
	for (int c = 0; c < sample.column_count; c++)
	{
		/* an index on an empty partition has one page; a GIN index has two */
		advice[c].bf.bytes = advice[c].bf_lower.bytes = advice[c].btree_bytes = (double) empty_count * BLCKSZ;
		advice[c].gin_bytes = (double) empty_count * 2 * BLCKSZ;
		advice[c].btree_possible = advice[c].gin_possible = true;
		advice[c].parts = palloc(MOST_PARTITIONS * sizeof(PartModels));
		if (leaf_count > 1)
			bf_index_keep_all_values(&sample.columns[c], CurrentMemoryContext);
	}
	sample.context = AllocSetContextCreate(CurrentMemoryContext, "bf sample", ALLOCSET_DEFAULT_SIZES);
	sample_leaves(&sample, leaves, leaf_count, pages, most, advice);
	for (int c = 0; c < sample.column_count; c++)
		put_column(set, table, &sample.columns[c], &advice[c]);
	MemoryContextDelete(sample.context);
	relation_close(table, AccessShareLock);
	return (Datum) 0;
}
