/*
 * overview.c: bf_index_overview(), from which the view bf_indexes is made: what can be said of an index from at most two
 * of its pages, without waiting for anybody.
 *
 * - It takes its locks only if they are free. The view shows all indexes of a database, and must not hang because one
 *   of them is being rebuilt.
 * - It raises no error for an index that is damaged, being built, or gone.
 * - For an index that the caller may know nothing of the result is NULL.
 *
 * What two pages tell of the ranges of level 0: the meta page says how many have begun. Those that have not begun are
 * not summarized. Ranges begin one after the other, some at a time, and are summarized at once, so all that have begun
 * are, unless a summarizer was interrupted, or somebody has called bf_desummarize_range(). A summarizer that is
 * interrupted leaves the ranges that began last, so the second page is the first one of their group, and the states of
 * up to 125 ranges are on it. The number is too large only if a range of an earlier group is not summarized. The next
 * VACUUM or bf_summarize() would mend that.
 */
#include "index/bf_index.h"

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

/* A filter is too full if it says yes this many times as often as it was asked for. */
#define TOO_FULL 4

/* So many lines tell how full the filters are. */
#define LINES_THAT_TELL 32

typedef struct Overview
{
	Relation	index;
	Relation	heap;
	bool		heap_is_there;	/* its length could be found out */
	BlockNumber blocks;			/* of the index */
	BlockNumber heap_blocks;
	uint32		ranges;			/* of level 0 that the heap has now */
	uint32		summarized;
	int			levels;			/* that have groups */
	bool		too_full;
} Overview;

/* ------------------------------------------------------------------------ rights */

/* May the user read all rows of this table by its own name? */
static bool
may_read(Oid table)
{
	bool		is_missing = false;

	return pg_class_aclcheck_ext(table, GetUserId(), ACL_SELECT, &is_missing) == ACLCHECK_OK && !is_missing &&
		check_enable_rls(table, InvalidOid, true) != RLS_ENABLED;
}

/* May the user read all rows of this table, by its own name or by that of a table of which it is a partition? */
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

/* ---------------------------------------------------------------------- two pages */

/*
 * Finds the group that has this range of level 0, if the meta page has its entry of the directory. The numbers of lines
 * are copied into lines[].
 */
static bool
find_group(Relation index, BfMetaPage *meta, uint32 range, BfGroup *group, uint32 *lines)
{
	uint32		entries = Min(meta->stretches, bf_index_entries_on_meta_page(meta->columns));

	for (uint32 number = 0; number < entries; number++)
	{
		const BfStretch *entry = bf_index_entry_at(bf_index_meta_entries(meta), number, meta->columns);
		uint32		in_stretch;

		if (entry->checksum != bf_index_entry_checksum(entry, meta->columns))
			bf_index_report_damage(index, 0, "the checksum of groups is wrong");
		if (entry->level != 0 || range < entry->first_range || entry->ranges == 0 || entry->ranges > BF_INDEX_MAX_RANGES ||
			range - entry->first_range >= (uint64) entry->groups * entry->ranges)
			continue;
		in_stretch = (range - entry->first_range) / entry->ranges;
		memset(group, 0, sizeof *group);
		group->columns = meta->columns;
		group->first_range = entry->first_range + in_stretch * entry->ranges;
		group->ranges = entry->ranges;
		group->positions = BF_POSITIONS(entry->ranges);
		group->first_block = entry->first_block + in_stretch * entry->stride;
		group->lines = memcpy(lines, entry->lines, meta->columns * sizeof(uint32));
		return true;
	}
	return false;
}

/* Counts the summarized ranges, given that so many have begun and which group has the last of these. */
static void
look_at_last_group(Overview *overview, const BfGroup *group, const BfParameters *parameters)
{
	BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
	uint64		lines = 0;
	double		rates = 0;

	if (group->first_block == 0 || group->first_block >= overview->blocks)
		bf_index_report_damage(overview->index, 0, "the file is too short for its groups");
	bf_index_measure_page(overview->index, group, 0, 0, parameters->hashes, ranges);
	overview->summarized = group->first_range;
	for (uint32 i = 0; i < group->ranges; i++)
	{
		if (group->first_range + i < overview->ranges)
			overview->summarized += ranges[i].lines > 0;
		lines += ranges[i].lines;
		rates += ranges[i].rates;
	}
	if (lines >= LINES_THAT_TELL && rates / lines > TOO_FULL * parameters->false_positive_rate)
		overview->too_full = true;
}

/* Reads the meta page and perhaps one page more. */
static void
read_pages(void *argument)
{
	Overview   *overview = argument;
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(overview->heap);
	BlockNumber pages_per_range;
	Buffer		buffer;
	BfMetaPage *meta;
	BfParameters parameters;
	BfGroup		group;
	uint32		lines[INDEX_MAX_KEYS];
	bool		found = false;

	overview->heap_is_there = true;
	overview->heap_blocks = heap_blocks;
	overview->blocks = RelationGetNumberOfBlocks(overview->index);
	if (overview->blocks == 0)
		bf_index_report_damage(overview->index, 0, "the file is empty");
	buffer = bf_index_read_page(overview->index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = bf_index_meta_page(overview->index, BufferGetPage(buffer));
	/* A group that was added since may lie behind the length that was taken before. */
	overview->blocks = RelationGetNumberOfBlocks(overview->index);
	pages_per_range = meta->pages_per_range != 0 ? meta->pages_per_range : BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	overview->ranges = ((uint64) heap_blocks + pages_per_range - 1) / pages_per_range;
	overview->summarized = Min(meta->begun[0], overview->ranges);
	overview->too_full = meta->in_vain > 0;
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
		overview->levels += meta->groups[level] > 0;
	parameters = meta->column[0];
	if (overview->summarized > 0)
		found = find_group(overview->index, meta, overview->summarized - 1, &group, lines);
	UnlockReleaseBuffer(buffer);
	if (found)
		look_at_last_group(overview, &group, &parameters);
}

/*
 * Does this error say that an index is damaged, or that its file cannot be read? See errcode_for_file_access() for the codes of the latter;
 * read_pages() checks no rights, so that a privilege which is missing is one of the server's.
 */
static bool
is_damage(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_INDEX_CORRUPTED || sqlerrcode == ERRCODE_DATA_CORRUPTED ||
		sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE || sqlerrcode == ERRCODE_WRONG_OBJECT_TYPE ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_SYSTEM_ERROR;
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

/* The states that an index can be in, as bf_index_overview() returns them. */
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

/* As state_of(), but opens the index and its heap first. Returns NULL if the index is gone. */
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
	Datum		values[8];
	bool		nulls[8] = {false};
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
	nulls[3] = nulls[4] = nulls[5] = nulls[6] = nulls[7] = !is_good;
	values[3] = Int64GetDatum(overview.ranges);
	values[4] = Int64GetDatum(overview.summarized);
	values[5] = Int32GetDatum(overview.levels);
	values[6] = BoolGetDatum(overview.too_full);
	values[7] = Int64GetDatum((int64) overview.heap_blocks * BLCKSZ);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
