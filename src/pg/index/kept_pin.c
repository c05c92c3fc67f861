/*
 * kept_pin.c: keeps a page pinned as long as a statement writes rows into an index.
 *
 * To pin a page and to give it back for each row costs a row in new pages 16 % more CPU with three indexes, 1 to 7 %
 * with one (INSERT ... SELECT of 1.5 and 3 million rows, 15.20). PostgreSQL 17 has a
 * function for access methods that ends what they keep for a statement (aminsertcleanup), but 15 and 16 have none, and
 * 17 does not call it after an error. So a pin ends with the memory of its statement. That alone does not do, for two
 * reasons. When a resource owner ends before the memory, it warns of a pin that is still there. So these pins belong to
 * a resource owner of their own, which never ends. And after an error PostgreSQL may delete the files of a new table
 * before it frees the memory of the statement, and raises an error if one of their pages is pinned. So all pins are
 * given back when a transaction begins to end, and those of a subtransaction when it begins to fail.
 *
 * In PostgreSQL 15 and 16 a pin stays for a moment after the statement has unlocked the index. ALTER INDEX SET
 * TABLESPACE in another session waits for it then, in a loop.
 */
#include "index/kept_pin.h"

#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/*
 * A session keeps at most this many pins. PostgreSQL counts a session's pins in an array of eight pages; if there are
 * more, each pin takes longer. And a statement that writes into hundreds of partitions must not occupy a small
 * temp_buffers (at least 100 pages) or shared_buffers.
 */
#define MOST_KEPT 4

static ResourceOwner owner;
static dlist_head kept = DLIST_STATIC_INIT(kept);
static int	kept_count;

void
bf_index_give_back_pin(BfKeptPin *pin)
{
	const Buffer buffer = pin->buffer;
	const ResourceOwner caller = CurrentResourceOwner;

	if (!BufferIsValid(buffer))
		return;
	pin->buffer = InvalidBuffer;
	dlist_delete(&pin->node);
	kept_count--;
	CurrentResourceOwner = owner;
	ReleaseBuffer(buffer);
	CurrentResourceOwner = caller;
}

/*
 * Gives back the pins that were made in this subtransaction or in a later one. If this subtransaction fails, a later
 * one was a part of it.
 */
static void
give_back_from(SubTransactionId first)
{
	dlist_mutable_iter each;

	dlist_foreach_modify(each, &kept)
	{
		BfKeptPin  *pin = dlist_container(BfKeptPin, node, each.cur);

		if (pin->made_in >= first)
			bf_index_give_back_pin(pin);
	}
}

static void
end_with_memory(void *pin)
{
	bf_index_give_back_pin(pin);
}

/* This is called before the transaction truncates tables that are emptied ON COMMIT, and before its locks end. */
static void
end_with_transaction(XactEvent event, void *argument)
{
	(void) event;
	(void) argument;
	give_back_from(InvalidSubTransactionId);
}

static void
end_with_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *argument)
{
	(void) parent;
	(void) argument;
	if (event == SUBXACT_EVENT_ABORT_SUB)
		give_back_from(own);
}

/* Prepares the session for its first pin. */
static void
prepare_session(void)
{
	if (owner != NULL)
		return;
	RegisterXactCallback(end_with_transaction, NULL);
	RegisterSubXactCallback(end_with_subtransaction, NULL);
	/*
	 * If there is no memory for the resource owner, the next pin tries again, and registers the functions again. It
	 * does no harm that they are called twice then.
	 */
	owner = ResourceOwnerCreate(NULL, "bf index pins");
}

/*
 * Is this the memory of an executor? It ends with the statement, when the tables that the statement has written are
 * still locked. Other callers of aminsert() (COPY, logical replication) may give memory that lives as long as the
 * transaction. Then the same transaction might truncate the table while the pin is still there, which is an error.
 */
static bool
is_of_executor(MemoryContext context)
{
	return strcmp(context->name, "ExecutorState") == 0;
}

void
bf_index_keep_pin(BfKeptPin *pin, Buffer buffer, MemoryContext context)
{
	const ResourceOwner caller = CurrentResourceOwner;

	if (kept_count >= MOST_KEPT || !is_of_executor(context))
		return;
	prepare_session();
	CurrentResourceOwner = owner;
	PG_TRY();
	{
		IncrBufferRefCount(buffer);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = caller;
	}
	PG_END_TRY();
	pin->buffer = buffer;
	pin->made_in = GetCurrentSubTransactionId();
	pin->end = (MemoryContextCallback) {.func = end_with_memory, .arg = pin};
	dlist_push_head(&kept, &pin->node);
	kept_count++;
	MemoryContextRegisterResetCallback(context, &pin->end);
}
