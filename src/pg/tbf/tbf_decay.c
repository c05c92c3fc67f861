/*
 * tbf_decay.c: decays a filter to a time.
 */
#include "tbf/tbf.h"

#include "utils/timestamp.h"

#include "base/call.h"
#include "base/memory.h"

/* tbf_decay(tbf [, at]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_decay)
{
	TimestampTz at = tbf_time_argument(fcinfo, 1);
	sb_memory	memory = memory_in(result_memory());
	TbfValue	tbf;
	sb_tbf		decayed;
	void	   *value;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	if (tbf.header.half_life != 0)
		tbf_check_time(at);
	tbf_must(sb_tbf_decay(&tbf.header, tbf.cells, at, &memory, VARHDRSZ, &decayed, &value), &decayed);
	if (value == NULL)
		return PG_GETARG_DATUM(0);	/* unchanged: the same datum, so an UPDATE does not write the value again */
	return tbf_fit(value, &decayed);
}
