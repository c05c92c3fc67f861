/*
 * hints.h: hints for errors that PostgreSQL raises while it does something for the extension. Such an error says what
 * is wrong, but not what to write instead: an item cannot be read, or an option does not exist.
 */
#ifndef STREAMBLOOM_PG_HINTS_H
#define STREAMBLOOM_PG_HINTS_H

#include "base/compat.h"

/*
 * Between hint_begin() and hint_end() errors about data and parameters (SQLSTATE class 22) get the hint that `say`
 * gives with errhint(). A date out of range (22008) does not: PostgreSQL has a hint of its own for it. The caller may
 * name one more SQLSTATE in `also` after hint_begin().
 */
typedef struct ErrorHint
{
	ErrorContextCallback callback;
	void		(*say) (const void *argument);
	const void *argument;
	int			also;
} ErrorHint;

extern void hint_begin(ErrorHint *hint, void (*say) (const void *argument), const void *argument);
extern void hint_end(ErrorHint *hint);

#endif
