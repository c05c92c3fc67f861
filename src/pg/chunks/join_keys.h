/*
 * join_keys.h: the node JoinKeys. It stands below Hash and collects the keys of the join for the Skips on the outer
 * side (skip.h). Its execution parameter (es_param_exec_vals), whose number is also in the plans of these nodes, has
 * a pointer to a struct JoinKeys; NULL: it only passes rows on. A set counts only if `complete` is set and it was not
 * given up.
 *
 *   join_key_paths.c     makes the paths of joins with the node, and its plan
 *   join_keys.c          runs and explains it
 */
#ifndef STREAMBLOOM_PG_JOIN_KEYS_H
#define STREAMBLOOM_PG_JOIN_KEYS_H

#include "base/compat.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "utils/rel.h"

#include "base/item.h"
#include "index/scan.h"

/*
 * A set of keys is given up as soon as it has more different keys. A join gets no JoinKeys if its inner side is
 * expected to have more rows.
 */
#define JOIN_MOST_KEYS 65536

/*
 * In the CustomScan JoinKeys custom_exprs has an expression for each set, which has the type and the collation with
 * which its values are hashed. custom_private is one integer, the parameter.
 */
extern const CustomScanMethods join_keys_scan_methods;

/* Is called when the library is loaded. */
extern void join_key_paths_init(void);

/* What became of a scan that could ask about a set. */
typedef enum JoinUse
{
	JOIN_ASKED,
	JOIN_MISSING,				/* not asked: the set was not complete, or was given up */
	JOIN_TOO_MANY,				/* not asked: too many keys for the index's false-positive rate, or no usable index */
	JOIN_PASSED_OVER,			/* not asked, because asking other indexes about the set was in vain */
	JOIN_USES					/* the number of these */
} JoinUse;

/* A set of keys: the hashes of the values that one expression has in the rows of the inner side. */
typedef struct JoinKeySet
{
	Node	   *key;			/* of custom_exprs */
	ExprState  *state;
	ItemHasher *hasher;			/* NULL until there is a key */
	uint64	   *hashes;			/* NULL until there is a key; until all rows were seen some may occur twice */
	uint32		count;
	uint32		room;
	bool		given_up;		/* the keys are too many */
	BfSearch   *search;			/* for the hashes; NULL until an index is asked */
	BfPatience	patience;		/* says which of the indexes are passed over when they are asked about the set */
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
	int64		uses[JOIN_USES];	/* how many scans, for EXPLAIN */
} JoinKeys;

/*
 * Asks an index about all keys of a complete set, and sets *spans (in the memory of the execution) to the pages of
 * the heap that may hold a row with one of them. Takes the predicate lock of an index scan, and counts as one. Returns
 * false if the index cannot tell: it is no longer usable, there are too many keys for its false-positive rate, or it is
 * passed over because asking other indexes about this set was in vain. REQUIRES: the snapshot is an MVCC snapshot; the
 * heap is a table of this execution.
 */
extern bool join_keys_ask(JoinKeys *keys, JoinKeySet *set, EState *estate, Relation heap, Oid oid, AttrNumber column,
						  BfSpans *spans);

/*
 * Returns the expression whose values are in a set, as text for EXPLAIN. `ancestors` are those of a node on the
 * outer side of the join. The nodes above the join, which are above JoinKeys too, are among them.
 */
struct ExplainState;
extern char *join_key_text(const JoinKeys *keys, int set, List *ancestors, struct ExplainState *es);

#endif
