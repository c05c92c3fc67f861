/*
 * partition_scan_question.c: decides which conditions of a query a PartitionScan can ask bf indexes about.
 */
#include "chunks/partition_scan.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "chunks/chunk_question.h"
#include "index/handler.h"

static Node *
without_relabels(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

static bool
is_column(Node *node, Index relid)
{
	node = without_relabels(node);
	return node != NULL && IsA(node, Var) && ((Var *) node)->varno == relid && ((Var *) node)->varlevelsup == 0 &&
		((Var *) node)->varattno > 0;
}

Expr *
partition_scan_comparison(Expr *clause, Index relid)
{
	List	   *sides;

	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		if (!is_column(linitial(((OpExpr *) clause)->args), relid))
		{
			if (!OidIsValid(get_commutator(((OpExpr *) clause)->opno)))
				return NULL;
			clause = copyObject(clause);
			CommuteOpExpr((OpExpr *) clause);
		}
		sides = ((OpExpr *) clause)->args;
	}
	else if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
		sides = ((ScalarArrayOpExpr *) clause)->args;
	else
		return NULL;
	if (!is_column(linitial(sides), relid) || bms_is_member(relid, pull_varnos(NULL, lsecond(sides))) ||
		contain_volatile_functions(lsecond(sides)) || contain_subplans(lsecond(sides)))
		return NULL;
	return clause;
}

/*
 * Returns a bf index of this relation that can answer the comparison, and sets *column to the index's column. Returns
 * InvalidOid if there is no such index. The left side of the comparison is a column of the relation. The right side
 * may have columns of other tables. So a parameter takes its place here, unless the right side is a constant.
 */
static Oid
find_index(Relation relation, Index relid, Expr *comparison, AttrNumber *column)
{
	ChunkOperator known = {InvalidOid};
	Oid			method = bf_index_am_oid();
	List	   *sides;
	Param	   *argument = makeNode(Param);
	List	   *indexes;
	ListCell   *cell;
	Oid			result = InvalidOid;

	comparison = copyObject(comparison);
	sides = IsA(comparison, OpExpr) ? ((OpExpr *) comparison)->args : ((ScalarArrayOpExpr *) comparison)->args;
	argument->paramkind = PARAM_EXTERN;
	argument->paramid = 1;
	argument->paramtype = exprType(lsecond(sides));
	argument->paramtypmod = exprTypmod(lsecond(sides));
	argument->paramcollid = exprCollation(lsecond(sides));
	argument->location = -1;
	if (!IsA(lsecond(sides), Const))
		lsecond(sides) = argument;
	indexes = RelationGetIndexList(relation);
	foreach(cell, indexes)
	{
		Relation	index;
		List	   *keys;

		if (OidIsValid(result) || !chunk_has_method(lfirst_oid(cell), method))
			continue;
		index = index_open(lfirst_oid(cell), AccessShareLock);
		keys = chunk_keys_of_index(chunk_index_info(index, relid), relid, list_make1(comparison), &known);
		if (keys != NIL)
		{
			result = lfirst_oid(cell);
			*column = ((QuestionKey *) linitial(keys))->column;
		}
		index_close(index, NoLock);
	}
	return result;
}

Oid
partition_scan_index_of(Oid parent_oid, Oid partition_oid, Index relid, Expr *comparison, AttrNumber *column)
{
	Relation	parent = table_open(parent_oid, NoLock);
	Relation	partition = table_open(partition_oid, NoLock);
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(partition), RelationGetDescr(parent));
	Oid			result;
	bool		whole_row;

	if (map != NULL)
		comparison = (Expr *) map_variable_attnos((Node *) comparison, relid, 0, map, InvalidOid, &whole_row);
	result = find_index(partition, relid, comparison, column);
	table_close(partition, NoLock);
	table_close(parent, NoLock);
	return result;
}

bool
partition_scan_is_answered(Oid parent_oid, Oid first, Index relid, Expr *comparison)
{
	Relation	parent = table_open(parent_oid, NoLock);
	AttrNumber	column;
	bool		result = OidIsValid(find_index(parent, relid, comparison, &column));

	table_close(parent, NoLock);
	return result || OidIsValid(partition_scan_index_of(parent_oid, first, relid, comparison, &column));
}

/* Has the table an index with this access method? The table need not be locked: pg_index is read. */
static bool
has_index(Oid table, Oid method)
{
	Relation	indexes = table_open(IndexRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		result = false;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(indexes, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = chunk_has_method(((Form_pg_index) GETSTRUCT(tuple))->indexrelid, method);
	systable_endscan(scan);
	table_close(indexes, AccessShareLock);
	return result;
}

bool
partition_scan_has_index(Relation parent)
{
	Oid			method = bf_index_am_oid();
	PartitionDesc partitions = RelationGetPartitionDesc(parent, true);
	List	   *below = partitions->nparts > 0 ? list_make1_oid(partitions->oids[0]) : NIL;
	ListCell   *cell;
	Oid			leaf = InvalidOid;

	if (!OidIsValid(method))
		return false;
	foreach(cell, RelationGetIndexList(parent))
		if (chunk_has_method(lfirst_oid(cell), method))
			return true;
	/* go down by the first partition of each level */
	while (below != NIL)
	{
		leaf = linitial_oid(below);
		below = get_rel_relkind(leaf) == RELKIND_PARTITIONED_TABLE ? find_inheritance_children(leaf, NoLock) : NIL;
	}
	return OidIsValid(leaf) && has_index(leaf, method);
}

