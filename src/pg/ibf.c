/*
 * ibf.c: what is the Importance-aware Bloom filter's own among the functions: in and out, making, adding. The rest is in
 * stable.c.
 */
#include "stable.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "call.h"
#include "value.h"

/* --------------------------------------------------------------- in and out */

static sb_status
check_ibf(const void *data, size_t size)
{
	sb_stable	header;
	sb_status	status = sb_ibf_decode_header(data, size, size, &header);

	return status != SB_OK ? status : sb_stable_check_cells(&header, (const char *) data + SB_STABLE_HEADER);
}

SB_FUNCTION(ibf_in);
Datum
ibf_in(PG_FUNCTION_ARGS)
{
	return value_from_text(fcinfo, "ibf", check_ibf);
}

SB_FUNCTION(ibf_recv);
Datum
ibf_recv(PG_FUNCTION_ARGS)
{
	return value_from_binary(fcinfo, "ibf", check_ibf);
}

SB_FUNCTION_IN_OWN_MEMORY(ibf_from_bytea)
{
	return value_from_bytea(fcinfo, "ibf", check_ibf);
}

/* -------------------------------------------------------------------- making */

sb_scheme
ibf_scheme_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(argno));

	for (int scheme = SB_TWO_CLASS; scheme <= SB_VALUE_WEIGHTED; scheme++)
		if (strcmp(name, stable_scheme_name(scheme)) == 0)
			return scheme;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown scheme \"%s\"", name),
			 errhint("The schemes of an ibf are two_class, multi_class and value_weighted.")));
	pg_unreachable();
}

/* ibf_empty(bytes, fpr, scheme, low, high, threshold, hashes, cell_bits, evictions, seed) */
SB_FUNCTION(ibf_empty);
Datum
ibf_empty(PG_FUNCTION_ARGS)
{
	StableParameters parameters = IBF_DEFAULTS;
	sb_stable	header;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3) || PG_ARGISNULL(4) || PG_ARGISNULL(9))
		PG_RETURN_NULL();
	parameters.bytes = PG_GETARG_INT64(0);
	parameters.fpr = PG_GETARG_FLOAT8(1);
	parameters.scheme = ibf_scheme_argument(fcinfo, 2);
	parameters.low = PG_GETARG_FLOAT8(3);
	parameters.high = PG_GETARG_FLOAT8(4);
	if (parameters.scheme == SB_TWO_CLASS)
	{
		/* halves first: the sum might be infinite */
		parameters.low = PG_ARGISNULL(5) ? parameters.low / 2 + parameters.high / 2 : PG_GETARG_FLOAT8(5);
		parameters.high = parameters.low;
	}
	else if (!PG_ARGISNULL(5))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("scheme %s has no threshold", stable_scheme_name(parameters.scheme)),
				 errhint("Give low and high, or the scheme two_class.")));
	parameters.hashes = stable_optional(fcinfo, 6);
	parameters.bits = stable_optional(fcinfo, 7);
	parameters.evictions = stable_optional(fcinfo, 8);
	parameters.seed = PG_GETARG_INT64(9);
	stable_plan(&parameters, &header);
	return stable_store(&header, NULL);
}

/* -------------------------------------------------------------------- adding */

/* ibf_add(ibf, "any", importance); not strict, because a null importance is an error */
SB_FUNCTION_IN_OWN_MEMORY(ibf_add)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	StableValue ibf;
	StableState state;
	struct varlena *copy;
	uint8_t		value;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	stable_open(PG_GETARG_DATUM(0), &ibf);
	value = stable_importance(&ibf.header, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2));
	copy = stable_copy_to_change(&state, result_memory(), &ibf);
	(void) stable_step(&state, hasher, PG_GETARG_DATUM(1), value);
	return stable_changed(&state, copy);
}

static void
open_importances(FunctionCallInfo fcinfo, Elements *importances)
{
	elements_open_as(importances, PG_GETARG_DATUM(2), sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
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
