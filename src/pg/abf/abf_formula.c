/*
 * abf_formula.c: the functions that plan an abf in SQL. core/abf/sb_abf.h explains the formulas and names their papers;
 * core/abf/abf_formula.cpp computes them.
 */
#include "abf/abf.h"

#include <math.h>

#include "base/value.h"

static void
check_count(const char *name, int value, int most)
{
	if (value < 1 || value > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s %d is out of range", name, value),
				 errdetail("It must lie between 1 and %d.", most),
				 errhint("abf_slices() shows what is chosen for a rate.")));
}

/* (hashes, generations, fill) */
SB_FUNCTION(abf_false_positive_rate);
Datum
abf_false_positive_rate(PG_FUNCTION_ARGS)
{
	int			hashes = PG_GETARG_INT32(0);
	int			generations = PG_GETARG_INT32(1);
	double		fill = PG_GETARG_FLOAT8(2);

	check_count("number of hashes", hashes, SB_ABF_MAX_HASHES);
	check_count("number of generations", generations, SB_ABF_MAX_GENERATIONS);
	if (!(fill >= 0 && fill < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fill %g is out of range", fill),
				 errdetail("It must be at least 0 and less than 1."),
				 errhint("It is the share of bits that are set in a slice that has had all its items.")));
	PG_RETURN_FLOAT8(sb_abf_rate_of_load(hashes, generations, -log1p(-fill), 0));
}

/* (fpr) -> (hashes, generations, fill, bits_per_item) */
SB_FUNCTION(abf_slices);
Datum
abf_slices(PG_FUNCTION_ARGS)
{
	double		fpr = PG_GETARG_FLOAT8(0);
	int			hashes = SB_ABF_CHOOSE;
	int			generations = SB_ABF_CHOOSE;
	double		load;
	Datum		values[4];

	check_fpr(fpr);
	sb_abf_choose(fpr, &hashes, &generations);
	load = sb_abf_load(hashes, generations, fpr, 0);
	values[0] = Int32GetDatum(hashes);
	values[1] = Int32GetDatum(generations);
	values[2] = Float8GetDatum(-expm1(-load));
	values[3] = Float8GetDatum(hashes * (hashes + generations) / (generations * load));
	return row_result(fcinfo, values, (bool[4]) {false}, lengthof(values));
}

/* (items, fpr, hashes, generations) */
SB_FUNCTION(abf_bytes);
Datum
abf_bytes(PG_FUNCTION_ARGS)
{
	AbfParameters parameters = ABF_DEFAULTS;
	sb_abf		header;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	parameters.items = PG_GETARG_INT64(0);
	parameters.fpr = PG_GETARG_FLOAT8(1);
	if (!PG_ARGISNULL(2))
		parameters.hash_count = PG_GETARG_INT32(2);
	if (!PG_ARGISNULL(3))
		parameters.generations = PG_GETARG_INT32(3);
	abf_plan(&parameters, &header);
	PG_RETURN_INT64(SB_ABF_HEADER + sb_abf_slice_bytes(&header));
}

/* (bytes, fpr): the largest window that fits */
SB_FUNCTION(abf_window);
Datum
abf_window(PG_FUNCTION_ARGS)
{
	int64		bytes = PG_GETARG_INT64(0);
	double		fpr = PG_GETARG_FLOAT8(1);
	int			hashes = SB_ABF_CHOOSE;
	int			generations = SB_ABF_CHOOSE;
	int64		low = 0;
	int64		high;
	sb_abf		header;

	check_fpr(fpr);
	if (bytes < 1 || bytes > SB_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of bytes " INT64_FORMAT " is out of range", bytes),
				 errdetail("It must lie between 1 and %u.", SB_MAX_BYTES),
				 errhint("Give the bytes that a full filter may take.")));
	sb_abf_choose(fpr, &hashes, &generations);
	high = bytes * 8 + 1;		/* an item takes more than one bit */
	while (high - low > 1)
	{
		int64		middle = low + (high - low) / 2;

		CHECK_FOR_INTERRUPTS();
		if (sb_abf_plan(middle, false, 0, fpr, hashes, generations, &header) == SB_OK &&
			SB_ABF_HEADER + sb_abf_slice_bytes(&header) <= (size_t) bytes)
			low = middle;
		else
			high = middle;
	}
	PG_RETURN_INT64(low);
}
