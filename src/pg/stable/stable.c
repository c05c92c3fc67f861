/*
 * stable.c: the functions that sbf and ibf share: parameters, adding, look-ups, decay, union, information. sbf.c and
 * ibf.c have the functions of one type only, stable_agg.c the aggregates, stable_window.c the window functions,
 * stable_formula.c the calculators.
 */
#include "stable/stable.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/call.h"
#include "base/memory.h"
#include "base/slices.h"
#include "base/value.h"

/* ------------------------------------------------------------------ helpers */

const char *
stable_type_name(const sb_stable *header)
{
	return header->scheme == SB_STABLE ? "sbf" : "ibf";
}

const char *
stable_scheme_name(int scheme)
{
	static const char *const names[] = {"stable", "two_class", "multi_class", "value_weighted"};

	return names[scheme];
}

void
stable_open(Datum value, StableValue *stable)
{
	size_t		size;
	const unsigned char *data = value_open(value, &size);
	sb_status	status = sb_stable_decode_header(data, size, size, SB_STABLE_EITHER, &stable->header);

	if (status != SB_OK)
		value_refuse(stable_type_name(&stable->header), status);
	stable->cells = data + SB_STABLE_HEADER;
}

/* Makes room for cells and copies `cells` there. If `cells` is NULL, the cells are zero. */
static void
make_cells(StableState *state, const unsigned char *cells)
{
	const size_t bytes = sb_stable_cell_bytes(&state->header);
	void	   *data;

	if (state->value == NULL)
		state->cells = allocate_cells(state->context, bytes);
	else
	{
		pfree(state->value);
		state->value = value_make_in(state->context, SB_STABLE_HEADER + bytes, &data);
		state->cells = (unsigned char *) data + SB_STABLE_HEADER;
	}
	if (cells != NULL)
		copy_in_pieces(state->cells, cells, bytes);
}

void
stable_state_init(StableState *state, MemoryContext context, const sb_stable *header)
{
	state->hasher = NULL;
	state->pending_count = 0;
	state->header = *header;
	state->cells = NULL;
	state->context = context;
	state->value = NULL;
}

void
stable_state_copy(StableState *state, MemoryContext context, const StableValue *from)
{
	stable_state_init(state, context, &from->header);
	if (from->header.items != 0)
		make_cells(state, from->cells);
}

Datum
stable_store(const sb_stable *header, const unsigned char *cells)
{
	void	   *data;
	struct varlena *value = value_make(sb_stable_size(header), &data);

	sb_stable_encode_header(header, data);
	if (cells != NULL && header->items != 0)
		copy_in_pieces((char *) data + SB_STABLE_HEADER, cells, sb_stable_cell_bytes(header));
	return PointerGetDatum(value);
}

void
stable_copy_to_change(StableState *state, MemoryContext context, const StableValue *from)
{
	void	   *data;

	stable_state_init(state, context, &from->header);
	state->value = value_make_in(context, SB_STABLE_HEADER, &data);
	if (from->header.items != 0)
		make_cells(state, from->cells);
}

Datum
stable_changed(StableState *state)
{
	sb_stable_encode_header(&state->header, VARDATA(state->value));
	return PointerGetDatum(state->value);
}

/* Makes a step for each item. */
static void
make_steps(StableState *state, const uint64_t *hashes, const uint8_t *values, size_t count, bool *duplicates)
{
	if (count == 0)
		return;
	if (unlikely(state->cells == NULL))
		make_cells(state, NULL);
	sb_stable_steps(&state->header, state->cells, hashes, values, count, duplicates);
}

uint64_t
stable_hash_slowly(StableState *state, ItemHasher *hasher, Datum item)
{
	uint64_t	hash = item_hash_to_add(hasher, item, &state->header.kind);

	if (item_kind_is_settled(hasher, &state->header.kind))
		state->hasher = hasher;
	return hash;
}

bool
stable_step(StableState *state, ItemHasher *hasher, Datum item, uint8_t value)
{
	uint64_t	hash = stable_hash(state, hasher, item);
	bool		duplicate;

	/* A step of value-weighted eviction may take milliseconds. */
	CHECK_FOR_INTERRUPTS();
	make_steps(state, &hash, &value, 1, &duplicate);
	return duplicate;
}

void
stable_step_all(StableState *state, Elements *items, Elements *importances, Datum *flags, bool *nulls)
{
	const int	most = state->header.scheme == SB_VALUE_WEIGHTED ? 1 : STABLE_PENDING;
	bool		duplicates[STABLE_PENDING];
	int			which[STABLE_PENDING];

	while (items->at < items->count)
	{
		int			taken = 0;
		Datum		item;
		bool		is_null;
		Datum		importance = (Datum) 0;
		bool		unknown = false;

		while (taken < most && next_element(items, &item, &is_null))
		{
			int			number = items->at - 1;

			if (importances != NULL)
				(void) next_element(importances, &importance, &unknown);
			if (flags != NULL)
			{
				flags[number] = (Datum) 0;
				nulls[number] = is_null;
			}
			if (is_null)
				continue;
			state->hashes[taken] = stable_hash(state, items->hasher, item);
			state->values[taken] = importances == NULL ? sb_stable_max(&state->header) :
				stable_importance(state, unknown, unknown ? 0 : DatumGetFloat8(importance));
			which[taken++] = number;
		}
		CHECK_FOR_INTERRUPTS();
		make_steps(state, state->hashes, state->values, taken, duplicates);
		for (int j = 0; j < taken && flags != NULL; j++)
			flags[which[j]] = BoolGetDatum(duplicates[j]);
	}
}

void
stable_settle(StableState *state)
{
	uint32		count = state->pending_count;

	state->pending_count = 0;
	CHECK_FOR_INTERRUPTS();
	make_steps(state, state->hashes, state->values, count, NULL);
}

uint8_t
stable_ranked_importance(StableState *state, double importance)
{
	if (unlikely(state->cells == NULL))
		make_cells(state, NULL);
	sb_stable_note_importance(&state->header, state->cells, importance);
	return sb_stable_value_of(&state->header, state->cells, importance);
}

void
stable_refuse_importance(bool is_null)
{
	if (is_null)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the importance of an item must not be null"),
				 errdetail("The filter would not know how long to remember the item."),
				 errhint("Leave such items out, or give them an importance with coalesce().")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("importance NaN is out of range"),
			 errdetail("Any other number is accepted. An importance outside the filter's range counts as the nearer end of the range."),
			 errhint("Leave such items out, or give them an importance with nullif() and coalesce().")));
	pg_unreachable();
}

sb_stable_chain
stable_chain(const sb_stable *header, double shares[SB_STABLE_MAX_VALUE])
{
	sb_stable_chain chain = {
		.cell_count = header->cell_count,
		.hash_count = header->hash_count,
		.evictions = header->evictions,
		.max = sb_stable_max(header),
		.weighted = header->scheme == SB_VALUE_WEIGHTED,
		.shares = shares,
	};

	sb_stable_uniform_shares(header->scheme, chain.max, shares);
	return chain;
}

static Datum
flags_array(Datum *flags, bool *nulls, int count)
{
	int			dimensions[1] = {count};
	int			lower_bounds[1] = {1};

	if (count == 0)
		return PointerGetDatum(construct_empty_array(BOOLOID));
	return PointerGetDatum(construct_md_array(flags, nulls, 1, dimensions, lower_bounds, BOOLOID, 1, true,
											  TYPALIGN_CHAR));
}

static void
importances_must_match(const Elements *items, const Elements *importances)
{
	if (importances != NULL && importances->count != items->count)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("there are %d items and %d importances", items->count, importances->count),
				 errhint("Give one importance for each item, in the same order.")));
}

/*
 * Adds the elements of argument 1 to a copy of argument 0 in this context. If `duplicates` is not NULL, *duplicates
 * becomes the array of flags that stable_check_add() returns.
 */
static Datum
add_elements(FunctionCallInfo fcinfo, Elements *importances, MemoryContext context, Datum *duplicates)
{
	Elements	items;
	StableValue stable;
	StableState state;
	Datum	   *flags = NULL;
	bool	   *nulls = NULL;

	elements_open(&items, fcinfo, 1, SB_LOOKUP_STABLE);
	importances_must_match(&items, importances);
	if (duplicates != NULL)
	{
		flags = MemoryContextAllocHuge(CurrentMemoryContext, Max(items.count, 1) * sizeof *flags);
		nulls = palloc(Max(items.count, 1));
	}
	stable_open(PG_GETARG_DATUM(0), &stable);
	stable_copy_to_change(&state, context, &stable);
	stable_step_all(&state, &items, importances, flags, nulls);
	if (duplicates != NULL)
		*duplicates = flags_array(flags, nulls, items.count);
	return stable_changed(&state);
}

Datum
stable_add_all(FunctionCallInfo fcinfo, Elements *importances)
{
	return add_elements(fcinfo, importances, result_memory(), NULL);
}

Datum
stable_check_add(FunctionCallInfo fcinfo, Elements *importances)
{
	Datum		values[2];

	values[0] = add_elements(fcinfo, importances, CurrentMemoryContext, &values[1]);
	return row_result(fcinfo, values, (bool[]) {false, false}, lengthof(values));
}

/* --------------------------------------------------------------- parameters */

int64
stable_optional(NullableDatum field)
{
	return field.isnull ? STABLE_CHOOSE : DatumGetInt32(field.value);
}

static void
check_range(const char *name, int64 value, int64 least, int64 most, const char *hint)
{
	if (value >= least && value <= most)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s " INT64_FORMAT " is out of range", name, value),
			 errdetail("It must lie between " INT64_FORMAT " and " INT64_FORMAT ".", least, most),
			 errhint("%s", hint)));
}

/* Checks a parameter that may be left out. Returns it as the core takes it. */
static int64
check_choice(const char *name, int64 value, int64 least, int64 most)
{
	if (value == STABLE_CHOOSE)
		return SB_STABLE_CHOOSE;
	check_range(name, value, least, most, "Leave it out, and it is chosen to suit the rate.");
	return value;
}

void
stable_plan(const StableParameters *parameters, sb_stable *out)
{
	static StableParameters known;	/* the parameters that `planned` was made of */
	static sb_stable planned;
	const StableParameters *p = parameters;
	int64		hashes;
	int64		bits;
	int64		evictions;
	sb_status	status;

	/*
	 * Equal parameters may compare as different because of the padding of the structs. Then the filter is only
	 * planned once more.
	 */
	if (planned.cell_count != 0 && memcmp(&known, p, sizeof known) == 0)
	{
		*out = planned;
		return;
	}
	check_range("number of bytes", p->bytes, SB_STABLE_MIN_BYTES,
				SB_STABLE_MAX_BYTES - (p->scheme != SB_STABLE && isnan(p->low) ? SB_STABLE_SAMPLE_BYTES : 0),
				"Give the bytes that the cells may take: the more, the longer items are remembered.");
	check_fpr(p->fpr);
	bits = check_choice("number of bits of a cell", p->bits, p->scheme == SB_STABLE ? 1 : 2, SB_STABLE_MAX_BITS);
	hashes = check_choice("number of hashes", p->hash_count, 1, SB_STABLE_MAX_HASHES);
	evictions = check_choice("number of evictions", p->evictions, 0,
							 Min(p->bytes * 8 / (bits >= 1 ? bits : p->scheme == SB_VALUE_WEIGHTED ?
												 SB_STABLE_WEIGHTED_BITS : SB_STABLE_DEFAULT_BITS),
								 SB_STABLE_MAX_EVICTIONS));
	if (p->scheme > SB_TWO_CLASS && !isnan(p->low) && !(p->low < p->high && isfinite(p->high - p->low)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("range of importances %g to %g is out of range", p->low, p->high),
				 errdetail("The lower end must lie below the upper one, by a finite difference."),
				 errhint("Give the range in which most importances lie, for example two percentiles, or leave it out: then importances are ranked.")));
	status = sb_stable_plan(p->bytes, p->fpr, p->scheme, p->low, p->high, (int) hashes, (int) bits, evictions,
							(uint64_t) p->seed, out);
	if (status != SB_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no number of evictions keeps a false-positive rate of %g in " INT64_FORMAT " bytes", p->fpr, p->bytes),
				 errdetail("A step can evict from at most %d cells, and from no more cells than the filter has.", SB_STABLE_MAX_EVICTIONS),
				 errhint("Give more bytes, a higher rate, more hashes, or fewer bits of a cell.")));
	known = *p;
	planned = *out;
}

void
stable_plan_union(const sb_stable *a, const sb_stable *b, sb_stable *out)
{
	sb_difference difference;
	const char *type = stable_type_name(a);

	item_kinds_must_agree(&a->kind, &b->kind, "unite");
	if (a->scheme != b->scheme)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot unite %s filters whose scheme differs: %s and %s", type,
						stable_scheme_name(a->scheme), stable_scheme_name(b->scheme)),
				 errhint("Build both with the same parameters.")));
	if (a->ranked != b->ranked)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot unite an ibf with a range of importances and one that ranks them"),
				 errdetail("The same importance has other values in the two filters."),
				 errhint("Give low and high for both, or for none.")));
	if (sb_stable_plan_union(a, b, out, &difference) != SB_OK)
		refuse_difference(type, "unite", &difference, (FilterPlan) {0, a->fpr}, (FilterPlan) {0, b->fpr});
}

/* -------------------------------------------------------------------- asking */

SB_CONTAINS(stable, SB_LOOKUP_STABLE)

/*
 * If `answer` is true, returns whether one of the elements of argument 1 is found, else whether one of them is not
 * found. If only slices of the stored filter are read, an element needs one for each of its cells.
 */
static bool
search_elements(FunctionCallInfo fcinfo, bool answer)
{
	Datum		value = PG_GETARG_DATUM(0);
	Elements	items;

	elements_open(&items, fcinfo, 1, SB_LOOKUP_STABLE);
	if (!slices_are_cheaper(value, items.count, SB_STABLE_MAX_HASHES))
		value = PointerGetDatum(detoast(value));
	return look_up_elements(SB_LOOKUP_STABLE, value, &items, answer);
}

SB_CONTAINS_ELEMENTS(stable, search_elements)

/* -------------------------------------------------------- decaying and uniting */

/*
 * The number of tries to evict between two checks for interrupts. A try takes a few nanoseconds, or up to about 100
 * if it waits for memory, so a cancel is noticed within half a second even in the largest filters.
 */
#define TRIES_BETWEEN_INTERRUPTS (1 << 22)

/* stable_decay(filter, steps) */
SB_FUNCTION_IN_OWN_MEMORY(stable_decay)
{
	int64		steps = PG_GETARG_INT64(1);
	StableValue stable;
	StableState state;
	int64		tries;
	int64		at_once;

	if (steps < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of steps " INT64_FORMAT " is out of range", steps),
				 errdetail("It must not be negative."),
				 errhint("A step evicts as much as the arrival of one item does.")));
	stable_open(PG_GETARG_DATUM(0), &stable);
	stable_copy_to_change(&state, result_memory(), &stable);

	/*
	 * With value-weighted eviction a step makes up to SB_STABLE_TRIES times as many tries as it has evictions. Each try
	 * looks at a random cell, which may not be in the processor's cache.
	 */
	tries = Max(state.header.evictions, 1) * (state.header.scheme == SB_VALUE_WEIGHTED ? SB_STABLE_TRIES : 1);
	at_once = Max(1, TRIES_BETWEEN_INTERRUPTS / tries);
	while (steps > 0)
	{
		int64		now = Min(steps, at_once);

		CHECK_FOR_INTERRUPTS();
		if (sb_stable_decay(&state.header, state.cells, now))
			at_once = PG_INT64_MAX;
		steps -= now;
	}
	return stable_changed(&state);
}

static Datum
unite_arguments(FunctionCallInfo fcinfo, bool in_place)
{
	StableValue left;
	StableValue right;
	sb_stable	united;
	Datum		result;

	stable_open(PG_GETARG_DATUM(0), &left);
	stable_open(PG_GETARG_DATUM(1), &right);
	stable_plan_union(&left.header, &right.header, &united);
	if (left.header.items == 0)
		return stable_store(&united, right.cells);
	if (in_place && is_state_of_aggregate(fcinfo, left.cells - SB_STABLE_HEADER))
	{
		result = PG_GETARG_DATUM(0);
		sb_stable_encode_header(&united, VARDATA(DatumGetPointer(result)));
	}
	else
		result = stable_store(&united, left.cells);
	if (right.header.items != 0)
		must_finish(sb_stable_unite(&united, (char *) VARDATA(DatumGetPointer(result)) + SB_STABLE_HEADER,
									right.cells));
	return result;
}

SB_FUNCTION_IN_OWN_MEMORY(stable_union)
{
	return unite_arguments(fcinfo, false);
}

/* The transition and combine function of sbf_union_agg and ibf_union_agg. */
SB_FUNCTION_IN_OWN_MEMORY(stable_union_agg_add)
{
	return unite_arguments(fcinfo, true);
}

/* --------------------------------------------------------------- looking inside */

/* The columns of sbf_info() and ibf_info(). The first 16 are the same; ibf_info() has three more. */
SB_FUNCTION_IN_OWN_MEMORY(stable_info)
{
	StableValue stable;
	const sb_stable *header = &stable.header;
	uint64_t	counts[SB_STABLE_MAX_VALUE + 1];
	double		shares[SB_STABLE_MAX_VALUE];
	double		zeros;
	sb_stable_chain chain;
	Datum		values[19];
	bool		nulls[19] = {false};

	stable_open(PG_GETARG_DATUM(0), &stable);
	must_finish(sb_stable_count(header, stable.cells, counts));
	zeros = (double) counts[0] / header->cell_count;
	chain = stable_chain(header, shares);

	values[0] = CStringGetTextDatum(item_kind_text(&header->kind));
	values[1] = Float8GetDatum(header->fpr);
	values[2] = Int32GetDatum(header->hash_count);
	values[3] = Int32GetDatum(header->bits);
	values[4] = Int32GetDatum(sb_stable_max(header));
	values[5] = Int32GetDatum(header->evictions);
	values[6] = Int64GetDatum((int64) header->seed);
	values[7] = Int64GetDatum(header->cell_count);
	values[8] = Int64GetDatum(sb_stable_size(header));
	values[9] = Int64GetDatum(header->items);
	values[10] = Int64GetDatum(header->steps);
	values[11] = Float8GetDatum(sb_stable_zeros(&chain));
	values[12] = Float8GetDatum(zeros);
	values[13] = Float8GetDatum(sb_stable_bound(&chain));
	values[14] = Float8GetDatum(pow(1 - zeros, header->hash_count));
	values[15] = Float8GetDatum(zeros == 1 ? 0 : -log(zeros) * header->cell_count / header->hash_count);
	if (header->scheme != SB_STABLE)
	{
		values[16] = CStringGetTextDatum(stable_scheme_name(header->scheme));
		values[17] = Float8GetDatum(header->low);
		values[18] = Float8GetDatum(header->high);
		nulls[17] = nulls[18] = header->ranked;
	}
	return row_result(fcinfo, values, nulls, header->scheme == SB_STABLE ? 16 : 19);
}

SB_FUNCTION_IN_OWN_MEMORY(stable_histogram)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	StableValue stable;
	uint64_t	counts[SB_STABLE_MAX_VALUE + 1];

	begin_rows(fcinfo);
	stable_open(PG_GETARG_DATUM(0), &stable);
	must_finish(sb_stable_count(&stable.header, stable.cells, counts));
	for (int value = 0; value <= sb_stable_max(&stable.header); value++)
	{
		Datum		values[2] = {Int32GetDatum(value), Int64GetDatum(counts[value])};
		bool		nulls[2] = {false};

		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
	return (Datum) 0;
}

#define SKETCH_BARS 16

SB_FUNCTION_IN_OWN_MEMORY(stable_sketch)
{
	StableValue stable;
	const sb_stable *header = &stable.header;
	uint64_t	counts[SB_STABLE_MAX_VALUE + 1];
	double		heights[SKETCH_BARS] = {0};
	double		shares[SB_STABLE_MAX_VALUE];
	double		zeros;
	sb_stable_chain chain;
	int			values;

	stable_open(PG_GETARG_DATUM(0), &stable);
	must_finish(sb_stable_count(header, stable.cells, counts));
	zeros = (double) counts[0] / header->cell_count;
	chain = stable_chain(header, shares);
	values = sb_stable_max(header) + 1;
	for (int value = 0; value < values; value++)
		heights[values <= SKETCH_BARS ? value : value * SKETCH_BARS / values] += counts[value];
	return text_result(psprintf("%s of %s: " INT64_FORMAT " items, %.1f%% zeros (stable at %.1f%%), current fpr %.2g |%s|",
								stable_type_name(header), item_kind_text(&header->kind), (int64) header->items,
								100 * zeros, 100 * sb_stable_zeros(&chain), pow(1 - zeros, header->hash_count),
								sketch_bars(heights, Min(values, SKETCH_BARS))));
}
