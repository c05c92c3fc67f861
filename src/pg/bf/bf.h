/*
 * bf.h: declarations that the files for bf values share.
 */
#ifndef STREAMBLOOM_PG_BF_H
#define STREAMBLOOM_PG_BF_H

#include "base/compat.h"

#define BF_DEFAULT_ITEMS 10000
#define BF_DEFAULT_FPR 0.01

/*
 * A bf in memory: its decoded header, and its lines, or the stored items of an exact filter. They are inside the
 * detoasted value and must not be written.
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

/* A copy of the value. *lines is set to what follows the header. */
extern Datum bf_copy(const BfValue *bf, unsigned char **lines);

/* Raises an error unless the status is SB_OK: one that a damaged value has, or one of a core that did not finish. */
extern void bf_must_read(sb_status status);

/*
 * A builder of a filter that sizes itself, for stored filters and items: rate and number of hashes are those of
 * `like`. Adding a filter raises an error if the two differ in their kinds or parameters. The result has room for
 * more items; *stored is its header.
 */
extern sb_bf_builder *bf_builder_begin(MemoryContext context, const sb_bf *like);
extern void bf_builder_add_filter(sb_bf_builder *builder, const BfValue *bf);
extern Datum bf_builder_store(sb_bf_builder *builder, sb_bf *stored, unsigned char **lines);

/* Raises the warning if a filter that items were added to has more than twice the rate asked for. */
extern void bf_warn_if_full(const sb_bf *header, const unsigned char *lines);

#endif
