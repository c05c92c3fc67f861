/*
 * join_keys.h: what JoinKeys has collected, for JoinSkip. A pointer to a JoinKeys is in the parameter that both nodes
 * name; it is NULL if the node stands aside.
 */
#ifndef STREAMBLOOM_PG_JOIN_KEYS_H
#define STREAMBLOOM_PG_JOIN_KEYS_H

#include "base/compat.h"

#include "nodes/plannodes.h"

#include "index/scan.h"

/* What happened to the tables that were to be asked about a set, each time one was scanned. For EXPLAIN. */
typedef struct JoinUse
{
	int64		asked;			/* scans whose index was asked */
	int64		passed_over;	/* scans whose index was not asked, because asking was in vain before */
	int64		too_many;		/* scans whose index was not asked, because the keys are too many for its rate */
	int64		missing;		/* scans that began before the keys were complete, or after they were given up */
} JoinUse;

/* A set of keys: the hashes of the values that one expression has in the rows of the inner side. */
typedef struct JoinKeySet
{
	Oid			type;			/* as which the values are hashed */
	Oid			collation;
	uint64	   *hashes;			/* ascending; set when all are collected */
	uint32		count;
	bool		given_up;		/* they are too many */
	BfSearch   *search;			/* for them; NULL until an index is asked */
	BfPatience	patience;
	JoinUse		use;
} JoinKeySet;

typedef struct JoinKeys
{
	bool		complete;		/* all rows were seen since the last rescan */
	uint64		collection;		/* how often collecting has begun: answers about keys of another one are out of date */
	const CustomScan *plan;
	MemoryContext context;		/* of what is found with the keys; reset when collecting begins */
	int			count;
	JoinKeySet *sets;
} JoinKeys;

/*
 * For EXPLAIN: the expression whose values are in a set. The ancestors are those of a JoinSkip: what is above the join
 * is above both.
 */
struct ExplainState;
extern char *join_key_text(const JoinKeys *keys, int set, List *ancestors, struct ExplainState *es);

#endif
