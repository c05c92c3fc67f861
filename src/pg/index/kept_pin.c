/*
 * kept_pin.c: keeps a page pinned as long as a statement inserts rows.
 *
 * To pin a page and to give it back for each row would be most of what a row in new pages costs. PostgreSQL 17 has a
 * function for access methods that ends what they keep for a statement (aminsertcleanup), but 15 and 16 have none, and
 * 17 does not call it after an error. So a pin ends with the memory of its statement. That alone does not do: after an
 * error the memory may live until the transaction ends, and when a resource owner ends before the memory, it warns of
 * a pin that is still there. So these pins belong to a resource owner of their own, which never ends, and they are
 * given back here at the latest when their subtransaction fails or the transaction ends.
 */
#include "index/kept_pin.h"

#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/*
 * A session keeps at most this many pins. So a statement that inserts into hundreds of partitions does not occupy all
 * of a small temp_buffers (at least 100 pages) or shared_buffers.
 */
#define MOST_KEPT 8

static ResourceOwner owner;
static dlist_head kept = DLIST_STATIC_INIT(kept);
static int	kept_count;

static void
give_back(BfKeptPin *pin)
{
	const ResourceOwner caller = CurrentResourceOwner;

	CurrentResourceOwner = owner;
	ReleaseBuffer(pin->buffer);
	CurrentResourceOwner = caller;
	pin->buffer = InvalidBuffer;
	dlist_delete(&pin->node);
	kept_count--;
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
			give_back(pin);
	}
}

static void
end_with_memory(void *pin)
{
	if (BufferIsValid(((BfKeptPin *) pin)->buffer))
		give_back(pin);
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
	owner = ResourceOwnerCreate(NULL, "bf index pins");
	RegisterXactCallback(end_with_transaction, NULL);
	RegisterSubXactCallback(end_with_subtransaction, NULL);
}

/*
 * Is this the memory of an executor? That ends with the statement, while a table is still locked that the statement
 * writes. Other callers of aminsert() may give memory that lives as long as the transaction. Then the same transaction
 * might truncate the table while the pin is still there, which is an error.
 */
static bool
is_of_executor(MemoryContext context)
{
	return strcmp(context->name, "ExecutorState") == 0;
}

bool
bf_index_keep_pin(BfKeptPin *pin, Buffer buffer, MemoryContext context)
{
	const ResourceOwner caller = CurrentResourceOwner;

	if (kept_count >= MOST_KEPT || !is_of_executor(context))
		return false;
	prepare_session();
	/* If this fails, PostgreSQL sets CurrentResourceOwner anew while it ends the (sub)transaction. */
	CurrentResourceOwner = owner;
	IncrBufferRefCount(buffer);
	CurrentResourceOwner = caller;
	pin->buffer = buffer;
	pin->made_in = GetCurrentSubTransactionId();
	pin->end = (MemoryContextCallback) {.func = end_with_memory, .arg = pin};
	dlist_push_head(&kept, &pin->node);
	kept_count++;
	MemoryContextRegisterResetCallback(context, &pin->end);
	return true;
}
