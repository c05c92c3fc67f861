/* leaves.c: finds the partitions of a table, and chooses those that are sampled (see leaves.h). */
#include "advisor/leaves.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "index/heap.h"

/*
 * At most half of the partitions that are sampled are chosen because they are large. The others are spread evenly over
 * the partitions that are not large.
 */
#define MOST_LARGE_PARTITIONS (MOST_PARTITIONS / 2)

Leaf *
bf_index_find_leaves(Oid table, int *count, int *empty, double *pages)
{
	List	   *oids = get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(table, NoLock, NULL) : list_make1_oid(table);
	Leaf	   *leaves = palloc(Max(list_length(oids), 1) * sizeof(Leaf));
	ListCell   *cell;

	*count = *empty = 0;
	*pages = 0;
	foreach(cell, oids)
	{
		char		kind = get_rel_relkind(lfirst_oid(cell));
		Relation	relation;

		CHECK_FOR_INTERRUPTS();
		if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW)
			continue;
		relation = try_relation_open(lfirst_oid(cell), AccessShareLock);
		if (relation == NULL)
			continue;
		bf_index_check_table(relation);
		leaves[*count].oid = lfirst_oid(cell);
		leaves[*count].pages = RelationGetNumberOfBlocks(relation);
		leaves[*count].is_large = false;
		relation_close(relation, AccessShareLock);
		if (leaves[*count].pages == 0)
		{
			(*empty)++;
			continue;
		}
		*pages += leaves[*count].pages;
		(*count)++;
	}
	return leaves;
}

/*
 * Marks the largest partitions, at most MOST_LARGE_PARTITIONS, so that each of them stands for itself alone. Marks only
 * those with at least as many pages as a sampled partition stands for on average. If all partitions can be sampled,
 * none is marked. Returns the number of marked partitions. `pages` is the number of pages of all partitions.
 */
static int
mark_large_leaves(Leaf *leaves, int count, double pages)
{
	int			large = 0;

	while (count > MOST_PARTITIONS && large < MOST_LARGE_PARTITIONS)
	{
		Leaf	   *largest = NULL;

		for (int i = 0; i < count; i++)
			if (!leaves[i].is_large && (largest == NULL || leaves[i].pages > largest->pages))
				largest = &leaves[i];
		if ((double) largest->pages * (MOST_PARTITIONS - large) < pages)
			break;
		largest->is_large = true;
		pages -= largest->pages;
		large++;
	}
	return large;
}

int
bf_index_choose_leaves(Leaf *leaves, int count, double pages, const Leaf **chosen, Weight *weights,
					   double *pages_chosen)
{
	const int	large = mark_large_leaves(leaves, count, pages);
	const int	others = count - large;
	const int	sampled = Min(count, MOST_PARTITIONS);
	const int	others_sampled = sampled - large;
	double		pages_of_others = 0,
				pages_of_sampled = 0;
	int			number = 0;		/* how many partitions that are not large were looked at */
	int			next = 0;		/* how many of these were chosen */

	*pages_chosen = 0;
	for (int i = 0, of_chosen = 0; i < count; i++)
	{
		const Leaf *leaf = &leaves[i];
		bool		is_chosen = leaf->is_large;

		if (!leaf->is_large)
		{
			is_chosen = next < others_sampled && number == (int64) next * others / others_sampled;
			number++;
			next += is_chosen;
			pages_of_others += leaf->pages;
			pages_of_sampled += is_chosen ? leaf->pages : 0;
		}
		if (!is_chosen)
			continue;
		chosen[of_chosen++] = leaf;
		*pages_chosen += leaf->pages;
	}
	for (int i = 0; i < sampled; i++)
	{
		weights[i] = (Weight) {.partitions = 1, .pages = 1};
		if (!chosen[i]->is_large)
			weights[i] = (Weight) {(double) others / others_sampled, pages_of_others / pages_of_sampled};
	}
	return sampled;
}
