/*
 * model.h: what an index on a sampled column would take and read (model.c), and the bytes of a B-tree and of a GIN
 * index (model_gin.c).
 */
#ifndef STREAMBLOOM_PG_ADVISOR_MODEL_H
#define STREAMBLOOM_PG_ADVISOR_MODEL_H

#include "advisor/sample.h"

/*
 * How many times as many items the fullest range of the column has as the average one, by what was read of the table.
 * All filters of a group of ranges are as large as the fullest one of these needs.
 */
extern double bf_index_unevenness(const SampleColumn *column);

/* An index on one column. */
typedef struct BfModel
{
	int			levels;
	double		length[BF_INDEX_MAX_LEVELS];	/* pages of a range */
	double		ranges[BF_INDEX_MAX_LEVELS];
	double		groups[BF_INDEX_MAX_LEVELS];
	double		rate[BF_INDEX_MAX_LEVELS];
	double		heap_pages;
	double		pages;			/* of the index */
} BfModel;

/* An index on the column with this rate, of which there are so many distinct values in the table. */
extern void bf_index_model(const Sample *sample, const SampleColumn *column, double rate, double distinct,
						   BfModel *model);

/*
 * The pages of the index and the table that a look-up reads on average, if so many ranges of level 0 hold the value.
 * These lie strewn over the table.
 */
extern double bf_index_model_look_up(const BfModel *model, double holding);

/* The bytes of a B-tree on the column, of which there are so many distinct values in the table. */
extern double bf_index_model_btree(const Sample *sample, const SampleColumn *column, double distinct);

/* The bytes of a GIN index on the column, as CREATE INDEX would make it with the settings of now (model_gin.c). */
extern double bf_index_model_gin(const Sample *sample, const SampleColumn *column, const KeyStats *keys);

#endif
