/*
 * tbf_recurring.c: the table of a filter with recurring minimum (Cohen, Matias 2003, section 3.3).
 *
 * If only one of an item's cells holds its smallest value, chance had to spare that one cell, and may not have spared it.
 * In the paper such an item moves to a secondary filter, and a Bloom filter of the items moved says where to look. An
 * item which that filter holds by mistake would be looked for where its hits are not, and undercounted. Here both are one
 * exact table of hashes and counts.
 *
 * A hit is added to all the item's cells, and to its entry if it has one; if not, and its minimum does not recur then, it
 * gets an entry with that minimum. So it never undercounts: cells count all hits, so the minimum is at least the item's
 * hits when the entry is made, and from then on both get the same; and entries are exact, nothing else is added to them.
 * For the same reason an entry is never above the minimum of the cells.
 */
#include "tbf/tbf.h"

#include "base/call.h"
#include "base/memory.h"

struct TbfMoved
{
	sb_hash_set set;			/* beside each hash its 2^-12 hits */
	MemoryContext context;
};

static void
make_slots(TbfMoved *moved, uint64_t capacity)
{
	moved->set.capacity = capacity;
	moved->set.beside = 1;
	allocate_set(moved->context, &moved->set);
}

static uint64_t *
hits_of_slot(const TbfMoved *moved, uint64_t slot)
{
	return &moved->set.slots[sb_hash_set_place(slot, 1) + 4];
}

TbfMoved *
tbf_moved_make(MemoryContext context)
{
	TbfMoved   *moved = MemoryContextAllocZero(context, sizeof(TbfMoved));

	moved->context = context;
	make_slots(moved, sb_hash_set_capacity_for(1));
	return moved;
}

bool
tbf_moved_add(TbfMoved *moved, uint64_t hash, uint64_t value)
{
	uint64_t	slot = sb_hash_set_find(&moved->set, hash);
	uint64_t   *hits;

	if (slot == UINT64_MAX)
		return false;
	hits = hits_of_slot(moved, slot);
	if (value >= SB_TBF_MAX_CELL - *hits)
		tbf_refuse_overflow();
	*hits += value;
	return true;
}

void
tbf_moved_insert(TbfMoved *moved, uint64_t hash, uint64_t hits)
{
	/* if that is interrupted the table stays as it was: it may be part of a variable */
	if (!sb_hash_set_has_room(&moved->set))
		remake_set(moved->context, &moved->set, sb_hash_set_next_capacity(moved->set.capacity), 1);
	else if (sb_hash_set_wants_secret(&moved->set))
		remake_set(moved->context, &moved->set, moved->set.capacity, 1);
	*hits_of_slot(moved, sb_hash_set_insert(&moved->set, hash)) = hits;
}

/* ------------------------------------------------------------------- stored */

void
tbf_moved_read(TbfMoved *moved, const TbfValue *tbf)
{
	const unsigned char *table = tbf->cells + sb_tbf_counters_size(&tbf->header);
	uint64_t	count = sb_tbf_entries(&tbf->header);
	sb_tbf_entry entry;

	/* room first: hashes that ascend would pile up in a set that grows as it goes */
	free_set(&moved->set);
	make_slots(moved, sb_hash_set_capacity_for(count + 1));
	for (uint64_t i = 0; i < count; i++)
	{
		if (i % ITEMS_BETWEEN_INTERRUPTS == 0)
			CHECK_FOR_INTERRUPTS();
		sb_tbf_read_entry(table, i, &entry);
		tbf_moved_insert(moved, entry.hash, entry.hits);
	}
}

uint32_t
tbf_moved_size(const TbfMoved *moved)
{
	return (uint32_t) Min(moved->set.count, SB_MAX_BYTES / SB_TBF_ENTRY + 1) * SB_TBF_ENTRY;
}

static int
compare_hashes(const void *left, const void *right)
{
	uint64_t	a = ((const sb_tbf_entry *) left)->hash;
	uint64_t	b = ((const sb_tbf_entry *) right)->hash;

	CHECK_FOR_INTERRUPTS();
	return a < b ? -1 : a > b;
}

void
tbf_moved_write(const TbfMoved *moved, void *table)
{
	sb_tbf_entry *entries = MemoryContextAllocHuge(CurrentMemoryContext, (moved->set.count + 1) * sizeof *entries);
	uint64_t	count = 0;

	for (uint64_t slot = 0; (slot = sb_hash_set_next(&moved->set, slot, &entries[count].hash)) != UINT64_MAX; slot++)
	{
		if (count % ITEMS_BETWEEN_INTERRUPTS == 0)
			CHECK_FOR_INTERRUPTS();
		entries[count++].hits = *hits_of_slot(moved, slot);
	}
	qsort(entries, count, sizeof *entries, compare_hashes);
	for (uint64_t i = 0; i < count; i++)
	{
		if (i % ITEMS_BETWEEN_INTERRUPTS == 0)
			CHECK_FOR_INTERRUPTS();
		sb_tbf_write_entry(table, i, &entries[i]);
	}
	pfree(entries);
}
