/*
 * module.c: what happens when PostgreSQL loads the library.
 *
 * All C and C++ code of the extension is one shared library. A process of the server loads it when it first needs a
 * function of it: when a query calls one, or when it is planned on a table that has an index of the access method bf.
 * The setting session_preload_libraries loads it when a session begins, shared_preload_libraries when the server
 * starts, and the command LOAD at any time. Then PostgreSQL calls _PG_init(), once.
 *
 * Most of the library need not be announced: CREATE EXTENSION has declared its functions in SQL (sql/install), and
 * PostgreSQL finds them by their names. So it finds the functions of the types, and the handler of the access method
 * (index/handler.c). _PG_init() sets up the rest:
 *
 *  - The core learns how to ask whether to stop (call_init()), and gets two random numbers that protect its sets of
 *    hashes against items that were chosen to collide (memory_init()).
 *  - The settings of the extension, named streambloom.*, and the options of an index are declared.
 *  - *Hooks* are set. A hook is a variable of PostgreSQL for the address of a function, which PostgreSQL calls at a
 *    certain point, for example to plan a query. Through hooks plain queries leave partitions unread that cannot hold
 *    what they look for (chunks/README.md). Other extensions use the same hooks, so each file that sets one keeps the
 *    previous function and calls it.
 *  - Plan nodes are registered by name: PartitionScan, Skip and JoinKeys. So a parallel
 *    worker, which gets its plan as text, finds their functions.
 *
 * The library starts no background processes when it is loaded, and reserves no shared memory. (A parallel CREATE INDEX
 * has workers and shared memory, by PostgreSQL's own means.) Without the library a session gets the same rows from
 * every query. It has no hooks then, so it reads more partitions. With the library, queries that use nothing of the
 * extension keep their plans and costs.
 *
 * src/README.md names the files in which to go on reading.
 */
#include "base/compat.h"

#include "utils/guc.h"

#include "base/call.h"
#include "base/memory.h"
#include "base/preload.h"
#include "chunks/join_keys.h"
#include "chunks/partition_scan.h"
#include "chunks/skip.h"
#include "index/handler.h"

#if PG_VERSION_NUM < 160000
PGDLLEXPORT void _PG_init(void);
#endif

void
_PG_init(void)
{
	call_init();
	preload_init();
	memory_init();
	bf_index_init();
	skip_init();
	join_key_paths_init();
	partition_scan_init();
	/* after all settings were declared: from now on any other name that begins with streambloom. is an error */
	MarkGUCPrefixReserved("streambloom");
}
