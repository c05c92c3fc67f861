/*
 * stable_formula.c: the functions that compute properties of stable filters in SQL. core/stable/sb_stable.h has the
 * formulas and names the papers that they come from; core/stable/stable_formula.cpp computes them.
 */
#include "stable/stable.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"

#include "base/value.h"

/* The smallest and the largest number of cells that an sbf or ibf can have. */
#define LEAST_CELLS SB_STABLE_MIN_BYTES
#define MOST_CELLS (UINT64CONST(8) * SB_STABLE_MAX_BYTES)

#define HINT_SHAPE "sbf_info() and ibf_info() show the parameters of a filter."
#define HINT_RATE "The rate is a fraction: 0.01 means one in a hundred."

static SB_NORETURN void
refuse(const char *name, double value, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s %g is out of range", name, value),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
	pg_unreachable();
}

static void
check_rate(double fpr)
{
	if (!(fpr > 0 && fpr < 1))
		refuse("false-positive rate", fpr, "It must be greater than 0 and less than 1.", HINT_RATE);
}

static void
check_shape(double cells, int hash_count, int max)
{
	if (hash_count < 1 || hash_count > SB_STABLE_MAX_HASHES)
		refuse("number of hashes", hash_count, psprintf("It must lie between 1 and %d.", SB_STABLE_MAX_HASHES), HINT_SHAPE);
	if (!(cells >= LEAST_CELLS && cells <= MOST_CELLS))
		refuse("number of cells", cells,
			   psprintf("It must lie between %d and " UINT64_FORMAT ".", LEAST_CELLS, MOST_CELLS), HINT_SHAPE);
	if (max < 1 || max > SB_STABLE_MAX_VALUE)
		refuse("largest value of a cell", max, psprintf("It must lie between 1 and %d.", SB_STABLE_MAX_VALUE), HINT_SHAPE);
}

/* Returns `evictions`, which the rate `fpr` needs; an error if a filter of `cells` cells cannot have so many. */
static double
check_needed(double evictions, double cells, double fpr)
{
	if (!(evictions <= Min(cells, SB_STABLE_MAX_EVICTIONS)))
		refuse("false-positive rate", fpr,
			   psprintf("It needs more than %.0f evictions per step. A step can evict from at most %d cells, and from no more cells than the filter has.",
						Min(cells, SB_STABLE_MAX_EVICTIONS), SB_STABLE_MAX_EVICTIONS),
			   "Give more hashes, a higher rate, or a smaller largest value of a cell.");
	return evictions;
}

/* (cells, hashes, evictions, max_value, shares) */
static void
chain_arguments(FunctionCallInfo fcinfo, sb_stable_chain *out)
{
	int			hashes = PG_GETARG_INT32(1);

	*out = (sb_stable_chain) {
		.cell_count = PG_GETARG_FLOAT8(0),
		.hash_count = hashes,
		.evictions = PG_GETARG_FLOAT8(2),
		.max = PG_GETARG_INT32(3),
	};
	check_shape(out->cell_count, hashes, out->max);
	if (!(out->evictions >= 0 && out->evictions <= Min(out->cell_count, SB_STABLE_MAX_EVICTIONS)))
		refuse("number of evictions", out->evictions,
			   psprintf("It must lie between 0 and the number of cells, and be at most %d.", SB_STABLE_MAX_EVICTIONS), HINT_SHAPE);
	if (!PG_ARGISNULL(4))
	{
		Datum	   *elements;
		bool	   *nulls;
		int			count;
		double	   *shares;
		double		sum = 0;

		deconstruct_array(PG_GETARG_ARRAYTYPE_P(4), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
						  &elements, &nulls, &count);
		if (count != out->max)
			refuse("number of shares", count, "There must be one for each value of a cell from 1 to the largest.",
				   "Give an array with as many elements as max_value says.");
		shares = palloc(count * sizeof *shares);
		for (int i = 0; i < count; i++)
		{
			shares[i] = nulls[i] ? NAN : DatumGetFloat8(elements[i]);
			if (!(shares[i] >= 0 && shares[i] <= 1))
				refuse("share", shares[i], "Shares must lie between 0 and 1 and not be null.",
					   "The i-th is the share of the items that set cells to i.");
			sum += shares[i];
		}
		if (fabs(sum - 1) >= 1e-6)
			refuse("sum of shares", sum, "It must be 1: the i-th is the share of the items that set cells to i.",
				   "Divide all shares by their sum.");
		out->shares = shares;
	}
}

static bool
some_null(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3);
}

SB_FUNCTION(sbf_stable_point);
Datum
sbf_stable_point(PG_FUNCTION_ARGS)
{
	sb_stable_chain chain;

	if (some_null(fcinfo))
		PG_RETURN_NULL();
	chain_arguments(fcinfo, &chain);
	PG_RETURN_FLOAT8(sb_stable_zeros(&chain));
}

SB_FUNCTION(sbf_false_positive_bound);
Datum
sbf_false_positive_bound(PG_FUNCTION_ARGS)
{
	sb_stable_chain chain;

	if (some_null(fcinfo))
		PG_RETURN_NULL();
	chain_arguments(fcinfo, &chain);
	PG_RETURN_FLOAT8(sb_stable_bound(&chain));
}

/* (fpr, cells, hashes, max_value) */
SB_FUNCTION(sbf_evictions);
Datum
sbf_evictions(PG_FUNCTION_ARGS)
{
	double		fpr = PG_GETARG_FLOAT8(0);
	double		cells = PG_GETARG_FLOAT8(1);
	int			hashes = PG_GETARG_INT32(2);
	int			max = PG_GETARG_INT32(3);

	check_rate(fpr);
	check_shape(cells, hashes, max);
	PG_RETURN_FLOAT8(check_needed(sb_stable_evictions(fpr, hashes, max, cells), cells, fpr));
}

/* (fpr, cells, hashes, max_value, scheme) */
SB_FUNCTION(ibf_evictions);
Datum
ibf_evictions(PG_FUNCTION_ARGS)
{
	double		fpr = PG_GETARG_FLOAT8(0);
	double		shares[SB_STABLE_MAX_VALUE];
	sb_stable_chain chain = {.cell_count = PG_GETARG_FLOAT8(1), .hash_count = PG_GETARG_INT32(2),
							 .max = PG_GETARG_INT32(3), .shares = shares};
	sb_scheme	scheme = ibf_scheme(PG_GETARG_DATUM(4));

	check_rate(fpr);
	check_shape(chain.cell_count, PG_GETARG_INT32(2), chain.max);
	if (chain.max < 2)
		refuse("largest value of a cell", chain.max, psprintf("For an ibf it must lie between 2 and %d.", SB_STABLE_MAX_VALUE), HINT_SHAPE);
	sb_stable_uniform_shares(scheme, chain.max, shares);
	chain.weighted = scheme == SB_VALUE_WEIGHTED;
	PG_RETURN_FLOAT8(check_needed(sb_stable_fitting_evictions(&chain, fpr), chain.cell_count, fpr));
}

/*
 * Returns how likely a filter with these parameters misses an item that set its cells to `value`, after `gap` other
 * items whose importances are uniform.
 */
static Datum
missed(const sb_stable *header, uint8_t value, int64 gap)
{
	double		shares[SB_STABLE_MAX_VALUE];
	sb_stable_chain chain = stable_chain(header, shares);
	double	   *work;

	if (gap < 0)
		refuse("gap", gap, "It must not be negative.", "The gap is the number of other items in between.");
	work = palloc(2 * sizeof(double) * (chain.max + 1) * (chain.max + 1));
	PG_RETURN_FLOAT8(sb_stable_false_negatives(&chain, value, gap, work));
}

/* (sbf, gap) */
SB_FUNCTION(sbf_false_negative_rate);
Datum
sbf_false_negative_rate(PG_FUNCTION_ARGS)
{
	StableValue sbf;

	stable_open(PG_GETARG_DATUM(0), &sbf);
	return missed(&sbf.header, sb_stable_max(&sbf.header), PG_GETARG_INT64(1));
}

/* (ibf, importance, gap) */
SB_FUNCTION(ibf_false_negative_rate);
Datum
ibf_false_negative_rate(PG_FUNCTION_ARGS)
{
	StableValue ibf;
	double		importance = PG_GETARG_FLOAT8(1);

	stable_check_importance(false, importance);
	stable_open(PG_GETARG_DATUM(0), &ibf);
	return missed(&ibf.header, sb_stable_value_of(&ibf.header, ibf.header.items == 0 ? NULL : ibf.cells, importance),
				  PG_GETARG_INT64(2));
}
