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

/* Returns the numbers of the columns with these names, or of all that the user may read. */
static List *
choose_columns(Relation table, ArrayType *names)
{
	const Oid	oid = RelationGetRelid(table);
	List	   *numbers = NIL;
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	if (names == NULL)
	{
		for (AttrNumber attnum = 1; attnum <= RelationGetNumberOfAttributes(table); attnum++)
			if (!TupleDescAttr(RelationGetDescr(table), attnum - 1)->attisdropped && may_read_column(oid, attnum))
				numbers = lappend_int(numbers, attnum);
		return numbers;
	}
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		const char *name = nulls[i] ? NULL : TextDatumGetCString(elements[i]);
		AttrNumber	attnum = name == NULL ? InvalidAttrNumber : get_attnum(oid, name);

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
		if (!may_read_column(oid, attnum))
			aclcheck_error_col(ACLCHECK_NO_PRIV, OBJECT_COLUMN, RelationGetRelationName(table), name);
		if (list_member_int(numbers, attnum))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column \"%s\" is named twice", name),
					 errhint("Name each column once.")));
		numbers = lappend_int(numbers, attnum);
	}
	return numbers;
}

/* ------------------------------------------------------------------ the result */

const char *
bf_index_qualified(Oid schema, const NameData *name)
{
	return quote_qualified_identifier(get_namespace_name(schema), NameStr(*name));
}

char *
bf_index_create_statement(Relation table, const SampleColumn *column, const char *opclass)
{
	return psprintf("CREATE INDEX ON %s USING bf (%s%s%s)",
					bf_index_qualified(RelationGetNamespace(table), &table->rd_rel->relname),
					quote_identifier(column->name), opclass != NULL ? " " : "", opclass != NULL ? opclass : "");
}

/*
 * Returns the name of a valid bf index on the column, without a predicate, whose items are values or keys as those of
 * the advised index are; NULL if there is none. If it has no other column, sets *bytes to its size.
 */
static const char *
index_of_column(Relation table, const SampleColumn *column, double *bytes)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(table), column->name);
	const char *name = NULL;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(table))
	{
		Relation	index = try_relation_open(lfirst_oid(cell), AccessShareLock);

		if (index == NULL)
			continue;
		for (int i = 0; i < index->rd_index->indnkeyatts && name == NULL; i++)
			if (index->rd_rel->relam == bf_index_am_oid() && index->rd_index->indisvalid &&
				RelationGetIndexPredicate(index) == NIL && index->rd_index->indkey.values[i] == attnum &&
				bf_index_has_keys(index, i) == column->items_are_keys)
			{
				name = bf_index_qualified(RelationGetNamespace(index), &index->rd_rel->relname);
				if (index->rd_index->indnatts == 1 && index->rd_rel->relkind == RELKIND_INDEX)
					*bytes = (double) RelationGetNumberOfBlocks(index) * BLCKSZ;
			}
		relation_close(index, AccessShareLock);
	}
	return name;
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
		in_tenths(bf->pages[ABSENT]),
		in_tenths(bf->pages[RARE]),
		in_tenths(bf->pages[FREQUENT]),
		CStringGetTextDatum(index == NULL ? why : psprintf("has the index %s; %s", index, why)),
		CStringGetTextDatum(bf_index_create_statement(table, column, column->opclass))
	};
	bool		nulls[lengthof(values)];

	memset(nulls, column->refused != NULL || sample->rows < 1, sizeof nulls);
	nulls[0] = nulls[11] = false;
	nulls[6] |= advice->btree_bytes < 0;
	nulls[7] |= advice->gin_bytes < 0;
	nulls[12] = !pays || index != NULL;
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

SB_FUNCTION_IN_OWN_MEMORY(bf_index_advise)
{
	Sample		sample = {0};
	Relation	table;
	Oid			oid;
	List	   *numbers;
	ListCell   *cell;

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
	numbers = choose_columns(table, PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1));
	sample.columns = palloc0((list_length(numbers) + 1) * sizeof(SampleColumn));
	foreach(cell, numbers)
		bf_column_begin(&sample.columns[sample.column_count++],
						TupleDescAttr(RelationGetDescr(table), lfirst_int(cell) - 1), list_length(numbers));
	bf_sample_begin(&sample, oid);
	bf_sample_read(&sample);
	for (int c = 0; c < sample.column_count; c++)
	{
		const SampleColumn *column = &sample.columns[c];
		const Sketch *items = column->sketches[ITEMS];
		const Sketch *keys = column->sketches[column->items_are_keys ? ITEMS : TRIGRAMS];
		Advice		advice = {.btree_bytes = -1, .gin_bytes = -1};
		Spread		spread;

		if (column->refused == NULL)
		{
			bf_spread(&sample, items, &advice.spread);
			bf_estimate(&advice.spread, column->rate, column->items_are_keys, &advice.bf);
			if (column->has_btree && !items->too_wide)
				advice.btree_bytes = bf_estimate_btree(&advice.spread, column->deduplicates);
			if (column->has_gin && !keys->too_wide)
			{
				bf_spread(&sample, keys, &spread);
				advice.gin_bytes = bf_estimate_gin(&spread);
			}
		}
		put_column((ReturnSetInfo *) fcinfo->resultinfo, table, &sample, column, &advice);
	}
	relation_close(table, AccessShareLock);
	return (Datum) 0;
}
