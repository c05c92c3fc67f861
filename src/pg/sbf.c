/*
 * sbf.c: what is the Stable Bloom filter's own among the functions: in and out, making, adding. The rest is in stable.c.
 */
#include "stable.h"

#include "value.h"

/* --------------------------------------------------------------- in and out */

static sb_status
check_sbf(const void *data, size_t size)
{
	sb_stable	header;
	sb_status	status = sb_sbf_decode_header(data, size, size, &header);

	return status != SB_OK ? status : sb_stable_check_cells(&header, (const char *) data + SB_STABLE_HEADER);
}

SB_FUNCTION(sbf_in);
Datum
sbf_in(PG_FUNCTION_ARGS)
{
	return value_from_text(fcinfo, "sbf", check_sbf);
}

SB_FUNCTION(sbf_recv);
Datum
sbf_recv(PG_FUNCTION_ARGS)
{
	return value_from_binary(fcinfo, "sbf", check_sbf);
}

SB_FUNCTION(sbf_from_bytea);
Datum
sbf_from_bytea(PG_FUNCTION_ARGS)
{
	return value_from_bytea(fcinfo, "sbf", check_sbf);
}

/* ------------------------------------------------------------ making, adding */

void
sbf_plan(const NullableDatum *fields, sb_stable *out)
{
	StableParameters parameters = STABLE_DEFAULTS;

	if (!fields[SBF_BYTES].isnull)
		parameters.bytes = DatumGetInt64(fields[SBF_BYTES].value);
	if (!fields[SBF_FPR].isnull)
		parameters.fpr = DatumGetFloat8(fields[SBF_FPR].value);
	parameters.hashes = stable_optional(fields[SBF_HASHES]);
	parameters.bits = stable_optional(fields[SBF_CELL_BITS]);
	parameters.evictions = stable_optional(fields[SBF_EVICTIONS]);
	if (!fields[SBF_SEED].isnull)
		parameters.seed = DatumGetInt64(fields[SBF_SEED].value);
	stable_plan(&parameters, out);
}

/* sbf_empty(bytes, fpr, hashes, cell_bits, evictions, seed) */
SB_FUNCTION(sbf_empty);
Datum
sbf_empty(PG_FUNCTION_ARGS)
{
	StableState state;

	if (PG_ARGISNULL(SBF_BYTES) || PG_ARGISNULL(SBF_FPR) || PG_ARGISNULL(SBF_SEED))
		PG_RETURN_NULL();
	sbf_plan(fcinfo->args, &state.header);
	stable_state_init(&state, CurrentMemoryContext, &state.header);
	return stable_store(&state.header, state.cells);
}

static Datum
add_one(FunctionCallInfo fcinfo, ItemHasher *hasher)
{
	StableValue sbf;
	StableState state;

	stable_open(PG_GETARG_DATUM(0), &sbf);
	stable_state_copy(&state, CurrentMemoryContext, &sbf);
	(void) stable_step(&state, hasher, PG_GETARG_DATUM(1), stable_max(&state.header));
	return stable_store(&state.header, state.cells);
}

/* sbf_add(sbf, "any") */
SB_FUNCTION(sbf_add);
Datum
sbf_add(PG_FUNCTION_ARGS)
{
	return add_one(fcinfo, item_hasher_for_argument(fcinfo, 1));
}

/* sbf || text: the operator's right type is text under another name, see 10-bf.sql */
SB_FUNCTION(sbf_add_text);
Datum
sbf_add_text(PG_FUNCTION_ARGS)
{
	return add_one(fcinfo, item_hasher_for_text(fcinfo));
}

/* Adds the elements of argument 1 to a copy of argument 0, one after the other; *flags (if asked for): were they there? */
static void
add_elements(FunctionCallInfo fcinfo, StableState *state, Datum *flags)
{
	ItemHasher *hasher = item_hasher_for_elements(fcinfo, 1);
	StableValue sbf;
	Datum	   *items;
	bool	   *nulls;
	int			count = stable_elements(fcinfo, hasher, &items, &nulls);

	stable_open(PG_GETARG_DATUM(0), &sbf);
	stable_state_copy(state, CurrentMemoryContext, &sbf);
	stable_step_all(state, hasher, items, nulls, NULL, count);
	if (flags != NULL)
		*flags = stable_flags(items, nulls, count);
}

SB_FUNCTION(sbf_add_all);
Datum
sbf_add_all(PG_FUNCTION_ARGS)
{
	StableState state;

	add_elements(fcinfo, &state, NULL);
	return stable_store(&state.header, state.cells);
}

/* sbf_check_add(sbf, anyarray) */
SB_FUNCTION(sbf_check_add);
Datum
sbf_check_add(PG_FUNCTION_ARGS)
{
	StableState state;
	Datum		flags;

	add_elements(fcinfo, &state, &flags);
	return stable_checked(fcinfo, &state, flags);
}
