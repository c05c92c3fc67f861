/*
 * rollup_items.c: sets of items, and rows of the table of a roll-up, for the aggregates of roll-ups (rollup.h).
 */
#include "tbf/rollup.h"

#include "access/toast_internals.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "base/call.h"
#include "base/own_types.h"

/* ---------------------------------------------------------------------- items */

void
rollup_items_begin(RollupItems *items, MemoryContext context, ItemHasher *hasher, Oid type, Oid collation)
{
	Oid			function;
	bool		is_varlena;

	items->context = context;
	items->hasher = hasher;
	items->type = type;
	items->collation = collation;
	items->entry = lookup_type_cache(type, TYPECACHE_EQ_OPR_FINFO);
	items->is_text = type == TEXTOID || type == VARCHAROID;
	getTypeOutputInfo(type, &function, &is_varlena);
	fmgr_info_cxt(function, &items->output, context);
	items->set = rollup_set_create(context, 64, items);
}

const char *
rollup_item_text(RollupItems *items, const RollupItem *item, size_t *length)
{
	const char *text;

	if (items->is_text)
	{
		*length = VARSIZE_ANY_EXHDR(DatumGetPointer(item->key.item));
		return VARDATA_ANY(DatumGetPointer(item->key.item));
	}
	text = OutputFunctionCall(&items->output, item->key.item);
	*length = strlen(text);
	return text;
}

Datum
rollup_item_datum_text(RollupItems *items, const RollupItem *item)
{
	size_t		length;
	const char *text = rollup_item_text(items, item, &length);

	return PointerGetDatum(cstring_to_text_with_len(text, length));
}

int
rollup_compare_texts(RollupItems *items, const RollupItem *left, const RollupItem *right)
{
	size_t		left_length;
	size_t		right_length;
	const char *left_text = rollup_item_text(items, left, &left_length);
	const char *right_text = rollup_item_text(items, right, &right_length);
	int			order = memcmp(left_text, right_text, Min(left_length, right_length));

	if (!items->is_text)
	{
		pfree((char *) left_text);
		pfree((char *) right_text);
	}
	return order != 0 ? order : (left_length > right_length) - (left_length < right_length);
}

typedef RollupItem *RollupItemPointer;

#define ST_SORT sort_by_hits
#define ST_ELEMENT_TYPE RollupItemPointer
#define ST_COMPARE(left, right) ((*(left))->hits < (*(right))->hits ? 1 : (*(left))->hits > (*(right))->hits ? -1 : 0)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_by_text
#define ST_ELEMENT_TYPE RollupItemPointer
#define ST_COMPARE_ARG_TYPE RollupItems
#define ST_COMPARE(left, right, items) rollup_compare_texts(items, *(left), *(right))
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

void
rollup_sort_items(RollupItems *items, RollupItem **sorted, size_t size, size_t count)
{
	sort_by_hits(sorted, size);
	for (size_t from = 0, to; from < Min(size, count); from = to)
	{
		for (to = from + 1; to < size && sorted[to]->hits == sorted[from]->hits; to++)
			;
		if (to - from > 1)
			sort_by_text(sorted + from, to - from, items);
	}
}

/* ----------------------------------------------------------------------- rows */

void
rollup_table_of(RollupTable *table, MemoryContext context, Oid row_type, Oid item_type)
{
	/* no type: that of an array of items, or tbf */
	static const struct
	{
		const char *name;
		Oid			type;
	}			columns[ROLLUP_COLUMNS] = {{"tier", INT2OID}, {"starts", TIMESTAMPTZOID}, {"ends", TIMESTAMPTZOID},
		{"closed", BOOLOID}, {"groups", JSONBOID}, {"oldest", TIMESTAMPTZOID}, {"newest", TIMESTAMPTZOID},
		{"hits", FLOAT8OID}, {"f", InvalidOid}, {"hot", InvalidOid}, {"hot_hits", FLOAT8ARRAYOID},
		{"hot_over", FLOAT8OID}, {"hot_rest", FLOAT8OID}};
	MemoryContext caller = MemoryContextSwitchTo(context);

	table->desc = lookup_rowtype_tupdesc_copy(row_type, -1);
	MemoryContextSwitchTo(caller);
	for (int column = 0; column < ROLLUP_COLUMNS; column++)
	{
		Oid			type = column == ROLLUP_HOT ? get_array_type(item_type) : columns[column].type;

		table->number[column] = -1;
		for (int i = 0; i < table->desc->natts; i++)
		{
			Form_pg_attribute attribute = TupleDescAttr(table->desc, i);

			if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), columns[column].name) == 0 &&
				(column == ROLLUP_F ? is_tbf(attribute->atttypid) : attribute->atttypid == type))
				table->number[column] = i;
		}
		if (table->number[column] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("%s has no column \"%s\" as a roll-up of %s has it", format_type_be(row_type),
							columns[column].name, format_type_be(item_type)),
					 errhint("Only the table of a roll-up has all of them.")));
	}
}

static void
refuse_row(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("a row of a roll-up has null, or a list of other items than hits"),
			 errhint("Only tbf_rollup_refresh() may write the table of a roll-up.")));
}

void
rollup_list_read(RollupItems *items, Datum hot, Datum hot_hits, RollupList *list)
{
	ArrayType  *hot_array = DatumGetArrayTypeP(hot);
	ArrayType  *hits = DatumGetArrayTypeP(hot_hits);
	bool	   *nulls;

	deconstruct_array(hot_array, items->type, items->entry->typlen, items->entry->typbyval, items->entry->typalign,
					  &list->items, &nulls, &list->count);
	list->hits = (const double *) ARR_DATA_PTR(hits);
	if (ARR_HASNULL(hits) || array_contains_nulls(hot_array) ||
		ArrayGetNItems(ARR_NDIM(hits), ARR_DIMS(hits)) != list->count)
		refuse_row();
}

void
rollup_row_open_filter(RollupRow *row)
{
	row->f = PointerGetDatum(PG_DETOAST_DATUM_PACKED(row->f));
	look_up_open(&row->lookup, SB_LOOKUP_TBF, NULL, row->f);
	row->exact = tbf_is_exact(&row->lookup.header.tbf);
	row->items = row->lookup.header.tbf.item_count;
}

void
rollup_row_read(const RollupTable *table, RollupItems *items, Datum datum, bool is_bucket, RollupRow *row)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(datum);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	Datum	   *values = palloc(table->desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(table->desc->natts * sizeof(bool));
	const int  *number = table->number;

	heap_deform_tuple(&tuple, table->desc, values, nulls);
	memset(row, 0, sizeof *row);
	row->tier = DatumGetInt16(values[number[ROLLUP_TIER]]);
	row->starts = DatumGetTimestampTz(values[number[ROLLUP_STARTS]]);
	row->ends = DatumGetTimestampTz(values[number[ROLLUP_ENDS]]);
	row->closed = DatumGetBool(values[number[ROLLUP_CLOSED]]);
	/* a bucket has nothing else */
	if (is_bucket)
		return;
	for (int column = 0; column < ROLLUP_COLUMNS; column++)
		if (nulls[number[column]])
			refuse_row();
	row->oldest = DatumGetTimestampTz(values[number[ROLLUP_OLDEST]]);
	row->newest = DatumGetTimestampTz(values[number[ROLLUP_NEWEST]]);
	row->hits = DatumGetFloat8(values[number[ROLLUP_HITS]]);
	row->over = DatumGetFloat8(values[number[ROLLUP_HOT_OVER]]);
	row->rest = DatumGetFloat8(values[number[ROLLUP_HOT_REST]]);
	row->f = values[number[ROLLUP_F]];
	rollup_row_open_filter(row);
	rollup_list_read(items, values[number[ROLLUP_HOT]], values[number[ROLLUP_HOT_HITS]], &row->list);
}

/*
 * Compresses a list if that makes it smaller. PostgreSQL does so only if its row is longer than the table's
 * toast_tuple_target. For the table of a roll-up this limit is so high (8160 bytes) that it would hardly ever do so.
 */
static Datum
packed(ArrayType *list)
{
	Datum		compressed = toast_compress_datum(PointerGetDatum(list), InvalidCompressionMethod);

	return DatumGetPointer(compressed) == NULL ? PointerGetDatum(list) : compressed;
}

Datum
rollup_row_make(const RollupTable *table, RollupItems *items, const RollupRow *row, RollupItem **list, size_t count)
{
	Datum	   *values = palloc0(table->desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(table->desc->natts * sizeof(bool));
	const int  *number = table->number;
	Datum	   *hot = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(Datum));
	Datum	   *hot_hits = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(Datum));

	for (size_t i = 0; i < count; i++)
	{
		hot[i] = list[i]->key.item;
		hot_hits[i] = Float8GetDatum(list[i]->hits);
	}
	memset(nulls, true, table->desc->natts * sizeof(bool));
	for (int column = 0; column < ROLLUP_COLUMNS; column++)
		nulls[number[column]] = column == ROLLUP_GROUPS;
	values[number[ROLLUP_TIER]] = Int16GetDatum(row->tier);
	values[number[ROLLUP_STARTS]] = TimestampTzGetDatum(row->starts);
	values[number[ROLLUP_ENDS]] = TimestampTzGetDatum(row->ends);
	values[number[ROLLUP_CLOSED]] = BoolGetDatum(row->closed);
	values[number[ROLLUP_OLDEST]] = TimestampTzGetDatum(row->oldest);
	values[number[ROLLUP_NEWEST]] = TimestampTzGetDatum(row->newest);
	values[number[ROLLUP_HITS]] = Float8GetDatum(row->hits);
	values[number[ROLLUP_F]] = row->f;
	values[number[ROLLUP_HOT]] = packed(construct_array(hot, count, items->type, items->entry->typlen,
														items->entry->typbyval, items->entry->typalign));
	values[number[ROLLUP_HOT_HITS]] = packed(construct_array(hot_hits, count, FLOAT8OID, sizeof(float8),
															 FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	values[number[ROLLUP_HOT_OVER]] = Float8GetDatum(row->over);
	values[number[ROLLUP_HOT_REST]] = Float8GetDatum(row->rest);
	return HeapTupleGetDatum(heap_form_tuple(table->desc, values, nulls));
}

Datum
rollup_merge_filters(RollupRow **rows, int count)
{
	sb_tbf_builder *builder;
	TbfValue	filter;

	if (count == 1)
		return rows[0]->f;
	tbf_open(rows[0]->f, &filter);
	builder = tbf_builder_begin_merge(CurrentMemoryContext, &filter);
	for (int i = 0; i < count; i++)
	{
		tbf_open(rows[i]->f, &filter);
		tbf_builder_add_filter(builder, &filter, 1);
	}
	return tbf_builder_store(builder);
}
