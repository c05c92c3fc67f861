/*
 * tbf_top.c: the list of hot items of a tbf in PostgreSQL's memory: part of the state of aggregates, and of tbf_add and
 * the like while they work; and tbf_top(), which reads it. What the list guarantees stands in sb_top.h.
 */
#include "tbf/tbf.h"

#include <math.h>

#include "funcapi.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/slices.h"
#include "base/value.h"

#define SMALLEST_ROOM 16

struct TbfTop
{
	sb_top_list list;
	MemoryContext context;
};

/* ------------------------------------------------------------------- memory */

TbfTop *
tbf_top_make(MemoryContext context, int limit)
{
	TbfTop	   *top = MemoryContextAllocZero(context, sizeof(TbfTop));

	top->context = context;
	top->list.limit = limit;
	return top;
}

void
tbf_top_free(TbfTop *top)
{
	if (top->list.entries != NULL)
	{
		pfree(top->list.entries);
		pfree(top->list.scratch);
		pfree(top->list.slots);
	}
	if (top->list.bytes != NULL)
		pfree(top->list.bytes);
	pfree(top);
}

void
tbf_top_limit(TbfTop *top, int limit)
{
	top->list.limit = Min(top->list.limit, limit);
}

sb_top_list *
tbf_top_list(TbfTop *top)
{
	return &top->list;
}

static void *
larger(TbfTop *top, void *old, size_t bytes)
{
	return old == NULL ? MemoryContextAlloc(top->context, bytes) : repalloc(old, bytes);
}

/* Room for one entry more: a larger table while it has fewer than 2c entries, then a purge. */
static void
make_room(TbfTop *top, uint32_t length)
{
	sb_top_list *list = &top->list;
	uint32_t	most = 2 * list->limit;

	if (list->count >= most)
		sb_top_purge(list);
	if (list->count == list->room)
	{
		uint32_t	room = Min(Max(2 * list->room, SMALLEST_ROOM), most);

		list->entries = larger(top, list->entries, room * sizeof *list->entries);
		list->scratch = larger(top, list->scratch, room * sizeof *list->scratch);
		list->slots = larger(top, list->slots, sb_top_slots(room) * sizeof *list->slots);
		list->room = room;
		sb_top_index(list);
	}
	if (list->bytes_room - list->bytes_used < length)
	{
		list->bytes_room = Max(2 * list->bytes_room, list->bytes_used + SB_TOP_MAX_ITEM);
		list->bytes = larger(top, list->bytes, list->bytes_room);
	}
}

/* ------------------------------------------------------------------- adding */

void
tbf_top_add_hit(TbfTop *top, ItemHasher *hasher, Datum item, uint64_t hash, const sb_moment *moment, double weight)
{
	sb_u128		least;
	sb_u128		lost;
	char	   *text;
	int			length;

	if (weight == 0)
		return;
	sb_top_hit(moment, weight, &least, &lost);
	if (sb_top_add(&top->list, hash, moment->half_lives, &least, lost))
		return;

	/* of an item that is too long the beginning is shown; it stays the item that it is, by its hash */
	text = item_text(hasher, item);
	length = strlen(text);
	if (length > SB_TOP_MAX_ITEM)
		length = pg_mbcliplen(text, length, SB_TOP_MAX_ITEM);
	make_room(top, length);
	sb_top_insert(&top->list, hash, least, text, length);
	pfree(text);
}

static void
add_entry(TbfTop *top, uint64_t hash, int64_t half_lives, sb_u128 least, const void *item, uint32_t length)
{
	if (sb_top_add(&top->list, hash, half_lives, &least, 0))
		return;
	make_room(top, length);
	sb_top_insert(&top->list, hash, least, item, length);
}

/* The list that these bytes are, at this base. */
static void
add_section(TbfTop *top, const sb_top_section *from, int64_t base)
{
	sb_top_section section = *from;
	sb_top_item item;

	sb_top_add_error(&top->list, base, sb_top_amount(&section, section.error));
	while (sb_top_next(&section, &item))
		add_entry(top, item.hash, base, sb_top_amount(&section, item.least), item.bytes, item.length);
}

sb_status
tbf_top_open(const sb_tbf *header, const unsigned char *cells, sb_top_section *section)
{
	if (header->top == 0 || (header->flags & SB_TBF_HAS_HITS) == 0)
	{
		memset(section, 0, sizeof *section);
		return SB_OK;
	}
	return sb_top_open(cells + sb_tbf_counters_size(header), header->extra, header->top, header->total, section);
}

void
tbf_top_add_filter(TbfTop *top, const TbfValue *filter)
{
	sb_top_section section;
	sb_status	status = tbf_top_open(&filter->header, filter->cells, &section);

	if (status != SB_OK)
		value_refuse("tbf", status);
	if ((filter->header.flags & SB_TBF_HAS_HITS) != 0)
		add_section(top, &section, filter->header.base);
}

void
tbf_top_unite(TbfTop *top, const TbfTop *other)
{
	const sb_top_list *from = &other->list;

	if (!from->any)
		return;
	sb_top_add_error(&top->list, from->base, from->error);
	for (uint32_t i = 0; i < from->count; i++)
	{
		const sb_top_entry *entry = &from->entries[i];

		add_entry(top, entry->hash, from->base, entry->least, from->bytes + entry->offset, entry->length);
	}
}

void
tbf_top_add_weighted(TbfTop *top, const TbfValue *filter, double weight)
{
	int			exponent;
	double		mantissa = frexp(weight, &exponent);
	TbfTop	   *part;

	if (weight == 0)
		return;
	if (weight == 1)
	{
		tbf_top_add_filter(top, filter);
		return;
	}
	part = tbf_top_make(CurrentMemoryContext, filter->header.top);
	tbf_top_add_filter(part, filter);
	while (mantissa != floor(mantissa))
	{
		mantissa *= 2;
		exponent--;
	}
	if (sb_top_scale(&part->list, (uint64_t) mantissa, exponent) != SB_OK)
		tbf_refuse_overflow();
	tbf_top_unite(top, part);
	tbf_top_free(part);
}

/* ------------------------------------------------------------------ storing */

void
tbf_top_plan(TbfTop *top, sb_tbf *header)
{
	sb_top_purge(&top->list);	/* which costs precision, but leaves a list that goes on */
	header->extra = (header->flags & SB_TBF_HAS_HITS) != 0 ? sb_top_size(&top->list, header->base) : 0;
}

void
tbf_top_store(const TbfTop *top, const sb_tbf *header, unsigned char *cells)
{
	if (header->extra != 0)
		sb_top_write(&top->list, header->base, cells + sb_tbf_counters_size(header));
}

TbfTop *
tbf_top_decayed(const TbfValue *filter, int64_t base)
{
	TbfTop	   *top = tbf_top_make(CurrentMemoryContext, filter->header.top);

	tbf_top_add_filter(top, filter);
	sb_top_turn(&top->list, base);
	return top;
}

/* For parallel workers: base, bytes of the section, the section. */
void
tbf_top_serialize(TbfTop *top, StringInfo out)
{
	int64_t		base = top->list.any ? top->list.base : 0;
	uint32_t	size;

	sb_top_purge(&top->list);
	size = sb_top_size(&top->list, base);
	pq_sendint64(out, base);
	pq_sendint32(out, size);
	enlargeStringInfo(out, size);
	sb_top_write(&top->list, base, out->data + out->len);
	out->len += size;
}

TbfTop *
tbf_top_deserialize(MemoryContext context, int limit, bool any, StringInfo in)
{
	TbfTop	   *top = tbf_top_make(context, limit);
	int64_t		base = pq_getmsgint64(in);
	uint32_t	size = pq_getmsgint(in, 4);
	const int64_t furthest = INT64CONST(1) << 61;
	sb_top_section section;
	sb_status	status;

	if (base <= -furthest || base >= furthest)
		value_refuse("tbf_agg", SB_BAD_LIST);
	if (size > (uint32_t) (in->len - in->cursor))
		value_refuse("tbf_agg", SB_BAD_LENGTH);
	status = sb_top_open(in->data + in->cursor, size, limit, UINT64_MAX, &section);
	if (status != SB_OK)
		value_refuse("tbf_agg", status);
	in->cursor += size;
	if (any)
		add_section(top, &section, base);
	return top;
}

/* ------------------------------------------------------------------- asking */

/* The stored bytes as text of this database: they may come from one of another encoding, or be forged. */
static Datum
text_of(const sb_kind *kind, const sb_top_item *item)
{
	char	   *copy = pnstrdup((const char *) item->bytes, item->length);
	bool		text = kind->code == SB_KIND_TEXT || kind->code == SB_KIND_CHARACTER;
	int			encoding = text && PG_VALID_BE_ENCODING((int) kind->detail) ? (int) kind->detail : GetDatabaseEncoding();

	/* pnstrdup() ends at a zero byte, which no text holds */
	if (strlen(copy) != item->length)
		value_refuse("tbf", SB_BAD_LIST);
	return CStringGetTextDatum(pg_any_to_server(copy, item->length, encoding));
}

/* Of a stored filter, blocks are read one by one as long as that is less to read than all of it. */
#define WHOLE_FILTER_FROM(size) ((int64) ((size) / 131072))

/* tbf_top(tbf, k [, at]): item, hits_from, hits_to */
SB_FUNCTION_IN_OWN_MEMORY(tbf_top)
{
	Datum		value = PG_GETARG_DATUM(0);
	int32		wanted = PG_GETARG_INT32(1);
	TimestampTz at = tbf_time_argument(fcinfo, 2);
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	sb_lookup	opened;
	sb_lookup	list;
	const sb_tbf *header = &opened.header.tbf;
	sb_top_item *items;

	if (expanded_filter(value) == NULL && !(value_has_cheap_slices(value) && wanted < WHOLE_FILTER_FROM(value_size(value))))
		value = PointerGetDatum(detoast(value));
	look_up_open(&opened, SB_LOOKUP_TBF, NULL, value);
	if (header->top == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the filter keeps no list of hot items"),
				 errdetail("A list is kept by filters that were made with top, unless one without was merged into them."),
				 errhint("Build it with tbf_agg_like(item, at, tbf_empty(top => 100), weight).")));
	if (wanted < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of items %d is out of range", wanted),
				 errdetail("It must not be negative."),
				 errhint("A list has at most as many items as the filter was told with top: a large number asks for all.")));
	if (header->half_life != 0)
		tbf_check_time(at);
	items = palloc(header->top * sizeof *items);
	list = opened;
	look_up_finish(&list, NULL, value, sb_lookup_top(&list, items));

	InitMaterializedSRF(fcinfo, 0);
	for (uint32_t i = 0; i < list.listed && i < (uint32_t) wanted; i++)
	{
		sb_lookup	counters = opened;
		Datum		values[3];
		bool		nulls[3] = {false};
		double		from;
		double		to;

		look_up_finish(&counters, NULL, value, sb_lookup_item(&counters, items[i].hash));
		sb_lookup_top_hits(&list, &items[i], counters.units, at, &from, &to);
		if (isinf(to))
			tbf_refuse_count(at);
		values[0] = text_of(&header->kind, &items[i]);
		values[1] = Float8GetDatum(from);
		values[2] = Float8GetDatum(to);
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
	return (Datum) 0;
}
