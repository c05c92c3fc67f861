/*
 * join_keys.h: what the node JoinKeys has collected, for the nodes JoinSkip and PartitionScan. Each JoinKeys has an
 * execution parameter (es_param_exec_vals), whose number is also in the plans of the nodes that use its keys. The
 * parameter's value is a pointer to a struct JoinKeys. It is NULL if the node JoinKeys stands aside, which means that
 * it only passes rows on.
 */
#ifndef STREAMBLOOM_PG_JOIN_KEYS_H
#define STREAMBLOOM_PG_JOIN_KEYS_H

#include "base/compat.h"

#include "nodes/plannodes.h"

#include "index/scan.h"

/* Counts for EXPLAIN how many scans asked an index about a set, and for each reason how many did not. */
typedef struct JoinUse
{
	int64		asked;			/* asked; for a PartitionScan: chose this set */
	int64		passed_over;	/* did not ask, because asking other indexes about the set was in vain */
	int64		too_many;		/* did not ask: too many keys for the index's false-positive rate, or no usable index */
	int64		missing;		/* did not ask, because the set was not complete, or was given up */
} JoinUse;

/* A set of keys: the values that one expression has in the rows of the inner side, or the hashes of these values. */
typedef struct JoinKeySet
{
	Oid			type;			/* the values are hashed as values of this type; kept values have this type */
	Oid			collation;
	bool		keeps_values;	/* for a PartitionScan */
	uint64	   *hashes;			/* set when all are collected; sorted, ascending, once `search` is set */
	Datum	   *values;			/* if they are kept: no two have the same bytes; set when all are collected */
	uint32		count;
	bool		given_up;		/* the keys are too many, or take too much memory */
	bool		too_large;		/* given up because values that are kept take too much memory */
	BfSearch   *search;			/* for the hashes; NULL until an index is asked */
	BfPatience	patience;		/* says which of the indexes are passed over when they are asked about the set */
	JoinUse		use;
} JoinKeySet;

typedef struct JoinKeys
{
	bool		complete;		/* all rows were seen since the last rescan */
	/* how often collecting has begun; an answer about the keys of an earlier collection is out of date */
	uint64		collection;
	const CustomScan *plan;
	MemoryContext context;		/* for what lives as long as the keys; reset when collecting begins */
	int			count;
	JoinKeySet *sets;
} JoinKeys;

/*
 * Returns the expression whose values are in a set, as text for EXPLAIN. `ancestors` are those of a JoinSkip or a
 * PartitionScan on the outer side of the join. The nodes above the join, which are above JoinKeys too, are among them.
 */
struct ExplainState;
extern char *join_key_text(const JoinKeys *keys, int set, List *ancestors, struct ExplainState *es);

#endif
