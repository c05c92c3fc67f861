/*
 * rollup_unlisted.c: the largest count in an exact filter among the items that are not in a given list. When rows of
 * a roll-up are merged into one row, the list has the hot items of all the old rows. The new row needs the largest
 * count to bound the hits of items that no old row has listed (docs/rollups.md).
 */
#include "tbf/tbf.h"

#include "base/call.h"
#include "base/elements.h"
#include "base/item.h"

#define ST_SORT sort_hashes
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(left, right) (*(left) > *(right) ? 1 : *(left) < *(right) ? -1 : 0)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* tbf_rollup_unlisted(tbf, list anyarray): NULL if the filter has counters; elements that are NULL are skipped */
SB_FUNCTION_IN_OWN_MEMORY(tbf_rollup_unlisted)
{
	TbfValue	tbf;
	Elements	list;
	Datum		item;
	uint64	   *hashes;
	size_t		count = 0;
	double		most;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	if (!tbf_is_exact(&tbf.header))
		PG_RETURN_NULL();
	elements_open(&list, fcinfo, 1, SB_LOOKUP_TBF);
	hashes = MemoryContextAllocHuge(CurrentMemoryContext, (Size) Max(list.count, 1) * sizeof *hashes);
	while (next_item(&list, &item))
		hashes[count++] = item_hash_for(list.hasher, item, &tbf.header.kind);
	sort_hashes(hashes, count);
	tbf_builder_must(sb_tbf_largest_count(&tbf.header, tbf.cells, hashes, count, &most));
	PG_RETURN_FLOAT8(most);
}
