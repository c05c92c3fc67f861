/*
 * known.h: the conditions of an index's path whose values are known when a query is planned.
 *
 * Each partition of a table has an index of its own, and the columns of a partition may have other numbers than those
 * of the table that the query names. The functions here translate numbers of columns into those of that table. So the
 * same condition of the query is recognized in all partitions.
 */
#ifndef STREAMBLOOM_PG_INDEX_KNOWN_H
#define STREAMBLOOM_PG_INDEX_KNOWN_H

#include "base/compat.h"

#include "access/skey.h"
#include "nodes/pathnodes.h"

/* A condition on a column of the index: a comparison with a value that is known, or IS NULL. */
typedef struct BfComparison
{
	RestrictInfo *condition;
	int			column;			/* column of the index, from 0 */
	int			flags;			/* sk_flags of its scan key */
	Oid			operator;		/* not set for IS NULL */
	Oid			collation;
	const Const *value;			/* NULL if the condition is IS NULL */
} BfComparison;

/*
 * Finds the conditions (IndexClause) of a path that are comparisons with known values, or IS NULL. Puts them into
 * comparisons[], and returns their number. REQUIRES: comparisons[] has room for all conditions.
 */
extern int	bf_known_comparisons(PlannerInfo *root, const List *clauses, BfComparison *comparisons);

extern void bf_known_make_key(const IndexOptInfo *info, const BfComparison *comparison, ScanKeyData *key);

/*
 * The table that the query names, of which `rel` is a partition or child; or `rel` itself. If that table is part of a
 * UNION ALL, the result is the table, not the UNION ALL.
 */
extern Index bf_known_topmost_table(const PlannerInfo *root, const RelOptInfo *rel);

/* The number that a child's column has in a table above it; 0 if that table has no such column. */
extern AttrNumber bf_known_attribute_of_parent(const PlannerInfo *root, const RelOptInfo *rel, Index parent,
											   AttrNumber attribute);

/*
 * A number for a column of a partition's index, the same for the indexes of all partitions: the number that the
 * column has in the parent table, or 0 if that table has no such column. For an expression the number is negative, and
 * says only which column of the index it is.
 */
extern int	bf_known_column_of_parent(const PlannerInfo *root, const IndexOptInfo *info, Index parent, int column);

/* Have two indexes the same operator family, options of the operator class, and collation in this column? */
extern bool bf_known_is_same_class(const IndexOptInfo *a, const IndexOptInfo *b, int column);

/*
 * A hash of the comparison, the same for all partitions: of the column's number in the parent table, its operator class
 * with the options, the flags, the operator and the value. Different comparisons may have the same hash.
 */
extern uint32 bf_known_hash(const PlannerInfo *root, const IndexOptInfo *info, Index parent,
							const BfComparison *comparison);

#endif
