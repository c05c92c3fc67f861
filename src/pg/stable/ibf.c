/*
 * ibf.c: functions of the ibf, the Importance-aware Bloom filter: how values come in, how filters are made, and how
 * items are added to stored filters. sbf.c has those of the sbf, stable.c what both types share, stable_agg.c the
 * aggregates, stable_window.c the window functions.
 */
#include "stable/stable.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/call.h"
#include "base/own_types.h"
#include "base/value.h"

/* --------------------------------------------------------------- in and out */

static sb_status
check_ibf(const void *data, size_t size)
{
	sb_stable	header;
	sb_status	status = sb_stable_decode_header(data, size, size, SB_STABLE_IBF, &header);

	return status != SB_OK ? status : sb_stable_check_cells(&header, (const char *) data + SB_STABLE_HEADER);
}

SB_VALUE_INPUTS(ibf, check_ibf)

/* -------------------------------------------------------------------- making */

sb_scheme
ibf_scheme(Datum scheme_name)
{
	char	   *name = TextDatumGetCString(scheme_name);

	for (int scheme = SB_TWO_CLASS; scheme <= SB_VALUE_WEIGHTED; scheme++)
		if (strcmp(name, stable_scheme_name(scheme)) == 0)
			return scheme;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown scheme \"%s\"", short_text(name)),
			 errhint("The schemes of an ibf are two_class, multi_class and value_weighted.")));
	pg_unreachable();
}

/*
 * Returns a parameter. Raises an error if it is infinite or NaN. (In the core NaN stands for a range that was not
 * given: then importances are ranked among those of the latest items.)
 */
static double
finite_importance(Datum value, const char *name, const char *hint)
{
	double		number = DatumGetFloat8(value);

	if (!isfinite(number))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s %g is out of range", name, number),
				 errdetail("It must be finite."),
				 errhint("%s", hint)));
	return number;
}

#define HINT_RANGE "Give the range in which most importances lie, for example two percentiles, or leave it out: then importances are ranked."

void
ibf_range(NullableDatum low, NullableDatum high, StableParameters *parameters)
{
	if (low.isnull && high.isnull)
		return;
	if (high.isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the range of importances from %g has no upper end", DatumGetFloat8(low.value)),
				 errhint("Give high, too, or none of both: then importances are ranked among those of the latest items.")));
	parameters->low = low.isnull ? 0 : finite_importance(low.value, "lower end of the range of importances", HINT_RANGE);
	parameters->high = finite_importance(high.value, "upper end of the range of importances", HINT_RANGE);
}

void
ibf_plan(const NullableDatum *fields, sb_stable *out)
{
	StableParameters parameters = IBF_DEFAULTS;
	const NullableDatum *threshold = &fields[IBF_THRESHOLD];

	if (!fields[IBF_BYTES].isnull)
		parameters.bytes = DatumGetInt64(fields[IBF_BYTES].value);
	if (!fields[IBF_FPR].isnull)
		parameters.fpr = DatumGetFloat8(fields[IBF_FPR].value);
	if (!fields[IBF_SCHEME].isnull)
		parameters.scheme = ibf_scheme(fields[IBF_SCHEME].value);
	ibf_range(fields[IBF_LOW], fields[IBF_HIGH], &parameters);
	if (parameters.scheme == SB_TWO_CLASS)
	{
		/*
		 * The default threshold is the middle of the range. Halves are added, because the sum of the ends might be
		 * infinite. Without a range the ends are NaN, and so is the threshold.
		 */
		parameters.low = threshold->isnull ? parameters.low / 2 + parameters.high / 2 :
			finite_importance(threshold->value, "threshold", "Items of at least this importance are the important ones.");
		parameters.high = parameters.low;
	}
	else if (!threshold->isnull)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("scheme %s has no threshold, but %g was given", stable_scheme_name(parameters.scheme), DatumGetFloat8(threshold->value)),
				 errhint("Give low and high, or the scheme two_class.")));
	parameters.hash_count = stable_optional(fields[IBF_HASHES]);
	parameters.bits = stable_optional(fields[IBF_CELL_BITS]);
	parameters.evictions = stable_optional(fields[IBF_EVICTIONS]);
	if (!fields[IBF_SEED].isnull)
		parameters.seed = DatumGetInt64(fields[IBF_SEED].value);
	stable_plan(&parameters, out);
}

/* ibf_empty(bytes, fpr, scheme, low, high, threshold, hashes, cell_bits, evictions, seed) */
SB_FUNCTION(ibf_empty);
Datum
ibf_empty(PG_FUNCTION_ARGS)
{
	sb_stable	header;

	if (PG_ARGISNULL(IBF_BYTES) || PG_ARGISNULL(IBF_FPR) || PG_ARGISNULL(IBF_SCHEME) || PG_ARGISNULL(IBF_SEED))
		PG_RETURN_NULL();
	ibf_plan(fcinfo->args, &header);
	return stable_store(&header, NULL);
}

/* -------------------------------------------------------------------- adding */

/* ibf_add(ibf, "any", importance); not strict, because a null importance is an error */
SB_FUNCTION_IN_OWN_MEMORY(ibf_add)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	StableValue ibf;
	StableState state;
	uint8_t		value;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	stable_open(PG_GETARG_DATUM(0), &ibf);
	stable_copy_to_change(&state, result_memory(), &ibf);
	value = stable_importance(&state, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2));
	(void) stable_step(&state, hasher, PG_GETARG_DATUM(1), value);
	return stable_changed(&state);
}

static void
open_importances(FunctionCallInfo fcinfo, Elements *importances)
{
	elements_open_as(importances, PG_GETARG_DATUM(2), sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

/* ibf || anything: without this operator PostgreSQL would append a string to the text of the filter. */
SB_FUNCTION(ibf_add_operator);
Datum
ibf_add_operator(PG_FUNCTION_ARGS)
{
	refuse_filter_as_item(get_fn_expr_argtype(fcinfo->flinfo, 1));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the operator || cannot add an item to an ibf"),
			 errdetail("An item of an ibf needs an importance, too."),
			 errhint("Use ibf_add(filter, item, importance). To unite two filters use |.")));
	PG_RETURN_NULL();
}

/* ibf_add_all(ibf, anyarray, float8[]) */
SB_FUNCTION_IN_OWN_MEMORY(ibf_add_all)
{
	Elements	importances;

	open_importances(fcinfo, &importances);
	return stable_add_all(fcinfo, &importances);
}

/* ibf_check_add(ibf, anyarray, float8[]) */
SB_FUNCTION_IN_OWN_MEMORY(ibf_check_add)
{
	Elements	importances;

	open_importances(fcinfo, &importances);
	return stable_check_add(fcinfo, &importances);
}
