/*
 * expanded.h: filters as expanded objects, for two ends.
 *
 * A large filter that is complete in the state of an aggregate is lent: the value is a read-only object that points there.
 * Whoever stores it copies it once; who only looks at it, not at all.
 *
 * A PL/pgSQL loop that adds to a variable works in place. PostgreSQL can do that from version 18 on
 * (SupportRequestModifyInPlace): the variable holds a read/write expanded object, and an adding function whose support function
 * agrees gets it to change. Before 18 a variable is always passed read-only, an object would be copied for each row, and so none
 * is made: the functions then copy flat values.
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
	struct varlena *flat;		/* the stored form; NULL while only the state knows it */
	void	   *state;			/* in hdr.eoh_context; NULL: the flat form is all there is and, if not lent, changed in place */
	FlattenFilter flatten;
};

/* The expanded filter that a value points to, or NULL if it is none. */
extern ExpandedFilter *expanded_filter(Datum value);

/* The same if it may be changed. */
extern ExpandedFilter *expanded_filter_to_change(Datum value);

/*
 * Is argument 0 a variable of PL/pgSQL, or another parameter? Only then is a new expanded object worth its memory (a tbf's sums
 * take 8 bytes for each counter): the next call will find it in the variable. In a query's column it would stay until the row ends.
 */
extern bool adds_to_variable(FunctionCallInfo fcinfo);

/* A new one without content, in a memory context of its own under result_memory(). */
extern ExpandedFilter *make_expanded_filter(FlattenFilter flatten);

/*
 * A value whose stored form is the caller's, to be read as long as that stays as it is and the current memory context lasts. There
 * is no read/write pointer to it, since its context is not its own.
 */
extern Datum lend_filter(struct varlena *flat);

/* Its stored form, to be read: made if there is none. */
extern struct varlena *flat_filter(ExpandedFilter *filter);

/* To be called after each change of the state. */
extern void expanded_filter_changed(ExpandedFilter *filter);

#endif
