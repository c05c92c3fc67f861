/*
 * overview.c: bf_index_overview(), behind the view bf_indexes. It says what two pages of an index tell, without
 * waiting for locks. For an index that is larger than its table, and not small, the function reads a third page.
 *
 * A *range* is consecutive pages of the table; for each of its columns it has a filter, made of *lines* of 64 bytes. An
 * index has up to four levels, and level 0 has the shortest ranges. A *group* is up to 125 ranges of a level that
 * follow each other and whose filters are equally large. A *directory entry* describes one or more groups (layout.h).
 *
 * - It takes its locks only if they are free. The view shows all indexes of a database, and must not hang because one
 *   of them is being rebuilt.
 * - It raises no error for an index that is damaged, being built, or gone.
 * - If the caller may not read the table of an index, the result is NULL.
 *
 * How two pages tell how many ranges of level 0 are summarized: the meta page says how many have *begun*, that is, were
 * ever summarized or marked for it. The others are not summarized. Ranges mostly begin in their order, some at a time,
 * and then are summarized. If a summarizer was interrupted, those that began last are not. So the second page is the
 * first page of their group, which has the states of up to 125 ranges. The number of summarized ranges that is found in
 * this way is too large if a range of an earlier group is not summarized: bf_desummarize_range() was called, or a range
 * behind it was summarized alone (bf_summarize_range(), `autosummarize`). The next VACUUM or bf_summarize() mends that.
 * The number may also be too large if the meta page has no room for the whole directory of groups: if the last group is
 * not found there, its states are not read.
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
#include "index/group.h"
#include "index/handler.h"
#include "index/layout.h"
#include "index/measure.h"
#include "index/sizes.h"

/* Filters are too full if their mean false-positive rate is more than this many times the rate that was asked for. */
#define TOO_FULL 4

/* The least number of measured lines that tell how full the filters are. */
#define LINES_THAT_TELL 32

/* Indexes up to this many pages are not called large. */
#define SMALL_INDEX 128

/*
 * A group is larger than its items need if its filters have less than this share of their bits set. Filters with as
 * many items as they were made for have nearly half of them set.
 */
#define SPARSE 0.2

typedef struct Overview
{
	Relation	index;
	Relation	heap;
	bool		heap_is_there;	/* the length of the heap could be found out */
	BlockNumber blocks;			/* number of blocks of the index */
	uint32		ranges;			/* number of ranges of level 0 that the heap has now */
	uint32		summarized;
	int			levels;			/* number of levels that have groups */
	bool		too_full;
	bool		other_options;	/* ALTER INDEX has given it options that it was not built with */
	uint32		full_ranges;	/* number of full ranges of level 0, when they were counted last */
	BlockNumber full_block;		/* first block of the first full range */
	bool		table_is_known;
	uint64		table_blocks;	/* number of blocks of the heap and its out-of-line values */
	MemoryContext context;		/* memory context of the call */
	const char *why_large;		/* why the index is larger than its table; NULL if it is not */
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

/* ---------------------------------------------------------------------- two pages */

/* Sets *group to group `number` (from 0) of a directory entry. The numbers of lines are copied into lines[]. */
static void
group_of_entry(const BfStoredStretch *entry, uint32 number, uint32 columns, BfGroup *group, uint32 *lines)
{
	memset(group, 0, sizeof *group);
	group->columns = columns;
	group->first_range = entry->first_range + number * entry->ranges;
	group->ranges = entry->ranges;
	group->positions = BF_POSITIONS(entry->ranges);
	group->first_block = entry->first_block + number * entry->stride;
	group->lines = memcpy(lines, entry->lines, columns * sizeof(uint32));
}

/* The number of lines that the groups of a directory entry have together, in all ranges and columns. */
static double
lines_of_entry(const BfStoredStretch *entry, uint32 columns)
{
	double		lines = 0;

	for (uint32 column = 0; column < columns; column++)
		lines += entry->lines[column];
	return lines * entry->groups * entry->ranges;
}

/*
 * The directory entry of level 0 that has this range; or if `range` is NULL, the one with the most lines. Looks only at
 * entries on the meta page, and returns NULL if it finds none there. The levels above are left out, since mostly they
 * have fewer lines.
 */
static const BfStoredStretch *
find_entry(Relation index, BfMetaPage *meta, const uint32 *range)
{
	uint32		entries = Min(meta->stretches, bf_index_entries_on_meta_page(meta->columns));
	const BfStoredStretch *largest = NULL;

	for (uint32 number = 0; number < entries; number++)
	{
		const BfStoredStretch *entry = bf_index_entry_at(bf_index_meta_entries(meta), number, meta->columns);

		if (entry->checksum != bf_index_entry_checksum(entry, meta->columns))
			bf_index_report_damage(index, 0, "the checksum of groups is wrong");
		if (entry->level != 0 || entry->groups == 0 || entry->ranges == 0 || entry->ranges > BF_INDEX_MAX_RANGES)
			continue;
		if (range == NULL)
		{
			if (largest == NULL || lines_of_entry(entry, meta->columns) > lines_of_entry(largest, meta->columns))
				largest = entry;
		}
		else if (*range >= entry->first_range && *range - entry->first_range < (uint64) entry->groups * entry->ranges)
			return entry;
	}
	return largest;
}

/*
 * Sets overview->summarized to the number of summarized ranges, and overview->too_full if the filters of `group` are
 * too full in the first column. `group` is the group of the last range that has begun and that the heap still has.
 */
static void
look_at_last_group(Overview *overview, const BfGroup *group, const BfParameters *parameters)
{
	BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
	uint64		lines = 0;
	double		rates = 0;
	BfRangeMeasure fullest = {0};
	uint32		measured = 0;
	uint8		states[BF_INDEX_MAX_RANGES];

	if (group->first_block == 0 || group->first_block >= overview->blocks)
		bf_index_report_damage(overview->index, 0, "the file is too short for its groups");
	bf_index_measure_page(overview->index, group, 0, 0, parameters->hashes, ranges);
	bf_index_read_states(overview->index, group, 0, states);
	overview->summarized = group->first_range;
	for (uint32 i = 0; i < group->ranges; i++)
	{
		if (group->first_range + i < overview->ranges)
			overview->summarized += ranges[i].lines > 0 || states[i] == BF_FULL;
		lines += ranges[i].lines;
		rates += ranges[i].rates;
		measured += ranges[i].lines > 0;
		if (ranges[i].rates > fullest.rates)
			fullest = ranges[i];
	}
	/*
	 * If more than two ranges were measured, the fullest one does not count: it may have got far more items than all
	 * others since it was summarized.
	 */
	if (measured > 2)
	{
		lines -= fullest.lines;
		rates -= fullest.rates;
	}
	if (lines >= LINES_THAT_TELL && rates / lines > TOO_FULL * parameters->false_positive_rate)
		overview->too_full = true;
}

/*
 * Says why an index is larger than its table. `group` is the first group of the directory entry with the most lines,
 * and `begun` is how many ranges of level 0 have begun.
 */
static const char *
why_large(const Overview *overview, uint32 begun, BlockNumber pages_per_range, const BfGroup *group,
		  const BfParameters *parameters)
{
	BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
	BfRangeMeasure all = {0};
	uint64		lines = 0;

	if (begun / 2 >= overview->ranges)
		return "the table has shrunk";
	if (group->first_block == 0 || group->first_block >= overview->blocks)
		bf_index_report_damage(overview->index, 0, "the file is too short for its groups");
	bf_index_measure_page(overview->index, group, 0, 0, parameters->hashes, ranges);
	for (uint32 i = 0; i < group->ranges; i++)
	{
		all.lines += ranges[i].lines;
		all.bits_set += ranges[i].bits_set;
	}
	if (all.bits_set < SPARSE * SB_BF_LINE * 8 * all.lines)
		return psprintf("only %.1f %% of the bits of its largest filters are set, "
						"and all filters of a group have one size", all.bits_set * 100.0 / (SB_BF_LINE * 8 * all.lines));
	for (uint32 column = 0; column < group->columns; column++)
		lines += group->lines[column];
	return psprintf("the items of %u page%s of the table take %.0f kB at the false-positive rate %g", pages_per_range,
					pages_per_range == 1 ? "" : "s", ceil(lines * SB_BF_LINE / 1024.0), parameters->false_positive_rate);
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

/* Reads the meta page and perhaps one or two pages more. */
static void
read_pages(void *argument)
{
	Overview   *overview = argument;
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(overview->heap);
	BlockNumber pages_per_range;
	Buffer		buffer;
	BfMetaPage *meta;
	const BfStoredStretch *entry;
	BfParameters parameters;
	BfGroup		last;
	BfGroup		largest;
	uint32		lines_of_last[INDEX_MAX_KEYS];
	uint32		lines_of_largest[INDEX_MAX_KEYS];
	uint32		begun;
	bool		has_last = false;
	bool		has_largest = false;

	measure_table(overview, heap_blocks);
	overview->heap_is_there = true;
	overview->blocks = RelationGetNumberOfBlocks(overview->index);
	if (overview->blocks == 0)
		bf_index_report_damage(overview->index, 0, "the file is empty");
	buffer = bf_index_read_page(overview->index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = bf_index_meta_page(overview->index, BufferGetPage(buffer));
	/*
	 * The length is taken again: a group that was added since may lie behind the end of the file that was found
	 * before.
	 */
	overview->blocks = RelationGetNumberOfBlocks(overview->index);
	pages_per_range = meta->pages_per_range != 0 ? meta->pages_per_range : BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	overview->ranges = ((uint64) heap_blocks + pages_per_range - 1) / pages_per_range;
	begun = meta->begun[0];
	overview->summarized = Min(begun, overview->ranges);
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
		overview->levels += meta->groups[level] > 0;
	overview->full_ranges = meta->full_ranges;
	overview->full_block = meta->full_block;
	parameters = meta->column[0];
	if (overview->summarized > 0)
	{
		const uint32 range = overview->summarized - 1;

		entry = find_entry(overview->index, meta, &range);
		has_last = entry != NULL;
		if (has_last)
			group_of_entry(entry, (range - entry->first_range) / entry->ranges, meta->columns, &last,
						   lines_of_last);
	}
	if (overview->table_is_known && overview->blocks > Max(overview->table_blocks, SMALL_INDEX))
	{
		entry = find_entry(overview->index, meta, NULL);
		has_largest = entry != NULL;
		if (has_largest)
			group_of_entry(entry, 0, meta->columns, &largest, lines_of_largest);
	}
	UnlockReleaseBuffer(buffer);
	overview->other_options = bf_index_has_other_options(overview->index, overview->index);
	if (has_last)
		look_at_last_group(overview, &last, &parameters);
	if (has_largest)
		overview->why_large = MemoryContextStrdup(overview->context, why_large(overview, begun, pages_per_range,
																			 &largest, &parameters));
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
	Overview	overview = {.context = CurrentMemoryContext};
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
	values[6] = BoolGetDatum(overview.too_full);
	nulls[7] = !overview.table_is_known;
	values[7] = Int64GetDatum((int64) overview.table_blocks * BLCKSZ);
	nulls[8] = overview.why_large == NULL;
	values[8] = nulls[8] ? (Datum) 0 : CStringGetTextDatum(overview.why_large);
	nulls[9] = !is_good;
	values[9] = Int64GetDatum(overview.full_ranges);
	nulls[10] = !is_good || overview.full_ranges == 0;
	values[10] = Int64GetDatum(overview.full_block);
	nulls[11] = !is_good;
	values[11] = BoolGetDatum(overview.other_options);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
