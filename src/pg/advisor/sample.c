/* sample.c: which pages of a table the advisor reads (advisor.h). */
#include "advisor/advisor.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "index/heap.h"

/* So many units are read even if the time is over: 4 MB. They take 0.1 s, if values are neither wide nor many. */
#define LEAST_UNITS 16

/* More units are not read, however much time there is: 2 GB. */
#define MOST_UNITS 8192

/* The call says how far it is after so many milliseconds, and again after as many. */
#define SILENCE 10000

#define UNITS_OF(blocks) ((blocks) / UNIT_PAGES + ((blocks) % UNIT_PAGES != 0))

void
bf_sample_begin(Sample *sample, Oid table)
{
	List	   *oids = get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(table, NoLock, NULL) : list_make1_oid(table);
	ListCell   *cell;

	sample->leaves = palloc(list_length(oids) * sizeof(Leaf));
	foreach(cell, oids)
	{
		Leaf	   *leaf = &sample->leaves[sample->leaf_count];
		Relation	heap = try_relation_open(lfirst_oid(cell), AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		if (heap == NULL)
			continue;
		if (heap->rd_rel->relkind != RELKIND_RELATION && heap->rd_rel->relkind != RELKIND_MATVIEW)
		{
			relation_close(heap, AccessShareLock);
			continue;
		}
		bf_index_check_table(heap);
		*leaf = (Leaf) {lfirst_oid(cell), RelationGetNumberOfBlocks(heap), heap->rd_rel->relispartition};
		sample->bytes += DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(leaf->oid)));
		relation_close(heap, AccessShareLock);
		sample->leaf_count += leaf->blocks > 0;
		sample->empty_count += leaf->blocks == 0;
		sample->pages += leaf->blocks;
		sample->units += UNITS_OF(leaf->blocks);
	}
}

/* Reads a unit, unless its partition, or a column of it, is gone meanwhile. */
static void
read_unit(Sample *sample, MemoryContext row_context, uint32 number, uint32 leaf, BlockNumber first)
{
	const BlockNumber end = Min(first + UNIT_PAGES, sample->leaves[leaf].blocks);
	Relation	heap = try_relation_open(sample->leaves[leaf].oid, AccessShareLock);
	TupleTableSlot *slot;
	TableScanDesc scan;
	ItemPointerData from,
				to;

	if (heap == NULL)
		return;
	for (int i = 0; i < sample->column_count; i++)
	{
		/* in a partition columns may have other numbers */
		sample->columns[i].attnum = get_attnum(RelationGetRelid(heap), sample->columns[i].name);
		if (sample->columns[i].attnum <= 0)
		{
			relation_close(heap, AccessShareLock);
			return;
		}
	}
	/* the least units share the time for out-of-line values */
	sample->late = sample->begun +
		sample->budget / Min(sample->units, LEAST_UNITS) * Min(sample->units_read + 1, LEAST_UNITS);
	slot = table_slot_create(heap, NULL);
	ItemPointerSet(&from, first, FirstOffsetNumber);
	ItemPointerSet(&to, end - 1, MaxOffsetNumber);
	scan = sb_begin_scan_of_rows(heap, GetActiveSnapshot(), &from, &to);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		MemoryContext caller = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		sample->rows++;
		for (int i = 0; i < sample->column_count; i++)
			if (sample->columns[i].refused == NULL)
			{
				bool		isnull;
				Datum		value = slot_getattr(slot, sample->columns[i].attnum, &isnull);

				bf_column_add(sample, &sample->columns[i], value, isnull,
							  SKETCH_ROW(ItemPointerGetBlockNumber(&slot->tts_tid) - first,
										 ItemPointerGetOffsetNumber(&slot->tts_tid)));
			}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	relation_close(heap, AccessShareLock);
	for (int i = 0; i < sample->column_count; i++)
		if (sample->columns[i].refused == NULL)
			bf_column_end_unit(sample, &sample->columns[i], number, leaf, end - first);
	sample->pages_read += end - first;
	sample->units_read++;
}

/*
 * Reads the unit with this number among those of all leaves. The last one of several in a leaf, which may have few
 * pages, is read only if is_last says so.
 */
static void
read_numbered(Sample *sample, MemoryContext row_context, uint32 number, bool is_last)
{
	uint32		before = 0;

	for (int leaf = 0; leaf < sample->leaf_count; leaf++)
	{
		const uint32 end = before + UNITS_OF(sample->leaves[leaf].blocks);

		if (number >= before && number < end && (number > before && number == end - 1) == is_last)
			read_unit(sample, row_context, number, leaf, (number - before) * UNIT_PAGES);
		before = end;
	}
}

void
bf_sample_read(Sample *sample)
{
	const uint32 bits = pg_ceil_log2_32(Max(sample->units, 1));
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "bf sample row", ALLOCSET_DEFAULT_SIZES);
	const uint32 seed = pg_prng_uint32(&pg_global_prng_state);
	TimestampTz said = sample->begun;

	/*
	 * The units are taken in the order of their numbers with the bits reversed, and each bit turned over or not by a
	 * random function of the bits before it (Owen 1995). So the first 2^k are at random places of 2^k parts of the
	 * table.
	 */
	for (uint64 i = 0; i < UINT64CONST(2) << bits && sample->units_read < MOST_UNITS &&
		 (sample->units_read < LEAST_UNITS || GetCurrentTimestamp() < sample->begun + sample->budget); i++)
	{
		uint32		number = 0;

		for (uint32 bit = 0; bit < bits; bit++)
			number = number << 1 | ((i >> bit ^ murmurhash32(seed + number + (1 << bit))) & 1);
		read_numbered(sample, row_context, number, i >> bits != 0);
		if (TimestampDifferenceExceeds(said, GetCurrentTimestamp(), SILENCE))
		{
			said = GetCurrentTimestamp();
			ereport(NOTICE, (errmsg("%u of %u parts of the table are read", sample->units_read, sample->units)));
		}
	}
	for (int i = 0; i < sample->column_count * SKETCHES; i++)
		if (sample->columns[i / SKETCHES].sketches[i % SKETCHES] != NULL)
			bf_sketch_end(sample->columns[i / SKETCHES].sketches[i % SKETCHES]);
	MemoryContextDelete(row_context);
}
