/*
 * bf_formula.c: the functions that compute rates and sizes in SQL. core/bf/sb_bf_formula.h has the formulas and names
 * the papers that they come from; core/bf/bf_formula.cpp computes them.
 */
#include "base/compat.h"

#include <math.h>

#include "base/value.h"

/* An upper bound for parameters: no filter has so many bits or hashes, and no database so many items. */
#define MOST 1e18

/* Returns argument `argno`. Raises an error unless it lies between `least` and MOST. */
static double
parameter(FunctionCallInfo fcinfo, int argno, const char *name, int least)
{
	double		value = PG_GETARG_FLOAT8(argno);

	if (!(value >= least && value <= MOST))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s %g is out of range", name, value),
				 errdetail("It must lie between %d and %g.", least, MOST),
				 errhint("Give the %s as a plain number, for example 1000000.", name)));
	return value;
}

/* bloom_false_positive_rate(bits, hashes, items) */
SB_FUNCTION(bloom_false_positive_rate);
Datum
bloom_false_positive_rate(PG_FUNCTION_ARGS)
{
	double		bits = parameter(fcinfo, 0, "number of bits", 1);
	double		hashes = parameter(fcinfo, 1, "number of hashes", 1);
	double		items = parameter(fcinfo, 2, "number of items", 0);

	PG_RETURN_FLOAT8(sb_bloom_fpr(bits, hashes, items));
}

/* bloom_optimal_bits(items, fpr) */
SB_FUNCTION(bloom_optimal_bits);
Datum
bloom_optimal_bits(PG_FUNCTION_ARGS)
{
	double		items = parameter(fcinfo, 0, "number of items", 0);
	double		fpr = PG_GETARG_FLOAT8(1);

	if (!(fpr > 0 && fpr < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("false-positive rate %g is out of range", fpr),
				 errdetail("It must be greater than 0 and less than 1."),
				 errhint("The rate is a fraction: 0.01 means one in a hundred.")));
	PG_RETURN_FLOAT8(sb_bloom_bits(items, fpr));
}

/* bloom_optimal_hashes(bits, items) */
SB_FUNCTION(bloom_optimal_hashes);
Datum
bloom_optimal_hashes(PG_FUNCTION_ARGS)
{
	double		bits = parameter(fcinfo, 0, "number of bits", 1);
	double		items = parameter(fcinfo, 1, "number of items", 1);

	PG_RETURN_FLOAT8(sb_bloom_hashes(bits, items));
}

/* bf_false_positive_rate(bits, hashes, items) */
SB_FUNCTION(bf_false_positive_rate);
Datum
bf_false_positive_rate(PG_FUNCTION_ARGS)
{
	const double line = SB_BF_LINE * 8;
	const double most = (double) SB_BF_MAX_LINES * line;
	double		bits = PG_GETARG_FLOAT8(0);
	int			hashes = PG_GETARG_INT32(1);
	double		items = parameter(fcinfo, 2, "number of items", 0);

	if (hashes < 1 || hashes > SB_BF_MAX_HASHES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of hashes %d is out of range", hashes),
				 errdetail("It must lie between 1 and %d.", SB_BF_MAX_HASHES),
				 errhint("bf_info() shows the hashes and bits of a filter.")));
	if (!(bits >= line && bits <= most))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of bits %g is out of range", bits),
				 errdetail("A bf has between %.0f and %.0f bits, in lines of 512.", line, most),
				 errhint("bf_info() shows the hashes and bits of a filter. bloom_false_positive_rate() knows no such limit.")));
	PG_RETURN_FLOAT8(sb_blocked_fpr(line, hashes, items / (bits / line)));
}
