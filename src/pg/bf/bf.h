/*
 * bf.h: declarations that the files for bf values share. A bf consists of lines of 512 bits, or it is *exact*: it sizes
 * itself, has few items, and stores their hashes instead of lines (core/bf/sb_bf_exact.h).
 */
#ifndef STREAMBLOOM_PG_BF_H
#define STREAMBLOOM_PG_BF_H

#include "base/compat.h"

#define BF_DEFAULT_ITEMS 10000
#define BF_DEFAULT_FPR 0.01

/*
 * A bf in memory: its decoded header, and its lines (or its stored items, if it is exact). The lines are inside the
 * detoasted value and must not be written, unless it is the state of an aggregate (is_state_of_aggregate()).
 */
typedef struct BfValue
{
	sb_bf		header;
	const unsigned char *lines;
} BfValue;

extern void bf_open(Datum value, BfValue *bf);

/* Makes a bf of these parameters, with all bits zero. *lines becomes the bytes after the header. */
extern Datum bf_make(const sb_bf *header, unsigned char **lines);

/*
 * Plans a filter for `items` items at the rate `fpr`. If self_sized is true, it is a filter that sizes itself. Raises
 * an error if a parameter is out of range.
 */
extern void bf_plan(int64 items, double fpr, bool self_sized, sb_bf *out);

/* Copies the value. *lines becomes the bytes after the header of the copy. */
extern Datum bf_copy(const BfValue *bf, unsigned char **lines);

/*
 * Raises an error unless the status is SB_OK. The other statuses mean that the value is damaged, or that the core did
 * not finish.
 */
extern void bf_must_read(sb_status status);

extern SB_NORETURN void bf_refuse_difference(const char *action, const sb_difference *difference, const sb_bf *left,
											 const sb_bf *right);

/*
 * A builder makes a filter from stored filters and single items, and the filter sizes itself. bf_builder_begin() gives
 * it the rate and the number of hashes of `like`. bf_builder_add_filter() raises an error if the filters differ in
 * their kinds or parameters. bf_builder_store() makes the result, with room for more items (`with_room` of
 * sb_bf_builder_plan()); *stored becomes its header.
 */
extern sb_bf_builder *bf_builder_begin(MemoryContext context, const sb_bf *like);
extern void bf_builder_add_filter(sb_bf_builder *builder, const BfValue *bf);
extern Datum bf_builder_store(sb_bf_builder *builder, sb_bf *stored, unsigned char **lines);

/* Raises the warning of rate_warning.h if, after items were added, a filter has more than twice the rate asked for. */
extern void bf_warn_if_full(const sb_bf *header, const unsigned char *lines);

#endif
