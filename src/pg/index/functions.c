/*
 * functions.c: the SQL functions that summarize ranges of an index, and make them unsummarized. They have the names
 * of BRIN's functions, with bf for brin, and do what those do. bf_summarize_new_values() also summarizes anew ranges
 * that are too full, and replaces groups (summarize.h). The procedure bf_summarize(), which BRIN does not have, does
 * the same for all bf indexes of a relation. Also: how all SQL functions open an index (functions.h).
 */
#include "index/functions.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "index/geometry.h"
#include "index/handler.h"
#include "index/layout.h"
#include "index/summarize.h"

static void
refuse_recovery(void)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("Summarize ranges on the primary server.")));
}

BlockNumber
bf_index_block_argument(int64 block)
{
	if (block < 0 || block > MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("block number out of range: %lld", (long long) block),
				 errhint("Blocks are numbered from 0 to %u.", MaxBlockNumber)));
	return (BlockNumber) block;
}

int
bf_index_level_argument(int32 level)
{
	if (level < 0 || level >= BF_INDEX_MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("level out of range: %d", level),
				 errhint("Levels are numbered from 0 to %d.", BF_INDEX_MAX_LEVELS - 1)));
	return level;
}

void
bf_index_refuse_missing(Oid relation)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation with OID %u does not exist", relation),
			 errhint("Give its name, as in 'access_log', instead of a number. A relation that had this number may have been dropped.")));
}

static SB_NORETURN void
refuse_other_index(Oid index)
{
	char	   *name = get_rel_name(index);

	if (name == NULL)
		bf_index_refuse_missing(index);
	if (get_rel_relkind(index) == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index", name),
				 errhint("Name the index of one partition; pg_partition_tree() lists them. CALL bf_summarize() does all of them.")));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a bf index", name),
			 errhint("Name an index that was made with USING bf.")));
}

bool
bf_index_class_form(Oid relation, FormData_pg_class *form)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));

	if (!HeapTupleIsValid(tuple))
		return false;
	*form = *(Form_pg_class) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return true;
}

static bool
is_bf_index(Oid relation)
{
	FormData_pg_class form;

	return bf_index_class_form(relation, &form) && form.relkind == RELKIND_INDEX && form.relam == bf_index_am_oid();
}

/*
 * May the user maintain this table? Its owner may; from PostgreSQL 17 on so may a user with the privilege MAINTAIN,
 * which also allows VACUUM and REINDEX.
 */
static bool
may_maintain(Oid table, const FormData_pg_class *form)
{
	if (has_privs_of_role(GetUserId(), form->relowner))
		return true;
#if PG_VERSION_NUM >= 170000
	return pg_class_aclcheck(table, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK;
#else
	return false;
#endif
}

/*
 * Raises an error if the user lacks the right. Unless the index is only summarized, also raises one if row-level
 * security applies to the user. Returns false if the index or the table no longer exists.
 */
static bool
check_right(Oid index, Oid table, BfRight right)
{
	FormData_pg_class index_form,
				form;

	if (!bf_index_class_form(index, &index_form) || !bf_index_class_form(table, &form))
		return false;
	if (right == BF_TO_READ)
	{
		/* The index shows facts about the rows of its table. */
		AclResult	result = pg_class_aclcheck(table, GetUserId(), ACL_SELECT);

		if (result != ACLCHECK_OK)
			aclcheck_error(result, get_relkind_objtype(form.relkind), NameStr(form.relname));
	}
	else if (!may_maintain(table, &form))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, NameStr(index_form.relname));
	if (right != BF_TO_SUMMARIZE && check_enable_rls(table, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot look into index \"%s\" under row-level security", NameStr(index_form.relname)),
				 errdetail("The policies of table \"%s\" would not be applied to its rows.", NameStr(form.relname)),
				 errhint("Ask as a role that row-level security does not apply to.")));
	return true;
}

/*
 * Like bf_index_open(), but returns NULL if this is not a bf index, or no longer one.
 *
 * Rights are checked twice. They are checked before the locks are taken, so that nobody without rights waits for a
 * lock or holds one. They are checked again after that, because they may have changed in the meantime.
 */
static Relation
try_open_index(Oid indexoid, BfRight right, LOCKMODE mode, Relation *heap)
{
	Oid			heapoid = is_bf_index(indexoid) ? IndexGetRelation(indexoid, true) : InvalidOid;
	Relation	index;

	if (!OidIsValid(heapoid) || !check_right(indexoid, heapoid, right))
		return NULL;
	/*
	 * The look-ups have left a snapshot of the catalog. This session must not keep it while it waits: see
	 * bf_summarize().
	 */
	InvalidateCatalogSnapshot();
	/* The heap is locked first. Whether it is still the index's heap is checked when both are locked. */
	*heap = try_relation_open(heapoid, mode);
	if (*heap == NULL)
		return NULL;
	index = try_relation_open(indexoid, mode);
	if (index != NULL && is_bf_index(indexoid) && heapoid == IndexGetRelation(indexoid, true) &&
		check_right(indexoid, heapoid, right))
		return index;
	if (index != NULL)
		relation_close(index, mode);
	relation_close(*heap, mode);
	return NULL;
}

Relation
bf_index_open(Oid indexoid, BfRight right, LOCKMODE mode, Relation *heap)
{
	Relation	index = try_open_index(indexoid, right, mode, heap);

	if (index == NULL)
		refuse_other_index(indexoid);
	return index;
}

void
bf_index_close(Relation index, Relation heap, LOCKMODE mode)
{
	relation_close(index, mode);
	relation_close(heap, mode);
}

/*
 * Summarizes ranges of an index that is open, and closes it and its heap. An invalid index is not touched, because a
 * build that failed may have left anything in it.
 */
static int64
summarize_index(Relation index, Relation heap, int level, BlockNumber block)
{
	const BfTask task = {.block = block, .level = level};
	const int64 done = index->rd_index->indisvalid ? bf_index_summarize(index, heap, &task) : 0;

	bf_index_close(index, heap, ShareUpdateExclusiveLock);
	return done;
}

/* Raises an error if the index can never have this level. */
static void
refuse_impossible_level(Relation index, int level)
{
	int			most = bf_index_possible_levels(bf_index_current_geometry(index));

	if (level >= most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index \"%s\" cannot have level %d", RelationGetRelationName(index), level),
				 errhint("With its pages_per_range and levels its highest level is %d.", most - 1)));
}

static int64
open_and_summarize(Oid indexoid, int level, BlockNumber block)
{
	Relation	heap;
	Relation	index;

	refuse_recovery();
	index = bf_index_open(indexoid, BF_TO_SUMMARIZE, ShareUpdateExclusiveLock, &heap);
	refuse_impossible_level(index, level);
	return summarize_index(index, heap, level, block);
}

SB_FUNCTION(bf_summarize_new_values);
Datum
bf_summarize_new_values(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) open_and_summarize(PG_GETARG_OID(0), 0, InvalidBlockNumber));
}

SB_FUNCTION(bf_summarize_range);
Datum
bf_summarize_range(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) open_and_summarize(PG_GETARG_OID(0), bf_index_level_argument(PG_GETARG_INT32(2)),
										 bf_index_block_argument(PG_GETARG_INT64(1))));
}

SB_FUNCTION(bf_desummarize_range);
Datum
bf_desummarize_range(PG_FUNCTION_ARGS)
{
	BlockNumber block = bf_index_block_argument(PG_GETARG_INT64(1));
	int			level = bf_index_level_argument(PG_GETARG_INT32(2));
	Relation	heap;
	Relation	index;

	refuse_recovery();
	index = bf_index_open(PG_GETARG_OID(0), BF_TO_SUMMARIZE, ShareUpdateExclusiveLock, &heap);
	if (index->rd_index->indisvalid)
		(void) bf_index_desummarize(index, level, block);
	bf_index_close(index, heap, ShareUpdateExclusiveLock);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------ CALL bf_summarize */

/*
 * The indexes of this relation, of all access methods. For an index: itself and the indexes of its partitions; for a
 * table: its own and those of its partitions and children.
 */
static List *
indexes_below(Oid relation)
{
	List	   *result = NIL;
	char	   *name = get_rel_name(relation);
	char		kind = get_rel_relkind(relation);
	ListCell   *cell;

	if (name == NULL)
		bf_index_refuse_missing(relation);

	if (kind != RELKIND_INDEX && kind != RELKIND_PARTITIONED_INDEX && kind != RELKIND_RELATION &&
		kind != RELKIND_PARTITIONED_TABLE && kind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is neither a table nor an index", name),
				 errhint("Name a table, a partitioned table, a materialized view, or an index.")));
	foreach(cell, find_all_inheritors(relation, NoLock, NULL))
	{
		Oid			below = lfirst_oid(cell);

		if (kind == RELKIND_INDEX || kind == RELKIND_PARTITIONED_INDEX)
			result = lappend_oid(result, below);
		else
		{
			FormData_pg_class form;
			Relation	table;

			if (!bf_index_class_form(below, &form) || form.relkind == RELKIND_FOREIGN_TABLE)
				continue;
			/* checked before the table is locked */
			if (!may_maintain(below, &form))
				aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(form.relkind), NameStr(form.relname));
			table = try_relation_open(below, AccessShareLock);
			if (table == NULL)
				continue;
			result = list_concat(result, RelationGetIndexList(table));
			relation_close(table, AccessShareLock);
		}
	}
	return result;
}

/* Says so if none of these is a bf index or a partitioned one: the table or the index may be the wrong one. */
static void
notice_if_none(Oid relation, const List *indexes)
{
	FormData_pg_class form;
	ListCell   *cell;

	foreach(cell, indexes)
		if (bf_index_class_form(lfirst_oid(cell), &form) && form.relam == bf_index_am_oid())
			return;
	if (bf_index_class_form(relation, &form))
		ereport(NOTICE,
				(errmsg("nothing to summarize: \"%s\" %s", NameStr(form.relname),
						list_member_oid(indexes, relation) ? "is not a bf index" : "has no bf index"),
				 errhint("CREATE INDEX ... USING bf makes one.")));
}

/* Is this still a bf index, and not on a temporary table of another session? */
static bool
is_to_be_summarized(Oid index)
{
	FormData_pg_class form;

	return is_bf_index(index) && bf_index_class_form(index, &form) &&
		!(form.relpersistence == RELPERSISTENCE_TEMP && isOtherTempNamespace(form.relnamespace));
}

SB_FUNCTION(bf_summarize);
Datum
bf_summarize(PG_FUNCTION_ARGS)
{
	bool		nonatomic = fcinfo->context != NULL && IsA(fcinfo->context, CallContext) &&
		!castNode(CallContext, fcinfo->context)->atomic;
	MemoryContext stays;
	MemoryContext caller;
	List	   *indexes;
	ListCell   *cell;

	refuse_recovery();
	/* A procedure cannot be declared STRICT. */
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the relation must not be null"),
				 errhint("Name a table or an index.")));
	SPI_connect_ext(nonatomic ? SPI_OPT_NONATOMIC : 0);
	/* the list of indexes must outlive the commits */
	stays = AllocSetContextCreate(PortalContext != NULL ? PortalContext : CurrentMemoryContext, "bf_summarize",
								  ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(stays);
	indexes = indexes_below(PG_GETARG_OID(0));
	MemoryContextSwitchTo(caller);
	notice_if_none(PG_GETARG_OID(0), indexes);
	foreach(cell, indexes)
	{
		Relation	heap;
		Relation	index;

		CHECK_FOR_INTERRUPTS();
		if (!is_to_be_summarized(lfirst_oid(cell)))
			continue;
		/*
		 * While this procedure waits for a lock, it must have no snapshot, neither CALL's nor one of the catalog. A
		 * CREATE INDEX CONCURRENTLY may have the lock, and waits for all older snapshots: the two would wait for each
		 * other.
		 */
		if (nonatomic)
			SPI_commit();
		/* An index that was dropped in the meantime is skipped. */
		index = try_open_index(lfirst_oid(cell), BF_TO_SUMMARIZE, ShareUpdateExclusiveLock, &heap);
		if (index != NULL)
			(void) summarize_index(index, heap, 0, InvalidBlockNumber);
		if (nonatomic)
			SPI_commit();
	}
	SPI_finish();
	MemoryContextDelete(stays);
	PG_RETURN_VOID();
}
