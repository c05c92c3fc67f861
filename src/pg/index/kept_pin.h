/*
 * kept_pin.h: keeps a page pinned as long as a statement inserts rows.
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
 * memory `context` ends, or its subtransaction fails, or its transaction ends, whichever comes first. Returns false if
 * no pin is kept: that is so if the session keeps several already, or if the memory is not that of an executor.
 * REQUIRES: *pin lies in `context`, and keeps no pin.
 */
extern bool bf_index_keep_pin(BfKeptPin *pin, Buffer buffer, MemoryContext context);

#endif
