/*
 * formula.c: the calculators in SQL. The formulas and their sources are in the core (streambloom.h).
 */
#include "compat.h"

#include <math.h>

#include "value.h"

/* A positive (or at least not negative) finite parameter, or an error. */
static double
parameter(FunctionCallInfo fcinfo, int argno, const char *name, bool may_be_zero)
{
	double		value = PG_GETARG_FLOAT8(argno);

	if (!isfinite(value) || value < 0 || (value == 0 && !may_be_zero))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s %g is out of range", name, value),
				 may_be_zero ? errdetail("It must be finite and not negative.") :
				 errdetail("It must be finite and greater than 0.")));
	return value;
}

/* bloom_false_positive_rate(bits, hashes, items) */
SB_FUNCTION(bloom_false_positive_rate);
Datum
bloom_false_positive_rate(PG_FUNCTION_ARGS)
{
	double		bits = parameter(fcinfo, 0, "number of bits", false);
	double		hashes = parameter(fcinfo, 1, "number of hashes", false);
	double		items = parameter(fcinfo, 2, "number of items", true);

	PG_RETURN_FLOAT8(sb_bloom_fpr(bits, hashes, items));
}

/* bloom_optimal_bits(items, fpr) */
SB_FUNCTION(bloom_optimal_bits);
Datum
bloom_optimal_bits(PG_FUNCTION_ARGS)
{
	double		items = parameter(fcinfo, 0, "number of items", true);
	double		fpr = PG_GETARG_FLOAT8(1);

	if (!(fpr > 0 && fpr < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("false-positive rate %g is out of range", fpr),
				 errdetail("It must be greater than 0 and less than 1.")));
	PG_RETURN_FLOAT8(sb_bloom_bits(items, fpr));
}

/* bloom_optimal_hashes(bits, items) */
SB_FUNCTION(bloom_optimal_hashes);
Datum
bloom_optimal_hashes(PG_FUNCTION_ARGS)
{
	double		bits = parameter(fcinfo, 0, "number of bits", false);
	double		items = parameter(fcinfo, 1, "number of items", false);

	PG_RETURN_FLOAT8(sb_bloom_hashes(bits, items));
}

/* bf_false_positive_rate(bits, hashes, items) */
SB_FUNCTION(bf_false_positive_rate);
Datum
bf_false_positive_rate(PG_FUNCTION_ARGS)
{
	const double line = SB_BF_LINE * 8;
	double		bits = parameter(fcinfo, 0, "number of bits", false);
	int			hashes = PG_GETARG_INT32(1);
	double		items = parameter(fcinfo, 2, "number of items", true);

	if (hashes < 1 || hashes > SB_BF_MAX_HASHES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of hashes %d is out of range", hashes),
				 errdetail("It must lie between 1 and %d.", SB_BF_MAX_HASHES)));
	if (bits < line)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of bits %g is out of range", bits),
				 errdetail("A bf has at least one line of 512 bits.")));
	PG_RETURN_FLOAT8(sb_blocked_fpr(line, hashes, items / (bits / line)));
}
