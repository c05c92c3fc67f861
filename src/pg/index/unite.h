/*
 * unite.h: the groups of a level that grows are united.
 */
#ifndef STREAMBLOOM_PG_INDEX_UNITE_H
#define STREAMBLOOM_PG_INDEX_UNITE_H

#include "index/refresh.h"

/*
 * To be called before a level above 0 gets groups for all of its first `ranges` ranges. One group takes the place of
 * all groups of the level, and has more ranges than they, if three functions allow it: bf_index_group_to_unite(), by
 * the number of ranges; bf_index_can_publish_union(), unless more than three pages of the directory would change; and
 * bf_index_is_worth_uniting(), by the space. All ranges of the new group are unsummarized then. Returns how many of
 * them were summarized or full before; 0 if no groups were united. REQUIRES: the heap has the first `ranges` ranges of
 * the level, and the caller summarizes all of them next; nobody else adds groups.
 */
extern uint32 bf_index_unite_groups(const BfSummarizer *work, int level, uint32 ranges);

#endif
