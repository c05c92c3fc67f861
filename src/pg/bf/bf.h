/*
 * bf.h: what the files that deal with bf values share.
 */
#ifndef STREAMBLOOM_PG_BF_H
#define STREAMBLOOM_PG_BF_H

#include "base/compat.h"

#define BF_DEFAULT_ITEMS 10000
#define BF_DEFAULT_FPR 0.01

/* A bf at hand: its header decoded, its lines (inside the detoasted value: not to be written). */
typedef struct BfValue
{
	sb_bf		header;
	const unsigned char *lines;
} BfValue;

extern void bf_open(Datum value, BfValue *bf);

/* A new bf of these parameters, all bits zero; *lines is where to set them. */
extern Datum bf_make(const sb_bf *header, unsigned char **lines);

/*
 * sb_bf_best_load() of a rate. What was asked last is kept, so that a GROUP BY with many groups does not find it again for each.
 */
extern double bf_best_load(double fpr, uint8_t *hashes);

/* Parameters for `items` items at a rate, or for a filter that sizes itself. Errors for what is out of range. */
extern void bf_plan(int64 items, double fpr, bool self_sized, sb_bf *out);

/* The parameters of a and b combined, or an error that says what differs. */
extern void bf_plan_union(const sb_bf *a, const sb_bf *b, const char *action, sb_bf *out);

#endif
