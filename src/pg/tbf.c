/*
 * tbf.c: the functions and operators of type tbf, but for its aggregates (tbf_agg.c).
 */
#include "tbf.h"

#include <math.h>

#include "access/xact.h"
#include "common/int.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "expanded.h"
#include "item.h"
#include "slices.h"
#include "value.h"

/* ------------------------------------------------------------------ helpers */

void
tbf_open(Datum value, TbfValue *tbf)
{
	size_t		size;
	const unsigned char *data = value_open(value, &size);
	sb_status	status = sb_tbf_decode_header(data, size, size, &tbf->header);

	if (status != SB_OK)
		value_refuse("tbf", status);
	tbf->cells = data + SB_TBF_HEADER;
}

void
tbf_open_header(Datum value, sb_tbf *header)
{
	size_t		size = value_size(value);
	size_t		have = Min(size, SB_TBF_HEADER);
	sb_status	status = sb_tbf_decode_header(value_slice(value, 0, have), have, size, header);

	if (status != SB_OK)
		value_refuse("tbf", status);
}

void
tbf_unpack_block(const TbfValue *tbf, uint32_t block, uint64_t *counters)
{
	sb_status	status = sb_tbf_unpack_block(&tbf->header, tbf->cells, block, counters);

	if (status != SB_OK)
		value_refuse("tbf", status);
}

static SB_NORETURN void
tbf_refuse_size(const sb_tbf *header)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("a tbf of " UINT64_FORMAT " counters in %zu bytes would be too large",
					sb_tbf_cells(header), sb_tbf_size(header)),
			 errdetail("A filter has at most %u bytes.", SB_MAX_BYTES),
			 errhint("Expect fewer items, allow a higher rate, or build one filter for each part of the data.")));
	pg_unreachable();
}

Datum
tbf_make(const sb_tbf *header, unsigned char **cells)
{
	void	   *data;
	struct varlena *value;

	if (sb_tbf_size(header) > SB_MAX_BYTES)
		tbf_refuse_size(header);
	value = value_make(sb_tbf_size(header), &data);
	sb_tbf_encode_header(header, data);
	*cells = (unsigned char *) data + SB_TBF_HEADER;
	return PointerGetDatum(value);
}

Datum
tbf_fit(char *value, const sb_tbf *header, unsigned char **cells)
{
	Size		size = VARHDRSZ + sb_tbf_size(header);

	if (sb_tbf_size(header) > SB_MAX_BYTES)
		tbf_refuse_size(header);
	value = repalloc(value, size);
	SET_VARSIZE(value, size);
	sb_tbf_encode_header(header, value + VARHDRSZ);
	*cells = (unsigned char *) value + VARHDRSZ + SB_TBF_HEADER;
	return PointerGetDatum(value);
}

void
tbf_plan(int64 items, double fpr, int64 half_life, int64 epoch, bool power, sb_tbf *out)
{
	if (items < 1)
		refuse_expected_items(items);
	check_fpr(fpr);
	if (!tbf_try_plan(items, fpr, half_life, epoch, power, out))
		refuse_size("tbf", items, fpr);
}

bool
tbf_try_plan(int64 items, double fpr, int64 half_life, int64 epoch, bool power, sb_tbf *out)
{
	static double known_fpr = 0;	/* the rate that was asked last in this session */
	static double known_load;
	static uint8_t known_hashes;

	if (fpr != known_fpr)
	{
		known_load = sb_tbf_best_load(fpr, &known_hashes);
		known_fpr = fpr;
	}
	return sb_tbf_plan_for_load(items, fpr, known_hashes, known_load, half_life, epoch, power, out) == SB_OK;
}

static int64
interval_microseconds(const Interval *interval, const char *article, const char *name)
{
	int64		days;
	int64		sum;
	bool		infinite = sb_interval_infinity(interval) != 0;

	if (interval->month != 0 && !infinite)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s %s cannot be given in months or years", article, name),
				 errdetail("They do not always have the same length."),
				 errhint("Give it in days, hours or seconds, for example interval '30 days'.")));
	if (infinite || pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &sum) || sum < 1 || sum > SB_TBF_MAX_TIME)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s \"%s\" is out of range", name,
						DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(interval)))),
				 errdetail("It must be at least one microsecond and at most 36,500 years."),
				 errhint("For a filter that does not decay give NULL as half-life.")));
	return sum;
}

int64
tbf_half_life(const Interval *interval)
{
	return interval == NULL ? 0 : interval_microseconds(interval, "a", "half-life");
}

int64
tbf_epoch(const Interval *interval, int64 half_life)
{
	if (half_life == 0)
	{
		if (interval != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("an epoch needs a half-life"),
					 errhint("A filter without a half-life does not decay, so it has no epochs.")));
		return 0;
	}
	return interval == NULL ? Max(half_life / TBF_EPOCHS_PER_HALF_LIFE, 1) : interval_microseconds(interval, "an", "epoch");
}

void
tbf_check_time(TimestampTz at)
{
	if (at < -SB_TBF_MAX_TIME || at > SB_TBF_MAX_TIME)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time \"%s\" is out of range", timestamptz_to_str(at)),
				 errdetail("Times of a tbf are finite and lie within 36,500 years of 2000-01-01.")));
}

TimestampTz
tbf_default_not_after(void)
{
	return GetCurrentTransactionStartTimestamp() + USECS_PER_DAY;
}

void
tbf_check_not_after(TimestampTz at, TimestampTz not_after)
{
	if (at > not_after)
	{
		char	   *limit = pstrdup(timestamptz_to_str(not_after));

		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the hit's time \"%s\" lies after the latest time allowed, \"%s\"", timestamptz_to_str(at), limit),
				 errdetail("A hit in the far future would make all others fade."),
				 errhint("Leave such rows out, or give a later time as not_after (by default a day after the transaction began).")));
	}
}

uint64_t
tbf_hit(const sb_moment *moment, double weight)
{
	uint64_t	hit;

	switch (sb_tbf_hit(moment, weight, &hit))
	{
		case SB_OK:
			return hit;
		case SB_OVERFLOW:
			tbf_refuse_overflow();
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("weight %g is out of range", weight),
					 errdetail("A weight is finite and not negative.")));
	}
	pg_unreachable();
}

void
tbf_refuse_overflow(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("a counter of a tbf would overflow"),
			 errdetail("A single hit must weigh less than 2^33. The hits of one item within 16 half-lives may weigh 2^34 in all, without decay 2^49."),
			 errhint("Count in a larger unit, for example in megabytes instead of bytes.")));
	pg_unreachable();
}

static Datum
interval_datum(int64 microseconds)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->day = (int32) (microseconds / USECS_PER_DAY);
	interval->time = microseconds % USECS_PER_DAY;
	return IntervalPGetDatum(interval);
}

/* As refuse_difference(), for times as people read them. 0: no decay. */
static void
refuse_different_times(const char *what, int64 left, int64 right)
{
	char	   *texts[2];

	for (int i = 0; i < 2; i++)
	{
		int64		time = i == 0 ? left : right;

		texts[i] = time == 0 ? "none" : DatumGetCString(DirectFunctionCall1(interval_out, interval_datum(time)));
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot merge tbf filters whose %s differ: %s and %s", what, texts[0], texts[1]),
			 errhint("Build both with the same half-life and epoch.")));
}

void
tbf_join(const sb_tbf *a, const sb_tbf *b, sb_tbf *out)
{
	sb_difference difference;

	item_kinds_must_agree(&a->kind, &b->kind, "merge");
	if (((a->flags | b->flags) & SB_TBF_RECURRING_MINIMUM) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot merge tbf filters with recurring minimum"),
				 errdetail("An item that one of them counts apart has its hits in the other's counters, mixed with those of others."),
				 errhint("Filters with minimum increase can be merged.")));
	if (a->half_life != b->half_life)
		refuse_different_times("half-lives", a->half_life, b->half_life);
	if (a->epoch != b->epoch)
		refuse_different_times("epochs", a->epoch, b->epoch);
	if (sb_tbf_join(a, b, out, &difference) != SB_OK)
		refuse_difference("tbf", "merge", &difference);
}

static const Interval *
interval_argument(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL : PG_GETARG_INTERVAL_P(argno);
}

/* --------------------------------------------------------------- in and out */

static sb_status
check_tbf(const void *data, size_t size)
{
	sb_tbf		header;
	sb_status	status = sb_tbf_decode_header(data, size, size, &header);

	sb_top_section section;

	if (status == SB_OK)
		status = sb_tbf_check_cells(&header, (const char *) data + SB_TBF_HEADER);
	if (status == SB_OK)
		status = tbf_top_open(&header, (const unsigned char *) data + SB_TBF_HEADER, &section);
	return status;
}

SB_FUNCTION(tbf_in);
Datum
tbf_in(PG_FUNCTION_ARGS)
{
	return value_from_text(fcinfo, "tbf", check_tbf);
}

SB_FUNCTION(tbf_out);
Datum
tbf_out(PG_FUNCTION_ARGS)
{
	return value_to_text(fcinfo);
}

SB_FUNCTION(tbf_recv);
Datum
tbf_recv(PG_FUNCTION_ARGS)
{
	return value_from_binary(fcinfo, "tbf", check_tbf);
}

SB_FUNCTION(tbf_send);
Datum
tbf_send(PG_FUNCTION_ARGS)
{
	return value_to_binary(fcinfo);
}

SB_FUNCTION(tbf_from_bytea);
Datum
tbf_from_bytea(PG_FUNCTION_ARGS)
{
	return value_from_bytea(fcinfo, "tbf", check_tbf);
}

SB_FUNCTION(tbf_to_bytea);
Datum
tbf_to_bytea(PG_FUNCTION_ARGS)
{
	return value_to_binary(fcinfo);
}

#define OFFSET_OF_EXTRA 124		/* of the header's field that says how long the list is */

/*
 * The same parameters, times, totals and counters? A list of hot items depends on the order of the hits, so what it holds
 * is left out; that there is one, and for how many items, is a parameter as others are.
 */
static bool
same_filter(FunctionCallInfo fcinfo)
{
	TbfValue	left;
	TbfValue	right;
	sb_tbf		header;

	tbf_open_header(PG_GETARG_DATUM(0), &header);
	if (header.top == 0)
		return value_equal(fcinfo);
	tbf_open(PG_GETARG_DATUM(0), &left);
	tbf_open(PG_GETARG_DATUM(1), &right);
	return memcmp(left.cells - SB_TBF_HEADER, right.cells - SB_TBF_HEADER, OFFSET_OF_EXTRA) == 0 &&
		memcmp(left.cells, right.cells, sb_tbf_counters_size(&left.header)) == 0;
}

SB_FUNCTION(tbf_eq);
Datum
tbf_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(same_filter(fcinfo));
}

SB_FUNCTION(tbf_ne);
Datum
tbf_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!same_filter(fcinfo));
}

/* ------------------------------------------------------------ making, adding */

static uint8_t
layout_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(argno));

	if (strcmp(name, "extensible") == 0)
		return SB_TBF_EXTENSIBLE;
	if (strcmp(name, "flat") == 0)
		return SB_TBF_FLAT;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there is no layout \"%s\"", name),
			 errhint("Layouts are \"extensible\" (small counters take few bits) and \"flat\" (all counters take as many as the largest).")));
	pg_unreachable();
}

/* The number of entries of a list of hot items. */
static uint16_t
top_argument(int32 top)
{
	if (top >= 0 && top <= SB_TBF_MAX_TOP)
		return (uint16_t) top;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("number of hot items %d is out of range", top),
			 errdetail("It must lie between 0 (no list) and %d.", SB_TBF_MAX_TOP),
			 errhint("A list of c items holds all whose share of the hits exceeds 1 / (c + 1).")));
	pg_unreachable();
}

/* tbf_empty(expected_items, fpr, half_life, epoch, layout, minimum_increase, recurring_minimum, top) */
SB_FUNCTION(tbf_empty);
Datum
tbf_empty(PG_FUNCTION_ARGS)
{
	sb_tbf		header;
	unsigned char *cells;
	int64		half_life;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(4) || PG_ARGISNULL(5) || PG_ARGISNULL(6) || PG_ARGISNULL(7))
		PG_RETURN_NULL();
	half_life = tbf_half_life(interval_argument(fcinfo, 2));
	tbf_plan(PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), half_life, tbf_epoch(interval_argument(fcinfo, 3), half_life),
			 false, &header);
	header.layout = layout_argument(fcinfo, 4);
	if (PG_GETARG_BOOL(5))
		header.flags |= SB_TBF_MINIMUM_INCREASE;
	if (PG_GETARG_BOOL(6))
	{
		const char *other = half_life != 0 ? "with a half-life" : PG_GETARG_BOOL(5) ? "with minimum increase" :
			PG_GETARG_INT32(7) != 0 ? "with a list of hot items" : NULL;

		if (other != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("recurring minimum cannot be combined %s", other),
					 errhint("Write tbf_empty(half_life => NULL, recurring_minimum => true), or use minimum_increase, which can decay.")));
		header.flags |= SB_TBF_RECURRING_MINIMUM;
	}
	header.top = top_argument(PG_GETARG_INT32(7));
	return tbf_make(&header, &cells);
}

/* tbf_layout(tbf, layout) */
SB_FUNCTION(tbf_layout);
Datum
tbf_layout(PG_FUNCTION_ARGS)
{
	TbfValue	tbf;
	sb_tbf		planned;
	unsigned char *cells;
	uint8_t		layout = layout_argument(fcinfo, 1);
	sb_status	status;
	Datum		result;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	if (tbf.header.layout == layout)
		return PG_GETARG_DATUM(0);
	status = sb_tbf_layout_plan(&tbf.header, tbf.cells, layout, &planned);
	if (status == SB_BAD_CELLS)
		value_refuse("tbf", status);
	result = tbf_make(&planned, &cells);
	sb_tbf_layout_write(&tbf.header, tbf.cells, &planned, cells);
	memcpy(cells + sb_tbf_counters_size(&planned), tbf.cells + sb_tbf_counters_size(&tbf.header), planned.extra);
	return result;
}

/* The time of a hit at argument argno, checked against the limit at argument argno + 2 (NULL: the default). */
static void
moment_of_hit(FunctionCallInfo fcinfo, const sb_tbf *tbf, int argno, sb_moment *moment)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(argno);

	if (tbf->half_life != 0)
	{
		tbf_check_time(at);
		tbf_check_not_after(at, PG_ARGISNULL(argno + 2) ? tbf_default_not_after() : PG_GETARG_TIMESTAMPTZ(argno + 2));
	}
	sb_tbf_moment(tbf->half_life, tbf->epoch, at, moment);
}

static bool
any_argument_is_null(FunctionCallInfo fcinfo, int count)
{
	for (int i = 0; i < count; i++)
		if (PG_ARGISNULL(i))
			return true;
	return false;
}

#if FILTERS_EXPAND
static struct varlena *
flatten_sums(void *sums)
{
	return (struct varlena *) DatumGetPointer(tbf_sums_store(sums));
}
#endif

/* The filter that is going to be changed; of a variable's expanded object the parameters alone, for its sums are at hand. */
static void
open_to_change(Datum value, TbfValue *tbf)
{
#if FILTERS_EXPAND
	ExpandedFilter *target = expanded_filter_to_change(value);

	if (target != NULL)
	{
		tbf->header = ((TbfSums *) target->state)->plan;
		tbf->cells = NULL;
		return;
	}
#endif
	tbf_open(value, tbf);
}

/*
 * Sums that begin with what a filter holds: those of a variable's expanded object itself, or new ones. *target is to be
 * given to changed_filter() after adding.
 */
static TbfSums *
sums_to_change(Datum value, const TbfValue *tbf, ExpandedFilter **target)
{
	*target = NULL;
#if FILTERS_EXPAND
	*target = expanded_filter_to_change(value);
	if (*target == NULL)
	{
		*target = make_expanded_filter(flatten_sums);
		MemoryContext caller = MemoryContextSwitchTo((*target)->hdr.eoh_context);

		(*target)->state = tbf_sums_of(CurrentMemoryContext, tbf);
		MemoryContextSwitchTo(caller);
	}
	return (*target)->state;
#else
	return tbf_sums_of(CurrentMemoryContext, tbf);
#endif
}

static Datum
changed_filter(TbfSums *sums, ExpandedFilter *target)
{
#if FILTERS_EXPAND
	/* A counter that overflows is this statement's error, not a later one's: and nothing that an earlier one added is lost. */
	tbf_sums_settle(sums);
	expanded_filter_changed(target);
	return EOHPGetRWDatum(&target->hdr);
#else
	return tbf_sums_store(sums);
#endif
}

/* tbf_add(tbf, "any", at, weight, not_after): NULL if any but not_after is NULL */
SB_FUNCTION(tbf_add);
Datum
tbf_add(PG_FUNCTION_ARGS)
{
	ItemHasher *hasher;
	TbfValue	tbf;
	TbfSums    *sums;
	ExpandedFilter *target;
	sb_moment	moment;
	uint64_t	hash;
	uint64_t	hit;

	if (any_argument_is_null(fcinfo, 4))
		PG_RETURN_NULL();
	hasher = item_hasher_for_argument(fcinfo, 1);
	open_to_change(PG_GETARG_DATUM(0), &tbf);
	hash = item_hash_for(hasher, PG_GETARG_DATUM(1), &tbf.header.kind);
	moment_of_hit(fcinfo, &tbf.header, 2, &moment);
	hit = tbf_hit(&moment, PG_GETARG_FLOAT8(3));
	sums = sums_to_change(PG_GETARG_DATUM(0), &tbf, &target);
	if (tbf.header.kind.code == SB_KIND_NONE)
		sums->plan.kind = *item_kind(hasher);
	tbf_sums_add_hit(sums, hash, &moment, hit);
	if (sums->top != NULL)
		tbf_top_add_hit(sums->top, hasher, PG_GETARG_DATUM(1), hash, &moment, PG_GETARG_FLOAT8(3));
	return changed_filter(sums, target);
}

/* tbf_add_all(tbf, items anyarray, at, weight, not_after): NULL elements are skipped */
SB_FUNCTION(tbf_add_all);
Datum
tbf_add_all(PG_FUNCTION_ARGS)
{
	ItemHasher *hasher;
	TbfValue	tbf;
	TbfSums    *sums;
	ExpandedFilter *target;
	sb_moment	moment;
	uint64_t	hit;
	Oid			type;
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *items;
	bool	   *nulls;
	int			count;

	if (any_argument_is_null(fcinfo, 4))
		PG_RETURN_NULL();
	hasher = item_hasher_for_elements(fcinfo, 1);
	item_element_storage(hasher, &type, &length, &by_value, &align);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), type, length, by_value, align, &items, &nulls, &count);
	open_to_change(PG_GETARG_DATUM(0), &tbf);
	moment_of_hit(fcinfo, &tbf.header, 2, &moment);
	hit = tbf_hit(&moment, PG_GETARG_FLOAT8(3));

	/* one sum and one rounding for them all, even where items are repeated */
	sums = sums_to_change(PG_GETARG_DATUM(0), &tbf, &target);
	for (int i = 0; i < count; i++)
		if (!nulls[i])
		{
			uint64_t	hash = item_hash_for(hasher, items[i], &sums->plan.kind);

			if (sums->plan.kind.code == SB_KIND_NONE)
				sums->plan.kind = *item_kind(hasher);
			tbf_sums_add_hit(sums, hash, &moment, hit);
			if (sums->top != NULL)
				tbf_top_add_hit(sums->top, hasher, items[i], hash, &moment, PG_GETARG_FLOAT8(3));
		}
	return changed_filter(sums, target);
}

/* Which of the filter's features keeps hits from being taken out, or NULL. */
static const char *
why_not_remove(const sb_tbf *tbf)
{
	if ((tbf->flags & SB_TBF_MINIMUM_INCREASE) != 0)
		return "With minimum increase a hit is not part of all the item's counters.";
	if ((tbf->flags & SB_TBF_RECURRING_MINIMUM) != 0)
		return "With recurring minimum it is not known which hits are in the item's count.";
	if (tbf->top != 0)
		return "Its list of hot items does not know which hits it has let go.";
	if (sb_tbf_slack(tbf) != 0)
		return "Something of its hits has been forgotten, and it is not known of which items.";
	return NULL;
}

/* tbf_remove(tbf, "any", at, weight) */
SB_FUNCTION(tbf_remove);
Datum
tbf_remove(PG_FUNCTION_ARGS)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(2);
	double		weight = PG_GETARG_FLOAT8(3);
	TbfValue	tbf;
	sb_moment	moment;
	uint64_t	hash;
	uint64_t	hit;
	sb_tbf		planned;
	double		most;
	sb_status	status;
	const char *reason;
	unsigned char *cells;
	Datum		result;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	hash = item_hash_for(hasher, PG_GETARG_DATUM(1), &tbf.header.kind);
	reason = why_not_remove(&tbf.header);
	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("hits cannot be removed from this tbf"),
				 errdetail("%s So other items might be undercounted.", reason),
				 errhint("Build the filter anew without those hits, or keep one filter for each part of the stream and merge those that are wanted.")));
	if (tbf.header.half_life != 0)
		tbf_check_time(at);
	sb_tbf_moment(tbf.header.half_life, tbf.header.epoch, at, &moment);
	hit = tbf_hit(&moment, weight);
	if (hit == 0)
		return PG_GETARG_DATUM(0);
	if ((tbf.header.flags & SB_TBF_HAS_HITS) != 0 && moment.epoch_start > tbf.header.newest)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the item has no hit at \"%s\" that could be removed", timestamptz_to_str(at)),
				 errdetail("The time lies after the epoch of the filter's newest hit."),
				 errhint("Give the time at which the hit was added.")));
	status = sb_tbf_remove_plan(&tbf.header, tbf.cells, hash, &moment, hit, &planned, &most);
	if (status == SB_BAD_CELLS)
		value_refuse("tbf", status);
	if (status == SB_OUT_OF_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("cannot remove %.15g hits of an item that has at most %.15g", weight, most),
				 tbf.header.half_life == 0 ? 0 : errdetail("Both as of the time \"%s\".", timestamptz_to_str(at)),
				 errhint("Remove only what was added, with the same time and weight.")));
	result = tbf_make(&planned, &cells);
	sb_tbf_remove_write(&tbf.header, tbf.cells, hash, &moment, hit, &planned, cells);
	return result;
}

/* -------------------------------------------------------------------- asking */

/*
 * Of a stored value the header is read together with what lies in the same TOAST chunk: mostly the whole directory of
 * blocks.
 */
#define FIRST_SLICE 1900

uint64_t
tbf_item_units(Datum value, ItemHasher *hasher, Datum item, sb_tbf *header)
{
	size_t		size = value_size(value);
	size_t		first = Min(size, FIRST_SLICE);
	const char *head = cached_slice(hasher, value, 0, first);
	sb_status	status = sb_tbf_decode_header(head, first, size, header);
	uint64_t	hash;
	uint32_t	block;
	const void *directory;
	const void *cells;
	size_t		offset;
	size_t		length;
	uint64_t	units = 0;

	if (status != SB_OK)
		value_refuse("tbf", status);
	hash = item_hash_for(hasher, item, &header->kind);
	if (header->kind.code == SB_KIND_NONE)
		return 0;
	block = sb_tbf_block(header, hash);
	sb_tbf_directory_range(header, block, &offset, &length);
	directory = offset + length <= first ? head + offset : cached_slice(hasher, value, offset, length);
	status = sb_tbf_block_range(header, block, directory, &offset, &length);
	if (status == SB_OK)
	{
		cells = offset + length <= first ? head + offset : cached_slice(hasher, value, offset, length);
		status = sb_tbf_block_min(header, cells, length, hash, &units);
	}
	if (status != SB_OK)
		value_refuse("tbf", status);

	/* an item with a zero among its counters cannot be in the table */
	if (units != 0 && sb_tbf_entries(header) != 0)
		(void) tbf_moved_find(value, header, hash, &units);
	return units;
}

void
tbf_refuse_count(TimestampTz at)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("count at \"%s\" is out of range", timestamptz_to_str(at)),
			 errdetail("The time lies more than a thousand half-lives before the filter's hits."),
			 errhint("Ask for a time at or after the hits, for example now().")));
	pg_unreachable();
}

static double
count_at(Datum value, ItemHasher *hasher, Datum item, TimestampTz at, sb_tbf *header)
{
	uint64_t	units = tbf_item_units(value, hasher, item, header);
	double		count;

	if (header->half_life != 0)
		tbf_check_time(at);
	count = sb_tbf_count(header, units, at);
	if (isinf(count))
		tbf_refuse_count(at);
	return count;
}

/* tbf_count(tbf, "any", at) */
SB_FUNCTION(tbf_count);
Datum
tbf_count(PG_FUNCTION_ARGS)
{
	sb_tbf		header;

	PG_RETURN_FLOAT8(count_at(PG_GETARG_DATUM(0), item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(1),
							  PG_GETARG_TIMESTAMPTZ(2), &header));
}

/* tbf -> item */
SB_FUNCTION(tbf_count_now);
Datum
tbf_count_now(PG_FUNCTION_ARGS)
{
	sb_tbf		header;

	PG_RETURN_FLOAT8(count_at(PG_GETARG_DATUM(0), item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(1),
							  GetCurrentTransactionStartTimestamp(), &header));
}

/* tbf_rate(tbf, "any", at): (1 - lambda) times the count, hits an epoch (Cheng et al., eq. 4) */
SB_FUNCTION(tbf_rate);
Datum
tbf_rate(PG_FUNCTION_ARGS)
{
	sb_tbf		header;
	double		count = count_at(PG_GETARG_DATUM(0), item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(1),
								 PG_GETARG_TIMESTAMPTZ(2), &header);

	if (header.half_life == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a tbf without a half-life has no rate"),
				 errhint("Divide tbf_count() by the time that the filter covers.")));
	PG_RETURN_FLOAT8((1 - sb_tbf_decay_factor(&header)) * count);
}

SB_FUNCTION(tbf_contains);
Datum
tbf_contains(PG_FUNCTION_ARGS)
{
	sb_tbf		header;

	PG_RETURN_BOOL(tbf_item_units(PG_GETARG_DATUM(0), item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(1),
							  &header) > 0);
}

/* tbf_contained("any", tbf) */
SB_FUNCTION(tbf_contained);
Datum
tbf_contained(PG_FUNCTION_ARGS)
{
	sb_tbf		header;

	PG_RETURN_BOOL(tbf_item_units(PG_GETARG_DATUM(1), item_hasher_for_argument(fcinfo, 0), PG_GETARG_DATUM(0),
							  &header) > 0);
}

/* ------------------------------------------------------- decaying, combining */

SB_FUNCTION(tbf_decay);
Datum
tbf_decay(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);
	TbfValue	tbf;
	sb_tbf		decayed;
	char	   *value;
	unsigned char *cells;
	sb_status	status;
	TbfTop	   *top = NULL;
	Datum		result;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	if (tbf.header.half_life != 0)
		tbf_check_time(at);
	if (!sb_tbf_decays(&tbf.header, at))
		return PG_GETARG_DATUM(0);	/* nothing to do: not even a copy, so an UPDATE need not write it again */

	/* not zeroed, as that would take as long as the decay: all of what is left in the end is written */
	value = palloc(VARHDRSZ + SB_TBF_HEADER + sb_tbf_decay_room(&tbf.header));
	cells = (unsigned char *) value + VARHDRSZ + SB_TBF_HEADER;
	status = sb_tbf_decay(&tbf.header, tbf.cells, at, &decayed, cells);
	if (status == SB_TOO_LARGE)
		tbf_refuse_size(&decayed);
	if (status != SB_OK)
		value_refuse("tbf", status);
	if (tbf.header.top != 0)
	{
		top = tbf_top_decayed(&tbf, decayed.base);
		tbf_top_plan(top, &decayed);
	}
	result = tbf_fit(value, &decayed, &cells);
	if (top != NULL)
	{
		memset(cells + sb_tbf_counters_size(&decayed), 0, decayed.extra);
		tbf_top_store(top, &decayed, cells);
	}
	return result;
}

SB_FUNCTION(tbf_merge);
Datum
tbf_merge(PG_FUNCTION_ARGS)
{
	TbfValue	left;
	TbfValue	right;
	TbfSums    *sums;

	tbf_open(PG_GETARG_DATUM(0), &left);
	tbf_open(PG_GETARG_DATUM(1), &right);
	sums = tbf_sums_of(CurrentMemoryContext, &left);
	tbf_sums_add_filter(sums, &right);
	return tbf_sums_store(sums);
}

static Datum
scaled(Datum filter, double weight)
{
	TbfValue	tbf;
	TbfSums    *sums;
	sb_tbf		joined;

	tbf_open(filter, &tbf);
	tbf_join(&tbf.header, &tbf.header, &joined);	/* may it be merged? */
	if (weight == 1)
		return filter;
	sums = tbf_sums_over_cells(CurrentMemoryContext, &tbf.header);
	tbf_sums_add_weighted(sums, &tbf, weight);
	return tbf_sums_store(sums);
}

/* tbf_scale(tbf, weight) */
SB_FUNCTION(tbf_scale);
Datum
tbf_scale(PG_FUNCTION_ARGS)
{
	return scaled(PG_GETARG_DATUM(0), PG_GETARG_FLOAT8(1));
}

/* tbf_scale(weight, tbf) */
SB_FUNCTION(tbf_scale_commuted);
Datum
tbf_scale_commuted(PG_FUNCTION_ARGS)
{
	return scaled(PG_GETARG_DATUM(1), PG_GETARG_FLOAT8(0));
}

/* --------------------------------------------------------------- looking inside */

/* How many hits a stored counter of 1 means, at the base. */
static double
unit_of(const sb_tbf *tbf)
{
	return ldexp(1, -tbf->unit_bits);
}

/* Counters by the number of binary digits of their units: [0] zero, [b] 2^(b-1) .. 2^b - 1. */
#define HISTOGRAM_BUCKETS 64

static int
cell_histogram(const TbfValue *tbf, int64 cells[HISTOGRAM_BUCKETS])
{
	uint64_t	counters[SB_TBF_BLOCK];
	int			used = 1;

	memset(cells, 0, HISTOGRAM_BUCKETS * sizeof *cells);
	for (uint32_t block = 0; block < tbf->header.blocks; block++)
	{
		tbf_unpack_block(tbf, block, counters);
		for (uint32_t i = 0; i < tbf->header.block_cells; i++)
		{
			int			digits = counters[i] == 0 ? 0 : pg_leftmost_one_pos64(counters[i]) + 1;

			cells[digits]++;
			used = Max(used, digits + 1);
		}
	}
	return used;
}

uint64_t
tbf_nonzero_cells(const TbfValue *tbf)
{
	int64		cells[HISTOGRAM_BUCKETS];

	cell_histogram(tbf, cells);
	return sb_tbf_cells(&tbf->header) - cells[0];
}

SB_FUNCTION(tbf_info);
Datum
tbf_info(PG_FUNCTION_ARGS)
{
	enum {item_kind_, half_life, epoch, expected_items, false_positive_rate, hashes, cells, layout, cell_bits, unit,
		  bytes, base, newest, slack, total, fill, current_rate, cardinality, minimum_increase, recurring_minimum, top, columns_};
	TbfValue	tbf;
	TupleDesc	columns;
	Datum		values[columns_];
	bool		nulls[columns_] = {false};
	bool		hits;
	uint64_t	nonzero;
	double		filled;
	TimestampTz base_time;

	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	tbf_open(PG_GETARG_DATUM(0), &tbf);
	hits = (tbf.header.flags & SB_TBF_HAS_HITS) && tbf.header.half_life != 0;
	nonzero = tbf_nonzero_cells(&tbf);
	filled = (double) nonzero / sb_tbf_cells(&tbf.header);
	base_time = tbf.header.base * tbf.header.half_life;

	values[item_kind_] = CStringGetTextDatum(item_kind_text(&tbf.header.kind));
	values[half_life] = interval_datum(tbf.header.half_life);
	nulls[half_life] = tbf.header.half_life == 0;
	values[epoch] = interval_datum(tbf.header.epoch);
	nulls[epoch] = tbf.header.half_life == 0;
	values[expected_items] = Int64GetDatum(tbf.header.expected_items);
	nulls[expected_items] = tbf.header.expected_items == 0;
	values[false_positive_rate] = Float8GetDatum(tbf.header.fpr);
	values[hashes] = Int32GetDatum(tbf.header.hashes);
	values[cells] = Int64GetDatum(sb_tbf_cells(&tbf.header));
	values[layout] = CStringGetTextDatum(tbf.header.layout == SB_TBF_FLAT ? "flat" : "extensible");
	values[cell_bits] = Int32GetDatum(tbf.header.cell_bits);
	values[unit] = Float8GetDatum(unit_of(&tbf.header));
	values[bytes] = Int64GetDatum(sb_tbf_size(&tbf.header));
	values[base] = TimestampTzGetDatum(base_time);
	nulls[base] = !hits || !IS_VALID_TIMESTAMP(base_time);
	values[newest] = TimestampTzGetDatum(tbf.header.newest);
	nulls[newest] = !hits || !IS_VALID_TIMESTAMP(tbf.header.newest);
	values[slack] = Float8GetDatum(ldexp((double) sb_tbf_slack(&tbf.header), -SB_TBF_HIT_BITS));
	values[total] = Float8GetDatum(ldexp((double) tbf.header.total, -SB_TBF_HIT_BITS));
	values[fill] = Float8GetDatum(filled);
	values[current_rate] = Float8GetDatum(pow(filled, tbf.header.hashes));
	values[cardinality] = Float8GetDatum(sb_tbf_estimate_items(&tbf.header, nonzero));
	values[minimum_increase] = BoolGetDatum((tbf.header.flags & SB_TBF_MINIMUM_INCREASE) != 0);
	values[recurring_minimum] = BoolGetDatum((tbf.header.flags & SB_TBF_RECURRING_MINIMUM) != 0);
	values[top] = Int32GetDatum(tbf.header.top);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls)));
}

/* tbf_histogram(tbf): hits_from, hits_to (both at the base), cells */
SB_FUNCTION(tbf_histogram);
Datum
tbf_histogram(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	int64		cells[HISTOGRAM_BUCKETS];
	TbfValue	tbf;
	int			used;

	InitMaterializedSRF(fcinfo, 0);
	tbf_open(PG_GETARG_DATUM(0), &tbf);
	used = cell_histogram(&tbf, cells);
	for (int digits = 0; digits < used; digits++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = Float8GetDatum(digits == 0 ? 0 : ldexp(unit_of(&tbf.header), digits - 1));
		values[1] = Float8GetDatum(digits == 0 ? 0 : (ldexp(1, digits) - 1) * unit_of(&tbf.header));
		values[2] = Int64GetDatum(cells[digits]);
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
	return (Datum) 0;
}

SB_FUNCTION(tbf_sketch);
Datum
tbf_sketch(PG_FUNCTION_ARGS)
{
	TbfValue	tbf;
	int64		cells[HISTOGRAM_BUCKETS];
	double		heights[HISTOGRAM_BUCKETS];
	int			used;
	char	   *largest;
	uint64_t	nonzero;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	used = cell_histogram(&tbf, cells);
	nonzero = sb_tbf_cells(&tbf.header) - cells[0];

	/* zeros are told by the fill; the others span orders of magnitude, so their logarithms are drawn */
	for (int digits = 1; digits < used; digits++)
		heights[digits - 1] = log2(1 + (double) cells[digits]);
	largest = psprintf("%g", ldexp(unit_of(&tbf.header), used - 1));
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("tbf of %s: %.0f items, %.1f%% full, counters below %s hits |%s|",
											  item_kind_text(&tbf.header.kind),
											  sb_tbf_estimate_items(&tbf.header, nonzero),
											  100.0 * nonzero / sb_tbf_cells(&tbf.header), largest,
											  sketch_bars(heights, used - 1))));
}
