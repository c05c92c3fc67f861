/*
 * module.c: what happens when the library is loaded.
 */
#include "base/compat.h"

#include "base/call.h"
#include "base/memory.h"
#include "index/bf_index.h"
#include "chunks/chunk_skip.h"

#if PG_VERSION_NUM < 160000
PGDLLEXPORT void _PG_init(void);
#endif

void
_PG_init(void)
{
	call_init();
	memory_init();
	bf_index_init();
	chunk_skip_init();
}
