/*
 * sbf.c: functions of the sbf, the Stable Bloom filter: how values come in, how filters are made, and how items are
 * added to stored filters. ibf.c has those of the ibf, stable.c what both types share.
 */
#include "stable/stable.h"

#include "base/call.h"
#include "base/value.h"

/* --------------------------------------------------------------- in and out */

static sb_status
check_sbf(const void *data, size_t size)
{
	sb_stable	header;
	sb_status	status = sb_stable_decode_header(data, size, size, SB_STABLE_SBF, &header);

	return status != SB_OK ? status : sb_stable_check_cells(&header, (const char *) data + SB_STABLE_HEADER);
}

SB_VALUE_INPUTS(sbf, check_sbf)

/* ------------------------------------------------------------ making, adding */

void
sbf_plan(const NullableDatum *fields, sb_stable *out)
{
	StableParameters parameters = STABLE_DEFAULTS;

	if (!fields[SBF_BYTES].isnull)
		parameters.bytes = DatumGetInt64(fields[SBF_BYTES].value);
	if (!fields[SBF_FPR].isnull)
		parameters.fpr = DatumGetFloat8(fields[SBF_FPR].value);
	parameters.hash_count = stable_optional(fields[SBF_HASHES]);
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
	sb_stable	header;

	if (PG_ARGISNULL(SBF_BYTES) || PG_ARGISNULL(SBF_FPR) || PG_ARGISNULL(SBF_SEED))
		PG_RETURN_NULL();
	sbf_plan(fcinfo->args, &header);
	return stable_store(&header, NULL);
}

/* sbf_add(sbf, "any") */
SB_FUNCTION_IN_OWN_MEMORY(sbf_add)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	StableValue sbf;
	StableState state;

	stable_open(PG_GETARG_DATUM(0), &sbf);
	stable_copy_to_change(&state, result_memory(), &sbf);
	(void) stable_step(&state, hasher, PG_GETARG_DATUM(1), sb_stable_max(&state.header));
	return stable_changed(&state);
}

/* sbf_add_all(sbf, anyarray) */
SB_FUNCTION_IN_OWN_MEMORY(sbf_add_all)
{
	return stable_add_all(fcinfo, NULL);
}

/* sbf_check_add(sbf, anyarray) */
SB_FUNCTION_IN_OWN_MEMORY(sbf_check_add)
{
	return stable_check_add(fcinfo, NULL);
}
