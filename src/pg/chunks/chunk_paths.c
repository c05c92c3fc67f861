/*
 * chunk_paths.c: owns set_rel_pathlist_hook. PostgreSQL calls it when it has made the paths of a table, of a child of a
 * table, or of anything else in FROM.
 */
#include "chunks/chunk_paths.h"

#include "optimizer/paths.h"

#include "chunks/partition_scan.h"
#include "chunks/skip.h"

static set_rel_pathlist_hook_type previous_set_rel_pathlist;

static void
change_paths(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *rte)
{
	if (previous_set_rel_pathlist)
		previous_set_rel_pathlist(root, rel, relid, rte);
	partition_scan_change_paths(root, rel, rte);
	skip_add_paths(root, rel, rte);
}

bool
chunk_paths_are_last(void)
{
	return set_rel_pathlist_hook == change_paths;
}

void
chunk_paths_init(void)
{
	previous_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = change_paths;
}
