/*
 * bf_agg.c: the aggregates bf_agg, bf_union_agg and bf_intersection_agg.
 *
 * The state of bf_agg begins as a set of hashes, which is small where groups are many and knows the number of distinct
 * items exactly, and becomes lines of bits when the set would no longer be the smaller one. Which of the two it is in
 * the end, and every byte of the result, depend on the set of items alone: not on their order, nor on the number
 * of parallel workers. A filter that sizes itself is only sized in the final function.
 */
#include "bf/bf.h"

#include "utils/memutils.h"

#include "base/call.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/value.h"

/*
 * Where a filter that sizes itself goes over from a set of hashes to bits: at 5/8 of SELF_SIZED_SET hashes (8 MB);
 * the bits begin with SELF_SIZED_LINES lines (32 MB: 27 million items at 1 %) and are folded in the end.
 */
#define SELF_SIZED_SET (UINT64CONST(1) << 20)
#define SELF_SIZED_LINES (UINT32_C(1) << 19)

/*
 * Lines stand where they would in a value; a result that has as many lines is that value, and no copy, from so many bytes on:
 * what is smaller is copied faster than most readers find their way to it.
 */
#define BEFORE_LINES (VARHDRSZ + SB_BF_HEADER)
#define LENT_FROM_BYTES 65536

/*
 * A state that is not small keeps the newest items pending, and lets them in by the batch: when they arrive makes no
 * difference to a set, and the core asks for the memory of one while it adds another. Pending are hashes; of items that are
 * integers the integers, which are hashed with the batch.
 */
#define PENDING 128
#define PENDING_FROM_BYTES 4096

typedef struct BfState
{
	sb_bf		plan;			/* the filter that is built; lines: those of `lines` when it is there */
	bool		self_sized;
	sb_hash_set set;			/* until lines is there */
	unsigned char *lines;		/* BEFORE_LINES bytes before them are theirs, too, if they did not travel */
	uint64_t   *pending;		/* room for PENDING; NULL while the state is small */
	uint32		pending_count;
	const ItemHasher *hasher;	/* whose items are known to be of the filter's kind */
	ItemInteger integer;		/* of which size its items are, which are pending as integers then; or as hashes */

	/*
	 * A state that has just come from a worker and is only read, once: its lines, or its sparse lines (lines is NULL then), or
	 * its hashes (count of them, not aligned, set.slots is NULL then), lie where they came.
	 */
	const unsigned char *travelled;
	size_t		sparse_bytes;	/* of the sparse lines, or 0 */
	MemoryContext context;
} BfState;

/* ------------------------------------------------------------------- the state */

static size_t
line_bytes(const BfState *state)
{
	return (size_t) state->plan.lines * SB_BF_LINE;
}

static void
make_set(BfState *state, uint64_t capacity)
{
	state->set.capacity = capacity;
	allocate_set(state->context, &state->set);
}

static BfState *
make_state(MemoryContext context, bool self_sized, int64 items, double fpr)
{
	BfState    *state = MemoryContextAllocZero(context, sizeof(BfState));

	bf_plan(self_sized ? 1 : items, fpr, self_sized, &state->plan);
	if (self_sized)
		state->plan.lines = SELF_SIZED_LINES;
	state->self_sized = self_sized;
	state->context = context;
	make_set(state, sb_hash_set_capacity_for(1));
	return state;
}

static void
set_to_lines(BfState *state)
{
	state->lines = allocate_lines(state->context, BEFORE_LINES, line_bytes(state));
	must_finish(sb_bf_add_set(&state->plan, state->lines, &state->set));
	free_set(&state->set);
}

/* A set as large as the filter has no more use. */
static bool
set_may_grow_to(const BfState *state, uint64_t capacity)
{
	return state->self_sized ? capacity <= SELF_SIZED_SET : sb_hash_set_bytes(capacity, 0) <= line_bytes(state);
}

static void
grow_set(BfState *state, uint64_t capacity)
{
	if (set_may_grow_to(state, capacity))
		remake_set(state->context, &state->set, capacity, 0);
	else
		set_to_lines(state);
}

/*
 * A set that is full grows at once, not at the next insertion: so the form depends on the number of distinct hashes alone.
 */
static void
add_now(BfState *state, const uint64_t *hashes, size_t count)
{
	while (count > 0 && state->lines == NULL)
	{
		size_t		added = sb_hash_set_insert_many(&state->set, hashes, count);

		if (!sb_hash_set_has_room(&state->set))
			grow_set(state, sb_hash_set_next_capacity(state->set.capacity));
		else if (unlikely(sb_hash_set_wants_secret(&state->set)))
			remake_set(state->context, &state->set, state->set.capacity, 0);
		hashes += added;
		count -= added;
	}
	if (count > 0)
		sb_bf_add_many(&state->plan, state->lines, hashes, count);
}

/* Lets items in: what they are is what state->integer says. They give way to their hashes. */
static void
let_in(BfState *state, uint64_t *items, size_t count)
{
	if (state->integer != ITEM_NO_INTEGER)
		sb_hash_int64s(items, count);
	add_now(state, items, count);
}

/* Lets the pending items in. To be called before anything but state_add() looks at a state. */
static void
settle(BfState *state)
{
	size_t		count = state->pending_count;

	state->pending_count = 0;
	let_in(state, state->pending, count);
}

static inline void
state_add(BfState *state, uint64_t item)
{
	if (state->pending == NULL)
	{
		let_in(state, &item, 1);
		if (state->lines != NULL || sb_hash_set_bytes(state->set.capacity, 0) >= PENDING_FROM_BYTES)
			state->pending = MemoryContextAlloc(state->context, PENDING * sizeof(uint64_t));
		return;
	}
	state->pending[state->pending_count++] = item;
	if (state->pending_count == PENDING)
		settle(state);
}

/* -------------------------------------------------------------------- bf_agg */

/* bf_agg_add(internal, "any" [, expected_items bigint [, fpr float8]]) */
SB_FUNCTION(bf_agg_add);
Datum
bf_agg_add(PG_FUNCTION_ARGS)
{
	BfState    *state = PG_ARGISNULL(0) ? NULL : (BfState *) PG_GETARG_POINTER(0);
	ItemHasher *hasher;
	uint64_t	hash;

	/* nearly all rows: nothing is looked up, nothing allocated */
	if (state != NULL && !PG_ARGISNULL(1) && state->hasher != NULL && state->hasher == fcinfo->flinfo->fn_extra)
	{
		if (state->integer != ITEM_NO_INTEGER)
			state_add(state, item_as_integer(state->integer, PG_GETARG_DATUM(1)));
		else
			state_add(state, item_hash(fcinfo->flinfo->fn_extra, PG_GETARG_DATUM(1)));
		PG_RETURN_POINTER(state);
	}

	hasher = item_hasher_for_argument(fcinfo, 1);
	if (state == NULL)
	{
		MemoryContext context = aggregate_context(fcinfo);

		/* parameters are those of a group's first row; they are checked even if its item is NULL */
		bool		self_sized = PG_NARGS() < 3 || PG_ARGISNULL(2);
		double		fpr = PG_NARGS() < 4 || PG_ARGISNULL(3) ? BF_DEFAULT_FPR : PG_GETARG_FLOAT8(3);

		if (PG_ARGISNULL(1))
		{
			check_fpr(fpr);
			if (!self_sized && PG_GETARG_INT64(2) < 1)
				refuse_expected_items(PG_GETARG_INT64(2));
			PG_RETURN_NULL();
		}
		state = make_state(context, self_sized, self_sized ? 0 : PG_GETARG_INT64(2), fpr);
	}
	else if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);

	hash = item_hash_for(hasher, PG_GETARG_DATUM(1), &state->plan.kind);
	if (state->plan.kind.code == SB_KIND_NONE)
		state->plan.kind = *item_kind(hasher);
	if (state->plan.kind.code != SB_KIND_NAMED)		/* records may be of another kind in each row */
	{
		settle(state);
		state->hasher = hasher;
		state->integer = item_integer(hasher);
	}
	state_add(state, state->integer == ITEM_NO_INTEGER ? hash : item_as_integer(state->integer, PG_GETARG_DATUM(1)));
	PG_RETURN_POINTER(state);
}

static Datum
final_from_set(const BfState *state)
{
	sb_bf		header = state->plan;
	unsigned char *lines;
	Datum		result;

	if (state->self_sized)
	{
		bf_plan(Max(state->set.count, 1), state->plan.fpr, true, &header);
		header.kind = state->plan.kind;
	}
	result = bf_make(&header, &lines);
	must_finish(sb_bf_add_set(&header, lines, &state->set));
	return result;
}

/*
 * A read-only pointer to the state's own lines. What an executor node returns is good until it is called again, and before that
 * neither does the state go on nor does its context end. Whoever keeps a datum longer copies it (datumCopy(), a tuple, a
 * materialized slot; a window aggregate that returns a result for several rows), and that flattens expanded objects.
 */
static Datum
lend_lines(BfState *state)
{
	struct varlena *value = (struct varlena *) (state->lines - BEFORE_LINES);

	Assert(state->travelled == NULL);
	SET_VARSIZE(value, BEFORE_LINES + line_bytes(state));
	sb_bf_encode_header(&state->plan, VARDATA(value));
	return lend_filter(value);
}

/* Folds to the size that the estimated number of items needs, if that is smaller. */
static Datum
final_from_lines(BfState *state)
{
	sb_bf		header = state->plan;
	sb_bf		folded = header;
	unsigned char *lines;
	Datum		result;
	int			halvings = 0;

	if (state->self_sized)
	{
		double		items;
		double		most = sb_blocked_load(SB_BF_LINE * 8, header.hashes, header.fpr) * header.lines;
		sb_bf		wanted;

		must_finish(sb_bf_items(&header, state->lines, &items));
		if (items < most)
		{
			bf_plan((int64) items + 1, header.fpr, true, &wanted);
			for (; folded.lines > wanted.lines; halvings++)
				folded.lines /= 2;
		}
	}
	if (halvings == 0 && line_bytes(state) >= LENT_FROM_BYTES)
		return lend_lines(state);
	result = bf_make(&folded, &lines);
	must_finish(sb_bf_fold_into(&header, state->lines, halvings, lines));
	return result;
}

/* Leaves the state as it is, so that it can go on as a moving window does; what was lent then changes with it. */
SB_FUNCTION(bf_agg_final);
Datum
bf_agg_final(PG_FUNCTION_ARGS)
{
	BfState    *state;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (BfState *) PG_GETARG_POINTER(0);
	settle(state);
	return state->lines == NULL ? final_from_set(state) : final_from_lines(state);
}

/* ------------------------------------------------------------ parallel workers */

/* Hashes of a state that has none of them in lines, some at a time: where the next ones are. */
typedef struct HashReader
{
	const BfState *of;
	uint64_t	at;				/* a slot, or how many of those that came from a worker were read */
} HashReader;

/* Up to PENDING hashes; 0: there are no more. In the order of slots, so neighbours go to neighbouring memory. */
static size_t
read_hashes(HashReader *reader, uint64_t *hashes)
{
	const BfState *of = reader->of;
	size_t		count = 0;

	CHECK_FOR_INTERRUPTS();
	if (of->travelled != NULL)
	{
		count = Min(of->set.count - reader->at, PENDING);
		sb_hash_set_read_words(of->travelled + reader->at * sizeof(uint64_t), hashes, count);
		reader->at += count;
		return count;
	}
	while (count < PENDING && (reader->at = sb_hash_set_next(&of->set, reader->at, &hashes[count])) != UINT64_MAX)
	{
		reader->at++;
		count++;
	}
	return count;
}

/*
 * Room first: in the order of slots they would pile up in a set that grows as it goes. And only for those that are new,
 * so that the form depends on the number of distinct hashes alone.
 */
static void
make_room_for(BfState *state, const BfState *other)
{
	HashReader	reader = {.of = other};
	uint64_t	hashes[PENDING];
	uint64_t	capacity;
	uint64_t	wanted = state->set.count + 1;
	size_t		count;

	while ((count = read_hashes(&reader, hashes)) > 0)
		wanted += sb_hash_set_missing(&state->set, hashes, count);
	capacity = sb_hash_set_capacity_for(wanted);
	if (capacity > state->set.capacity)
		grow_set(state, capacity);
}

static void
state_unite(BfState *state, BfState *other)
{
	HashReader	reader = {.of = other};
	uint64_t	hashes[PENDING];
	size_t		count;

	settle(state);
	settle(other);

	item_kinds_must_agree(&state->plan.kind, &other->plan.kind, "unite");
	if (state->plan.kind.code == SB_KIND_NONE)
		state->plan.kind = other->plan.kind;
	if (other->lines == NULL && other->sparse_bytes == 0)
	{
		if (state->lines == NULL)
			make_room_for(state, other);
		while ((count = read_hashes(&reader, hashes)) > 0)
			add_now(state, hashes, count);
		return;
	}
	if (state->lines == NULL)
		set_to_lines(state);
	if (other->sparse_bytes != 0)
		must_finish(sb_bf_or_sparse(&state->plan, state->lines, other->travelled, other->sparse_bytes));
	else
		must_finish(sb_bf_or(&state->plan, state->lines, &other->plan, other->lines));
}

static BfState *
copy_state(MemoryContext context, BfState *other)
{
	BfState    *state = MemoryContextAllocZero(context, sizeof(BfState));

	*state = *other;
	state->context = context;
	state->lines = NULL;
	state->travelled = NULL;
	state->sparse_bytes = 0;
	state->pending = NULL;
	state->pending_count = 0;
	state->hasher = NULL;
	state->integer = ITEM_NO_INTEGER;
	make_set(state, sb_hash_set_capacity_for(1));
	state_unite(state, other);
	return state;
}

SB_FUNCTION(bf_agg_combine);
Datum
bf_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	BfState    *state = PG_ARGISNULL(0) ? NULL : (BfState *) PG_GETARG_POINTER(0);
	BfState    *other = PG_ARGISNULL(1) ? NULL : (BfState *) PG_GETARG_POINTER(1);

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		PG_RETURN_POINTER(copy_state(context, other));
	if (state->self_sized != other->self_sized || state->plan.lines != other->plan.lines ||
		state->plan.hashes != other->plan.hashes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the parameters of bf_agg() must be the same for all rows of a group")));
	state_unite(state, other);
	PG_RETURN_POINTER(state);
}

/*
 * header (64 bytes), self_sized (1), form (1), then the hashes, the lines or these as sparse lines; of little-endian words. A
 * state of megabytes is copied once here, and not at all when it arrives. But PostgreSQL makes a tuple of it, sends that and
 * receives it, each time into fresh memory: a filter that sizes itself, nearly empty in each worker, is worth squeezing.
 */
#define TRAVEL_HEADER (SB_BF_HEADER + 2)

typedef enum TravelForm
{
	TRAVEL_HASHES,
	TRAVEL_LINES,
	TRAVEL_SPARSE_LINES			/* where they are at most 3/4 of the lines */
} TravelForm;

static TravelForm
travel_form(const BfState *state, size_t *size)
{
	size_t		sparse;

	*size = state->set.count * sizeof(uint64_t);
	if (state->lines == NULL)
		return TRAVEL_HASHES;
	*size = line_bytes(state);
	must_finish(sb_bf_sparse_size(&state->plan, state->lines, &sparse));
	if (sparse > *size / 4 * 3)
		return TRAVEL_LINES;
	*size = sparse;
	return TRAVEL_SPARSE_LINES;
}

SB_FUNCTION(bf_agg_serialize);
Datum
bf_agg_serialize(PG_FUNCTION_ARGS)
{
	BfState    *state = (BfState *) PG_GETARG_POINTER(0);
	size_t		size;
	TravelForm	form;
	bytea	   *bytes;
	unsigned char *out;

	aggregate_context(fcinfo);
	settle(state);
	form = travel_form(state, &size);
	bytes = palloc(VARHDRSZ + TRAVEL_HEADER + size + sizeof(uint64_t));	/* the last: sb_bf_sparse_write() wants it */
	SET_VARSIZE(bytes, VARHDRSZ + TRAVEL_HEADER + size);
	out = (unsigned char *) VARDATA(bytes);
	sb_bf_encode_header(&state->plan, out);
	out[SB_BF_HEADER] = state->self_sized;
	out[SB_BF_HEADER + 1] = form;
	out += TRAVEL_HEADER;
	switch (form)
	{
		case TRAVEL_HASHES:
			must_finish(sb_hash_set_write(&state->set, out));
			break;
		case TRAVEL_LINES:
			copy_in_pieces(out, state->lines, size);
			break;
		case TRAVEL_SPARSE_LINES:
			must_finish(sb_bf_sparse_write(&state->plan, state->lines, out));
			break;
	}
	PG_RETURN_BYTEA_P(bytes);
}

/* Trusts nothing either: bytes may come from another machine. */
SB_FUNCTION(bf_agg_deserialize);
Datum
bf_agg_deserialize(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	const unsigned char *data = (const unsigned char *) VARDATA_ANY(bytes);
	size_t		size = VARSIZE_ANY_EXHDR(bytes);
	BfState    *state = palloc0(sizeof(BfState));
	sb_status	status;

	if (size < TRAVEL_HEADER)
		value_refuse("bf_agg", SB_TRUNCATED);
	{
		/* the header says how long the filter is; the state may hold hashes instead of it */
		uint32		lines = data[40] | data[41] << 8 | data[42] << 16 | (uint32) data[43] << 24;

		status = sb_bf_decode_header(data, SB_BF_HEADER, SB_BF_HEADER + (size_t) lines * SB_BF_LINE, &state->plan);
	}
	if (status != SB_OK)
		value_refuse("bf_agg", status);
	state->context = context;
	state->self_sized = data[SB_BF_HEADER] != 0;
	if (data[SB_BF_HEADER] > 1 || (state->self_sized && state->plan.lines != SELF_SIZED_LINES))
		value_refuse("bf_agg", SB_BAD_HEADER);

	state->travelled = data + TRAVEL_HEADER;
	size -= TRAVEL_HEADER;
	switch (data[SB_BF_HEADER + 1])
	{
		case TRAVEL_HASHES:
			if (size % sizeof(uint64_t) != 0)
				value_refuse("bf_agg", SB_BAD_LENGTH);
			state->set.count = size / sizeof(uint64_t);
			break;
		case TRAVEL_LINES:
			if (size != line_bytes(state))
				value_refuse("bf_agg", SB_BAD_LENGTH);
			state->lines = unconstify(unsigned char *, state->travelled);	/* not to be written */
			break;
		case TRAVEL_SPARSE_LINES:
			status = sb_bf_sparse_check(&state->plan, state->travelled, size);
			if (status != SB_OK)
				value_refuse("bf_agg", status);
			state->sparse_bytes = size;
			break;
		default:
			value_refuse("bf_agg", SB_BAD_HEADER);
	}
	PG_RETURN_POINTER(state);
}

/* ---------------------------------------------- bf_union_agg, bf_intersection_agg */

/* The state is a bf value in the aggregate's context, so that it travels between workers as it is. */
typedef sb_status (*Combine) (const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines);

/* left op right, in place where nobody else can see the left one and the size stays. */
static Datum
combine_in_aggregate(FunctionCallInfo fcinfo, const char *action, Combine combine)
{
	BfValue		left;
	BfValue		right;
	sb_bf		joined;
	unsigned char *lines;
	Datum		result;

	bf_open(PG_GETARG_DATUM(0), &left);
	bf_open(PG_GETARG_DATUM(1), &right);
	bf_join(&left.header, &right.header, action, &joined);
	if (AggCheckCallContext(fcinfo, NULL) && joined.lines == left.header.lines &&
		left.lines == (unsigned char *) VARDATA(PG_GETARG_POINTER(0)) + SB_BF_HEADER)
	{
		result = PG_GETARG_DATUM(0);
		lines = (unsigned char *) left.lines;
		sb_bf_encode_header(&joined, VARDATA(DatumGetPointer(result)));
	}
	else
	{
		result = bf_make(&joined, &lines);
		must_finish(sb_bf_or(&joined, lines, &left.header, left.lines));
	}
	must_finish(combine(&joined, lines, &right.header, right.lines));
	return result;
}

SB_FUNCTION_IN_OWN_MEMORY(bf_union_agg_add)
{
	return combine_in_aggregate(fcinfo, "unite", sb_bf_or);
}

SB_FUNCTION_IN_OWN_MEMORY(bf_intersection_agg_add)
{
	return combine_in_aggregate(fcinfo, "intersect", sb_bf_and);
}
