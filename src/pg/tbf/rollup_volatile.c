/*
 * rollup_volatile.c: whether an expression of a roll-up calls a volatile function. A refresh finds the hits that are
 * counted already by computing their items again, so the expression has to give the same value each time.
 */
#include "tbf/tbf.h"

#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"

#include "base/call.h"

/* tbf_rollup_volatile(query text): the query is analyzed, not run */
SB_FUNCTION(tbf_rollup_volatile);
Datum
tbf_rollup_volatile(PG_FUNCTION_ARGS)
{
	char	   *source = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ListCell   *statement;

	foreach(statement, pg_parse_query(source))
	{
		Query	   *query = parse_analyze_fixedparams(lfirst_node(RawStmt, statement), source, NULL, 0, NULL);

		if (contain_volatile_functions((Node *) query))
			PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(false);
}
