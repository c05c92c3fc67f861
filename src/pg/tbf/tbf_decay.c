/*
 * tbf_decay.c: decays a filter to a time.
 */
#include "tbf/tbf.h"

#include "utils/timestamp.h"

#include "base/call.h"
#include "base/memory.h"
#include "base/value.h"

/* tbf_decay(tbf [, at]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_decay)
{
	TimestampTz at = tbf_time_argument(fcinfo, 1);
	TbfValue	tbf;
	sb_tbf		decayed;
	char	   *value;
	unsigned char *cells;
	sb_status	status;
	void	   *list = NULL;
	Datum		result;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	if (tbf.header.half_life != 0)
		tbf_check_time(at);
	if (!sb_tbf_decays(&tbf.header, at))
		return PG_GETARG_DATUM(0);	/* nothing to do: not even a copy, so an UPDATE need not write it again */

	/* not zeroed, as that would take as long as the decay: all of what is left in the end is written */
	value = MemoryContextAlloc(result_memory(), VARHDRSZ + SB_TBF_HEADER + sb_tbf_decay_room(&tbf.header));
	cells = (unsigned char *) value + VARHDRSZ + SB_TBF_HEADER;
	status = sb_tbf_decay(&tbf.header, tbf.cells, at, &decayed, cells);
	if (status == SB_TOO_LARGE)
		tbf_refuse_size(&decayed);
	if (status != SB_OK)
		value_refuse("tbf", status);
	if (tbf.header.top != 0)
	{
		sb_memory	memory = memory_in(CurrentMemoryContext);

		list = palloc(tbf.header.extra);
		tbf_builder_must(sb_tbf_decay_list(&tbf.header, tbf.cells, &memory, &decayed, list));
	}
	result = tbf_fit(value, &decayed, &cells);
	if (list != NULL)
		memcpy(cells + sb_tbf_counters_size(&decayed), list, decayed.extra);
	return result;
}
