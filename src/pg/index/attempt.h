/*
 * attempt.h: runs code in a subtransaction. An error that the caller expects is returned or dropped instead of raised.
 */
#ifndef STREAMBLOOM_PG_INDEX_ATTEMPT_H
#define STREAMBLOOM_PG_INDEX_ATTEMPT_H

#include "base/compat.h"

/*
 * Calls work() in a subtransaction, and rolls it back, which releases the pages, relations and locks that work() still
 * has. If work() raises an error for which is_answer() returns true, the result is the error. Other errors, such as a
 * cancel, are raised as usual. Returns NULL if there was no error. REQUIRES: work() only reads; the session is not in
 * parallel mode, where PostgreSQL before 17 allows no subtransaction. So an SQL function that calls this is PARALLEL
 * UNSAFE.
 */
extern ErrorData *bf_index_attempt(void (*work) (void *argument), void *argument, bool (*is_answer) (int sqlerrcode));

/*
 * Calls work(). If work() raises an error, the error is dropped, and the result is false. Some errors are raised as
 * usual: that the statement was cancelled, that a resource such as memory is short, and in parallel mode any error.
 */
extern bool bf_index_try(void (*work) (void *argument), void *argument);

#endif
