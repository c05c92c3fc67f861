/*
 * grams.h: whether an index on the grams of a text column (gram_ops) would leave pages unread. Texts that are short and
 * alike, such as addresses, have few different grams, and some pages have most of them.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_GRAMS_H
#define STREAMBLOOM_PG_ADVISOR_GRAMS_H

#include "base/compat.h"

#include "storage/block.h"

typedef struct GramSample GramSample;

extern GramSample *bf_index_begin_grams(MemoryContext context);

/* Looks at the text of a row. The rows come in the order of their pages. */
extern void bf_index_look_at_grams(GramSample *sample, BlockNumber page, Datum value);

/* Would most ranges that do not have a piece of a text be read all the same, because they have all of its grams? */
extern bool bf_index_grams_are_everywhere(const GramSample *sample);

#endif
