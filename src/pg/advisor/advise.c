/*
 * advise.c: the SQL function bf_index_advise(). It reads units of pages that are spread over the table and its
 * partitions (sample.c), keeps of each column which items are on which of these pages (sketch.c), and computes from
 * that what indexes would take and read (estimate.c, peers.c). judge.c says whether a bf index pays. Nothing is
 * written, so it works on a standby. "Value" means a key if the operator class takes keys out of values.
 */
#include "base/compat.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/timestamp.h"

#include "advisor/advisor.h"
#include "base/call.h"
#include "base/times.h"
#include "index/functions.h"
#include "index/handler.h"
#include "index/layout.h"

/* ------------------------------------------------------------------ rights */

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
	if (check_enable_rls(table, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot sample table \"%s\" under row-level security", NameStr(form.relname)),
				 errdetail("Its policies would not be applied to its rows."),
				 errhint("Ask as a role that row-level security does not apply to.")));
}

/* ------------------------------------------------------------------ columns */

/* Returns the number of the column that was named. Raises an error if there is none, or if the user may not read it. */
static AttrNumber
named_column(Relation table, Datum element, bool isnull)
{
	const char *name = isnull ? NULL : TextDatumGetCString(element);
	AttrNumber	attnum = isnull ? InvalidAttrNumber : get_attnum(RelationGetRelid(table), name);

	if (isnull)
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
	return attnum;
}

/* Returns the numbers of the columns that are named, in this order. */
static List *
named_columns(Relation table, ArrayType *names)
{
	List	   *numbers = NIL;
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		AttrNumber	attnum = named_column(table, elements[i], nulls[i]);

		if (list_member_int(numbers, attnum))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column \"%s\" is named twice", TextDatumGetCString(elements[i])),
					 errhint("Name each column once.")));
		numbers = lappend_int(numbers, attnum);
	}
	return numbers;
}

static List *
readable_columns(Relation table)
{
	List	   *numbers = NIL;

	for (int i = 0; i < RelationGetDescr(table)->natts; i++)
		if (!TupleDescAttr(RelationGetDescr(table), i)->attisdropped &&
			may_read_column(RelationGetRelid(table), i + 1))
			numbers = lappend_int(numbers, i + 1);
	return numbers;
}

/* ------------------------------------------------------------------ the result */

/*
 * Returns the name of a valid bf index on the column, without a predicate, whose items are values or keys as those of
 * the advised index are; NULL if there is none. If it has no other column, sets *bytes to its size.
 */
static const char *
index_of_column(Relation table, const SampleColumn *column, double *bytes)
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
		if (name != NULL && index->rd_index->indnatts == 1 && index->rd_rel->relkind == RELKIND_INDEX)
			*bytes = (double) RelationGetNumberOfBlocks(index) * BLCKSZ;
		relation_close(index, AccessShareLock);
		if (name != NULL)
			return name;
	}
	return NULL;
}

char *
bf_index_create_statement(Relation table, const SampleColumn *column, const char *opclass, const char *options)
{
	const char *name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)),
												  RelationGetRelationName(table));

	return psprintf("CREATE INDEX ON %s USING bf (%s%s%s)%s", name, quote_identifier(column->name),
					opclass != NULL ? " " : "", opclass != NULL ? opclass : "", options);
}

/* Rounds an estimate to tenths, so that it does not look more exact than it is. */
static Datum
in_tenths(double estimate)
{
	return Float8GetDatum(rint(estimate * 10) / 10);
}

static Datum
whole(double estimate)
{
	return Int64GetDatum((int64) rint(estimate));
}

/* Puts the row of a column into the result. */
static void
put_column(ReturnSetInfo *set, Relation table, const Sample *sample, const SampleColumn *column, const Advice *advice)
{
	const Figures *bf = &advice->bf;
	const double distinct = Max(advice->spread.distinct, 1);
	double		bytes = bf->bytes;
	bool		pays;
	const char *why = bf_index_judge(table, sample, column, advice, &pays);
	const char *index = pays ? index_of_column(table, column, &bytes) : NULL;
	Datum		values[] = {
		CStringGetTextDatum(column->name),
		whole(distinct),
		in_tenths(advice->spread.items / distinct),
		in_tenths(Max(1, advice->spread.pages / distinct)),
		whole(sample->pages),
		whole(bytes),
		whole(advice->btree_bytes),
		whole(advice->gin_bytes),
		in_tenths(bf->pages_absent),
		in_tenths(bf->pages_rare),
		in_tenths(bf->pages_frequent),
		CStringGetTextDatum(index == NULL ? why : psprintf("has the index %s; %s", index, why)),
		CStringGetTextDatum(bf_index_create_statement(table, column, column->opclass, advice->options))
	};
	bool		nulls[lengthof(values)];

	memset(nulls, column->refused != NULL || sample->rows < 1, sizeof nulls);
	nulls[0] = nulls[11] = false;
	nulls[6] |= advice->btree_bytes < 0;
	nulls[7] |= advice->gin_bytes < 0;
	nulls[12] = !pays || index != NULL;
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

/*
 * This false-positive rate is proposed instead of the default one if a look-up of an absent value then reads at most
 * half as many pages. It is never proposed for keys: a query looks for several keys on average, and each of them rules
 * ranges out. The default rate of such an operator class was chosen with this in mind.
 */
#define LOWER_RATE 0.0001

static void
estimate(const Sample *sample, const SampleColumn *column, Advice *advice)
{
	const Sketch *items = column->sketches[ITEMS];
	const Sketch *keys = column->sketches[column->items_are_keys ? ITEMS : TRIGRAMS];
	Spread		spread;
	Figures		lower;

	bf_spread(sample, items, &advice->spread);
	if (column->has_btree && !column->items_are_keys && !items->too_wide)
		advice->btree_bytes = bf_estimate_btree(sample, column, &advice->spread);
	if (column->has_gin && !keys->too_wide)
	{
		bf_spread(sample, keys, &spread);
		advice->gin_bytes = bf_estimate_gin(sample, keys, &spread);
	}
	bf_estimate(sample, items, &advice->spread, column->rate, column->items_are_keys, &advice->bf);
	if (column->items_are_keys || advice->bf.pages_rare > BF_WORTH * sample->pages)
		return;
	bf_estimate(sample, items, &advice->spread, LOWER_RATE, false, &lower);
	if (lower.pages_absent * 2 > advice->bf.pages_absent || bf_index_too_large(sample, column, advice, &lower) != NULL)
		return;
	advice->bf = lower;
	/* With another rate, CREATE INDEX might choose another length of ranges. One length may not suit all partitions. */
	advice->options = sample->leaf_count == 0 || sample->leaves[0].is_partition ?
		psprintf(" WITH (false_positive_rate = %g)", LOWER_RATE) :
		psprintf(" WITH (false_positive_rate = %g, pages_per_range = %d)", LOWER_RATE, 1 << lower.length);
}

/*
 * The most items that are kept of a column, and that are counted in a unit; and the most of all columns together, except
 * that each may have 1,024. A kept item takes 64 bytes and more, one of a unit 32.
 */
#define MOST_KEPT 65536
#define MOST_KEPT_IN_ALL 524288
#define MOST_IN_UNIT 1048576

SB_FUNCTION(bf_index_advise);
Datum
bf_index_advise(PG_FUNCTION_ARGS)
{
	Sample		sample = {0};
	Relation	table;
	Oid			oid;
	List	   *numbers;
	ListCell   *cell;
	int			most;

	begin_rows(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return (Datum) 0;
	oid = PG_GETARG_OID(0);
	sample.begun = GetCurrentTimestamp();
	sample.budget = interval_microseconds(PG_GETARG_INTERVAL_P(2), "budget",
										  "Give the time that reading the table may take, for example '10 seconds'.");
	/*
	 * Rights are checked before the lock is taken, and again afterwards, because they may have changed during the
	 * wait.
	 */
	check_table(oid);
	table = try_relation_open(oid, AccessShareLock);
	if (table == NULL)
		bf_index_refuse_missing(oid);
	check_table(oid);
	numbers = PG_ARGISNULL(1) ? readable_columns(table) : named_columns(table, PG_GETARG_ARRAYTYPE_P(1));
	most = Max(MOST_KEPT_IN_ALL / Max(list_length(numbers), 1), 1024);
	sample.context = AllocSetContextCreate(CurrentMemoryContext, "bf sample", ALLOCSET_DEFAULT_SIZES);
	sample.columns = palloc0((list_length(numbers) + 1) * sizeof(SampleColumn));
	foreach(cell, numbers)
		bf_column_begin(&sample.columns[sample.column_count++],
						TupleDescAttr(RelationGetDescr(table), lfirst_int(cell) - 1), sample.context,
						Min(most, MOST_KEPT), Max(MOST_IN_UNIT / list_length(numbers), 1024));
	bf_sample_begin(&sample, oid);
	bf_sample_read(&sample);
	for (int c = 0; c < sample.column_count; c++)
	{
		Advice		advice = {.options = "", .btree_bytes = -1, .gin_bytes = -1};

		if (sample.columns[c].refused == NULL)
			estimate(&sample, &sample.columns[c], &advice);
		put_column((ReturnSetInfo *) fcinfo->resultinfo, table, &sample, &sample.columns[c], &advice);
	}
	MemoryContextDelete(sample.context);
	relation_close(table, AccessShareLock);
	return (Datum) 0;
}
