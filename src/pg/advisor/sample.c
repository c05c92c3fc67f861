/* sample.c: see sample.h. */
#include "advisor/sample.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "index/heap.h"

/* The call says how far it is after so many milliseconds, and again after as many. */
#define SILENCE 10000

/* So many units tell enough about trigrams and grams. */
#define UNITS_OF_GRAMS 24

void
bf_sample_begin(Sample *sample, Oid table)
{
	List	   *oids = get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(table, NoLock, NULL) : list_make1_oid(table);
	ListCell   *cell;

	sample->leaves = palloc(list_length(oids) * sizeof(Leaf));
	foreach(cell, oids)
	{
		char		kind = get_rel_relkind(lfirst_oid(cell));
		Leaf	   *leaf = &sample->leaves[sample->leaf_count];
		Relation	heap;

		CHECK_FOR_INTERRUPTS();
		if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW)
			continue;
		heap = try_relation_open(lfirst_oid(cell), AccessShareLock);
		if (heap == NULL)
			continue;
		bf_index_check_table(heap);
		*leaf = (Leaf) {lfirst_oid(cell), RelationGetNumberOfBlocks(heap), heap->rd_rel->relispartition};
		relation_close(heap, AccessShareLock);
		sample->leaf_count += leaf->blocks > 0;
		sample->empty_count += leaf->blocks == 0;
		sample->pages += leaf->blocks;
		sample->units += (leaf->blocks + UNIT_PAGES - 1) / UNIT_PAGES;
	}
}

/* The pages of a table's out-of-line values. */
static BlockNumber
toast_blocks_of(Relation heap)
{
	Relation	toast = OidIsValid(heap->rd_rel->reltoastrelid) ?
		try_relation_open(heap->rd_rel->reltoastrelid, AccessShareLock) : NULL;
	BlockNumber blocks = toast == NULL ? 0 : RelationGetNumberOfBlocks(toast);

	if (toast != NULL)
		relation_close(toast, AccessShareLock);
	return blocks;
}

/* Finds the columns in a partition, which may have other numbers there. Returns false if one is missing. */
static bool
find_columns(Sample *sample, Oid leaf)
{
	for (int i = 0; i < sample->column_count; i++)
	{
		sample->columns[i].attnum = get_attnum(leaf, sample->columns[i].name);
		if (sample->columns[i].attnum <= 0)
			return false;
	}
	return true;
}

static void
read_unit(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context, uint32 leaf,
		  BlockNumber first)
{
	const BlockNumber end = Min(first + UNIT_PAGES, sample->leaves[leaf].blocks);
	const uint32 unit = (uint32) sample->units_read;
	ItemPointerData from,
				to;

	ItemPointerSet(&from, first, FirstOffsetNumber);
	ItemPointerSet(&to, end - 1, MaxOffsetNumber);
	table_rescan_tidrange(scan, &from, &to);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		MemoryContext caller = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		sample->rows++;
		for (int i = 0; i < sample->column_count; i++)
		{
			SampleColumn *column = &sample->columns[i];
			bool		isnull;
			Datum		value;

			if (column->refused != NULL)
				continue;
			value = slot_getattr(slot, column->attnum, &isnull);
			bf_column_add(sample, column, unit, TupleDescAttr(slot->tts_tupleDescriptor, column->attnum - 1), value,
						  isnull, ItemPointerGetBlockNumber(&slot->tts_tid) - first,
						  ItemPointerGetOffsetNumber(&slot->tts_tid));
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
	}
	for (int i = 0; i < sample->column_count; i++)
		if (sample->columns[i].refused == NULL)
			bf_column_end_unit(sample, &sample->columns[i], unit, leaf, end - first);
	sample->pages_read += end - first;
	sample->units_read++;
}

void
bf_sample_read(Sample *sample, BlockNumber most)
{
	const uint32 parts = (uint32) Min(sample->units, Max(most / UNIT_PAGES, 2));
	MemoryContext row_context = AllocSetContextCreate(sample->context, "bf sample row", ALLOCSET_DEFAULT_SIZES);
	TimestampTz said = GetCurrentTimestamp();
	double		before = 0;		/* units of the leaves before this one */
	double		pages_of_opened = 0;
	uint32		part = 0;
	double	   *chosen = palloc(Max(parts, 1) * sizeof(double));

	sample->units_to_read = parts;
	sample->gram_every = Max((parts + UNITS_OF_GRAMS - 1) / UNITS_OF_GRAMS, 1);
	for (uint32 i = 0; i < parts; i++)
	{
		const uint64 first = (uint64) (i * sample->units / parts);
		const uint64 last = (uint64) ((i + 1) * sample->units / parts) - 1;

		chosen[i] = pg_prng_uint64_range(&pg_global_prng_state, first, Max(first, last));
	}
	for (int leaf = 0; leaf < sample->leaf_count && part < parts; leaf++)
	{
		const double units = (sample->leaves[leaf].blocks + UNIT_PAGES - 1) / UNIT_PAGES;
		BlockNumber first;
		Relation	heap = NULL;
		TableScanDesc scan = NULL;
		TupleTableSlot *slot = NULL;

		for (; part < parts; part++)
		{
			if (chosen[part] >= before + units)
				break;
			/* the leaf may be gone */
			if (chosen[part] < before)
				continue;
			if (heap == NULL)
			{
				ItemPointerData from;

				heap = try_relation_open(sample->leaves[leaf].oid, AccessShareLock);
				if (heap == NULL || !find_columns(sample, sample->leaves[leaf].oid))
					break;
				sample->toast_pages += toast_blocks_of(heap);
				pages_of_opened += sample->leaves[leaf].blocks;
				ItemPointerSet(&from, 0, FirstOffsetNumber);
				slot = table_slot_create(heap, NULL);
				scan = sb_begin_scan_of_rows(heap, GetActiveSnapshot(), &from, &from);
			}
			first = (BlockNumber) (chosen[part] - before) * UNIT_PAGES;
			/* the last unit of a leaf, which may have few pages, does not stand for others */
			if (parts < sample->units && first >= UNIT_PAGES && first + UNIT_PAGES > sample->leaves[leaf].blocks &&
				!(part > 0 && chosen[part - 1] == chosen[part] - 1))
				first -= UNIT_PAGES;
			read_unit(sample, scan, slot, row_context, leaf, first);
			if (TimestampDifferenceExceeds(said, GetCurrentTimestamp(), SILENCE))
			{
				said = GetCurrentTimestamp();
				ereport(NOTICE, (errmsg("%u of %u parts of the sample are read", part + 1, parts)));
			}
		}
		if (scan != NULL)
		{
			table_endscan(scan);
			ExecDropSingleTupleTableSlot(slot);
		}
		if (heap != NULL)
			relation_close(heap, AccessShareLock);
		before += units;
	}
	if (pages_of_opened > 0)
		sample->toast_pages *= sample->pages / pages_of_opened;
	MemoryContextDelete(row_context);
}
