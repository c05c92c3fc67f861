/*
 * hints.h: hints for errors that PostgreSQL raises while it does something for the extension. Such an error says what
 * is wrong, but not what to write instead. For example, an item cannot be read, an option does not exist, or access
 * method bf lacks an operator class.
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

/*
 * Notes that this statement declares the options of a bf operator class. PostgreSQL reads these options afterwards.
 * If it raises an error about them in the same statement, the error gets this hint. REQUIRES: the text stays valid.
 */
extern void hint_of_class_options(const char *hint);

/*
 * Notes that this statement has called the handler of access method bf, as CREATE INDEX does before it looks up the
 * operator classes. If PostgreSQL then refuses an operator class that is for another type, the error gets a hint.
 */
extern void hint_of_handler(void);

/*
 * Installs a hook that gives hints also to errors that PostgreSQL raises while no code of the extension runs. It is
 * called once, when the library is loaded.
 */
extern void hints_init(void);

#endif
