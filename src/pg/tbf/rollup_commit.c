/*
 * rollup_commit.c: whether a refresh of a roll-up, which commits after each step, can commit.
 */
#include "tbf/tbf.h"

#include "executor/spi.h"

/* tbf_rollup_may_commit(): raises an error if the PL/pgSQL procedure that calls it runs where it cannot commit */
SB_FUNCTION(tbf_rollup_may_commit);
Datum
tbf_rollup_may_commit(PG_FUNCTION_ARGS)
{
	if (!SPI_inside_nonatomic_context())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("tbf_rollup_refresh() cannot run inside a transaction block or a function"),
				 errdetail("It commits after each step."),
				 errhint("Call it alone, in a session that commits each statement.")));
	PG_RETURN_VOID();
}
