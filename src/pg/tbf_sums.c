/*
 * tbf_sums.c: the core's exact sums in PostgreSQL's memory: the state of tbf_agg and tbf_merge_agg, and the way by
 * which tbf_add and + come to their results.
 *
 * As in bf_agg.c a state begins small, with a sum for each item (of a set of hashes), and goes over to a sum for each
 * cell when the set would be larger than the cells; a filter that sizes itself is sized in the end. Everything is
 * a sum of integers: the result does not depend on the order of rows or the number of workers. (With minimum increase
 * only the sums of items are: once the state is over cells, the order of hits matters.)
 */
#include "tbf.h"

#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "utils/memutils.h"

#include "item.h"
#include "value.h"

/*
 * Where a filter that sizes itself goes over from items to cells: at 5/8 of SELF_SIZED_SET items (16 MB a plane); there
 * are SELF_SIZED_CELLS cells then (128 MB a plane: 1.6 million items at 1 %).
 */
#define SELF_SIZED_SET (UINT64CONST(1) << 20)
#define SELF_SIZED_CELLS (UINT64CONST(1) << 24)
#define SMALLEST_SET 8

/*
 * A state that is not small keeps the newest hits pending, as long as they are of one half-life, and lets them in by the batch:
 * sums do not depend on when a hit arrives, and the hits arrive in the order in which they came. While some of a batch are added
 * the memory that the next need is on its way.
 */
#define PENDING 256
#define PENDING_FROM_WORDS 2048

typedef struct TbfPendingHits
{
	uint32		count;
	int64_t		half_lives;
	int64_t		plane;			/* floor(half_lives / 16) */
	uint64_t	hashes[PENDING];
	uint64_t	values[PENDING];
} TbfPendingHits;

static void *
allocate_zeroed(const TbfSums *state, size_t bytes)
{
	return allocate_cells(state->context, bytes);
}

static bool
over_items(const TbfSums *state)
{
	return state->set.slots != NULL;
}

/* Minimum increase: hits raise cells instead of adding to them, and the order of hits matters once there are cells. */
static bool
raises(const TbfSums *state)
{
	return (state->plan.flags & SB_TBF_MINIMUM_INCREASE) != 0;
}

static uint64_t *
make_plane(const TbfSums *state)
{
	return allocate_zeroed(state, state->sums.width * sizeof(uint64_t));
}

static void
allocate_plane(TbfSums *state, int index)
{
	if (index >= 0 && index < SB_TBF_PLANES && state->sums.plane[index] == NULL)
		state->sums.plane[index] = make_plane(state);
}

/* The index of the plane for this half-life, allocated, or -1. */
static int
turn(TbfSums *state, int64_t half_lives)
{
	int			index = sb_sums_turn(&state->sums, half_lives);

	allocate_plane(state, index);
	return index;
}

static void
must_fit(sb_status status)
{
	if (status == SB_BAD_CELLS)
		value_refuse("tbf", status);
	if (status != SB_OK)
		tbf_refuse_overflow();
}

/* ------------------------------------------------------------------- making */

TbfSums *
tbf_sums_over_cells(MemoryContext context, const sb_tbf *plan)
{
	TbfSums    *state = MemoryContextAllocZero(context, sizeof(TbfSums));

	state->context = context;
	state->plan = *plan;
	sb_tbf_clear(&state->plan);
	state->sums.width = sb_tbf_cells(plan);
	if ((plan->flags & SB_TBF_RECURRING_MINIMUM) != 0)
		state->moved = tbf_moved_make(context);
	if (plan->top != 0)
		state->top = tbf_top_make(context, plan->top);
	return state;
}

static void
make_set(TbfSums *state, uint64_t capacity)
{
	state->set.capacity = capacity;
	state->set.count = 0;
	state->set.slots = allocate_zeroed(state, sb_hash_set_bytes(capacity));
	state->sums.width = capacity + 1;
}

TbfSums *
tbf_sums_over_items(MemoryContext context, const sb_tbf *plan, bool self_sized)
{
	TbfSums    *state;

	/* which items move is seen by the cells, hit by hit */
	if ((plan->flags & SB_TBF_RECURRING_MINIMUM) != 0)
		return tbf_sums_over_cells(context, plan);
	state = MemoryContextAllocZero(context, sizeof(TbfSums));
	state->context = context;
	state->plan = *plan;
	state->self_sized = self_sized;
	if (self_sized)
	{
		state->plan.blocks = SELF_SIZED_CELLS / SB_TBF_BLOCK;
		state->plan.block_cells = SB_TBF_BLOCK;
	}
	make_set(state, SMALLEST_SET);
	if (plan->top != 0)
		state->top = tbf_top_make(context, plan->top);
	return state;
}

TbfSums *
tbf_sums_like(MemoryContext context, const TbfSums *other)
{
	TbfSums    *state;

	if (over_items(other))
		return tbf_sums_over_items(context, &other->plan, other->self_sized);
	state = tbf_sums_over_cells(context, &other->plan);
	state->self_sized = other->self_sized;
	if (other->sums.touched != NULL)
		state->sums.touched = allocate_zeroed(state, state->sums.width / 8);
	return state;
}

/* ----------------------------------------------------------------- growing */

/* The half-life at which a word of this plane is added without a shift. */
static int64_t
start_of_plane(const sb_sums *sums, int index)
{
	return (sums->newest_plane - index) * SB_TBF_PLANE;
}

/*
 * Adds the sums of all items of `from` to cells: `to` has planes where from has them. With minimum increase each cell
 * becomes the largest of its items' sums instead: no item has more than any of its cells, whatever the order of slots.
 */
static void
spread_items(const sb_hash_set *set, const sb_sums *from, sb_sums *to, const sb_tbf *cells)
{
	uint64_t	hash;

	if ((cells->flags & SB_TBF_MINIMUM_INCREASE) != 0)
	{
		for (uint64_t slot = 0; (slot = sb_hash_set_next(set, slot, &hash)) != UINT64_MAX; slot++)
		{
			uint64_t	words[SB_TBF_PLANES];

			for (int i = 0; i < SB_TBF_PLANES; i++)
				words[i] = from->plane[i] != NULL ? from->plane[i][slot] : 0;
			sb_sums_raise_item_to(to, cells, hash, words);
		}
		return;
	}
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		uint64_t	hashes[PENDING];
		uint64_t	values[PENDING];
		uint32		count = 0;

		if (from->plane[i] == NULL)
			continue;
		for (uint64_t slot = 0; (slot = sb_hash_set_next(set, slot, &hash)) != UINT64_MAX; slot++)
		{
			if (from->plane[i][slot] == 0)
				continue;
			hashes[count] = hash;
			values[count++] = from->plane[i][slot];
			if (count < PENDING)
				continue;
			must_fit(sb_sums_add_items(to, cells, i, start_of_plane(to, i), hashes, values, count));
			count = 0;
		}
		must_fit(sb_sums_add_items(to, cells, i, start_of_plane(to, i), hashes, values, count));
	}
}

/* The same state over cells. */
static void
items_to_cells(TbfSums *state)
{
	sb_hash_set set = state->set;
	sb_sums		old = state->sums;
	uint64_t	hash;

	state->set.slots = NULL;
	state->sums.width = sb_tbf_cells(&state->plan);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (old.plane[i] != NULL)
			state->sums.plane[i] = make_plane(state);
	if (state->self_sized)
	{
		/* all items count for the size, those with dropped hits alone too */
		state->sums.touched = allocate_zeroed(state, state->sums.width / 8);
		for (uint64_t slot = 0; (slot = sb_hash_set_next(&set, slot, &hash)) != UINT64_MAX; slot++)
			must_fit(sb_sums_add_item(&state->sums, &state->plan, -1, hash, 0, 0));
	}
	spread_items(&set, &old, &state->sums, &state->plan);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (old.plane[i] != NULL)
			pfree(old.plane[i]);
	pfree(set.slots);
}

static bool
set_may_grow_to(const TbfSums *state, uint64_t capacity)
{
	return state->self_sized ? capacity <= SELF_SIZED_SET : capacity * 2 <= sb_tbf_cells(&state->plan);
}

static void
grow_set(TbfSums *state, uint64_t capacity)
{
	sb_hash_set old_set = state->set;
	sb_sums		old = state->sums;
	uint64_t	hash;

	if (!set_may_grow_to(state, capacity))
	{
		items_to_cells(state);
		return;
	}
	make_set(state, capacity);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (old.plane[i] != NULL)
			state->sums.plane[i] = make_plane(state);
	for (uint64_t slot = 0; (slot = sb_hash_set_next(&old_set, slot, &hash)) != UINT64_MAX; slot++)
	{
		uint64_t	moved = sb_hash_set_insert(&state->set, hash);

		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (old.plane[i] != NULL)
				state->sums.plane[i][moved] = old.plane[i][slot];
	}
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (old.plane[i] != NULL)
			pfree(old.plane[i]);
	pfree(old_set.slots);
}

/* ------------------------------------------------------------------- adding */

/* See tbf_recurring.c. */
static void
add_recurring(TbfSums *state, int index, uint64_t hash, int64_t half_lives, uint64_t value)
{
	bool		recurs;
	uint64_t	minimum;

	must_fit(sb_sums_add_item(&state->sums, &state->plan, index, hash, half_lives, value));
	if (tbf_moved_add(state->moved, hash, value))
		return;
	must_fit(sb_sums_recurring_minimum(&state->sums, &state->plan, hash, &recurs, &minimum));
	if (!recurs)
		tbf_moved_insert(state->moved, hash, minimum);
}

/* To the sums alone, not to the totals. */
static void
add_item(TbfSums *state, int index, uint64_t hash, int64_t half_lives, uint64_t value)
{
	if (over_items(state))
	{
		uint64_t	slot = sb_hash_set_insert(&state->set, hash);

		if (index >= 0)
			must_fit(sb_sums_add_word(&state->sums, index, slot, half_lives, value));

		/* at once, so that the form depends on the number of distinct items alone */
		if (!sb_hash_set_has_room(&state->set))
			grow_set(state, state->set.capacity * 2);
	}
	else if (state->moved != NULL)
		add_recurring(state, index, hash, half_lives, value);
	else if (raises(state))
		must_fit(sb_sums_raise_item(&state->sums, &state->plan, index, hash, half_lives, value));
	else
		must_fit(sb_sums_add_item(&state->sums, &state->plan, index, hash, half_lives, value));
}

/* The index of a plane that was turned to once, or -1 if it has fallen out since. */
static int
index_of_plane(const TbfSums *state, int64_t plane)
{
	int64_t		index = state->sums.newest_plane - plane;

	return index < SB_TBF_PLANES ? (int) index : -1;
}

static void
let_in(TbfSums *state)
{
	TbfPendingHits *pending = state->pending;
	uint32		count = pending->count;
	uint32		done = 0;

	/* the plane may have fallen out since, and its share of the totals with it */
	int			index = index_of_plane(state, pending->plane);

	pending->count = 0;
	while (done < count && over_items(state) && index >= 0)
	{
		sb_status	status;

		done += sb_sums_add_hits(&state->sums, &state->set, index, pending->half_lives, pending->hashes + done,
								 pending->values + done, count - done, &status);
		must_fit(status);

		/* at once, so that the form depends on the number of distinct items alone */
		if (!sb_hash_set_has_room(&state->set))
			grow_set(state, state->set.capacity * 2);
	}
	if (done < count && index >= 0 && !raises(state) && state->moved == NULL)
		must_fit(sb_sums_add_items(&state->sums, &state->plan, index, pending->half_lives, pending->hashes + done,
								   pending->values + done, count - done));
	else
		for (; done < count; done++)
			add_item(state, index, pending->hashes[done], pending->half_lives, pending->values[done]);
}

/*
 * Notes the totals of the hits that came in a row at one moment: it does not matter when, a sum that falls out with its
 * plane counts as much as one that is noted after that.
 */
static void
end_run(TbfSums *state)
{
	TbfRun	   *run = &state->run;

	if (run->total == 0)
		return;
	sb_sums_note_hit(&state->sums, index_of_plane(state, run->plane), &run->moment, run->total);
	if ((run->digits & ((1 << SB_TBF_HIT_BITS) - 1)) != 0)
		state->sums.fractions = true;
	run->total = 0;
}

/* Lets the pending hits in. To be called before anything but tbf_sums_add_hit() looks at a state. */
void
tbf_sums_settle(TbfSums *state)
{
	end_run(state);
	if (state->pending != NULL)
		let_in(state);
}

static void
begin_run(TbfSums *state, const sb_moment *moment)
{
	int			index;

	end_run(state);

	/* a sum does not mind what falls out before or after a hit arrives, a minimum does */
	if (raises(state) && moment->half_lives >= start_of_plane(&state->sums, -1))
		tbf_sums_settle(state);
	index = turn(state, moment->half_lives);
	state->run.moment = *moment;
	state->run.digits = 0;

	/* of a plane that had fallen out before any plane will do that has, too */
	state->run.plane = state->sums.newest_plane - (index >= 0 ? index : SB_TBF_PLANES);
}

void
tbf_sums_add_hit(TbfSums *state, uint64_t hash, const sb_moment *moment, uint64_t value)
{
	TbfRun	   *run = &state->run;
	TbfPendingHits *pending = state->pending;
	int			index;

	if (value == 0)
		return;					/* a hit of no weight leaves no trace */
	if (run->total == 0 || run->total >= SB_TBF_MAX_CELL || moment->half_lives != run->moment.half_lives ||
		moment->epoch_start != run->moment.epoch_start)
		begin_run(state, moment);
	run->total += value;
	run->digits |= value;
	if (pending == NULL)
	{
		index = index_of_plane(state, run->plane);
		add_item(state, index, hash, moment->half_lives, value);
		if (state->sums.width >= PENDING_FROM_WORDS)
			state->pending = MemoryContextAllocZero(state->context, sizeof(TbfPendingHits));
		return;
	}
	if (pending->count == PENDING || (pending->count > 0 && pending->half_lives != moment->half_lives))
		let_in(state);
	pending->half_lives = moment->half_lives;
	pending->plane = run->plane;
	pending->hashes[pending->count] = hash;
	pending->values[pending->count++] = value;
}

/* The same sums over the cells of a larger filter. */
static void
widen(TbfSums *state, const sb_tbf *larger)
{
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (state->sums.plane[i] != NULL)
		{
			uint64_t   *wide = allocate_zeroed(state, sb_tbf_cells(larger) * sizeof(uint64_t));

			sb_tbf_widen_plane(&state->plan, state->sums.plane[i], larger, wide);
			pfree(state->sums.plane[i]);
			state->sums.plane[i] = wide;
		}
	state->sums.width = sb_tbf_cells(larger);
}

/* A list of hot items goes on only if both have one, with the smaller number of items: the bound of the error is its. */
static void
join_top(TbfSums *state, uint16_t other)
{
	state->plan.top = Min(state->plan.top, other);
	if (state->top == NULL)
		return;
	if (state->plan.top != 0)
		tbf_top_limit(state->top, state->plan.top);
	else
	{
		tbf_top_free(state->top);
		state->top = NULL;
	}
}

/* Makes the parameters of the state those of both, and the state over cells of that size. */
static void
join_plan(TbfSums *state, const sb_tbf *other)
{
	sb_tbf		joined;

	Assert(!over_items(state) && !state->self_sized);
	tbf_join(&state->plan, other, &joined);
	if (sb_tbf_cells(&joined) > state->sums.width)
		widen(state, &joined);
	state->plan = joined;
	join_top(state, other->top);
}

static void
refuse_weight(double weight)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("weight %g is out of range", weight),
			 errdetail("The weight of a filter is finite, not negative and less than 2^33."),
			 errhint("Weights by age come from the decay functions: decay_exponential() and the like.")));
}

/* Adds what a filter's header and counters say, times a weight, to a state over cells that can hold them. */
static void
add_counters(TbfSums *state, const TbfValue *filter, double by)
{
	sb_weight	weight;
	int			index;
	int			planes;

	if (sb_tbf_weight(by, &weight) != SB_OK)
		refuse_weight(by);
	index = sb_sums_turn_for_weighted(&state->sums, &filter->header, &weight, &planes);
	for (int i = 0; i < planes; i++)
		allocate_plane(state, index - i);
	must_fit(sb_sums_add_weighted(&state->sums, &state->plan, index, &filter->header, filter->cells, &weight));
	if (state->top != NULL)
		tbf_top_add_weighted(state->top, filter, by);
}

void
tbf_sums_add_weighted(TbfSums *state, const TbfValue *filter, double weight)
{
	tbf_sums_settle(state);
	join_plan(state, &filter->header);
	add_counters(state, filter, weight);
}

void
tbf_sums_add_filter(TbfSums *state, const TbfValue *filter)
{
	tbf_sums_add_weighted(state, filter, 1);
}

TbfSums *
tbf_sums_of(MemoryContext context, const TbfValue *filter)
{
	TbfSums    *state = tbf_sums_over_cells(context, &filter->header);

	add_counters(state, filter, 1);
	if (state->moved != NULL)
		tbf_moved_read(state->moved, filter);
	return state;
}

static void
unite_items(TbfSums *state, const TbfSums *other)
{
	uint64_t	capacity = sb_hash_set_capacity_for(state->set.count + other->set.count + 1);
	uint64_t	hash;

	/* room first: to insert one set into another in slot order would pile up in a set that grows as it goes */
	while (!set_may_grow_to(state, capacity))
		capacity /= 2;
	if (over_items(state) && capacity > state->set.capacity)
		grow_set(state, capacity);
	for (uint64_t slot = 0; (slot = sb_hash_set_next(&other->set, slot, &hash)) != UINT64_MAX; slot++)
	{
		bool		added = false;

		for (int i = 0; i < SB_TBF_PLANES; i++)
		{
			int			index = sb_sums_matching_plane(&state->sums, &other->sums, i);

			if (index < 0 || other->sums.plane[i][slot] == 0)
				continue;
			allocate_plane(state, index);
			add_item(state, index, hash, start_of_plane(&other->sums, i), other->sums.plane[i][slot]);
			added = true;
		}
		if (!added)
			add_item(state, -1, hash, 0, 0);
	}
}

static void
unite_cells(TbfSums *state, const TbfSums *other)
{
	const uint64_t *narrow;
	uint64_t   *wide = NULL;

	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		int			index = sb_sums_matching_plane(&state->sums, &other->sums, i);

		if (index < 0)
		{
			if (other->sums.plane[i] != NULL && other->sums.width == state->sums.width)
				sb_sums_mark_touched(&state->sums, other->sums.plane[i]);
			continue;
		}
		allocate_plane(state, index);
		narrow = other->sums.plane[i];
		if (other->sums.width < state->sums.width)
		{
			if (wide == NULL)
				wide = make_plane(state);
			sb_tbf_widen_plane(&other->plan, narrow, &state->plan, wide);
			narrow = wide;
		}
		must_fit(sb_sums_add_plane(&state->sums, index, narrow));
	}
	if (wide != NULL)
		pfree(wide);
	if (state->sums.touched != NULL && other->sums.touched != NULL)
		for (uint64_t word = 0; word < state->sums.width / 64; word++)
			state->sums.touched[word] |= other->sums.touched[word];
}

void
tbf_sums_unite(TbfSums *state, TbfSums *other)
{
	tbf_sums_settle(state);
	tbf_sums_settle(other);
	item_kinds_must_agree(&state->plan.kind, &other->plan.kind, "merge");
	if (state->plan.kind.code == SB_KIND_NONE)
		state->plan.kind = other->plan.kind;
	if (!over_items(other))
	{
		if (over_items(state))
			items_to_cells(state);
		if (!state->self_sized)
			join_plan(state, &other->plan);
	}
	join_top(state, other->plan.top);
	sb_sums_combine_notes(&state->sums, &other->sums);
	if (over_items(other))
		unite_items(state, other);
	else
		unite_cells(state, other);
	if (state->top != NULL)
		tbf_top_unite(state->top, other->top);
}

/* ------------------------------------------------------------------ storing */

/* The size that a self-sized filter needs. */
static void
plan_size(const TbfSums *state, sb_tbf *plan)
{
	double		items;

	*plan = state->plan;
	if (!state->self_sized)
		return;
	if (over_items(state))
		items = (double) Max(state->set.count, 1);
	else
		items = sb_tbf_estimate_items(&state->plan, sb_sums_touched(&state->sums)) + 1;
	if (items < sb_tbf_capacity(&state->plan))
	{
		tbf_plan((int64) items, plan->fpr, plan->half_life, plan->epoch, true, plan);
		plan->kind = state->plan.kind;
	}
}

/* What follows the counters: its size, noted in the header. */
static void
plan_extra(TbfSums *state, sb_tbf *header)
{
	if (state->moved != NULL)
		header->extra = tbf_moved_size(state->moved);
	if (state->top != NULL)
		tbf_top_plan(state->top, header);
}

/*
 * Header and counters as a value that has room for the rest. Extensible counters hardly ever need a byte a cell, even where far
 * more items came than were expected: so they are packed into that many at once (what is not needed is never touched), and only if
 * that was wrong it is found out first how many they need.
 */
static Datum
store_sums(TbfSums *state, const sb_sums *sums, const sb_tbf *plan, sb_tbf *header, unsigned char **cells)
{
	size_t		room = (size_t) plan->blocks * 4 + sb_tbf_cells(plan) + 256;
	sb_status	status = SB_TOO_LARGE;
	Datum		result;

	if (plan->layout == SB_TBF_EXTENSIBLE && room < SB_MAX_BYTES)
	{
		char	   *value = palloc(VARHDRSZ + SB_TBF_HEADER + room);

		status = sb_sums_store(sums, plan, header, value + VARHDRSZ + SB_TBF_HEADER, room);
		if (status == SB_OK)
		{
			plan_extra(state, header);
			return tbf_fit(value, header, cells);
		}
		pfree(value);
		if (status != SB_TOO_LARGE)
			must_fit(status);
	}
	status = sb_sums_plan(sums, plan, header);
	if (status != SB_TOO_LARGE)
		must_fit(status);		/* else tbf_make() says so */
	plan_extra(state, header);
	result = tbf_make(header, cells);
	sb_sums_write(sums, header, *cells);
	return result;
}

Datum
tbf_sums_store(TbfSums *state)
{
	sb_tbf		plan;
	sb_tbf		header;
	sb_sums		sums;
	unsigned char *cells;
	Datum		result;
	bool		copied;

	tbf_sums_settle(state);				/* which may make other planes */
	sums = state->sums;
	plan_size(state, &plan);
	copied = over_items(state) || sb_tbf_cells(&plan) < state->sums.width;
	if (copied)
	{
		sums.width = sb_tbf_cells(&plan);
		sums.touched = NULL;
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (state->sums.plane[i] != NULL)
				sums.plane[i] = MemoryContextAllocExtended(CurrentMemoryContext, sums.width * sizeof(uint64_t),
														   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		if (over_items(state))
			spread_items(&state->set, &state->sums, &sums, &plan);
		else
			for (int i = 0; i < SB_TBF_PLANES; i++)
				if (state->sums.plane[i] != NULL)
					must_fit(sb_tbf_fold_plane(&state->plan, state->sums.plane[i], &plan, sums.plane[i]));
	}
	result = store_sums(state, &sums, &plan, &header, &cells);
	if (state->moved != NULL)
		tbf_moved_write(state->moved, cells + sb_tbf_counters_size(&header));
	if (state->top != NULL)
		tbf_top_store(state->top, &header, cells);
	if (copied)
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (sums.plane[i] != NULL)
				pfree(sums.plane[i]);
	return result;
}

/* ------------------------------------------------------------ parallel workers */

static void
send_u128(StringInfo out, sb_u128 value)
{
	pq_sendint64(out, (uint64) (value >> 64));
	pq_sendint64(out, (uint64) value);
}

static sb_u128
read_u128(StringInfo in)
{
	uint64_t	high = pq_getmsgint64(in);

	return (sb_u128) high << 64 | (uint64) pq_getmsgint64(in);
}

/*
 * plan (a tbf header, 128 bytes), what sb_sums notes, self_sized and the form; the list of hot items if the plan has one;
 * then for each plane that is there its words: of items only those of used slots, after their hashes.
 */
bytea *
tbf_sums_serialize(TbfSums *state)
{
	const sb_sums *sums = &state->sums;
	StringInfoData out;
	unsigned char header[SB_TBF_HEADER];
	uint64_t	planes = 0;
	uint64_t	size;

	tbf_sums_settle(state);
	pq_begintypsend(&out);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		planes += sums->plane[i] != NULL;

	/* at once: to grow by doubling would copy megabytes again and again */
	size = (over_items(state) ? state->set.count * (1 + planes) : sums->width * planes + sums->width / 64) * sizeof(uint64_t);
	if (size < MaxAllocSize / 2)
		enlargeStringInfo(&out, (int) size + 4096);
	sb_tbf_encode_header(&state->plan, header);
	pq_sendbytes(&out, (char *) header, sizeof header);
	pq_sendbyte(&out, state->self_sized);
	pq_sendbyte(&out, over_items(state));
	pq_sendbyte(&out, sums->any);
	pq_sendbyte(&out, sums->merged);
	pq_sendbyte(&out, sums->fractions);
	pq_sendbyte(&out, sums->touched != NULL);
	pq_sendint64(&out, sums->newest_plane);
	pq_sendint64(&out, sums->newest_half_life);
	pq_sendint64(&out, sums->oldest_base);
	pq_sendint64(&out, sums->newest);
	send_u128(&out, sums->dropped_total);
	send_u128(&out, sums->dropped_loss);
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		send_u128(&out, sums->total[i]);
		send_u128(&out, sums->slack[i]);
		send_u128(&out, sums->loss[i]);
		pq_sendbyte(&out, sums->plane[i] != NULL);
	}
	if (state->top != NULL)
		tbf_top_serialize(state->top, &out);
	if (over_items(state))
	{
		uint64_t	hash;

		pq_sendint64(&out, state->set.count);
		for (uint64_t slot = 0; (slot = sb_hash_set_next(&state->set, slot, &hash)) != UINT64_MAX; slot++)
		{
			pq_sendint64(&out, hash);
			for (int i = 0; i < SB_TBF_PLANES; i++)
				if (sums->plane[i] != NULL)
					pq_sendint64(&out, sums->plane[i][slot]);
		}
	}
	else
	{
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (sums->plane[i] != NULL)
				pq_sendbytes(&out, (char *) sums->plane[i], (int) (sums->width * sizeof(uint64_t)));
		if (sums->touched != NULL)
			pq_sendbytes(&out, (char *) sums->touched, (int) (sums->width / 8));
	}
	return pq_endtypsend(&out);
}

static bool
read_flag(StringInfo in)
{
	int			flag = pq_getmsgbyte(in);

	if (flag > 1)
		value_refuse("tbf_agg", SB_BAD_HEADER);
	return flag;
}

/* A word of a plane: none is larger. */
static uint64_t
checked_word(uint64_t word)
{
	if (word >= SB_TBF_MAX_CELL)
		value_refuse("tbf_agg", SB_BAD_CELLS);
	return word;
}

static void
must_have(StringInfo in, uint64_t count, uint64_t size)
{
	uint64_t	left = in->len - in->cursor;

	if (count > left / size || count * size != left)
		value_refuse("tbf_agg", SB_BAD_LENGTH);
}

TbfSums *
tbf_sums_deserialize(MemoryContext context, bytea *bytes)
{
	TbfSums    *state = MemoryContextAllocZero(context, sizeof(TbfSums));
	sb_sums    *sums = &state->sums;
	StringInfoData in;
	const unsigned char *data = (const unsigned char *) VARDATA_ANY(bytes);
	bool		items;
	bool		touched;
	bool		plane[SB_TBF_PLANES];
	int			planes = 0;
	sb_status	status;
	const int64 furthest = INT64CONST(1) << 61;

	in.data = (char *) data;
	in.len = in.maxlen = VARSIZE_ANY_EXHDR(bytes);
	in.cursor = 0;
	state->context = context;
	if (in.len < SB_TBF_HEADER)
		value_refuse("tbf_agg", SB_TRUNCATED);

	/* the plan says how long a stored filter is; here its cells are sums */
	status = sb_tbf_decode_header(data, SB_TBF_HEADER, SB_TBF_HEADER, &state->plan);
	if (status == SB_BAD_LENGTH)
		status = sb_tbf_decode_header(data, SB_TBF_HEADER, sb_tbf_size(&state->plan), &state->plan);
	if (status != SB_OK)
		value_refuse("tbf_agg", status);
	in.cursor = SB_TBF_HEADER;
	state->self_sized = read_flag(&in);
	items = read_flag(&in);
	sums->any = read_flag(&in);
	sums->merged = read_flag(&in);
	sums->fractions = read_flag(&in);
	touched = read_flag(&in);
	sums->newest_plane = pq_getmsgint64(&in);
	sums->newest_half_life = pq_getmsgint64(&in);
	sums->oldest_base = pq_getmsgint64(&in);
	sums->newest = pq_getmsgint64(&in);
	sums->dropped_total = read_u128(&in);
	sums->dropped_loss = read_u128(&in);
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		sums->total[i] = read_u128(&in);
		sums->slack[i] = read_u128(&in);
		sums->loss[i] = read_u128(&in);
		plane[i] = read_flag(&in);
		planes += plane[i];
	}
	if (sums->newest_half_life <= -furthest || sums->newest_half_life >= furthest ||
		sums->oldest_base <= -furthest || sums->oldest_base >= furthest ||
		sums->newest_plane < -furthest / SB_TBF_PLANE || sums->newest_plane > furthest / SB_TBF_PLANE ||
		sums->newest_half_life - sums->newest_plane * SB_TBF_PLANE >= SB_TBF_PLANE ||
		sums->newest_half_life - sums->newest_plane * SB_TBF_PLANE < -SB_TBF_PLANE ||
		(state->self_sized && sb_tbf_cells(&state->plan) != SELF_SIZED_CELLS) ||
		touched != (state->self_sized && !items))
		value_refuse("tbf_agg", SB_BAD_HEADER);
	if (state->plan.top != 0)
		state->top = tbf_top_deserialize(context, state->plan.top, sums->any, &in);

	if (items)
	{
		uint64_t	count = pq_getmsgint64(&in);

		must_have(&in, count, (1 + planes) * sizeof(uint64_t));
		make_set(state, Max(sb_hash_set_capacity_for(count + 1), SMALLEST_SET));
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (plane[i])
				sums->plane[i] = make_plane(state);
		while (count-- > 0)
		{
			uint64_t	slot = sb_hash_set_insert(&state->set, pq_getmsgint64(&in));

			for (int i = 0; i < SB_TBF_PLANES; i++)
				if (plane[i])
					sums->plane[i][slot] = checked_word(pq_getmsgint64(&in));
		}
		return state;
	}

	sums->width = sb_tbf_cells(&state->plan);
	must_have(&in, 1, sums->width * sizeof(uint64_t) * planes + (touched ? sums->width / 8 : 0));
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (plane[i])
		{
			sums->plane[i] = make_plane(state);
			pq_copymsgbytes(&in, (char *) sums->plane[i], (int) (sums->width * sizeof(uint64_t)));
			for (uint64_t word = 0; word < sums->width; word++)
				checked_word(sums->plane[i][word]);
		}
	if (touched)
	{
		sums->touched = allocate_zeroed(state, sums->width / 8);
		pq_copymsgbytes(&in, (char *) sums->touched, (int) (sums->width / 8));
	}
	return state;
}
