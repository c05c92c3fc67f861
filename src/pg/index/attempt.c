/*
 * attempt.c: runs code in a subtransaction, and returns its error instead of raising it.
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
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	if (error != NULL && !is_answer(error->sqlerrcode))
		ReThrowError(error);
	return error;
}
