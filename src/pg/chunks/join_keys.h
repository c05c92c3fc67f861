/*
 * join_keys.h: what JoinKeys has collected, for JoinSkip and PartitionScan. The parameter that the nodes name holds a
 * pointer to a JoinKeys. The pointer is NULL if JoinKeys stands aside.
 */
#ifndef STREAMBLOOM_PG_JOIN_KEYS_H
#define STREAMBLOOM_PG_JOIN_KEYS_H

#include "base/compat.h"

#include "nodes/plannodes.h"

#include "index/scan.h"

/* Counts the scans of the tables that were to be asked about a set, by what became of the question. For EXPLAIN. */
typedef struct JoinUse
{
	int64		asked;			/* scans whose index was asked */
	int64		passed_over;	/* scans whose index was not asked, because asking was in vain before */
	int64		too_many;		/* scans whose index was not asked, because the keys are too many for its rate */
	int64		missing;		/* scans that began before the keys were complete, or after they were given up */
} JoinUse;

/* A set of keys: the hashes of the values that one expression has in the rows of the inner side, or these values. */
typedef struct JoinKeySet
{
	Oid			type;			/* the values are hashed as values of this type; if they are kept, it is their type */
	Oid			collation;
	bool		keeps_values;	/* for a PartitionScan */
	uint64	   *hashes;			/* ascending; set when all are collected */
	Datum	   *values;			/* if they are kept: no two have the same bytes; set when all are collected */
	uint32		count;
	bool		given_up;		/* the keys are too many */
	BfSearch   *search;			/* for these hashes; NULL until an index is asked */
	BfPatience	patience;
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
 * Returns the expression whose values are in a set, for EXPLAIN. `ancestors` are those of a JoinSkip: the nodes above
 * the join are above both.
 */
struct ExplainState;
extern char *join_key_text(const JoinKeys *keys, int set, List *ancestors, struct ExplainState *es);

#endif
