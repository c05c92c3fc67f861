/*
 * abf.c: abf values. This file checks parameters and times, and opens, makes and changes values.
 */
#include "abf/abf.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/memory.h"
#include "base/rate_warning.h"
#include "base/times.h"
#include "base/value.h"

/* --------------------------------------------------------------- in and out */

static sb_status
check_abf(const void *data, size_t size)
{
	sb_abf		header;
	sb_status	status = sb_abf_decode_header(data, size, size, &header);

	return status != SB_OK ? status : sb_abf_check_slices(&header, (const char *) data + SB_ABF_HEADER);
}

SB_VALUE_INPUTS(abf, check_abf)

void
abf_open(Datum value, AbfValue *abf)
{
	size_t		size;
	const unsigned char *data = value_open(value, &size);
	sb_status	status = sb_abf_decode_header(data, size, size, &abf->header);

	if (status != SB_OK)
		value_refuse("abf", status);
	abf->slices = data + SB_ABF_HEADER;
}

void
abf_open_header(Datum value, sb_abf *header)
{
	size_t		size = value_size(value);
	size_t		have = Min(size, SB_ABF_HEADER);
	sb_status	status = sb_abf_decode_header(value_slice(value, 0, have), have, size, header);

	if (status != SB_OK)
		value_refuse("abf", status);
}

/* --------------------------------------------------------------- parameters */

int64
abf_within(const Interval *interval)
{
	int64		within = interval_microseconds(interval, "window",
											   "Give the time within which an item is to be found again, for example interval '10 minutes'.");

	notice_if_short(interval, within, "window");
	return within;
}

/* Checks a parameter that may be left out. Returns it as the core takes it. */
static int
check_choice(const char *name, int64 value, int most)
{
	if (value == ABF_CHOOSE)
		return SB_ABF_CHOOSE;
	if (value < 1 || value > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s " INT64_FORMAT " is out of range", name, value),
				 errdetail("It must lie between 1 and %d.", most),
				 errhint("Leave it out, and it is chosen to suit the rate.")));
	return (int) value;
}

void
abf_plan(const AbfParameters *parameters, sb_abf *out)
{
	static AbfParameters known; /* the parameters that `planned` was made of */
	static sb_abf planned;
	const AbfParameters *p = parameters;
	int			hashes;
	int			generations;

	/* AbfParameters has no padding, so memcmp() compares nothing but the parameters. */
	if (planned.blocks != 0 && memcmp(&known, p, sizeof known) == 0)
	{
		*out = planned;
		return;
	}
	if (p->items < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of items " INT64_FORMAT " is out of range", p->items),
				 errdetail("It must be at least 1."),
				 p->within == 0 ? errhint("Give the number of the last items that the filter is to remember.") :
				 errhint("Give the number of items that are expected within the window.")));
	check_fpr(p->fpr);
	hashes = check_choice("number of hashes", p->hash_count, SB_ABF_MAX_HASHES);
	generations = check_choice("number of generations", p->generations, SB_ABF_MAX_GENERATIONS);
	/*
	 * The only error that can still come is that the filter is too large. An outrageous number of items counts as
	 * this error, too.
	 */
	if (p->items > SB_ABF_MAX_TIME ||
		sb_abf_plan(p->within == 0 ? p->items : p->within, p->within != 0, p->items, p->fpr, hashes, generations,
					out) != SB_OK)
		refuse_size("abf", p->items, p->fpr);
	known = *p;
	planned = *out;
}

/* abf_empty(items, fpr, within, hashes, generations) */
SB_FUNCTION(abf_empty);
Datum
abf_empty(PG_FUNCTION_ARGS)
{
	AbfParameters parameters = ABF_DEFAULTS;
	sb_abf		header;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	parameters.items = PG_GETARG_INT64(0);
	parameters.fpr = PG_GETARG_FLOAT8(1);
	if (!PG_ARGISNULL(2))
		parameters.within = abf_within(PG_GETARG_INTERVAL_P(2));
	if (!PG_ARGISNULL(3))
		parameters.hash_count = PG_GETARG_INT32(3);
	if (!PG_ARGISNULL(4))
		parameters.generations = PG_GETARG_INT32(4);
	abf_plan(&parameters, &header);
	return abf_store(&header, NULL);
}

/* --------------------------------------------------------------------- times */

void
abf_must_be_by_items(const sb_abf *header)
{
	if (header->by_time)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("items of this abf need a time"),
				 errdetail("It remembers the items of a time, not a number of items."),
				 errhint("Give the time of the item, for example abf_add(filter, item, now()).")));
}

void
abf_must_be_by_time(const sb_abf *header)
{
	if (!header->by_time)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("items of this abf have no time"),
				 errdetail("It remembers a number of items, not the items of a time."),
				 errhint("Leave the time out, or make a filter for a window of time: abf_empty(within => '10 minutes').")));
}

void
abf_check_time(TimestampTz at)
{
	StaticAssertStmt(SB_ABF_MAX_TIME == MOST_MICROSECONDS, "times of the core and of the extension end together");
	check_time("an abf", at);
}

TimestampTz
abf_default_not_after(const sb_abf *header)
{
	int64		ahead = Min(Max(header->window, USECS_PER_MINUTE), USECS_PER_DAY);

	return GetCurrentTransactionStartTimestamp() + ahead;
}

void
abf_check_not_after(TimestampTz at, TimestampTz not_after)
{
	if (at > not_after)
	{
		char	   *limit = pstrdup(timestamptz_to_str(not_after));

		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the item's time \"%s\" lies after the latest time allowed, \"%s\"", timestamptz_to_str(at), limit),
				 errdetail("An item in the future would make the filter forget all others."),
				 errhint("Leave such rows out, or give a later time as not_after. By default it is the window, but at least a minute and at most a day, after the transaction began.")));
	}
}

void
abf_refuse_null_time(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("the time of an item must not be null"),
			 errdetail("If such rows were left out silently, repetitions of them would be missed."),
			 errhint("Leave them out with WHERE at IS NOT NULL, or give them a time with coalesce().")));
	pg_unreachable();
}

/* ------------------------------------------------------------ making, changing */

Datum
abf_store(const sb_abf *header, const unsigned char *slices)
{
	void	   *data;
	struct varlena *value = value_make(sb_abf_size(header), &data);

	sb_abf_encode_header(header, data);
	if (header->filled)
		copy_in_pieces((char *) data + SB_ABF_HEADER, slices, sb_abf_slice_bytes(header));
	return PointerGetDatum(value);
}

void
abf_state_init(AbfState *state, MemoryContext context, const sb_abf *header)
{
	state->hasher = NULL;
	state->pending_count = 0;
	state->header = *header;
	state->slices = NULL;
	state->context = context;
	state->value = NULL;
	state->not_after = PG_INT64_MAX;
}

/* Makes room for the slices, which are zero at first. */
void
abf_need_slices(AbfState *state)
{
	const size_t bytes = sb_abf_slice_bytes(&state->header);
	void	   *data;

	if (state->slices != NULL)
		return;
	if (state->value == NULL)
		state->slices = allocate_cells(state->context, bytes);
	else
	{
		pfree(state->value);
		state->value = value_make_in(state->context, SB_ABF_HEADER + bytes, &data);
		state->slices = (unsigned char *) data + SB_ABF_HEADER;
	}
}

static void
copy_slices(AbfState *state, const AbfValue *from)
{
	if (!from->header.filled)
		return;
	abf_need_slices(state);
	copy_in_pieces(state->slices, from->slices, sb_abf_slice_bytes(&from->header));
}

void
abf_state_copy(AbfState *state, MemoryContext context, const AbfValue *from)
{
	abf_state_init(state, context, &from->header);
	copy_slices(state, from);
}

void
abf_copy_to_change(AbfState *state, MemoryContext context, const AbfValue *from)
{
	void	   *data;

	abf_state_init(state, context, &from->header);
	state->value = value_make_in(context, SB_ABF_HEADER, &data);
	copy_slices(state, from);
}

Datum
abf_changed(AbfState *state)
{
	const Size	size = VARHDRSZ + sb_abf_size(&state->header);

	/* If no bit is left, the memory of the slices is freed. */
	if (VARSIZE(state->value) > size)
	{
		state->value = repalloc(state->value, size);
		SET_VARSIZE(state->value, size);
	}
	sb_abf_encode_header(&state->header, VARDATA(state->value));
	return PointerGetDatum(state->value);
}

uint64_t
abf_hash_slowly(AbfState *state, ItemHasher *hasher, Datum item)
{
	uint64_t	hash = item_hash_to_add(hasher, item, &state->header.kind);

	if (item_kind_is_settled(hasher, &state->header.kind))
		state->hasher = hasher;
	return hash;
}

void
abf_add_hashes(AbfState *state, const uint64_t *hashes, const int64_t *times, size_t count, bool *duplicates)
{
	sb_status	status;

	if (count == 0)
		return;
	abf_need_slices(state);
	status = sb_abf_add(&state->header, state->slices, hashes, state->header.by_time ? times : NULL, count, duplicates);
	if (unlikely(status == SB_OVERFLOW))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("an abf cannot count more than " UINT64_FORMAT " items", SB_ABF_MAX_ITEMS),
				 errhint("Begin with an empty filter.")));
	must_finish(status);
}

void
abf_settle(AbfState *state)
{
	uint32		count = state->pending_count;

	state->pending_count = 0;
	CHECK_FOR_INTERRUPTS();
	abf_add_hashes(state, state->hashes, state->times, count, NULL);
}

/* -------------------------------------------------------------- full filters */

double
abf_current_rate(const sb_abf *header, const uint64_t *set)
{
	double		fills[SB_ABF_MAX_SLICES];

	for (int i = 0; i < sb_abf_slices(header); i++)
		fills[i] = (double) set[i] / sb_abf_bits(header);
	return sb_abf_rate(header->hash_count, header->generations, fills);
}

void
abf_warn_if_full(const sb_abf *header, const unsigned char *slices)
{
	uint64_t	set[SB_ABF_MAX_SLICES];
	double		rate;

	/* a filter by items never holds more items than it was made for */
	if (!header->by_time || !header->filled || !rate_warning_is_due())
		return;
	must_finish(sb_abf_count(header, slices, set));
	rate = abf_current_rate(header, set);
	if (rate > highest_rate(header->fpr))
		warn_of_full("abf", rate, header->fpr,
					 "Give the number of items to expect within the window, as in abf_empty(items, within => '10 minutes').");
}
