/*
 * tbf_info.c: shows what is in a tbf, as a row, as a histogram, and as one line.
 */
#include "tbf/tbf.h"

#include <math.h>

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/item.h"
#include "base/value.h"

/* The number of hits that a stored counter of 1 stands for, at the base. */
static double
unit_of(const sb_tbf *tbf)
{
	return ldexp(1, -tbf->unit_bits);
}

/*
 * Counts the counters by the number of their binary digits: cells[0] are those that are zero, cells[b] those from
 * 2^(b-1) to 2^b - 1. Returns how many elements are in use.
 */
#define HISTOGRAM_BUCKETS 64

static int
cell_histogram(const TbfValue *tbf, int64 cells[HISTOGRAM_BUCKETS])
{
	uint64_t	counters[SB_TBF_BLOCK];
	int			used = 1;

	memset(cells, 0, HISTOGRAM_BUCKETS * sizeof *cells);
	for (uint32_t block = 0; block < tbf->header.block_count; block++)
	{
		CHECK_FOR_INTERRUPTS();
		tbf_unpack_block(tbf, block, counters);
		for (uint32_t i = 0; i < tbf->header.block_cells; i++)
		{
			int			digits = counters[i] == 0 ? 0 : pg_leftmost_one_pos64(counters[i]) + 1;

			cells[digits]++;
			used = Max(used, digits + 1);
		}
	}
	return used;
}

uint64_t
tbf_nonzero_cells(const TbfValue *tbf)
{
	int64		cells[HISTOGRAM_BUCKETS];

	cell_histogram(tbf, cells);
	return sb_tbf_cells(&tbf->header) - cells[0];
}

SB_FUNCTION_IN_OWN_MEMORY(tbf_info)
{
	/* In the order of the OUT parameters in sql/install/20-tbf.sql. */
	enum {item_kind_, half_life, epoch, expected_items, false_positive_rate, hashes, cells, layout, cell_bits, unit,
		  bytes, base, newest, slack, total, fill, current_rate, cardinality, minimum_increase, recurring_minimum, top, columns_};
	TbfValue	tbf;
	Datum		values[columns_];
	bool		nulls[columns_] = {false};
	bool		hits;
	uint64_t	nonzero;
	double		filled;
	TimestampTz base_time;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	hits = (tbf.header.flags & SB_TBF_HAS_HITS) && tbf.header.half_life != 0;
	nonzero = tbf_nonzero_cells(&tbf);
	filled = (double) nonzero / sb_tbf_cells(&tbf.header);
	base_time = tbf.header.base * tbf.header.half_life;

	values[item_kind_] = CStringGetTextDatum(item_kind_text(&tbf.header.kind));
	values[half_life] = tbf_interval(tbf.header.half_life);
	nulls[half_life] = tbf.header.half_life == 0;
	values[epoch] = tbf_interval(tbf.header.epoch);
	nulls[epoch] = tbf.header.half_life == 0;
	values[expected_items] = Int64GetDatum(tbf.header.expected_items);
	nulls[expected_items] = tbf.header.expected_items == 0;
	values[false_positive_rate] = Float8GetDatum(tbf.header.fpr);
	values[hashes] = Int32GetDatum(tbf.header.hash_count);
	values[cells] = Int64GetDatum(sb_tbf_cells(&tbf.header));
	values[layout] = CStringGetTextDatum(tbf.header.layout == SB_TBF_FLAT ? "flat" : "extensible");
	values[cell_bits] = Int32GetDatum(tbf.header.cell_bits);
	values[unit] = Float8GetDatum(unit_of(&tbf.header));
	values[bytes] = Int64GetDatum(sb_tbf_size(&tbf.header));
	values[base] = TimestampTzGetDatum(base_time);
	nulls[base] = !hits || !IS_VALID_TIMESTAMP(base_time);
	values[newest] = TimestampTzGetDatum(tbf.header.newest);
	nulls[newest] = !hits || !IS_VALID_TIMESTAMP(tbf.header.newest);
	values[slack] = Float8GetDatum(ldexp((double) sb_tbf_slack(&tbf.header), -SB_TBF_HIT_BITS));
	values[total] = Float8GetDatum(ldexp((double) tbf.header.total, -SB_TBF_HIT_BITS));
	values[fill] = Float8GetDatum(filled);
	values[current_rate] = Float8GetDatum(pow(filled, tbf.header.hash_count));
	values[cardinality] = Float8GetDatum(sb_tbf_estimate_items(&tbf.header, nonzero));
	values[minimum_increase] = BoolGetDatum((tbf.header.flags & SB_TBF_MINIMUM_INCREASE) != 0);
	values[recurring_minimum] = BoolGetDatum((tbf.header.flags & SB_TBF_RECURRING_MINIMUM) != 0);
	values[top] = Int32GetDatum(tbf.header.top);
	return row_result(fcinfo, values, nulls, columns_);
}

/* tbf_histogram(tbf): hits_from and hits_to at the base, cells */
SB_FUNCTION_IN_OWN_MEMORY(tbf_histogram)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	int64		cells[HISTOGRAM_BUCKETS];
	TbfValue	tbf;
	int			used;

	InitMaterializedSRF(fcinfo, 0);
	tbf_open(PG_GETARG_DATUM(0), &tbf);
	used = cell_histogram(&tbf, cells);
	for (int digits = 0; digits < used; digits++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = Float8GetDatum(digits == 0 ? 0 : ldexp(unit_of(&tbf.header), digits - 1));
		values[1] = Float8GetDatum(digits == 0 ? 0 : (ldexp(1, digits) - 1) * unit_of(&tbf.header));
		values[2] = Int64GetDatum(cells[digits]);
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
	return (Datum) 0;
}

SB_FUNCTION_IN_OWN_MEMORY(tbf_sketch)
{
	TbfValue	tbf;
	int64		cells[HISTOGRAM_BUCKETS];
	double		heights[HISTOGRAM_BUCKETS];
	int			used;
	char	   *largest;
	uint64_t	nonzero;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	used = cell_histogram(&tbf, cells);
	nonzero = sb_tbf_cells(&tbf.header) - cells[0];

	/* The fill shows the zeros. The other numbers span orders of magnitude, so their logarithms are drawn. */
	for (int digits = 1; digits < used; digits++)
		heights[digits - 1] = log2(1 + (double) cells[digits]);
	largest = psprintf("%g", ldexp(unit_of(&tbf.header), used - 1));
	return text_result(psprintf("tbf of %s: %.0f items, %.1f%% full, counters below %s hits |%s|",
								item_kind_text(&tbf.header.kind), sb_tbf_estimate_items(&tbf.header, nonzero),
								100.0 * nonzero / sb_tbf_cells(&tbf.header), largest, sketch_bars(heights, used - 1)));
}
