/*
 * bf.c: the functions and operators of the SQL type bf that make filters, add items, look items up and show what is
 * inside. bf_union.c unites and intersects filters, bf_agg.c has the aggregate that builds them, bf_formula.c the
 * calculators. sql/install/10-bf.sql declares all of them; docs/bf.md explains them to users.
 *
 * A bf is a Bloom filter as a value: a set of items in a few bits each, which may say "yes" wrongly, and never "no"
 * (core/bf/sb_bf.h begins with what that is). To PostgreSQL it is a varlena, like a bytea: a header of 64 bytes, then
 * lines of 512 bits or, as long as the filter is *exact*, the hashes of its items. A value is never changed, so
 * bf_add() returns a changed copy of the whole filter. That is why bf_add_all() and bf_agg() exist.
 *
 * Setting and reading bits is the work of the core (functions named sb_...), which knows nothing of PostgreSQL. This
 * file does what is left: arguments, memory, errors, warnings. A call goes like this:
 *
 *   bf_add(f, x)   item_hasher_for_argument()   how is the type of x hashed? Found out once, kept in fn_extra
 *                  bf_open()                    f is detoasted, and the core decodes its header
 *                  bf_copy()                    makes the copy that will be returned
 *                  hash_to_add()                x becomes a hash; an error if it is not of the *kind* of items in f
 *                  sb_bf_add_many()             the core sets the bits
 *                  warn_if_full_at()            a WARNING if the rate is more than twice the rate asked for
 *
 * Three things make the code longer than that. An exact filter has no bits: its items go into a builder of the core
 * (items_to_change()), which decides how the result is stored. From PostgreSQL 18 on a variable of PL/pgSQL is changed
 * in place (base/expanded.h; FILTERS_EXPAND). And f @> x does not detoast f: PostgreSQL stores a large value out of
 * line, in chunks of some 2 kB, and look_up() in base/slices.c reads only those that have the header and the item's
 * line (unless the value is compressed).
 *
 * Errors are raised here, according to the status that the core returns: by bf_must_read() for a value that may be
 * damaged, by must_finish() for work that can only be interrupted or run out of memory. A function that needs memory
 * beside its result is defined with SB_FUNCTION_IN_OWN_MEMORY(), which frees it (base/call.h).
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
bf_must_read(sb_status status)
{
	if (likely(status == SB_OK))
		return;
	raise_if_unfinished(status);
	value_refuse("bf", status);
}

Datum
bf_copy(const BfValue *bf, unsigned char **lines)
{
	Datum		copy = bf_make(&bf->header, lines);

	copy_in_pieces(*lines, bf->lines, sb_bf_size(&bf->header) - SB_BF_HEADER);
	return copy;
}

/* ---------------------------------------------------------------- builders */

sb_bf_builder *
bf_builder_begin(MemoryContext context, const sb_bf *like)
{
	sb_memory	memory = memory_in(context);
	sb_bf_builder *builder = MemoryContextAllocZero(context, sizeof(sb_bf_builder));

	must_finish(sb_bf_builder_begin_union(builder, &memory, like));
	return builder;
}

void
bf_refuse_difference(const char *action, const sb_difference *difference, const sb_bf *left, const sb_bf *right)
{
	refuse_difference("bf", action, difference, (FilterPlan) {left->expected_items, left->fpr},
					  (FilterPlan) {right->expected_items, right->fpr});
}

void
bf_builder_add_filter(sb_bf_builder *builder, const BfValue *bf)
{
	sb_difference difference;
	sb_status	status;

	item_kinds_must_agree(&builder->plan.kind, &bf->header.kind, "unite");
	status = sb_bf_builder_add_filter(builder, &bf->header, bf->lines, &difference);
	if (status == SB_DIFFERENT)
		bf_refuse_difference("unite", &difference, &builder->plan, &bf->header);
	bf_must_read(status);
}

Datum
bf_builder_store(sb_bf_builder *builder, sb_bf *stored, unsigned char **lines)
{
	Datum		result;

	must_finish(sb_bf_builder_plan(builder, true, stored));
	result = bf_make(stored, lines);
	must_finish(sb_bf_builder_write(builder, stored, *lines));
	return result;
}

/* ------------------------------------------------------------------ changes */

#if FILTERS_EXPAND
/* Makes the stored form of a variable that is changed in place, when its value is used elsewhere or stored. */
static struct varlena *
flatten_builder(void *builder)
{
	sb_bf		header;
	unsigned char *lines;

	return (struct varlena *) DatumGetPointer(bf_builder_store(builder, &header, &lines));
}
#endif

/*
 * Returns a builder with the items of the filter in argument 0. The caller adds items and then calls changed_items().
 * Returns NULL if the filter is stored as lines; then the caller uses bf_to_change().
 *
 * If argument 0 is a variable that is changed in place (expanded.h), *target becomes the variable's expanded object, to
 * which the builder belongs. The object keeps this builder even if the filter gets too many items to be exact. If
 * argument 0 is no such variable, *target becomes NULL, and the builder is a new one.
 */
static sb_bf_builder *
items_to_change(FunctionCallInfo fcinfo, ExpandedFilter **target)
{
	MemoryContext context = CurrentMemoryContext;
	sb_bf_builder *builder;
	BfValue		bf;

	*target = NULL;
#if FILTERS_EXPAND
	*target = expanded_filter_to_change(PG_GETARG_DATUM(0));
	if (*target != NULL)
		return (*target)->state;
#endif
	bf_open(PG_GETARG_DATUM(0), &bf);
	if (!sb_bf_is_exact(&bf.header))
		return NULL;
#if FILTERS_EXPAND
	if (adds_to_variable(fcinfo))
	{
		*target = make_expanded_filter(flatten_builder);
		context = (*target)->hdr.eoh_context;
	}
#endif
	builder = bf_builder_begin(context, &bf.header);
	bf_builder_add_filter(builder, &bf);
	if (*target != NULL)
		(*target)->state = builder;
	return builder;
}

/* Returns the value that the adding function must return. */
static Datum
changed_items(sb_bf_builder *builder, ExpandedFilter *target)
{
	sb_bf		header;
	unsigned char *stored;

#if FILTERS_EXPAND
	if (target != NULL)
	{
		expanded_filter_changed(target);
		return EOHPGetRWDatum(&target->hdr);
	}
#endif
	return bf_builder_store(builder, &header, &stored);
}

/*
 * Prepares the filter of argument 0 for a change; bf_open() has opened it as `bf`. If the filter is the expanded
 * object of a variable, *lines becomes the lines of this object, otherwise those of a copy. The caller changes them.
 * Returns the value that the adding function must return. REQUIRES: the filter is not exact.
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

		filter->flat = (struct varlena *) DatumGetPointer(bf_copy(bf, lines));
		MemoryContextSwitchTo(caller);
	}
	if (filter != NULL)
	{
		*lines = (unsigned char *) VARDATA(filter->flat) + SB_BF_HEADER;
		return EOHPGetRWDatum(&filter->hdr);
	}
#endif
	return bf_copy(bf, lines);
}

/*
 * Returns the hash of an item that is to be added. If the filter gets its kind from this item, the header, which lies
 * directly before `lines`, is written again.
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

/* ------------------------------------------------------------- full filters */

void
bf_warn_if_full(const sb_bf *header, const unsigned char *lines)
{
	const double highest = highest_rate(header->fpr);
	sb_bf_stats stats;

	if (!rate_warning_is_due() || likely(sb_bf_sample_fpr(header, lines, highest) <= highest))
		return;
	must_finish(sb_bf_measure(header, lines, &stats));
	if (stats.current_fpr > highest)
		warn_of_full("bf", stats.current_fpr, header->fpr,
					 "Give the number of items to expect, as in bf_agg(item, expected_items) or bf_empty(expected_items), or leave it out: bf_agg(item) sizes its filter by the items.");
}

/*
 * Does what bf_warn_if_full() does, after one item was added. It looks at the item's line first, and measures the
 * filter only if this line is too full: in a filter that is too full, nearly every line is.
 */
static void
warn_if_full_at(const sb_bf *header, const unsigned char *lines, uint64_t hash)
{
	const unsigned char *line = lines + (size_t) sb_bf_line_of(header->line_count, hash) * SB_BF_LINE;
	const double fill = sb_bf_line_bits(line) / (SB_BF_LINE * 8.0);
	double		rate = 1;

	for (int i = 0; i < header->hash_count; i++)
		rate *= fill;
	if (unlikely(rate > highest_rate(header->fpr)))
		bf_warn_if_full(header, lines);
}

/* --------------------------------------------------------------- in and out */

/* Checks a value that comes in as text, in the binary protocol, or as bytea. Nothing in it is trusted. */
static sb_status
check_bf(const void *data, size_t size)
{
	sb_bf		header;
	sb_status	status = sb_bf_decode_header(data, size, size, &header);

	return status == SB_OK ? sb_bf_check(&header, (const char *) data + SB_BF_HEADER) : status;
}

SB_VALUE_INPUTS(bf, check_bf)

/* ------------------------------------------------------------ making, adding */

/* bf_empty(expected_items, fpr); expected_items may be NULL */
SB_FUNCTION(bf_empty);
Datum
bf_empty(PG_FUNCTION_ARGS)
{
	sb_bf		header;
	sb_bf_builder builder = {0};
	sb_memory	memory = memory_in(CurrentMemoryContext);
	unsigned char *lines;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(0))
	{
		bf_plan(PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), false, &header);
		return bf_make(&header, &lines);
	}
	/* without a number of items: a filter that sizes itself, like the one that bf_agg(item) makes */
	bf_plan(1, PG_GETARG_FLOAT8(1), true, &header);
	must_finish(sb_bf_builder_begin(&builder, &memory, &header));
	return bf_builder_store(&builder, &header, &lines);
}

/* bf_add(bf, "any") */
SB_FUNCTION_IN_OWN_MEMORY(bf_add)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	ExpandedFilter *target;
	sb_bf_builder *builder = items_to_change(fcinfo, &target);
	BfValue		bf;
	unsigned char *lines;
	uint64_t	hash;
	Datum		result;

	if (builder != NULL)
	{
		must_finish(sb_bf_builder_add(builder, item_hash_to_add(hasher, PG_GETARG_DATUM(1), &builder->plan.kind)));
		return changed_items(builder, target);
	}
	bf_open(PG_GETARG_DATUM(0), &bf);
	result = bf_to_change(fcinfo, &bf, &lines);
	hash = hash_to_add(hasher, PG_GETARG_DATUM(1), &bf.header, lines);
	sb_bf_add_many(&bf.header, lines, &hash, 1);
	warn_if_full_at(&bf.header, lines, hash);
	return result;
}

/* The number of items that are handed to the core at once. */
#define ITEMS_AT_ONCE 256

/*
 * bf_add_all(bf, anyarray). For an exact filter all items are collected first, because the size of the result depends
 * on their number.
 */
SB_FUNCTION_IN_OWN_MEMORY(bf_add_all)
{
	ExpandedFilter *target;
	sb_bf_builder *builder;
	BfValue		bf;
	unsigned char *lines;
	Elements	elements;
	Datum		item;
	uint64_t	hashes[ITEMS_AT_ONCE];
	int			hashed = 0;
	Datum		result;

	elements_open(&elements, fcinfo, 1, SB_LOOKUP_BF);
	builder = items_to_change(fcinfo, &target);
	if (builder != NULL)
	{
		while (next_item(&elements, &item))
			must_finish(sb_bf_builder_add(builder, item_hash_to_add(elements.hasher, item, &builder->plan.kind)));
		return changed_items(builder, target);
	}
	bf_open(PG_GETARG_DATUM(0), &bf);
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
	bf_warn_if_full(&bf.header, lines);
	return result;
}

/* -------------------------------------------------------------------- asking */

/*
 * A filter that was exact when a variable began to change it in place is asked through its builder: writing its stored
 * form for each look-up would take too long.
 */
static inline bool
contains_item(ItemHasher *hasher, Datum value, Datum item)
{
#if FILTERS_EXPAND
	ExpandedFilter *filter = expanded_filter(value);

	if (unlikely(filter != NULL && filter->state != NULL))
	{
		sb_bf_builder *builder = filter->state;
		bool		found;

		must_finish(sb_bf_builder_contains(builder, item_hash_for(hasher, item, &builder->plan.kind), &found));
		return found;
	}
#endif
	return look_up(SB_LOOKUP_BF, hasher, value, item);
}

SB_FUNCTION_OF_SLICES(bf_contains, SB_LOOKUP_BF, 0)
{
	PG_RETURN_BOOL(contains_item(item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)));
}

SB_FUNCTION_OF_SLICES(bf_contained, SB_LOOKUP_BF, 1)
{
	PG_RETURN_BOOL(contains_item(item_hasher_for_argument(fcinfo, 0), PG_GETARG_DATUM(1), PG_GETARG_DATUM(0)));
}

/*
 * If `answer` is true, returns whether one of the elements is found, else whether one of them is not found. NULL
 * elements are skipped. The whole filter is in memory. Elements are looked up in batches; the first batches are small,
 * because one of the first elements often decides.
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
		if (bf->header.kind.code == SB_KIND_NONE)	/* nothing was added yet */
			memset(found, false, sizeof found);
		else
			bf_must_read(sb_bf_contains_many(&bf->header, bf->lines, hashes, hashed, found));
		for (int j = 0; j < hashed; j++)
			if (found[j] == answer)
				return true;
	}
	return false;
}

/*
 * Does the same as search_batches() for the filter in argument 0 and the elements of argument 1. If that is cheaper, it
 * reads only slices of the filter. Each element counts as one slice: its line, or its block in an exact filter. The
 * directory of an exact filter does not count, because it is short and slices.c keeps it in memory.
 */
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
	Datum		values[12];
	bool		nulls[12] = {false};

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
	values[10] = Float8GetDatum(stats.items_error);
	values[11] = Float8GetDatum(stats.items == 0 ? 0 : stats.items / sb_bf_room(&bf.header));
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
