/*
 * tbf_estimate.c: totals, shares, an error bound, and estimates. Unlike counts, estimates may be too small.
 */
#include "tbf/tbf.h"

#include <math.h>

#include "utils/timestamp.h"

#include "base/call.h"
#include "base/item.h"
#include "base/slices.h"
#include "base/value.h"

static double
total_at(const sb_tbf *header, TimestampTz at)
{
	double		total;

	if (header->half_life != 0)
		tbf_check_time(at);
	total = sb_tbf_total(header, at);
	if (isinf(total))
		tbf_refuse_count(at);
	return total;
}

/* Raises an error unless the counters are sums of hits, because estimates need sums. */
static void
must_hold_sums(const sb_tbf *header, const char *what)
{
	if ((header->flags & SB_TBF_OPTIONS) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot be estimated from a tbf with %s", what,
						(header->flags & SB_TBF_MINIMUM_INCREASE) ? "minimum increase" : "recurring minimum"),
				 errdetail("Its counters are not sums of hits."),
				 errhint("Use tbf_count(). It is an upper bound, and close to the exact count in such a filter.")));
}

/* tbf_total(tbf [, at]) */
SB_FUNCTION_OF_SLICES(tbf_total, SB_LOOKUP_TBF, 0)
{
	sb_tbf		header;

	tbf_open_header(PG_GETARG_DATUM(0), &header);
	PG_RETURN_FLOAT8(total_at(&header, tbf_time_argument(fcinfo, 1)));
}

/*
 * tbf_share(tbf, "any"): the item's count as a share of all hits, at most 1; NULL if there are no hits. Counts and the
 * total decay alike, so the share is the same at all times. It is computed from the stored numbers, which hold for the
 * filter's base (sb_tbf.h). Both are taken in 2^-12 hits.
 */
SB_FUNCTION_OF_SLICES(tbf_share, SB_LOOKUP_TBF, 0)
{
	sb_lookup	lookup;
	const sb_tbf *header = &lookup.header.tbf;
	double		hits;

	tbf_look_up(&lookup, item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(0), PG_GETARG_DATUM(1));
	if (header->total == 0)
		PG_RETURN_NULL();
	hits = ldexp((double) lookup.units, SB_TBF_HIT_BITS - header->unit_bits) + (double) sb_tbf_slack(header);
	PG_RETURN_FLOAT8(Min(hits / (double) header->total, 1));
}

/* The overcount in argument 1. */
static double
overcount_argument(FunctionCallInfo fcinfo)
{
	double		over = PG_GETARG_FLOAT8(1);

	if (!(over > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an overcount of %g has no error bound", over),
				 errhint("Give a number of hits greater than zero.")));
	return over;
}

/* tbf_error_estimate(tbf, over [, at]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_error_estimate)
{
	double		over = overcount_argument(fcinfo);
	TimestampTz at = tbf_time_argument(fcinfo, 2);
	TbfValue	tbf;
	double		share;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	(void) total_at(&tbf.header, at);	/* raises an error for a time at which there is no count */
	tbf_builder_must(sb_tbf_error_estimate(&tbf.header, tbf.cells, over, at, &share));
	PG_RETURN_FLOAT8(share);
}

/* tbf_error_bound(tbf, over [, at]) */
SB_FUNCTION_OF_SLICES(tbf_error_bound, SB_LOOKUP_TBF, 0)
{
	double		over = overcount_argument(fcinfo);
	TimestampTz at = tbf_time_argument(fcinfo, 2);
	sb_tbf		header;

	tbf_open_header(PG_GETARG_DATUM(0), &header);
	(void) total_at(&header, at);	/* raises an error for a time at which there is no count */
	PG_RETURN_FLOAT8(sb_tbf_error_bound(&header, over, at));
}

/* tbf_estimate(tbf, "any" [, at]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_estimate)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	TimestampTz at = tbf_time_argument(fcinfo, 2);
	TbfValue	tbf;
	uint64_t	hash;
	double		hits;
	sb_status	status;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	hash = item_hash_for(hasher, PG_GETARG_DATUM(1), &tbf.header.kind);
	(void) total_at(&tbf.header, at);	/* raises an error for a time at which there is no count */
	if (tbf.header.kind.code == SB_KIND_NONE)
		PG_RETURN_FLOAT8(0);
	must_hold_sums(&tbf.header, "a count");
	status = sb_tbf_estimate(&tbf.header, tbf.cells, hash, at, &hits);
	if (status != SB_OK)
		value_refuse("tbf", status);
	PG_RETURN_FLOAT8(hits);
}

/* tbf_cardinality(tbf) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_cardinality)
{
	TbfValue	tbf;
	sb_tbf_stats stats;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	tbf_measure(&tbf, PG_UINT32_MAX, &stats);
	PG_RETURN_FLOAT8(stats.items);
}

/* tbf_inner_product(tbf, tbf [, at]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_inner_product)
{
	TimestampTz at = tbf_time_argument(fcinfo, 2);
	TbfValue	left;
	TbfValue	right;
	sb_tbf		merged;
	double		product;
	sb_status	status;

	tbf_open(PG_GETARG_DATUM(0), &left);
	tbf_open(PG_GETARG_DATUM(1), &right);
	tbf_plan_merge(&left.header, &right.header, &merged);
	(void) total_at(&left.header, at);
	(void) total_at(&right.header, at);
	must_hold_sums(&left.header, "an inner product");
	must_hold_sums(&right.header, "an inner product");
	status = sb_tbf_inner_product(&left.header, left.cells, &right.header, right.cells, at, &product);
	if (status == SB_DIFFERENT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the inner product needs filters of the same size, not of " UINT64_FORMAT " and " UINT64_FORMAT " counters",
						sb_tbf_cells(&left.header), sb_tbf_cells(&right.header)),
				 errhint("Build both with the same number of expected items.")));
	tbf_builder_must(status);
	if (isinf(product))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("inner product at \"%s\" is out of range", timestamptz_to_str(at)),
				 errdetail("The time lies hundreds of half-lives before the filters' hits."),
				 errhint("Ask for a time at or after the hits, for example now().")));
	PG_RETURN_FLOAT8(product);
}
