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

/* ----------------------------------------------- while no code of the extension runs */

/*
 * PostgreSQL looks up operator classes and reads their options without calling the extension. Only the hook for
 * messages (emit_log_hook) sees the errors of these steps, on their way to the client and to the log. An EXCEPTION
 * block of PL/pgSQL, which catches an error before that, does not get such a hint. The hook is there once the library
 * is loaded: CREATE INDEX and ALTER INDEX load it before these steps.
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

/* The start time of the last statement that called the handler of access method bf. */
static TimestampTz handler_called_in = DT_NOBEGIN;

void
hint_of_handler(void)
{
	handler_called_in = GetCurrentStatementStartTimestamp();
}

static bool
is_raised_by(const ErrorData *error, const char *function)
{
	return error->funcname != NULL && strcmp(error->funcname, function) == 0;
}

/* Whether the error came from a statement that makes an index with access method bf. */
static bool
makes_bf_index(void)
{
	return handler_called_in == GetCurrentStatementStartTimestamp() && debug_query_string != NULL &&
		(strstr(debug_query_string, "bf") != NULL || strstr(debug_query_string, "BF") != NULL);
}

/* Does the statement call chunk_scan() or chunk_scan_any() with a relation's name in quotes? */
static bool
scans_quoted_name(void)
{
	const char *call = debug_query_string == NULL ? NULL : strstr(debug_query_string, "chunk_scan");

	if (call == NULL)
		return false;
	call += strcspn(call, "(");
	return *call == '(' && call[1 + strspn(call + 1, " \t\r\n")] == '\'';
}

/* Returns the hint for an error, or NULL. Messages may be translated, so only names are looked for in them. */
static const char *
find_hint(const ErrorData *error)
{
	if ((is_raised_by(error, "DefineIndex") || is_raised_by(error, "ComputeIndexAttrs")) &&
		error->sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED && strstr(error->message, "\"bf\"") != NULL && makes_bf_index())
		return "A bf index only finds rows. For uniqueness, an order or included columns make a B-tree index.";
	if (is_raised_by(error, "ResolveOpClass") && strstr(error->message, "\"bf\"") != NULL)
		return "Access method bf has operator classes of its own. \\dAc bf lists them; gram_ops is for LIKE and regular expressions.";
	if (is_raised_by(error, "ResolveOpClass") && strstr(error->message, "gram_ops\"") != NULL)
		return "gram_ops is for text, bytea_gram_ops for bytea. \\dAc bf lists the classes of access method bf with their types.";
	if (is_raised_by(error, "ResolveOpClass") && error->sqlerrcode == ERRCODE_DATATYPE_MISMATCH && makes_bf_index())
		return "Leave the operator class out, or choose one for the type of the column: \\dAc bf lists those of access method bf.";
	if ((is_raised_by(error, "parse_one_reloption") || is_raised_by(error, "parseRelOptionsInternal")) &&
		class_options_in == GetCurrentStatementStartTimestamp())
		return class_options;
	/* Such a call returns texts, so a query that names a column fails before the function can refuse the name. */
	if (is_raised_by(error, "errorMissingColumn") && scans_quoted_name())
		return "chunk_scan() takes a relation as NULL of its row type, as in chunk_scan(NULL::access_log, 'host', 'x').";
	if (error->sqlerrcode == ERRCODE_INVALID_TRANSACTION_TERMINATION && error->context != NULL &&
		strstr(error->context, "tbf_rollup_refresh(") != NULL)
		return "tbf_rollup_refresh() commits after each step. Call it outside a transaction block and outside functions, in a session that commits each statement.";
	return NULL;
}

/* Returns the hint that is to replace one of PostgreSQL's, or NULL. */
static const char *
find_better_hint(const ErrorData *error)
{
	/* PostgreSQL tells the user to define an operator class. */
	if (is_raised_by(error, "ResolveOpClass") && error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT &&
		strstr(error->message, "\"bf\"") != NULL)
		return "Access method bf has no operator class for this type; \\dAc bf lists the types. Index an expression of one of them; keep the values of an enum as text.";
	return NULL;
}

static void
complete_message(ErrorData *error)
{
	if (error->elevel == ERROR && error->message != NULL)
	{
		const char *hint = error->hint == NULL ? find_hint(error) : find_better_hint(error);

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
