/*
 * attempt.c: runs code that only reads in a subtransaction (bf_index_try() in parallel mode: without one). An error
 * that the caller expects is returned or dropped instead of raised.
 */
#include "base/compat.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "index/attempt.h"

ErrorData *
bf_index_attempt(void (*work) (void *argument), void *argument, bool (*is_answer) (int sqlerrcode))
{
	MemoryContext caller = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(caller);
	PG_TRY();
	{
		work(argument);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	/*
	 * Without an error too: to commit a subtransaction increments the command counter. In the middle of a command that
	 * changes tables, as the check of a foreign key on DETACH PARTITION is, half of its changes would become visible.
	 */
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	if (error != NULL && !is_answer(error->sqlerrcode))
		ReThrowError(error);
	return error;
}

/*
 * bf_index_try() is called for an estimate of the planner. Does this error mean only that there is none? All
 * other errors end the statement: it was cancelled, for example, or memory is short.
 */
static bool
is_no_estimate(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) != ERRCODE_OPERATOR_INTERVENTION &&
		ERRCODE_TO_CATEGORY(sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES;
}

bool
bf_index_try(void (*work) (void *argument), void *argument)
{
	ErrorData  *error;

	if (IsInParallelMode())
	{
		/* A function of a parallel query is planning a query. Before 17 no subtransaction can begin there. */
		work(argument);
		return true;
	}
	error = bf_index_attempt(work, argument, is_no_estimate);
	if (error != NULL)
		FreeErrorData(error);
	return error == NULL;
}
