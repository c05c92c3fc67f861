/*
 * hints.c: see hints.h.
 */
#include "base/hints.h"

#include "utils/elog.h"

static void
add_hint(void *argument)
{
	const ErrorHint *hint = (const ErrorHint *) argument;
	int			code = geterrcode();

	/* PostgreSQL has its own hint for a date out of range: the order of day and month may be different. */
	if ((ERRCODE_TO_CATEGORY(code) == ERRCODE_DATA_EXCEPTION && code != ERRCODE_DATETIME_FIELD_OVERFLOW) ||
		(hint->also != 0 && code == hint->also))
		hint->say(hint->argument);
}

void
hint_begin(ErrorHint *hint, void (*say) (const void *argument), const void *argument)
{
	hint->say = say;
	hint->argument = argument;
	hint->also = 0;
	hint->callback.callback = add_hint;
	hint->callback.arg = hint;
	hint->callback.previous = error_context_stack;
	error_context_stack = &hint->callback;
}

void
hint_end(ErrorHint *hint)
{
	error_context_stack = hint->callback.previous;
}
