/*
 * known.h: the conditions of an index's path whose values are known when a query is planned, and how they look from the
 * table that the query names. The conditions of all its partitions look alike from there.
 */
#ifndef STREAMBLOOM_PG_INDEX_KNOWN_H
#define STREAMBLOOM_PG_INDEX_KNOWN_H

#include "base/compat.h"

#include "access/skey.h"
#include "nodes/pathnodes.h"

/* A condition that compares a column of the index with a value that is known. */
typedef struct BfComparison
{
	RestrictInfo *condition;
	int			column;			/* of the index, from 0 */
	int			flags;			/* of its key */
	Oid			operator;		/* not of IS NULL */
	Oid			collation;
	const Const *value;			/* NULL: IS NULL */
} BfComparison;

/*
 * Looks at the conditions (IndexClause) of a path, and puts those that are such comparisons into the array, which has
 * room for all of them. Returns how many they are.
 */
extern int	bf_known_comparisons(PlannerInfo *root, const List *clauses, BfComparison *comparisons);

extern void bf_known_make_key(const IndexOptInfo *info, const BfComparison *comparison, ScanKeyData *key);

/*
 * The table in the query of which this one is a partition or child; or the table itself. Above it may be a UNION
 * ALL.
 */
extern Index bf_known_topmost_table(const PlannerInfo *root, const RelOptInfo *rel);

/* The number of a child's column in a table above it; 0 if that has no such column. */
extern AttrNumber bf_known_attribute_of_parent(const PlannerInfo *root, const RelOptInfo *rel, Index parent,
											   AttrNumber attribute);

/* A number for a column of a partition's index: that of the parent's column. Expressions have negative ones. */
extern int	bf_known_column_of_parent(const PlannerInfo *root, const IndexOptInfo *info, Index parent, int column);

/* A hash of what is compared, how, and with what. It is the same for all partitions. */
extern uint32 bf_known_hash(const PlannerInfo *root, const IndexOptInfo *info, Index parent,
							const BfComparison *comparison);

#endif
