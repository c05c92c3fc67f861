/*
 * skip_paths.h: what the paths of the nodes Skip and JoinKeys know of each other while a statement is planned.
 */
#ifndef STREAMBLOOM_PG_SKIP_PATHS_H
#define STREAMBLOOM_PG_SKIP_PATHS_H

#include "chunks/skip.h"

/* The keys that a JoinKeys will collect. Its path and those of the Skips that ask about them point to the same one. */
typedef struct JoinKeysSource JoinKeysSource;

/* A set of keys about which a Skip will ask a column of an index. */
typedef struct SkipJoinKey
{
	JoinKeysSource *source;
	int			set;
	Oid			index;
	AttrNumber	column;
} SkipJoinKey;

/* Returns the execution parameter that carries the keys from JoinKeys to the Skips. */
extern int	join_keys_parameter(PlannerInfo *root, JoinKeysSource *source);

/* Is this the path of a Skip? */
extern bool skip_is_path(const Path *path);

/* Can a Skip stand above this path? It can above the sequential, index and bitmap scan of a table. */
extern bool skip_can_be_above(const Path *path);

/* Returns the indexes of a table by itself that a Skip can ask (IndexOptInfos); NIL if there is none. */
extern List *skip_indexes_of(const RelOptInfo *rel, const RangeTblEntry *rte);

/*
 * Makes the path of a Skip above `below`, which is in no list of paths. For `indexes`, `conditions` and `joins` see
 * enum SkipPrivate. Its cost is not set.
 */
extern CustomPath *skip_make_path(Path *below, List *indexes, List *conditions, List *joins);

/*
 * Sets the costs of a Skip to `share` of those of another path of the table, and to what asking costs, but at most to
 * `most` of them.
 */
extern void skip_set_cost(Path *skip, const Path *base, double share, double most, Cost asking);

#endif
