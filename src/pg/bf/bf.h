/*
 * bf.h: declarations that the files for bf values share.
 */
#ifndef STREAMBLOOM_PG_BF_H
#define STREAMBLOOM_PG_BF_H

#include "base/compat.h"

#define BF_DEFAULT_ITEMS 10000
#define BF_DEFAULT_FPR 0.01

/*
 * A bf in memory: its decoded header, and its lines, or the stored items of an exact filter. They are inside the detoasted
 * value and must not be written.
 */
typedef struct BfValue
{
	sb_bf		header;
	const unsigned char *lines;
} BfValue;

extern void bf_open(Datum value, BfValue *bf);

/* Makes a bf of these parameters, all bits zero. *lines is set to what follows the header. */
extern Datum bf_make(const sb_bf *header, unsigned char **lines);

/*
 * Plans a filter for `items` items at a rate, or one that sizes itself. Raises an error if a parameter is out of
 * range.
 */
extern void bf_plan(int64 items, double fpr, bool self_sized, sb_bf *out);

/* Plans the filter that results from combining a and b. Raises an error if their parameters do not allow this. */
extern void bf_plan_union(const sb_bf *a, const sb_bf *b, const char *action, sb_bf *out);

#endif
