/*
 * owner.c: the expressions and the predicate of an index, and as whom they run.
 *
 * They run as the owner of the table, whoever builds, summarizes or checks the index. They are the owner's code, so
 * they must not run with the rights of, say, a superuser who calls VACUUM. README.md has the details.
 */
#include "index/owner.h"

#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/syscache.h"

void
bf_index_become_owner(Relation heap, BfCaller *caller)
{
	GetUserIdAndSecContext(&caller->user, &caller->security);
	SetUserIdAndSecContext(heap->rd_rel->relowner, caller->security | SECURITY_RESTRICTED_OPERATION);
	caller->guc_level = NewGUCNestLevel();
	sb_restrict_search_path();
}

void
bf_index_become_caller(const BfCaller *caller)
{
	AtEOXact_GUC(false, caller->guc_level);
	SetUserIdAndSecContext(caller->user, caller->security);
}

bool
bf_index_runs_code(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/* The tree of expressions in this column of the index's row in pg_index, or NULL. */
static Node *
catalog_tree(Relation index, AttrNumber column)
{
	bool		isnull;
	Datum		tree = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, column, &isnull);

	return isnull ? NULL : stringToNode(TextDatumGetCString(tree));
}

/*
 * The relation cache has trees of the expressions too, but with SQL functions inlined already. The bodies of these
 * functions were parsed under whatever search_path the session had at that moment. The trees of the catalog are
 * prepared (and inlined) by the executor only after bf_index_become_owner().
 */
IndexInfo *
bf_index_info_for_owner(Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);

	info->ii_Expressions = (List *) catalog_tree(index, Anum_pg_index_indexprs);
	info->ii_Predicate = make_ands_implicit((Expr *) catalog_tree(index, Anum_pg_index_indpred));
	return info;
}
