/*
 * decay_functions.c: weights by age in SQL. core/tbf/sb_decay_functions.h has the formulas and names the papers that
 * they come from. docs/tbf.md says what the weights are for.
 */
#include "base/compat.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/times.h"

/* ---------------------------------------------------------------- intervals */

/*
 * Converts an interval to microseconds. Returns false if they do not fit into 64 bits. REQUIRES: the interval is finite
 * and has no months.
 */
static bool
microseconds_of(const Interval *interval, int64 *microseconds)
{
	int64		days;

	return !pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) &&
		!pg_add_s64_overflow(days, interval->time, microseconds);
}

static void
refuse_months(const Interval *interval, const char *name, const char *hint)
{
	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s \"%s\" is given in months or years", name, interval_text(interval)),
				 errdetail("They do not always have the same length."),
				 errhint("%s", hint)));
}

/*
 * Returns the age, which is the first argument, in microseconds. The age 'infinity' becomes SB_DECAY_FOREVER; any
 * other age becomes at most SB_DECAY_FOREVER - 1. The age '-infinity', and a negative age that does not fit into 64
 * bits, become 0. Raises an error for months.
 */
static int64
age_argument(FunctionCallInfo fcinfo)
{
	const Interval *age = PG_GETARG_INTERVAL_P(0);
	int			infinity = sb_interval_infinity(age);
	int64		microseconds;

	if (infinity != 0)
		return infinity > 0 ? SB_DECAY_FOREVER : 0;
	refuse_months(age, "age", "Subtract the times, as in now() - bucket_end, instead of calling age().");
	if (!microseconds_of(age, &microseconds))
		return age->day > 0 ? SB_DECAY_FOREVER - 1 : 0;
	return Min(microseconds, SB_DECAY_FOREVER - 1);
}

/*
 * Returns a length of time in microseconds. Raises an error unless it lies between `least` (0 or 1) and
 * SB_DECAY_MAX_LENGTH and has no months. `name` and `hint` are for this error.
 */
static int64
length_of(const Interval *interval, int64 least, const char *name, const char *hint)
{
	bool		infinite = sb_interval_infinity(interval) != 0;
	int64		microseconds;

	if (!infinite)
		refuse_months(interval, name, "Give it in days, hours or seconds, for example interval '30 days'.");
	if (infinite || !microseconds_of(interval, &microseconds) || microseconds < least ||
		microseconds > SB_DECAY_MAX_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s \"%s\" is out of range", name, interval_text(interval)),
				 least > 0 ? errdetail("It must be at least one microsecond and at most 36,500 years.") :
				 errdetail("It must not be negative, and at most 36,500 years."),
				 errhint("%s", hint)));
	return microseconds;
}

/*
 * Does what length_of() does, for the interval in argument `argno`, which must be at least a microsecond. Raises a
 * notice if it is shorter than a minute.
 */
static int64
length_argument(FunctionCallInfo fcinfo, int argno, const char *name, const char *hint)
{
	const Interval *interval = PG_GETARG_INTERVAL_P(argno);
	int64		microseconds = length_of(interval, 1, name, hint);

	notice_if_short(interval, microseconds, name);
	return microseconds;
}

/* ---------------------------------------------------------------- functions */

/* decay_exponential(age, half_life) */
SB_FUNCTION(decay_exponential);
Datum
decay_exponential(PG_FUNCTION_ARGS)
{
	int64		half_life = length_argument(fcinfo, 1, "half-life", "Give the age at which a hit counts one half.");

	PG_RETURN_FLOAT8(sb_decay_exponential(age_argument(fcinfo), half_life));
}

/* decay_window(age, width) */
SB_FUNCTION(decay_window);
Datum
decay_window(PG_FUNCTION_ARGS)
{
	int64		width = length_argument(fcinfo, 1, "width", "Give the age from which hits no longer count.");

	PG_RETURN_FLOAT8(sb_decay_window(age_argument(fcinfo), width));
}

/* decay_polynomial(age, exponent, scale) */
SB_FUNCTION(decay_polynomial);
Datum
decay_polynomial(PG_FUNCTION_ARGS)
{
	double		exponent = PG_GETARG_FLOAT8(1);
	int64		scale = length_argument(fcinfo, 2, "scale", "Give the age at which a hit counts 2^(-exponent).");

	if (!isfinite(exponent) || exponent <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("exponent %g is out of range", exponent),
				 errdetail("It must be finite and greater than 0."),
				 errhint("The weight is (1 + age / scale)^(-exponent): give 1 for a weight that falls as 1 / age.")));
	PG_RETURN_FLOAT8(sb_decay_polynomial(age_argument(fcinfo), exponent, scale));
}

/* decay_polyexponential(age, degree, scale [, bucket]) */
SB_FUNCTION(decay_polyexponential);
Datum
decay_polyexponential(PG_FUNCTION_ARGS)
{
	int32		degree = PG_GETARG_INT32(1);
	int64		scale = length_argument(fcinfo, 2, "scale", "The weight has its peak at the age degree * scale.");
	int64		bucket = SB_DECAY_FOREVER;

	if (degree < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("degree %d is out of range", degree),
				 errdetail("It must not be negative."),
				 errhint("With degree 0 the weight is e^(-age / scale).")));
	if (PG_NARGS() > 3)
	{
		const Interval *interval = PG_GETARG_INTERVAL_P(3);

		bucket = length_of(interval, 0, "bucket",
						   "Give the length of time of a row, 0 for a single hit. Leave it out for a weight that never rises with age.");
		if (bucket > 0)
			notice_if_short(interval, bucket, "bucket");
	}
	PG_RETURN_FLOAT8(sb_decay_polyexponential(age_argument(fcinfo), degree, scale, bucket));
}

/* decay_linear(age, width) */
SB_FUNCTION(decay_linear);
Datum
decay_linear(PG_FUNCTION_ARGS)
{
	int64		width = length_argument(fcinfo, 1, "width", "Give the age at which a hit has come down to nothing.");

	PG_RETURN_FLOAT8(sb_decay_linear(age_argument(fcinfo), width));
}

/* ------------------------------------------------------------------ polygon */

/*
 * Returns the elements of an array of ages or weights. Raises an error for an array with NULLs or with more than one
 * dimension.
 */
static Datum *
points_argument(FunctionCallInfo fcinfo, int argno, const char *name, Oid type, int size, bool by_value, int *count)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(argno);
	Datum	   *elements;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array of %s has %d dimensions", name, ARR_NDIM(array)),
				 errhint("Give an array of one dimension.")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("array of %s contains NULL", name),
				 errhint("Every point has an age and a weight.")));
	deconstruct_array(array, type, size, by_value, TYPALIGN_DOUBLE, &elements, NULL, count);
	return elements;
}

/* decay_polygonal(age, ages[], weights[]) */
SB_FUNCTION(decay_polygonal);
Datum
decay_polygonal(PG_FUNCTION_ARGS)
{
	int			points;
	int			weight_count;
	Datum	   *age_data = points_argument(fcinfo, 1, "ages", INTERVALOID, sizeof(Interval), false, &points);
	Datum	   *weight_data = points_argument(fcinfo, 2, "weights", FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, &weight_count);
	int64	   *ages;
	double	   *weights;

	if (points != weight_count || points == 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 points == 0 && weight_count == 0 ? errmsg("a polygon needs at least one point") :
				 errmsg("numbers of ages and weights differ: %d and %d", points, weight_count),
				 errhint("Give an age and a weight for each point.")));
	ages = palloc(points * sizeof(int64));
	weights = palloc(points * sizeof(double));
	for (int i = 0; i < points; i++)
	{
		const Interval *age = DatumGetIntervalP(age_data[i]);

		ages[i] = length_of(age, 0, "age of a point", "After the last point its weight stays.");
		if (i > 0 && ages[i] < ages[i - 1])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("age \"%s\" of point %d is less than that of the point before", interval_text(age), i + 1),
					 errhint("Give the points from the youngest to the oldest.")));
		weights[i] = DatumGetFloat8(weight_data[i]);
		if (!(weights[i] >= 0 && weights[i] <= 1))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("weight %g of point %d is out of range", weights[i], i + 1),
					 errdetail("It must lie between 0 and 1."),
					 errhint("Divide all weights by the largest.")));
		if (i > 0 && weights[i] > weights[i - 1])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("weight %g of point %d is greater than that of the point before", weights[i], i + 1),
					 errdetail("The age of a row is that of its youngest hit. If weights rose with age, its older hits would count too little."),
					 errhint("Give weights that do not rise with age.")));
	}
	if (ages[points - 1] > 0)
		notice_if_short(DatumGetIntervalP(age_data[points - 1]), ages[points - 1], "age of the last point");
	PG_RETURN_FLOAT8(sb_decay_polygonal(age_argument(fcinfo), ages, weights, points));
}
