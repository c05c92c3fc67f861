/*
 * heap_values.c: reads the out-of-line values of a row version without failing if they have gone.
 *
 * PostgreSQL's own functions raise an error if parts of such a value are missing. Here that is no error if the row was
 * deleted, or its inserter was rolled back, after its page was read: then the row need not be in the index. But the
 * *horizon* of the range, a transaction id, is raised. Snapshots that are older than the horizon, which may see the
 * row, do not rely on the range's filters (horizon.c).
 */
#include "index/heap_reader.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/transam.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"

Bitmapset *
bf_index_needed_attributes(const IndexInfo *info)
{
	Bitmapset  *attributes = NULL;

	for (int i = 0; i < info->ii_NumIndexKeyAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] != 0)
			attributes = bms_add_member(attributes, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &attributes);
	pull_varattnos((Node *) info->ii_Predicate, 1, &attributes);
	return attributes;
}

/* Does the index need column `i` of the table (counted from 0), and can its values lie out of line? */
static bool
is_needed(const BfHeapReader *reader, int i)
{
	const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(reader->heap), i);

	return attribute->attlen == -1 && !attribute->attisdropped &&
		(bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, reader->attributes) ||
		 bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, reader->attributes));
}

bool
bf_index_needs_out_of_line_value(const BfHeapReader *reader, HeapTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(reader->heap);

	if (!HeapTupleHasExternal(tuple))
		return false;
	for (int i = 0; i < descriptor->natts; i++)
	{
		bool		isnull;
		Datum		value;

		if (!is_needed(reader, i))
			continue;
		value = heap_getattr(tuple, i + 1, descriptor, &isnull);
		if (!isnull && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)))
			return true;
	}
	return false;
}

/*
 * Reads an out-of-line value as it is stored; it may be compressed. The result is NULL if parts of the value are
 * missing; PostgreSQL's heap_fetch_toast_slice() would raise an error then.
 */
static struct varlena *
fetch_if_there(struct varlena *value)
{
	struct varatt_external pointer;
	Relation	toast;
	Relation   *indexes;
	int			index_count,
				valid_index;
	SnapshotData any = {.snapshot_type = SNAPSHOT_TOAST};
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	struct varlena *result;
	Size		size,
				have = 0;
	int32		next = 0;
	bool		whole = true;

	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	size = VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	result = palloc(size + VARHDRSZ);
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer))
		SET_VARSIZE_COMPRESSED(result, size + VARHDRSZ);
	else
		SET_VARSIZE(result, size + VARHDRSZ);

	toast = table_open(pointer.va_toastrelid, AccessShareLock);
	valid_index = toast_open_indexes(toast, AccessShareLock, &indexes, &index_count);
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(pointer.va_valueid));
	scan = systable_beginscan_ordered(toast, indexes[valid_index], &any, 1, &key);
	while (whole && (tuple = systable_getnext_ordered(scan, ForwardScanDirection)) != NULL)
	{
		bool		isnull;
		int32		number = DatumGetInt32(heap_getattr(tuple, 2, RelationGetDescr(toast), &isnull));
		struct varlena *chunk =
			(struct varlena *) DatumGetPointer(heap_getattr(tuple, 3, RelationGetDescr(toast), &isnull));
		Size		length = VARSIZE_ANY_EXHDR(chunk);

		whole = !VARATT_IS_EXTERNAL(chunk) && !VARATT_IS_COMPRESSED(chunk) && number == next++ && have + length <= size;
		if (whole)
			memcpy(VARDATA(result) + have, VARDATA_ANY(chunk), length);
		have += length;
	}
	systable_endscan_ordered(scan);
	toast_close_indexes(indexes, index_count, NoLock);
	table_close(toast, NoLock);
	return whole && have == size ? result : NULL;
}

/*
 * Has this row version been removed or deleted since its page was copied? If so, raises the horizon above the deleter's
 * id. If another version has got its line pointer, the xmin there is another one, and this version is gone.
 */
static bool
has_gone(BfHeapReader *reader, HeapTuple tuple)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&tuple->t_self);
	Buffer		buffer = ReadBufferExtended(reader->heap, MAIN_FORKNUM, ItemPointerGetBlockNumber(&tuple->t_self),
											RBM_NORMAL, reader->strategy);
	Page		page = BufferGetPage(buffer);
	bool		gone = true;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page) && offset <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, offset)))
	{
		HeapTupleData now = *tuple;
		HTSV_Result visibility;

		now.t_data = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));
		now.t_len = ItemIdGetLength(PageGetItemId(page, offset));
		visibility = HeapTupleSatisfiesVacuum(&now, reader->oldest_xmin, buffer);
		gone = visibility == HEAPTUPLE_DEAD || visibility == HEAPTUPLE_RECENTLY_DEAD ||
			HeapTupleHeaderGetRawXmin(now.t_data) != HeapTupleHeaderGetRawXmin(tuple->t_data);
	}
	UnlockReleaseBuffer(buffer);
	/*
	 * If the version was deleted, the id of the deleter may not be known any more. But the deleter has committed, so
	 * its id is less than the next transaction id. (If the inserter was rolled back, the horizon need not be raised,
	 * but may be.)
	 */
	if (gone)
		bf_index_raise_horizons(reader, (BfHorizons) {.all = U64FromFullTransactionId(ReadNextFullTransactionId())});
	return gone;
}

/*
 * Values can be missing although the row version was there when its page was copied. Other processes do not wait for
 * VACUUM's snapshot, so a row that is deleted while VACUUM summarizes may be removed at once, and its values with it.
 * After a rollback the values that the transaction wrote may be removed at once too, whoever summarizes.
 */
bool
bf_index_fetch_values(BfHeapReader *reader, HeapTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(reader->heap);
	TupleTableSlot *slot = reader->slot;

	if (!HeapTupleHasExternal(tuple))
		return true;
	slot_getallattrs(slot);
	for (int i = 0; i < descriptor->natts; i++)
	{
		struct varlena *value;

		if (!is_needed(reader, i) || slot->tts_isnull[i] ||
			!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(slot->tts_values[i])))
			continue;
		value = fetch_if_there((struct varlena *) DatumGetPointer(slot->tts_values[i]));
		if (value != NULL)
			slot->tts_values[i] = PointerGetDatum(value);
		else if (has_gone(reader, tuple))
			return false;
		/* Otherwise the table is damaged. An error is raised as soon as the value is read. */
	}
	return true;
}
