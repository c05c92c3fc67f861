/*
 * advise.c: the SQL function bf_index_advise(). It reads units of pages that are spread over the table and its
 * partitions (sample.c), keeps of each column which items are on which of these pages (sketch.c), and computes from
 * that what indexes would take and read (estimate.c, peers.c). judge.c says whether a bf index pays. Nothing is
 * written, so it works on a standby. "Value" means a key if the operator class takes keys out of values.
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
choose_columns(Relation table, ArrayType *names, AttrNumber *numbers)
{
	TupleDesc	descriptor = RelationGetDescr(table);
	int			count = 0;

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
				if (numbers[before] == attnum)
					ereport(ERROR,
							(errcode(ERRCODE_DUPLICATE_COLUMN),
							 errmsg("column \"%s\" is named twice", name),
							 errhint("Name each column once.")));
			numbers[count++] = attnum;
		}
		return count;
	}
	for (int i = 0; i < descriptor->natts; i++)
		if (!TupleDescAttr(descriptor, i)->attisdropped && may_read_column(RelationGetRelid(table), i + 1))
			numbers[count++] = i + 1;
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

/* Puts the row of a column into the result. */
static void
put_column(ReturnSetInfo *set, Relation table, const Sample *sample, const SampleColumn *column, const Advice *advice)
{
	Datum		values[13];
	bool		nulls[13] = {false};
	int			i = 0;
	const bool	lower = bf_index_lower_rate_pays(sample, column, advice);
	const Figures *figures = lower ? &advice->bf_lower : &advice->bf;
	const double distinct = Max(1, Min(advice->distinct, advice->items));
	bool		pays;
	const char *why = bf_index_judge(table, sample, column, advice, figures, &pays);
	double		bytes = figures->bytes;
	const char *index = pays ? index_of_column(table, column, &bytes) : NULL;

	if (index != NULL)
	{
		why = psprintf("has the index %s; %s", index, why);
		pays = false;
	}

	memset(nulls, column->refused != NULL || sample->rows < 1, sizeof nulls);
	nulls[0] = false;
	values[i++] = CStringGetTextDatum(column->name);
	values[i++] = Int64GetDatum((int64) rint(distinct));
	values[i++] = Float8GetDatum(in_tenths(advice->items / distinct));
	values[i++] = Float8GetDatum(in_tenths(Max(1, advice->value_pages / distinct)));
	values[i++] = Int64GetDatum((int64) sample->pages);
	values[i++] = Int64GetDatum((int64) rint(bytes));
	nulls[i] |= !advice->btree_possible;
	values[i++] = Int64GetDatum((int64) rint(advice->btree_bytes));
	nulls[i] |= !advice->gin_possible;
	values[i++] = Int64GetDatum((int64) rint(advice->gin_bytes));
	values[i++] = Float8GetDatum(in_tenths(figures->pages_absent));
	values[i++] = Float8GetDatum(in_tenths(figures->pages_rare));
	values[i++] = Float8GetDatum(in_tenths(figures->pages_frequent));
	nulls[i] = false;
	values[i++] = CStringGetTextDatum(why);
	nulls[i] = !pays;
	values[i] = pays ? CStringGetTextDatum(bf_index_create_statement(table, column, column->opclass, lower ? advice->lower_options : "")) : (Datum) 0;
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

static void
add_pages(const KeptItem *item, double weight, void *sum)
{
	*(double *) sum += weight * item->pages;
}

/*
 * This false-positive rate is proposed instead of the default one if a look-up of an absent value then reads at most
 * half as many pages, and the index still pays. It is never proposed for keys inside values.
 */
#define LOWER_RATE 0.0001

static void
estimate(const Sample *sample, const SampleColumn *column, Advice *advice)
{
	const double times = bf_times(sample, column->items);
	const Sketch *keys = column->items_are_keys ? column->items : column->trigrams;

	advice->items = column->items->items * times;
	advice->distinct = Min(bf_distinct(sample, column->items), advice->items);
	bf_sketch_visit(column->items, add_pages, &advice->value_pages);
	advice->value_pages = Min(advice->value_pages * times, advice->distinct * sample->pages);
	bf_estimate(sample, column->items, column->rate, column->items_are_keys, advice->distinct, &advice->bf);
	bf_estimate(sample, column->items, LOWER_RATE, column->items_are_keys, advice->distinct, &advice->bf_lower);
	/* With another rate, CREATE INDEX might choose another length of ranges. One length may not suit all partitions. */
	advice->lower_options = sample->leaf_count == 0 || sample->leaves[0].is_partition ?
		psprintf(" WITH (false_positive_rate = %g)", LOWER_RATE) :
		psprintf(" WITH (false_positive_rate = %g, pages_per_range = %d)", LOWER_RATE, 1 << advice->bf_lower.length);
	advice->btree_possible = column->has_btree && !column->items_are_keys && !column->items->too_wide;
	if (advice->btree_possible)
		advice->btree_bytes = bf_estimate_btree(sample, column, advice->distinct);
	advice->gin_possible = column->has_gin && keys != NULL && !keys->too_wide;
	if (advice->gin_possible)
		advice->gin_bytes = bf_estimate_gin(sample, keys, bf_distinct(sample, keys));
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
	AttrNumber *numbers;

	begin_rows(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return (Datum) 0;
	oid = PG_GETARG_OID(0);
	most = PG_GETARG_INT32(2);
	if (most < 2 * UNIT_PAGES || most > MOST_SAMPLE_PAGES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of pages of the sample out of range: %d", most),
				 errhint("It may be from %d to %d.", 2 * UNIT_PAGES, MOST_SAMPLE_PAGES)));
	/*
	 * Rights are checked before the lock is taken, and again afterwards, because they may have changed during the
	 * wait.
	 */
	check_table(oid);
	table = try_relation_open(oid, AccessShareLock);
	if (table == NULL)
		bf_index_refuse_missing(oid);
	check_table(oid);
	numbers = palloc((RelationGetDescr(table)->natts + 1) * sizeof(AttrNumber));
	sample.column_count = choose_columns(table, names_argument(fcinfo, 1), numbers);
	sample.context = AllocSetContextCreate(CurrentMemoryContext, "bf sample", ALLOCSET_DEFAULT_SIZES);
	sample.columns = palloc0((sample.column_count + 1) * sizeof(SampleColumn));
	for (int c = 0; c < sample.column_count; c++)
		bf_column_begin(&sample.columns[c], TupleDescAttr(RelationGetDescr(table), numbers[c] - 1), sample.context,
						Min(MOST_KEPT_VALUES, Max(1024, MOST_KEPT_IN_ALL / sample.column_count)));
	bf_sample_begin(&sample, oid);
	bf_sample_read(&sample, most);
	for (int c = 0; c < sample.column_count; c++)
	{
		Advice		advice = {0};

		if (sample.columns[c].refused == NULL)
			estimate(&sample, &sample.columns[c], &advice);
		put_column(set, table, &sample, &sample.columns[c], &advice);
	}
	MemoryContextDelete(sample.context);
	relation_close(table, AccessShareLock);
	return (Datum) 0;
}
