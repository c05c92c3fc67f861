/*
 * model.h: computes how large an index on a sampled column would be: a bf index and a B-tree (model.c), and a GIN index
 * (model_gin.c). For a bf index, also computes how many pages a look-up would read.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_MODEL_H
#define STREAMBLOOM_PG_ADVISOR_MODEL_H

#include "advisor/sample.h"

/*
 * Returns the number of items of the fullest range that was read, divided by the mean of all ranges that were read; 1
 * if there are no items. Ranges that are far above the others (bf_index_most_items() in sizes.h) do not count as the
 * fullest one. The result matters because all filters of a group have the same size, and its fullest ranges need the
 * largest ones.
 */
extern double bf_index_unevenness(const SampleColumn *column);

/* A model of a bf index on one column. Its levels, ranges and groups are those of index/layout.h. */
typedef struct BfModel
{
	int			levels;
	double		length[BF_INDEX_MAX_LEVELS];	/* pages of a range of this level */
	double		ranges[BF_INDEX_MAX_LEVELS];
	double		groups[BF_INDEX_MAX_LEVELS];
	double		rate[BF_INDEX_MAX_LEVELS];
	double		heap_pages;
	double		pages;			/* pages of the index */
} BfModel;

/*
 * Fills in the model of a bf index on the column with this false-positive rate. `distinct` is the number of distinct
 * values in the table.
 */
extern void bf_index_model(const Sample *sample, const SampleColumn *column, double rate, double distinct,
						   BfModel *model);

/*
 * Returns the pages of the index and the table that a look-up reads on average, if `holding` ranges of level 0 hold
 * the value. These ranges are taken to be spread at random over the table.
 */
extern double bf_index_model_look_up(const BfModel *model, double holding);

/* Returns the bytes of a B-tree on the column, which has `distinct` distinct values in the table. */
extern double bf_index_model_btree(const Sample *sample, const SampleColumn *column, double distinct);

/*
 * Returns the bytes of a GIN index on the column, as CREATE INDEX would make it with the current settings
 * (model_gin.c).
 */
extern double bf_index_model_gin(const Sample *sample, const SampleColumn *column, const KeyStats *keys);

#endif
