/*
 * space.h: which pages of an index are free: those behind its groups, and those between them that replaced groups have
 * left.
 */
#ifndef STREAMBLOOM_PG_INDEX_SPACE_H
#define STREAMBLOOM_PG_INDEX_SPACE_H

#include "index/geometry.h"

/*
 * The first block of so many pages that follow each other and are free: the first such gap between groups, or the end.
 * They stay free until somebody publishes what lies there. REQUIRES: nobody else adds groups (ShareUpdateExclusiveLock
 * on the heap, or the index is new).
 */
extern BlockNumber bf_index_find_space(Relation index, BlockNumber pages);

/* How many pages of the index's file are free. */
extern BlockNumber bf_index_free_pages(Relation index);

/*
 * Cuts free pages off the end of the file, if they are worth it and nobody uses the index at the moment. For VACUUM.
 * REQUIRES: as above.
 */
extern void bf_index_cut_off(Relation index);

#endif
