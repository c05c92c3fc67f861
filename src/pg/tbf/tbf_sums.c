/*
 * tbf_sums.c: the core's exact sums in PostgreSQL's memory: the state of tbf_agg and tbf_merge_agg, and the way by
 * which tbf_add and + come to their results.
 *
 * As in bf_agg.c a state begins small, with a sum for each item (of a set of hashes), and goes over to a sum for each
 * cell when the set would be larger than the cells. A filter that sizes itself is sized in the end. Everything is
 * a sum of integers: the result does not depend on the order of rows or the number of workers. (With minimum increase
 * only the sums of items are: once the state is over cells, the order of hits matters.)
 */
#include "tbf/tbf_sums.h"

#include "utils/memutils.h"

#include "base/call.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/value.h"

/*
 * Where a filter that sizes itself goes over from items to the cells of the largest filter there is, 1 GB for each plane:
 * at 5/8 of SELF_SIZED_SET items (512 MB), which are more than that filter holds at 1 %.
 */
#define SELF_SIZED_SET (UINT64CONST(1) << 25)

/*
 * A state that is not small keeps the newest hits pending, as long as they are of one half-life, and lets them in by the batch:
 * sums do not depend on when a hit arrives, and the hits arrive in the order in which they came. While some of a batch are added
 * the memory that the next need is on its way.
 */
#define PENDING_FROM_WORDS 2000

typedef struct TbfPendingHits
{
	uint32		count;
	int64_t		half_lives;
	int64_t		plane;			/* floor(half_lives / 16) */
	uint64_t	hashes[TBF_BATCH];
	uint64_t	values[TBF_BATCH];
} TbfPendingHits;

/* Minimum increase: hits raise cells instead of adding to them, and the order of hits matters once there are cells. */
static bool
raises(const TbfSums *state)
{
	return (state->plan.flags & SB_TBF_MINIMUM_INCREASE) != 0;
}

static uint64_t *
make_cells(const TbfSums *state, uint64_t cells)
{
	return allocate_cells(state->context, cells * sizeof(uint64_t));
}

/* An empty set of items. */
static void
make_set(TbfSums *state, uint64_t capacity, uint32_t beside)
{
	state->set.capacity = capacity;
	state->set.beside = beside;
	allocate_set(state->context, &state->set);
	state->sums.width = capacity + 1;
	state->sums.beside = beside;
}

/* The same items in a set of another size, or with room for words of more planes. */
static void
remake_items(TbfSums *state, uint64_t capacity, uint32_t beside)
{
	ptrdiff_t	place[SB_TBF_PLANES];

	for (int i = 0; i < SB_TBF_PLANES; i++)
		place[i] = state->sums.plane[i] != NULL ? state->sums.plane[i] - state->set.slots : 0;
	remake_set(state->context, &state->set, capacity, beside);
	state->sums.width = capacity + 1;
	state->sums.beside = beside;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (state->sums.plane[i] != NULL)
			state->sums.plane[i] = state->set.slots + place[i];
}

/* To be called after items were added, before others are. */
static inline void
keep_items_apart(TbfSums *state)
{
	if (unlikely(sb_hash_set_wants_secret(&state->set)))
		remake_items(state, state->set.capacity, state->set.beside);
}

void
tbf_sums_allocate_plane(TbfSums *state, int index)
{
	uint32		planes = 0;

	if (index < 0 || index >= SB_TBF_PLANES || state->sums.plane[index] != NULL)
		return;
	if (!state->over_items)
	{
		state->sums.plane[index] = make_cells(state, state->sums.width);
		return;
	}
	for (int i = 0; i < SB_TBF_PLANES; i++)
		planes += state->sums.plane[i] != NULL;
	if (planes == state->set.beside)
		remake_items(state, state->set.capacity, planes + 1);
	state->sums.plane[index] = state->set.slots + 4 * (1 + planes);
}

/* The index of the plane for this half-life, allocated, or -1. */
static int
turn(TbfSums *state, int64_t half_lives)
{
	int			index = sb_sums_turn(&state->sums, half_lives);

	tbf_sums_allocate_plane(state, index);
	return index;
}

void
tbf_sums_must_fit(sb_status status)
{
	if (status == SB_BAD_CELLS || status == SB_INTERRUPTED)
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
	state->over_items = true;
	if (self_sized)
	{
		state->plan.blocks = SB_TBF_MAX_CELLS / SB_TBF_BLOCK;
		state->plan.block_cells = SB_TBF_BLOCK;
	}
	make_set(state, sb_hash_set_capacity_for(1), 1);
	if (plan->top != 0)
		state->top = tbf_top_make(context, plan->top);
	return state;
}

TbfSums *
tbf_sums_like(MemoryContext context, const TbfSums *other)
{
	TbfSums    *state;

	if (other->over_items)
		return tbf_sums_over_items(context, &other->plan, other->self_sized);
	state = tbf_sums_over_cells(context, &other->plan);
	state->self_sized = other->self_sized;
	return state;
}

/* ----------------------------------------------------------------- growing */

/* The half-life at which a word of this plane is added without a shift. */
static int64_t
start_of_plane(const sb_sums *sums, int index)
{
	return (sums->newest_plane - index) * SB_TBF_PLANE;
}

size_t
tbf_sums_read_items(TbfItemReader *reader, uint64_t *hashes, uint64_t (*words)[TBF_BATCH])
{
	const TbfSums *of = reader->of;
	size_t		count = 0;

	CHECK_FOR_INTERRUPTS();
	if (of->travelled != NULL)
	{
		const unsigned char *column = of->travelled;

		count = Min(of->set.count - reader->at, TBF_BATCH);
		sb_hash_set_read_words(column + reader->at * sizeof(uint64_t), hashes, count);
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (words != NULL && of->sums.plane[i] != NULL)
			{
				column += of->set.count * sizeof(uint64_t);
				sb_hash_set_read_words(column + reader->at * sizeof(uint64_t), words[i], count);
			}
		reader->at += count;
		return count;
	}
	while (count < TBF_BATCH && (reader->at = sb_hash_set_next(&of->set, reader->at, &hashes[count])) != UINT64_MAX)
	{
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (words != NULL && of->sums.plane[i] != NULL)
				words[i][count] = of->sums.plane[i][sb_hash_set_place(reader->at, of->set.beside)];
		reader->at++;
		count++;
	}
	return count;
}

/*
 * With minimum increase each cell becomes the largest of its items' sums: no item has more than any of its cells, whatever
 * the order of slots.
 */
static void
raise_cells(TbfSums *state, const uint64_t *hashes, uint64_t (*words)[TBF_BATCH], size_t count)
{
	for (size_t j = 0; j < count; j++)
	{
		uint64_t	of_item[SB_TBF_PLANES];

		for (int i = 0; i < SB_TBF_PLANES; i++)
			of_item[i] = state->sums.plane[i] != NULL ? words[i][j] : 0;
		sb_sums_raise_item_to(&state->sums, &state->plan, hashes[j], of_item);
	}
}

/* All hits of some items in one plane, whose words begin at its first half-life. */
static void
add_words(TbfSums *state, int index, const uint64_t *hashes, const uint64_t *words, size_t count)
{
	int64_t		half_lives = start_of_plane(&state->sums, index);
	sb_status	status = SB_OK;

	if (state->over_items)
	{
		(void) sb_sums_add_hits(&state->sums, &state->set, index, half_lives, hashes, words, count, &status);
		keep_items_apart(state);
	}
	else if (raises(state))
		for (size_t i = 0; i < count && status == SB_OK; i++)
			status = sb_sums_raise_item(&state->sums, &state->plan, index, hashes[i], half_lives, words[i]);
	else
		status = sb_sums_add_items(&state->sums, &state->plan, index, half_lives, hashes, words, count);
	tbf_sums_must_fit(status);
}

/* The same state over cells. */
static void
items_to_cells(TbfSums *state)
{
	TbfSums		old = *state;
	TbfItemReader reader = {.of = &old};
	uint64_t	hashes[TBF_BATCH];
	uint64_t	words[SB_TBF_PLANES][TBF_BATCH];
	size_t		count;

	state->over_items = false;
	state->set.slots = NULL;
	state->sums.width = sb_tbf_cells(&state->plan);
	state->sums.beside = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (old.sums.plane[i] != NULL)
			state->sums.plane[i] = make_cells(state, state->sums.width);
	while ((count = tbf_sums_read_items(&reader, hashes, words)) > 0)
	{
		if (raises(state))
		{
			raise_cells(state, hashes, words, count);
			continue;
		}
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (state->sums.plane[i] != NULL)
				add_words(state, i, hashes, words[i], count);
	}
	free_set(&old.set);
}

/* Makes room in the set, or goes over to cells. */
static void
grow_set(TbfSums *state, uint64_t capacity)
{
	if (state->self_sized ? capacity <= SELF_SIZED_SET : capacity * 2 <= sb_tbf_cells(&state->plan))
		remake_items(state, capacity, state->set.beside);
	else
		items_to_cells(state);
}

/* ------------------------------------------------------------------- adding */

/* See tbf_recurring.c. */
static void
add_recurring(TbfSums *state, int index, uint64_t hash, int64_t half_lives, uint64_t value)
{
	bool		recurs;
	uint64_t	minimum;

	tbf_sums_must_fit(sb_sums_add_item(&state->sums, &state->plan, index, hash, half_lives, value));
	if (tbf_moved_add(state->moved, hash, value))
		return;
	tbf_sums_must_fit(sb_sums_recurring_minimum(&state->sums, &state->plan, hash, &recurs, &minimum));
	if (!recurs)
		tbf_moved_insert(state->moved, hash, minimum);
}

/* To the sums alone, not to the totals. */
static void
add_item(TbfSums *state, int index, uint64_t hash, int64_t half_lives, uint64_t value)
{
	if (state->over_items)
	{
		uint64_t	slot = sb_hash_set_insert(&state->set, hash);

		if (index >= 0)
			tbf_sums_must_fit(sb_sums_add_word(&state->sums, index, slot, half_lives, value));

		/* at once, so that the form depends on the number of distinct items alone */
		if (!sb_hash_set_has_room(&state->set))
			grow_set(state, sb_hash_set_next_capacity(state->set.capacity));
		else
			keep_items_apart(state);
	}
	else if (state->moved != NULL)
		add_recurring(state, index, hash, half_lives, value);
	else if (raises(state))
		tbf_sums_must_fit(sb_sums_raise_item(&state->sums, &state->plan, index, hash, half_lives, value));
	else
		tbf_sums_must_fit(sb_sums_add_item(&state->sums, &state->plan, index, hash, half_lives, value));
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
	while (done < count && state->over_items && index >= 0)
	{
		sb_status	status;

		done += sb_sums_add_hits(&state->sums, &state->set, index, pending->half_lives, pending->hashes + done,
								 pending->values + done, count - done, &status);
		tbf_sums_must_fit(status);

		/* at once, so that the form depends on the number of distinct items alone */
		if (!sb_hash_set_has_room(&state->set))
			grow_set(state, sb_hash_set_next_capacity(state->set.capacity));
		else
			keep_items_apart(state);
	}
	if (done < count && index >= 0 && !raises(state) && state->moved == NULL)
		tbf_sums_must_fit(sb_sums_add_items(&state->sums, &state->plan, index, pending->half_lives, pending->hashes + done,
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
	if (pending->count == TBF_BATCH || (pending->count > 0 && pending->half_lives != moment->half_lives))
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
			uint64_t   *wide = make_cells(state, sb_tbf_cells(larger));

			must_finish(sb_tbf_widen_plane(&state->plan, state->sums.plane[i], larger, wide));
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

	Assert(!state->over_items && !state->self_sized);
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
		tbf_sums_allocate_plane(state, index - i);
	tbf_sums_must_fit(sb_sums_add_weighted(&state->sums, &state->plan, index, &filter->header, filter->cells, &weight));
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

/*
 * Room first: in the order of slots items would pile up in a set that grows as it goes. And only for those that are new, so
 * that the form depends on the number of distinct items alone.
 */
static void
make_room_for(TbfSums *state, const TbfSums *other)
{
	TbfItemReader reader = {.of = other};
	uint64_t	hashes[TBF_BATCH];
	uint64_t	wanted = state->set.count + 1;
	uint64_t	capacity;
	size_t		count;

	while ((count = tbf_sums_read_items(&reader, hashes, NULL)) > 0)
		wanted += sb_hash_set_missing(&state->set, hashes, count);
	capacity = sb_hash_set_capacity_for(wanted);
	if (capacity > state->set.capacity)
		grow_set(state, capacity);
}

static void
unite_items(TbfSums *state, const TbfSums *other)
{
	TbfItemReader reader = {.of = other};
	uint64_t	hashes[TBF_BATCH];
	uint64_t	words[SB_TBF_PLANES][TBF_BATCH];
	size_t		count;

	if (state->over_items)
		make_room_for(state, other);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		tbf_sums_allocate_plane(state, sb_sums_matching_plane(&state->sums, &other->sums, i));
	while ((count = tbf_sums_read_items(&reader, hashes, words)) > 0)
	{
		bool		inserted = false;

		for (int i = 0; i < SB_TBF_PLANES; i++)
		{
			int			index = sb_sums_matching_plane(&state->sums, &other->sums, i);

			if (index < 0)
				continue;
			add_words(state, index, hashes, words[i], count);
			inserted = true;
		}

		/* items count for the size, if all hits have fallen out too */
		if (state->over_items && !inserted)
		{
			(void) sb_hash_set_insert_many(&state->set, hashes, count);
			keep_items_apart(state);
		}
	}
}

static void
unite_cells(TbfSums *state, const TbfSums *other)
{
	uint64_t   *wide = NULL;

	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		int			index = sb_sums_matching_plane(&state->sums, &other->sums, i);
		const uint64_t *words = other->sums.plane[i];

		if (index < 0)
			continue;
		tbf_sums_allocate_plane(state, index);
		if (other->sums.width < state->sums.width)
		{
			if (wide == NULL)
				wide = make_cells(state, state->sums.width);
			must_finish(sb_tbf_widen_plane(&other->plan, words, &state->plan, wide));
			words = wide;
		}
		tbf_sums_must_fit(sb_sums_add_plane(&state->sums, index, words));
	}
	if (wide != NULL)
		pfree(wide);
}

void
tbf_sums_unite(TbfSums *state, TbfSums *other)
{
	tbf_sums_settle(state);
	tbf_sums_settle(other);
	item_kinds_must_agree(&state->plan.kind, &other->plan.kind, "merge");
	if (state->plan.kind.code == SB_KIND_NONE)
		state->plan.kind = other->plan.kind;
	if (!other->over_items)
	{
		if (state->over_items)
			items_to_cells(state);
		if (!state->self_sized)
			join_plan(state, &other->plan);
	}
	join_top(state, other->plan.top);
	sb_sums_combine_notes(&state->sums, &other->sums);
	if (other->over_items)
		unite_items(state, other);
	else
		unite_cells(state, other);
	if (state->top != NULL)
		tbf_top_unite(state->top, other->top);
}

/* ------------------------------------------------------------------ storing */

/* The size that a self-sized filter needs, or the largest there is. */
static void
plan_size(const TbfSums *state, sb_tbf *plan)
{
	*plan = state->plan;
	if (!state->self_sized || !state->over_items)
		return;
	if (!tbf_try_plan((int64) Max(state->set.count, 1), plan->fpr, plan->half_life, plan->epoch, true, plan))
		*plan = state->plan;
	plan->kind = state->plan.kind;
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

/* The items of a set, in a form that the core stores: where slots are not in the order of hashes it wants the hashes sorted, too. */
static sb_hash_set
storable_set(const TbfSums *state)
{
	sb_hash_set set = state->set;

	if (state->over_items && set.secret[0] != 0)
	{
		uint64_t   *sorted = MemoryContextAllocHuge(CurrentMemoryContext, Max(set.count, 1) * sizeof(uint64_t));

		must_finish(sb_hash_set_sort(&state->set, sorted));
		set.sorted = sorted;
	}
	return set;
}

static void
free_storable_set(sb_hash_set *set)
{
	if (set->sorted != NULL)
		pfree(unconstify(uint64_t *, set->sorted));
}

/*
 * Header and counters as a value that has room for the rest. Extensible counters are packed into the usual room at once (what is
 * not needed is never touched), and only if that was too little it is found out first how much they need.
 */
static Datum
store_sums(TbfSums *state, const sb_tbf *plan, sb_tbf *header, unsigned char **cells)
{
	const sb_sums *sums = &state->sums;
	sb_hash_set storable = storable_set(state);
	const sb_hash_set *set = state->over_items ? &storable : NULL;
	size_t		room = tbf_sums_usual_room(plan);
	sb_status	status = SB_TOO_LARGE;
	Datum		result;

	if (plan->layout == SB_TBF_EXTENSIBLE && room < SB_MAX_BYTES)
	{
		char	   *value = MemoryContextAlloc(result_memory(), VARHDRSZ + SB_TBF_HEADER + room);

		status = sb_sums_store(sums, set, plan, header, value + VARHDRSZ + SB_TBF_HEADER, room);
		if (status == SB_OK)
		{
			plan_extra(state, header);
			free_storable_set(&storable);
			return tbf_fit(value, header, cells);
		}
		pfree(value);
		if (status != SB_TOO_LARGE)
			tbf_sums_must_fit(status);
	}
	status = sb_sums_plan(sums, set, plan, header);
	if (status != SB_TOO_LARGE)
		tbf_sums_must_fit(status);		/* else tbf_make() says so */
	plan_extra(state, header);
	result = tbf_make(header, cells);
	must_finish(sb_sums_write(sums, set, header, *cells));
	free_storable_set(&storable);
	return result;
}

Datum
tbf_sums_store(TbfSums *state)
{
	sb_tbf		plan;
	sb_tbf		header;
	unsigned char *cells;
	Datum		result;

	tbf_sums_settle(state);				/* which may make other planes */
	plan_size(state, &plan);
	result = store_sums(state, &plan, &header, &cells);
	if (state->moved != NULL)
		tbf_moved_write(state->moved, cells + sb_tbf_counters_size(&header));
	if (state->top != NULL)
		tbf_top_store(state->top, &header, cells);
	return result;
}
