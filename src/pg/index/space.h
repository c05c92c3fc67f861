/*
 * space.h: which pages of an index are free: all that belong to no group and not to the directory. (The meta page is
 * never free.) They lie between the pages that are in use, or behind the last of these.
 */
#ifndef STREAMBLOOM_PG_INDEX_SPACE_H
#define STREAMBLOOM_PG_INDEX_SPACE_H

#include "index/geometry.h"

/*
 * Returns the first block of `pages` consecutive free pages: those of the first gap that is long enough, or those
 * behind all groups and directory pages. These may lie behind the end of the file. They stay free until somebody
 * publishes a group or a directory page there. REQUIRES: nobody else adds groups (ShareUpdateExclusiveLock on the
 * heap, or the index is new).
 */
extern BlockNumber bf_index_find_space(Relation index, BlockNumber pages);

/* How many pages of the index's file are free. */
extern BlockNumber bf_index_free_pages(Relation index);

/*
 * Cuts free pages off the end of the file, if there are enough of them and nobody uses the index at the moment. For
 * VACUUM. REQUIRES: as for bf_index_find_space().
 */
extern void bf_index_cut_off(Relation index);

#endif
