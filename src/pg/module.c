/*
 * module.c: what happens when the library is loaded.
 */
#include "base/compat.h"

#include "utils/guc.h"

#include "base/call.h"
#include "base/hints.h"
#include "base/memory.h"
#include "chunks/chunk_paths.h"
#include "chunks/chunk_scan.h"
#include "chunks/chunk_scan_node.h"
#include "chunks/chunk_skip.h"
#include "chunks/join_skip.h"
#include "chunks/partition_scan.h"
#include "index/handler.h"

#if PG_VERSION_NUM < 160000
PGDLLEXPORT void _PG_init(void);
#endif

void
_PG_init(void)
{
	call_init();
	hints_init();
	memory_init();
	bf_index_init();
	chunk_read_init();
	chunk_scan_init();
	chunk_skip_init();
	join_skip_init();
	chunk_paths_init();
	partition_scan_init();
	MarkGUCPrefixReserved("streambloom");
}
