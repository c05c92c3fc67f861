/* partition_scan_keys.c: a PartitionScan takes no keys of a join at present. */
#include "chunks/partition_scan.h"

bool
partition_scan_may_take_keys(PlannerInfo *root, RelOptInfo *rel, PartitionScanTable *table, PartitionScanParts *parts,
							 const List *conditions, const char **why)
{
	return false;
}

bool
partition_scan_lacks_keys(const CustomScan *node)
{
	return false;
}
