/*
 * memory.c: see memory.h.
 */
#include "base/memory.h"

#include "utils/memutils.h"

#include "base/call.h"

void
memory_init(void)
{
	uint64_t	secret[2];

	if (!pg_strong_random(secret, sizeof secret))
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("could not generate random numbers")));
	sb_set_secret(secret[0] | 1, secret[1]);	/* the first is not 0 */
}

/* Without an error, which would jump out of the core. */
static void *
allocate(void *context, size_t size)
{
	if (!AllocHugeSizeIsValid(size))
		return NULL;
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
release(void *context, void *block)
{
	pfree(block);
}

sb_memory
memory_in(MemoryContext context)
{
	return (sb_memory) {.allocate = allocate, .release = release, .context = context};
}

/*
 * Not in huge pages, though they would make an access at random some 2 ns cheaper: a virtual machine that reports its free memory
 * to the host has to get each of them back at the first touch, which took 4 to 5 ms a megabyte, and 0.7 to 1 in small pages.
 * tbf_agg of 5 million items: 2.05 s with huge pages, 1.45 s without.
 */
void *
allocate_cells(MemoryContext context, size_t bytes)
{
	void	   *cells = MemoryContextAllocExtended(context, bytes, MCXT_ALLOC_HUGE);

	clear_in_pieces(cells, bytes);
	return cells;
}
