/*
 * overview.c: bf_index_overview(), behind the view bf_indexes. It says what some pages of an index tell, without
 * waiting for locks.
 *
 * A *range* is consecutive pages of the table; for each of its columns it has a filter, made of *lines* of 64 bytes. An
 * index has up to four levels, and level 0 has the shortest ranges. A *group* is up to 125 ranges of a level that
 * follow each other and whose filters are equally large. Of each level up to MOST_MEASURED groups are measured, spread
 * evenly, as VACUUM measures all of them (remake.c); they stand for the others.
 *
 * - It takes its locks only if they are free. The view shows all indexes of a database, and must not hang because one
 *   of them is being rebuilt.
 * - It raises no error for an index that is damaged, being built, or gone.
 * - If the caller may not read the table of an index, the result is NULL.
 *
 * The meta page says how many ranges have *begun*, that is, were ever summarized or marked for it. The others are not
 * summarized. Ranges begin in their order, so those that are not summarized stand mostly at the end, in the last group,
 * which is always measured. In an index of more groups the number of summarized ranges is too large if a range of a
 * group that was not measured is not summarized.
 */
#include "base/compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rls.h"

#include "index/attempt.h"
#include "index/functions.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/handler.h"
#include "index/layout.h"
#include "index/measure.h"
#include "index/remake.h"
#include "index/sizes.h"

/* At most this many groups of a level are measured. */
#define MOST_MEASURED 32

typedef struct Overview
{
	Relation	index;
	Relation	heap;
	bool		heap_is_there;	/* the length of the heap could be found out */
	BlockNumber blocks;			/* number of blocks of the index */
	uint32		ranges;			/* number of ranges of level 0 that the heap has now */
	uint32		summarized;
	int			levels;			/* number of levels that have groups */
	double		groups;			/* number of groups of all levels */
	double		off;			/* how many of them do not fit what is there: VACUUM will make them anew */
	double		off_share;		/* the share of the heap that these stand for */
	bool		other_options;	/* ALTER INDEX has given it options that it was not built with */
	uint32		full_ranges;	/* number of full ranges of level 0 in the groups that were measured */
	bool		table_is_known;
	uint64		table_blocks;	/* number of blocks of the heap and its out-of-line values */
} Overview;

/* ------------------------------------------------------------------------ rights */

/* May the user read all rows of this table with the privileges on the table itself? */
static bool
may_read(Oid table)
{
	bool		is_missing = false;

	return pg_class_aclcheck_ext(table, GetUserId(), ACL_SELECT, &is_missing) == ACLCHECK_OK && !is_missing &&
		check_enable_rls(table, InvalidOid, true) != RLS_ENABLED;
}

/* May the user read all rows of this table, with the privileges on it or on a table of which it is a partition? */
static bool
may_read_somehow(Oid table, const FormData_pg_class *form)
{
	ListCell   *cell;

	if (may_read(table))
		return true;
	if (!form->relispartition)
		return false;
	foreach(cell, get_partition_ancestors(table))
		if (may_read(lfirst_oid(cell)))
			return true;
	return false;
}

/* ------------------------------------------------------------------- without waiting */

/* Opens a relation if its lock is free. Sets *gone if it does not exist any more. */
static Relation
open_if_free(Oid oid, bool *gone)
{
	Relation	relation;

	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return NULL;
	relation = try_relation_open(oid, NoLock);
	if (relation == NULL)
	{
		UnlockRelationOid(oid, AccessShareLock);
		*gone = true;
	}
	return relation;
}

/* --------------------------------------------------------------------- some pages */

/* Takes ranges of a group of level 0 that have begun, but are not summarized, from the number of those that are. */
static void
count_summarized(Overview *overview, const BfGroup *group, uint32 begun)
{
	uint8		states[BF_INDEX_MAX_RANGES];

	bf_index_read_states(overview->index, group, 0, states);
	for (uint32 i = 0; i < group->ranges && group->first_range + i < begun; i++)
		overview->summarized -= states[i] != BF_SUMMARIZED && states[i] != BF_FULL;
}

/* Measures groups of a level: every step-th one, counted from the last group that has begun. */
static void
look_at_level(Overview *overview, const BfGeometry *geometry, int level, BlockNumber heap_blocks)
{
	const BfLevel *of = &geometry->level[level];
	const uint32 step = (of->groups + MOST_MEASURED - 1) / MOST_MEASURED;
	const uint32 begun = level == 0 ? overview->summarized : Min(of->begun, of->covered);
	BfGroupMeasure *measure = palloc(sizeof(BfGroupMeasure));
	double		measured = 0,
				off = 0,
				off_ranges = 0;
	uint32		number = 0;
	BfGroup		group;

	for (uint32 end = Min(begun, of->covered); end > 0; end = group.first_range)
	{
		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, level, end - 1, &group);
		if (number++ % step != 0)
			continue;
		measured++;
		if (bf_index_measure_how_far_off(overview->index, geometry, &group, heap_blocks, measure) > 0)
		{
			off++;
			off_ranges += group.ranges;
		}
		if (level > 0)
			continue;
		count_summarized(overview, &group, begun);
		overview->full_ranges += measure->full;
	}
	overview->groups += of->groups;
	if (measured > 0)
	{
		overview->off += ceil(off * number / measured);
		overview->off_share += off_ranges * number / measured / Max(of->covered, 1);
	}
	pfree(measure);
}

/* Finds out how many pages the table has with its out-of-line values, unless the table of these values is locked. */
static void
measure_table(Overview *overview, BlockNumber heap_blocks)
{
	Oid			oid = overview->heap->rd_rel->reltoastrelid;
	bool		gone = false;
	Relation	toast;

	overview->table_blocks = heap_blocks;
	overview->table_is_known = !OidIsValid(oid);
	if (overview->table_is_known || (toast = open_if_free(oid, &gone)) == NULL)
		return;
	overview->table_blocks += RelationGetNumberOfBlocks(toast);
	overview->table_is_known = true;
	relation_close(toast, AccessShareLock);
}

/* Reads the geometry of the index, and measures groups. */
static void
read_pages(void *argument)
{
	Overview   *overview = argument;
	const BlockNumber heap_blocks = RelationGetNumberOfBlocks(overview->heap);
	BlockNumber pages_per_range;
	const BfGeometry *geometry;

	measure_table(overview, heap_blocks);
	overview->heap_is_there = true;
	overview->blocks = RelationGetNumberOfBlocks(overview->index);
	geometry = bf_index_copy_geometry(bf_index_current_geometry(overview->index));
	pages_per_range = geometry->level[0].pages_per_range;
	if (pages_per_range == 0)
		pages_per_range = BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	overview->ranges = ((uint64) heap_blocks + pages_per_range - 1) / pages_per_range;
	overview->summarized = Min(geometry->level[0].begun, overview->ranges);
	overview->levels = geometry->levels;
	for (int level = 0; level < geometry->levels; level++)
		look_at_level(overview, geometry, level, heap_blocks);
	overview->other_options = bf_index_has_other_options(overview->index);
}

/*
 * Does this error say that an index is damaged, or that its file cannot be read? See errcode_for_file_access() for
 * the codes of files. read_pages() checks no privileges of the user, so ERRCODE_INSUFFICIENT_PRIVILEGE means that the
 * server may not open the file.
 */
static bool
is_damage(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_INDEX_CORRUPTED || sqlerrcode == ERRCODE_DATA_CORRUPTED ||
		sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE || sqlerrcode == ERRCODE_WRONG_OBJECT_TYPE ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_SYSTEM_ERROR;
}

/* ----------------------------------------------------------------------- the state */

/* The state of an index, as bf_index_overview() returns it. Sets *detail to the error if something is damaged. */
static const char *
state_of(Overview *overview, char **detail)
{
	ErrorData  *error;

	if (!overview->index->rd_index->indisvalid)
		return "not valid";
	if (RecoveryInProgress() && overview->index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		return "unlogged";
	error = bf_index_attempt(read_pages, overview, is_damage);
	if (error == NULL)
		return "good";
	*detail = error->message;
	return overview->heap_is_there ? "damaged" : "table damaged";
}

/*
 * As state_of(), but opens the index and its heap first. Returns "locked" if the lock of one of the two is not free,
 * and NULL if one of them is gone.
 */
static const char *
look_at(Oid heap, Oid index, Overview *overview, char **detail)
{
	const char *state = "locked";
	bool		gone = false;

	overview->heap = open_if_free(heap, &gone);
	if (overview->heap != NULL)
	{
		overview->index = open_if_free(index, &gone);
		if (overview->index != NULL)
		{
			state = state_of(overview, detail);
			relation_close(overview->index, AccessShareLock);
		}
		relation_close(overview->heap, AccessShareLock);
	}
	return gone ? NULL : state;
}

SB_FUNCTION(bf_index_overview);
Datum
bf_index_overview(PG_FUNCTION_ARGS)
{
	Oid			index = PG_GETARG_OID(0);
	Oid			heap;
	FormData_pg_class form;
	Overview	overview = {0};
	TupleDesc	descriptor;
	Datum		values[12];
	bool		nulls[12] = {false};
	bool		is_good;
	const char *state;
	char	   *detail = NULL;

	CHECK_FOR_INTERRUPTS();
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!bf_index_class_form(index, &form) || form.relkind != RELKIND_INDEX || form.relam != bf_index_am_oid())
		PG_RETURN_NULL();
	heap = IndexGetRelation(index, true);
	if (!OidIsValid(heap) || !bf_index_class_form(heap, &form) || !may_read_somehow(heap, &form) ||
		(form.relpersistence == RELPERSISTENCE_TEMP && isOtherTempNamespace(form.relnamespace)))
		PG_RETURN_NULL();
	state = look_at(heap, index, &overview, &detail);
	if (state == NULL)
		PG_RETURN_NULL();
	is_good = strcmp(state, "good") == 0;
	values[0] = CStringGetTextDatum(state);
	nulls[1] = detail == NULL;
	values[1] = detail == NULL ? (Datum) 0 : CStringGetTextDatum(detail);
	nulls[2] = overview.blocks == 0;
	values[2] = Int64GetDatum((int64) overview.blocks * BLCKSZ);
	nulls[3] = nulls[4] = nulls[5] = nulls[6] = !is_good;
	values[3] = Int64GetDatum(overview.ranges);
	values[4] = Int64GetDatum(overview.summarized);
	values[5] = Int32GetDatum(overview.levels);
	values[6] = Int64GetDatum((int64) overview.groups);
	nulls[7] = !overview.table_is_known;
	values[7] = Int64GetDatum((int64) overview.table_blocks * BLCKSZ);
	nulls[8] = nulls[9] = nulls[10] = nulls[11] = !is_good;
	values[8] = Int64GetDatum(overview.full_ranges);
	values[9] = BoolGetDatum(overview.other_options);
	values[10] = Int64GetDatum((int64) overview.off);
	values[11] = BoolGetDatum(overview.off_share > BF_MOST_REMADE);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
