/*
 * kept_pin.h: keeps a page pinned as long as a statement writes rows into an index.
 */
#ifndef STREAMBLOOM_PG_INDEX_KEPT_PIN_H
#define STREAMBLOOM_PG_INDEX_KEPT_PIN_H

#include "base/compat.h"

#include "lib/ilist.h"
#include "storage/buf.h"

/* A pin that is kept. It lies in the memory of its statement. */
typedef struct BfKeptPin
{
	Buffer		buffer;			/* InvalidBuffer: none is kept, or it was given back */
	SubTransactionId made_in;	/* the subtransaction in which the pin was made */
	dlist_node	node;			/* in the list of all pins that this session keeps */
	MemoryContextCallback end;
} BfKeptPin;

/*
 * Keeps the page in this buffer pinned, beyond the pin that the caller has. The pin is given back when the statement's
 * memory `context` ends, or its subtransaction fails, or its transaction ends, whichever comes first. No pin is kept if
 * the session keeps several already, or if the memory is not that of an executor. REQUIRES: *pin lies in `context`, is
 * zeroed, and this is the only call for it.
 */
extern void bf_index_keep_pin(BfKeptPin *pin, Buffer buffer, MemoryContext context);

/* Gives the pin back before the memory ends. Does nothing if none is kept. */
extern void bf_index_give_back_pin(BfKeptPin *pin);

#endif
