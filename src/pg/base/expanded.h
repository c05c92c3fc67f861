/*
 * expanded.h: filters as expanded objects (PostgreSQL's expandeddatum.h). They serve three purposes.
 *
 * If the state of bf_agg() already has the lines (the bits) of a large result, it lends them: the result is a read-only
 * expanded object that points to the lines. They are copied once if the result is stored, and not at all if it is only
 * read.
 *
 * A PL/pgSQL loop that adds to a variable changes the filter in place. PostgreSQL supports this from version 18 on
 * (SupportRequestModifyInPlace). The variable then holds a read/write expanded object, and a function that adds is
 * given this object to change, if its support function allows it. Before 18 PL/pgSQL passes these functions every
 * variable read-only, and they would have to copy the expanded object in each call. So before 18 they copy flat values.
 *
 * The state of bf_union_agg and tbf_merge_agg has the type bytea, not internal. It is an expanded object that holds a
 * builder, and becomes bytes only when PostgreSQL passes it to another process.
 */
#ifndef STREAMBLOOM_PG_EXPANDED_H
#define STREAMBLOOM_PG_EXPANDED_H

#include "base/compat.h"

#include "utils/expandeddatum.h"

#define FILTERS_EXPAND (PG_VERSION_NUM >= 180000)

typedef struct ExpandedFilter ExpandedFilter;

/* Makes the stored form of a state, in the current memory context. */
typedef struct varlena *(*FlattenFilter) (void *state);

struct ExpandedFilter
{
	ExpandedObjectHeader hdr;
	int			magic;
	struct varlena *flat;		/* the stored form; NULL if it was not yet made from `state` */
	/*
	 * The content before it is stored, such as a builder; allocated in hdr.eoh_context. If it is NULL, there is only
	 * `flat`, which is changed in place unless it comes from lend_filter().
	 */
	void	   *state;
	FlattenFilter flatten;
	bool		is_state;		/* a state of an aggregate: its bytes are needed once at most, so they are not kept */
};

/* The expanded filter that a value points to; NULL if the value is not one. */
extern ExpandedFilter *expanded_filter(Datum value);

/* The expanded filter that a value points to if the pointer is a read/write one; otherwise NULL. */
extern ExpandedFilter *expanded_filter_to_change(Datum value);

/*
 * Is argument 0 an external parameter (PARAM_EXTERN), such as a variable of PL/pgSQL? Only then is a new expanded
 * object worth its memory (a tbf's sums take 8 bytes for each counter), because the next call finds it in the
 * variable. Elsewhere in a query the object would be used once, and stay in memory until the next row.
 */
extern bool adds_to_variable(FunctionCallInfo fcinfo);

/* Makes an expanded filter without content, in a memory context of its own below result_memory(). */
extern ExpandedFilter *make_expanded_filter(FlattenFilter flatten);

/*
 * Makes an expanded filter for a state that the transition or combine function of an aggregate is going to return.
 * All states share one memory context, a child of the aggregate's context, for two reasons:
 *
 * - PostgreSQL copies a state whose context is not a child of the aggregate's context.
 * - PostgreSQL goes through all children of this context whenever a hash aggregate gets another group, so a child for
 *   each group would take quadratic time.
 *
 * Outside an aggregate this is make_expanded_filter(). REQUIRES: the function returns the same pointer for this group
 * from then on; otherwise PostgreSQL deletes the context of the old pointer, and all states with it.
 */
extern ExpandedFilter *make_expanded_state(FunctionCallInfo fcinfo, FlattenFilter flatten);

/*
 * Makes a value whose stored form belongs to the caller. It may be read while the stored form stays unchanged and the
 * current memory context lives. There is no read/write pointer to the value, because it has no memory context of its
 * own.
 */
extern Datum lend_filter(struct varlena *flat);

/* Returns the stored form of an expanded filter, for reading. If there is none, it is made from the state. */
extern struct varlena *flat_filter(ExpandedFilter *filter);

/* Has to be called after each change of the state. */
extern void expanded_filter_changed(ExpandedFilter *filter);

#endif
