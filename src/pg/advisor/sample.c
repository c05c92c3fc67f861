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
		sample->bytes += DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(leaf->oid)));
		relation_close(heap, AccessShareLock);
		sample->leaf_count += leaf->blocks > 0;
		sample->empty_count += leaf->blocks == 0;
		sample->pages += leaf->blocks;
		sample->units += (leaf->blocks + UNIT_PAGES - 1) / UNIT_PAGES;
	}
}

bool
bf_sample_is_late(const Sample *sample, uint32 units)
{
	const double share = Min((sample->units_read + 1.0) / Min(units, sample->units), 1);

	return GetCurrentTimestamp() > sample->begun + (TimestampTz) (sample->budget * share);
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

/* Reads a unit, unless its partition, or a column of it, is gone meanwhile. */
static void
read_unit(Sample *sample, MemoryContext row_context, uint32 leaf, BlockNumber first)
{
	const BlockNumber end = Min(first + UNIT_PAGES, sample->leaves[leaf].blocks);
	Relation	heap = try_relation_open(sample->leaves[leaf].oid, AccessShareLock);
	TupleTableSlot *slot;
	TableScanDesc scan;
	ItemPointerData from,
				to;

	if (heap == NULL)
		return;
	if (!find_columns(sample, RelationGetRelid(heap)))
	{
		relation_close(heap, AccessShareLock);
		return;
	}
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
							  ItemPointerGetBlockNumber(&slot->tts_tid) - first,
							  ItemPointerGetOffsetNumber(&slot->tts_tid));
			}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	relation_close(heap, AccessShareLock);
	for (int i = 0; i < sample->column_count; i++)
		if (sample->columns[i].refused == NULL)
			bf_column_end_unit(sample, &sample->columns[i], leaf, first, end - first);
	sample->pages_read += end - first;
	sample->units_read++;
}

/*
 * Reads a random one of the units [first, end) of all leaves. The last one of several in a leaf, which may have few
 * pages, is read only if is_last says so.
 */
static void
read_one_of(Sample *sample, MemoryContext row_context, uint64 first, uint64 end, bool is_last)
{
	uint64		unit = pg_prng_uint64_range(&pg_global_prng_state, first, Max(end, first + 1) - 1);
	uint32		leaf = 0;

	for (;; leaf++)
	{
		const uint32 units = (sample->leaves[leaf].blocks + UNIT_PAGES - 1) / UNIT_PAGES;

		if (unit < units)
		{
			if ((units > 1 && unit == units - 1) == is_last)
				read_unit(sample, row_context, leaf, (BlockNumber) unit * UNIT_PAGES);
			return;
		}
		unit -= units;
	}
}

void
bf_sample_read(Sample *sample)
{
	const uint32 parts = (uint32) Min(sample->units, MOST_UNITS);
	const uint32 bits = pg_ceil_log2_32(Max(parts, 1));
	MemoryContext row_context = AllocSetContextCreate(sample->context, "bf sample row", ALLOCSET_DEFAULT_SIZES);
	const uint32 seed = pg_prng_uint32(&pg_global_prng_state);
	TimestampTz said = sample->begun;

	/*
	 * The parts are taken in the order of their numbers with the bits reversed, and each bit turned over or not by a
	 * random function of the bits before it (Owen 1995). So 2^k of them are at random places of 2^k stretches.
	 */
	for (uint32 i = 0; i < 2 << bits && (sample->units_read < LEAST_UNITS || !bf_sample_is_late(sample, 1)); i++)
	{
		uint32		part = 0;

		for (uint32 bit = 0; bit < bits; bit++)
			part = part << 1 | ((i >> bit ^ murmurhash32(seed + part + (1 << bit))) & 1);
		if (part < parts)
			read_one_of(sample, row_context, (uint64) (part * sample->units / parts),
						(uint64) ((part + 1) * sample->units / parts), i >> bits != 0);
		if (TimestampDifferenceExceeds(said, GetCurrentTimestamp(), SILENCE))
		{
			said = GetCurrentTimestamp();
			ereport(NOTICE, (errmsg("%u of %u parts of the sample are read", sample->units_read, parts)));
		}
	}
	for (int i = 0; i < sample->column_count * SKETCHES; i++)
		if (sample->columns[i / SKETCHES].sketches[i % SKETCHES] != NULL)
			bf_sketch_end(sample->columns[i / SKETCHES].sketches[i % SKETCHES]);
	MemoryContextDelete(row_context);
}
