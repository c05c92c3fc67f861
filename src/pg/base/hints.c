/*
 * hints.c: see hints.h.
 */
#include "base/hints.h"

#include "access/xact.h"
#include "tcop/tcopprot.h"
#include "utils/elog.h"
#include "utils/timestamp.h"

/* ------------------------------------------------- while code of the extension runs */

static void
add_hint(void *argument)
{
	const ErrorHint *hint = (const ErrorHint *) argument;

	/* PostgreSQL has its own hint for a date out of range: the order of day and month may be different. */
	if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_DATA_EXCEPTION && geterrcode() != ERRCODE_DATETIME_FIELD_OVERFLOW)
		hint->say(hint->argument);
}

void
hint_begin(ErrorHint *hint, void (*say) (const void *argument), const void *argument)
{
	hint->say = say;
	hint->argument = argument;
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

/* ----------------------------------------------- while no code of the extension runs */

/*
 * PostgreSQL looks up operator classes, reads their options and resolves polymorphic types without calling the
 * extension. Only the hook for messages (emit_log_hook) sees the errors of these steps, on their way to the client
 * and to the log. An EXCEPTION block of PL/pgSQL, which catches an error before that, does not get such a hint.
 */
static emit_log_hook_type previous_hook;

/* The hint for options of operator classes, and the start time of the statement that declared the options. */
static const char *class_options;
static TimestampTz class_options_in = DT_NOBEGIN;

void
hint_of_class_options(const char *hint)
{
	class_options = hint;
	class_options_in = GetCurrentStatementStartTimestamp();
}

static bool
is_raised_by(const ErrorData *error, const char *function)
{
	return error->funcname != NULL && strcmp(error->funcname, function) == 0;
}

/* Returns the hint for an error, or NULL. Messages may be translated, so only names are looked for in them. */
static const char *
find_hint(const ErrorData *error)
{
	if (is_raised_by(error, "ResolveOpClass") && strstr(error->message, "\"bf\"") != NULL)
		return "Access method bf has operator classes of its own. \\dAc bf lists them; gram_ops is for LIKE and regular expressions.";
	if (is_raised_by(error, "ResolveOpClass") && strstr(error->message, "gram_ops\"") != NULL)
		return "gram_ops is for text, bytea_gram_ops for bytea. \\dAc bf lists the classes of access method bf with their types.";
	if ((is_raised_by(error, "parse_one_reloption") || is_raised_by(error, "parseRelOptionsInternal")) &&
		class_options_in == GetCurrentStatementStartTimestamp())
		return class_options;
	if (is_raised_by(error, "enforce_generic_type_consistency") && debug_query_string != NULL &&
		strstr(debug_query_string, "chunk_scan") != NULL)
		return "chunk_scan() and its kin take a relation as NULL of its row type, as in chunk_scan(NULL::access_log, 'host', 'x').";
	if (error->sqlerrcode == ERRCODE_INVALID_TRANSACTION_TERMINATION && error->context != NULL &&
		strstr(error->context, "tbf_rollup_refresh(") != NULL)
		return "tbf_rollup_refresh() commits after each step. Call it outside a transaction block and outside functions, in a session that commits each statement.";
	return NULL;
}

static void
complete_message(ErrorData *error)
{
	if (error->elevel == ERROR && error->hint == NULL && error->message != NULL)
	{
		const char *hint = find_hint(error);

		if (hint != NULL)
			error->hint = MemoryContextStrdup(error->assoc_context, hint);
	}
	if (previous_hook != NULL)
		previous_hook(error);
}

void
hints_init(void)
{
	previous_hook = emit_log_hook;
	emit_log_hook = complete_message;
}
