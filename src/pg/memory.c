/*
 * memory.c: see memory.h.
 */
#include "memory.h"

#include <sys/mman.h>

#include "utils/memutils.h"

#define HUGE_PAGE ((uintptr_t) 2 << 20)
#define HUGE_PAGES_FROM ((size_t) 4 << 20)

void *
allocate_cells(MemoryContext context, size_t bytes)
{
	void	   *cells;

	if (bytes < HUGE_PAGES_FROM)
		return MemoryContextAllocExtended(context, bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	cells = MemoryContextAllocExtended(context, bytes, MCXT_ALLOC_HUGE);
#ifdef MADV_HUGEPAGE
	{
		/* only those that lie within: nothing is rounded up to two megabytes. An advice: where it is refused all is well, too */
		uintptr_t	begin = ((uintptr_t) cells + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
		uintptr_t	end = ((uintptr_t) cells + bytes) & ~(HUGE_PAGE - 1);

		if (begin < end)
			(void) madvise((void *) begin, end - begin, MADV_HUGEPAGE);
	}
#endif
	memset(cells, 0, bytes);
	return cells;
}

void *
allocate_lines(MemoryContext context, size_t before, size_t bytes)
{
	return (void *) TYPEALIGN(64, (char *) allocate_cells(context, before + bytes + 63) + before);
}

/* From so many bytes on the fours of a set are aligned: then before them stands what was allocated. */
#define ALIGNED_SET ((size_t) 2048)

void
allocate_set(MemoryContext context, sb_hash_set *set)
{
	size_t		bytes = sb_hash_set_bytes(set->capacity, set->beside);

	set->count = 0;
	if (bytes < ALIGNED_SET)
		set->slots = allocate_cells(context, bytes);
	else
	{
		char	   *allocated = allocate_cells(context, bytes + sizeof(void *) + 63);

		set->slots = (uint64_t *) TYPEALIGN(64, allocated + sizeof(void *));
		((void **) set->slots)[-1] = allocated;
	}
}

void
free_set(sb_hash_set *set)
{
	pfree(sb_hash_set_bytes(set->capacity, set->beside) < ALIGNED_SET ? (void *) set->slots : ((void **) set->slots)[-1]);
	set->slots = NULL;
}
