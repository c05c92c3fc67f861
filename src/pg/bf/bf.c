/*
 * bf.c: the functions and operators of type bf, and the aggregates that combine filters. The aggregate that builds
 * them is in bf_agg.c.
 */
#include "bf/bf.h"

#include "access/detoast.h"
#include "access/toast_internals.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/call.h"
#include "base/elements.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/rate_warning.h"
#include "base/slices.h"
#include "base/value.h"

/* ------------------------------------------------------------------ helpers */

void
bf_open(Datum value, BfValue *bf)
{
	size_t		size;
	const unsigned char *data = value_open(value, &size);
	sb_status	status = sb_bf_decode_header(data, size, size, &bf->header);

	if (status != SB_OK)
		value_refuse("bf", status);
	bf->lines = data + SB_BF_HEADER;
}

Datum
bf_make(const sb_bf *header, unsigned char **lines)
{
	void	   *data;
	struct varlena *value = value_make(sb_bf_size(header), &data);

	sb_bf_encode_header(header, data);
	*lines = (unsigned char *) data + SB_BF_HEADER;
	return PointerGetDatum(value);
}

void
bf_plan(int64 items, double fpr, bool self_sized, sb_bf *out)
{
	if (items < 1)
		refuse_expected_items(items);
	check_fpr(fpr);
	if (sb_bf_plan(items, fpr, self_sized, out) != SB_OK)
		refuse_size("bf", items, fpr);
}

void
bf_plan_union(const sb_bf *a, const sb_bf *b, const char *action, sb_bf *out)
{
	sb_difference difference;

	item_kinds_must_agree(&a->kind, &b->kind, action);
	if (sb_bf_plan_union(a, b, out, &difference) != SB_OK)
		refuse_difference("bf", action, &difference);
}

/* Raises an error unless the status is SB_OK: one that a damaged value has, or one of a core that did not finish. */
static inline void
must_read(sb_status status)
{
	if (likely(status == SB_OK))
		return;
	raise_if_unfinished(status);
	value_refuse("bf", status);
}

/* The items of an exact filter. */
static sb_status
read_items(const BfValue *bf, sb_bf_exact *items)
{
	items->count = 0;
	return sb_bf_exact_combine(items, &bf->header, bf->lines, false);
}

static Datum
copy_bf(const BfValue *bf, unsigned char **lines)
{
	Datum		copy = bf_make(&bf->header, lines);

	copy_in_pieces(*lines, bf->lines, sb_bf_size(&bf->header) - SB_BF_HEADER);
	return copy;
}

/* Makes a filter of these items, which has kind, rate and number of hashes of `like`. */
static Datum
make_of_items(const sb_bf *like, const sb_bf_exact *items)
{
	sb_bf		header;
	unsigned char *stored;
	Datum		result;

	sb_bf_exact_plan(like, items, &header);
	result = bf_make(&header, &stored);
	sb_bf_exact_write(&header, items, stored);
	return result;
}

/*
 * Prepares the filter of argument 0, which is not exact, for a change. If it is the expanded object of a variable, it is
 * changed itself, otherwise a copy. *lines is set to its lines, which follow the header. Returns the value that the adding
 * function has to return.
 */
static Datum
bf_to_change(FunctionCallInfo fcinfo, const BfValue *bf, unsigned char **lines)
{
#if FILTERS_EXPAND
	ExpandedFilter *filter = expanded_filter_to_change(PG_GETARG_DATUM(0));

	if (filter == NULL && adds_to_variable(fcinfo))
	{
		filter = make_expanded_filter(NULL);
		MemoryContext caller = MemoryContextSwitchTo(filter->hdr.eoh_context);

		filter->flat = (struct varlena *) DatumGetPointer(copy_bf(bf, lines));
		MemoryContextSwitchTo(caller);
	}
	if (filter != NULL)
	{
		*lines = (unsigned char *) VARDATA(filter->flat) + SB_BF_HEADER;
		return EOHPGetRWDatum(&filter->hdr);
	}
#endif
	return copy_bf(bf, lines);
}

/*
 * The hash of an item that is to be added. If the filter gets its kind from this item, its header, which precedes
 * `lines`, is written again.
 */
static uint64_t
hash_to_add(ItemHasher *hasher, Datum item, sb_bf *header, unsigned char *lines)
{
	bool		known = header->kind.code != SB_KIND_NONE;
	uint64_t	hash = item_hash_to_add(hasher, item, &header->kind);

	if (!known)
		sb_bf_encode_header(header, lines - SB_BF_HEADER);
	return hash;
}

/* --------------------------------------------------------------- in and out */

static sb_status
check_bf(const void *data, size_t size)
{
	sb_bf		header;
	sb_status	status = sb_bf_decode_header(data, size, size, &header);

	return status == SB_OK ? sb_bf_check(&header, (const char *) data + SB_BF_HEADER) : status;
}

SB_VALUE_INPUTS(bf, check_bf)

/* ------------------------------------------------------------ making, adding */

SB_FUNCTION(bf_empty);
Datum
bf_empty(PG_FUNCTION_ARGS)
{
	sb_bf		header;
	unsigned char *lines;

	bf_plan(PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), false, &header);
	return bf_make(&header, &lines);
}

/*
 * No expanded object is made of an exact filter, and none becomes exact: its bytes are few, and each call makes new ones.
 */
static Datum
add_to_exact(ItemHasher *hasher, Datum item, const BfValue *bf)
{
	sb_bf		header = bf->header;
	sb_bf_exact items;

	must_read(read_items(bf, &items));
	sb_bf_exact_add(&items, item_hash_to_add(hasher, item, &header.kind));
	return make_of_items(&header, &items);
}

/* bf_add(bf, "any") */
SB_FUNCTION_IN_OWN_MEMORY(bf_add)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	BfValue		bf;
	unsigned char *lines;
	uint64_t	hash;
	Datum		result;

	bf_open(PG_GETARG_DATUM(0), &bf);
	if (sb_bf_is_exact(&bf.header))
		return add_to_exact(hasher, PG_GETARG_DATUM(1), &bf);
	result = bf_to_change(fcinfo, &bf, &lines);
	hash = hash_to_add(hasher, PG_GETARG_DATUM(1), &bf.header, lines);
	sb_bf_add_many(&bf.header, lines, &hash, 1);
	return result;
}

/* The items are collected first, because the size of the result depends on how many they are. */
static Datum
add_all_to_exact(Elements *elements, const BfValue *bf)
{
	sb_memory	memory = memory_in(CurrentMemoryContext);
	sb_bf_builder builder;
	sb_bf_exact before;
	sb_bf		header;
	unsigned char *stored;
	Datum		item;
	Datum		result;

	must_read(read_items(bf, &before));
	must_finish(sb_bf_builder_begin(&builder, &memory, &bf->header));
	must_finish(sb_bf_builder_add_many(&builder, before.hashes, before.count, false));
	while (next_item(elements, &item))
		must_finish(sb_bf_builder_add(&builder, item_hash_to_add(elements->hasher, item, &builder.plan.kind)));
	must_finish(sb_bf_builder_plan(&builder, true, &header));
	result = bf_make(&header, &stored);
	must_finish(sb_bf_builder_write(&builder, &header, stored));
	return result;
}

/* The number of items that are handed to the core at once. */
#define ITEMS_AT_ONCE 256

SB_FUNCTION_IN_OWN_MEMORY(bf_add_all)
{
	BfValue		bf;
	unsigned char *lines;
	Elements	elements;
	Datum		item;
	uint64_t	hashes[ITEMS_AT_ONCE];
	int			hashed = 0;
	Datum		result;

	elements_open(&elements, fcinfo, 1, SB_LOOKUP_BF);
	bf_open(PG_GETARG_DATUM(0), &bf);
	if (sb_bf_is_exact(&bf.header))
		return add_all_to_exact(&elements, &bf);
	result = bf_to_change(fcinfo, &bf, &lines);
	while (next_item(&elements, &item))
	{
		hashes[hashed++] = hash_to_add(elements.hasher, item, &bf.header, lines);
		if (hashed == ITEMS_AT_ONCE)
		{
			sb_bf_add_many(&bf.header, lines, hashes, hashed);
			hashed = 0;
		}
	}
	sb_bf_add_many(&bf.header, lines, hashes, hashed);
	return result;
}

/* -------------------------------------------------------------------- asking */

SB_CONTAINS(bf, SB_LOOKUP_BF)

/*
 * Does the look-up of one of the elements give this answer? NULL elements are skipped. The whole filter is in memory.
 * Elements are looked up in batches; the first batches are small, because one of the first elements often decides.
 */
static bool
search_batches(const BfValue *bf, Elements *elements, bool answer)
{
	uint64_t	hashes[ITEMS_AT_ONCE];
	bool		found[ITEMS_AT_ONCE];
	Datum		item;

	for (int at_once = 8; elements->at < elements->count; at_once = Min(at_once * 2, ITEMS_AT_ONCE))
	{
		int			hashed = 0;

		while (hashed < at_once && next_item(elements, &item))
			hashes[hashed++] = item_hash_for(elements->hasher, item, &bf->header.kind);
		if (bf->header.kind.code == SB_KIND_NONE)	/* nothing was added */
			memset(found, false, sizeof found);
		else
			must_read(sb_bf_contains_many(&bf->header, bf->lines, hashes, hashed, found));
		for (int j = 0; j < hashed; j++)
			if (found[j] == answer)
				return true;
	}
	return false;
}

/* Searches for the elements of argument 1. A look-up reads one line, which is one slice. */
static bool
search_elements(FunctionCallInfo fcinfo, bool answer)
{
	Datum		value = PG_GETARG_DATUM(0);
	Elements	elements;
	BfValue		bf;

	elements_open(&elements, fcinfo, 1, SB_LOOKUP_BF);
	if (slices_are_cheaper(value, elements.count, 1))
		return look_up_elements(SB_LOOKUP_BF, value, &elements, answer);
	bf_open(value, &bf);
	return search_batches(&bf, &elements, answer);
}

SB_CONTAINS_ELEMENTS(bf, search_elements)

/* ------------------------------------------------------------------ combining */

/* The union or intersection of two filters of which the result, or the result of an intersection, is one of items. */
static Datum
combine_items(const BfValue *left, const BfValue *right, const sb_bf *planned, bool intersect)
{
	const BfValue *first = sb_bf_is_exact(&left->header) ? left : right;
	const BfValue *second = first == left ? right : left;
	sb_bf_exact items;

	must_read(read_items(first, &items));
	must_read(sb_bf_exact_combine(&items, &second->header, second->lines, intersect));
	return make_of_items(planned, &items);
}

/*
 * Raises the warning if a union has more than twice the rate asked for, and more than each of the two filters had; these are
 * NULL if they are not at hand. A sample of lines decides whether it is worth while to measure all of them.
 */
static void
warn_if_too_full(const sb_bf *united, const unsigned char *lines, const BfValue *left, const BfValue *right)
{
	const double highest = highest_rate(united->fpr);
	const double rate = sb_bf_sample_fpr(united, lines, highest);
	sb_bf_stats stats;

	if (likely(rate <= highest))
		return;
	if ((left != NULL && rate <= sb_bf_sample_fpr(&left->header, left->lines, 0)) ||
		(right != NULL && rate <= sb_bf_sample_fpr(&right->header, right->lines, 0)))
		return;
	must_finish(sb_bf_measure(united, lines, &stats));
	if (stats.current_fpr > highest)
		warn_of_rate("bf", "union", stats.current_fpr, united->fpr,
					 "Give the number of items of the union to each filter, as in bf_agg(item, expected_items), or build one filter from the rows.");
}

/*
 * Combines arguments 0 and 1. With `in_place` argument 0 is the state of an aggregate, and is changed itself if its
 * size stays the same. The state of an aggregate is a bf value in the aggregate's context, so it can be sent between
 * workers as it is. The final function of the aggregate raises the warning.
 */
static Datum
combine_arguments(FunctionCallInfo fcinfo, bool intersect, bool in_place)
{
	BfValue		left;
	BfValue		right;
	sb_bf		united;
	unsigned char *lines;
	Datum		result;
	bool		exact[2];

	bf_open(PG_GETARG_DATUM(0), &left);
	bf_open(PG_GETARG_DATUM(1), &right);
	bf_plan_union(&left.header, &right.header, intersect ? "intersect" : "unite", &united);
	exact[0] = sb_bf_is_exact(&left.header);
	exact[1] = sb_bf_is_exact(&right.header);
	if (intersect ? exact[0] || exact[1] : exact[0] && exact[1])
		return combine_items(&left, &right, &united, intersect);
	if (in_place && united.line_count == left.header.line_count && is_state_of_aggregate(fcinfo, left.lines - SB_BF_HEADER))
	{
		result = PG_GETARG_DATUM(0);
		lines = (unsigned char *) left.lines;
		sb_bf_encode_header(&united, lines - SB_BF_HEADER);
	}
	else
	{
		result = bf_make(&united, &lines);
		must_read(sb_bf_combine(&united, lines, &left.header, left.lines, false));
	}
	must_read(sb_bf_combine(&united, lines, &right.header, right.lines, intersect));
	if (!intersect && !in_place && rate_warning_is_due())
		warn_if_too_full(&united, lines, &left, &right);
	return result;
}

SB_FUNCTION_IN_OWN_MEMORY(bf_union)
{
	return combine_arguments(fcinfo, false, false);
}

SB_FUNCTION_IN_OWN_MEMORY(bf_intersection)
{
	return combine_arguments(fcinfo, true, false);
}

/* The transition functions of bf_union_agg and bf_intersection_agg. */
SB_FUNCTION_IN_OWN_MEMORY(bf_union_agg_add)
{
	return combine_arguments(fcinfo, false, true);
}

/*
 * The final function of bf_union_agg: what it warns of is the whole union, whoever made its parts. A filter that was alone
 * in it and was too full before is warned of, too.
 */
SB_FUNCTION_IN_OWN_MEMORY(bf_union_agg_final)
{
	BfValue		bf;

	if (rate_warning_is_due())
	{
		bf_open(PG_GETARG_DATUM(0), &bf);
		warn_if_too_full(&bf.header, bf.lines, NULL, NULL);
	}
	return PG_GETARG_DATUM(0);
}

SB_FUNCTION_IN_OWN_MEMORY(bf_intersection_agg_add)
{
	return combine_arguments(fcinfo, true, true);
}

/*
 * bf_fold(bf, fpr): halves the size as long as the rate, for the estimated number of items, stays within fpr. An exact filter
 * stays as it is.
 */
SB_FUNCTION_IN_OWN_MEMORY(bf_fold)
{
	BfValue		bf;
	double		items;
	sb_bf		folded;
	unsigned char *lines;
	double		fpr;
	int			halvings = 0;
	Datum		result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bf_open(PG_GETARG_DATUM(0), &bf);
	fpr = PG_ARGISNULL(1) ? bf.header.fpr : PG_GETARG_FLOAT8(1);
	check_fpr(fpr);
	if (sb_bf_is_exact(&bf.header))
		return copy_bf(&bf, &lines);

	must_finish(sb_bf_items(&bf.header, bf.lines, &items));
	folded = bf.header;
	for (; folded.line_count % 2 == 0 && sb_blocked_fpr(SB_BF_LINE * 8, folded.hash_count, items / (folded.line_count / 2)) <= fpr; halvings++)
		folded.line_count /= 2;
	if (halvings > 0)
	{
		/* It is no longer the filter that was planned. */
		folded.widened = Max(folded.widened - halvings, 0);
		folded.expected_items = 0;
		folded.fpr = Max(folded.fpr, fpr);
	}
	result = bf_make(&folded, &lines);
	must_finish(sb_bf_fold(&bf.header, bf.lines, halvings, lines));
	return result;
}

/* --------------------------------------------------------------- looking inside */

SB_FUNCTION_IN_OWN_MEMORY(bf_cardinality)
{
	BfValue		bf;
	double		items;

	bf_open(PG_GETARG_DATUM(0), &bf);
	must_finish(sb_bf_items(&bf.header, bf.lines, &items));
	PG_RETURN_FLOAT8(items);
}

SB_FUNCTION_IN_OWN_MEMORY(bf_info)
{
	BfValue		bf;
	sb_bf_stats stats;
	bool		exact;
	Datum		values[10];
	bool		nulls[10] = {false};

	bf_open(PG_GETARG_DATUM(0), &bf);
	must_finish(sb_bf_measure(&bf.header, bf.lines, &stats));
	exact = sb_bf_is_exact(&bf.header);

	values[0] = CStringGetTextDatum(item_kind_text(&bf.header.kind));
	values[1] = Int64GetDatum(bf.header.expected_items);
	nulls[1] = bf.header.expected_items == 0;
	values[2] = Float8GetDatum(bf.header.fpr);
	values[3] = Int32GetDatum(bf.header.hash_count);
	values[4] = Int64GetDatum(stats.bits);
	nulls[4] = exact;
	values[5] = CStringGetTextDatum(exact ? "exact" : "lines");
	values[6] = Int64GetDatum(sb_bf_size(&bf.header));
	values[7] = Float8GetDatum((double) stats.bits_set / stats.bits);
	nulls[7] = exact;
	values[8] = Float8GetDatum(stats.current_fpr);
	values[9] = Float8GetDatum(stats.items);
	return row_result(fcinfo, values, nulls, lengthof(values));
}

#define HISTOGRAM_BUCKETS 16

/* Counts the lines that have 0..32, 33..64, ... 481..512 bits set. */
static void
line_histogram(const BfValue *bf, int64 lines[HISTOGRAM_BUCKETS])
{
	const int	width = SB_BF_LINE * 8 / HISTOGRAM_BUCKETS;

	memset(lines, 0, HISTOGRAM_BUCKETS * sizeof *lines);
	for (uint32 i = 0; i < bf->header.line_count; i++)
	{
		int			bits = sb_bf_line_bits(bf->lines + (size_t) i * SB_BF_LINE);

		if (i % (PIECE_BYTES / SB_BF_LINE) == 0)
			CHECK_FOR_INTERRUPTS();
		lines[bits == 0 ? 0 : (bits - 1) / width]++;
	}
}

SB_FUNCTION_IN_OWN_MEMORY(bf_histogram)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	const int	width = SB_BF_LINE * 8 / HISTOGRAM_BUCKETS;
	int64		lines[HISTOGRAM_BUCKETS];
	BfValue		bf;

	begin_rows(fcinfo);
	bf_open(PG_GETARG_DATUM(0), &bf);
	line_histogram(&bf, lines);
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = Int32GetDatum(i == 0 ? 0 : i * width + 1);
		values[1] = Int32GetDatum((i + 1) * width);
		values[2] = Int64GetDatum(lines[i]);
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
	return (Datum) 0;
}

SB_FUNCTION_IN_OWN_MEMORY(bf_sketch)
{
	BfValue		bf;
	sb_bf_stats stats;
	int64		lines[HISTOGRAM_BUCKETS];
	double		heights[HISTOGRAM_BUCKETS];

	bf_open(PG_GETARG_DATUM(0), &bf);
	must_finish(sb_bf_measure(&bf.header, bf.lines, &stats));
	if (sb_bf_is_exact(&bf.header))
		return text_result(psprintf("bf of %s: %.0f items, exact", item_kind_text(&bf.header.kind), stats.items));
	line_histogram(&bf, lines);
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		heights[i] = (double) lines[i];
	return text_result(psprintf("bf of %s: %.0f items, %.1f%% full, current fpr %.2g |%s|",
								item_kind_text(&bf.header.kind), stats.items,
								100.0 * stats.bits_set / stats.bits, stats.current_fpr,
								sketch_bars(heights, HISTOGRAM_BUCKETS)));
}
