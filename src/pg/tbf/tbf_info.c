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
#include "base/times.h"
#include "base/value.h"

/* Returns the number of hits that a stored counter of 1 stands for, at the base. */
static double
unit_of(const sb_tbf *tbf)
{
	return ldexp(1, -tbf->unit_bits);
}

void
tbf_measure(const TbfValue *tbf, uint32 most_blocks, sb_tbf_stats *stats)
{
	tbf_builder_must(sb_tbf_measure(&tbf->header, tbf->cells, most_blocks, stats));
}

/*
 * Measures the whole filter. stats->widths[i] is how many counters have i binary digits. Returns the largest i that
 * occurs, plus 1.
 */
static int
measure_widths(const TbfValue *tbf, sb_tbf_stats *stats)
{
	int			used = SB_TBF_WIDTHS;

	tbf_measure(tbf, PG_UINT32_MAX, stats);
	while (used > 1 && stats->widths[used - 1] == 0)
		used--;
	return used;
}

SB_FUNCTION_IN_OWN_MEMORY(tbf_info)
{
	/* In the order of the OUT parameters in sql/install/20-tbf.sql. */
	enum {item_kind_, half_life, epoch, expected_items, false_positive_rate, hashes, cells, layout, cell_bits, unit,
		  bytes, base, newest, slack, total, fill, current_rate, cardinality, minimum_increase,
		  recurring_minimum, top, used_share, columns_};
	TbfValue	tbf;
	Datum		values[columns_];
	bool		nulls[columns_] = {false};
	bool		hits;
	bool		exact;
	sb_tbf_stats stats;
	TimestampTz base_time;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	hits = (tbf.header.flags & SB_TBF_HAS_HITS) && tbf.header.half_life != 0;
	exact = tbf_is_exact(&tbf.header);
	tbf_measure(&tbf, PG_UINT32_MAX, &stats);
	base_time = tbf.header.base * tbf.header.half_life;

	values[item_kind_] = CStringGetTextDatum(item_kind_text(&tbf.header.kind));
	values[half_life] = interval_of(tbf.header.half_life);
	nulls[half_life] = tbf.header.half_life == 0;
	values[epoch] = interval_of(tbf.header.epoch);
	nulls[epoch] = tbf.header.half_life == 0;
	values[expected_items] = Int64GetDatum(tbf.header.expected_items);
	nulls[expected_items] = tbf.header.expected_items == 0;
	values[false_positive_rate] = Float8GetDatum(tbf.header.fpr);
	values[hashes] = Int32GetDatum(tbf.header.hash_count);
	values[cells] = Int64GetDatum(sb_tbf_cells(&tbf.header));
	nulls[cells] = exact;
	values[layout] = CStringGetTextDatum(exact ? "exact" : tbf.header.layout == SB_TBF_FLAT ? "flat" : "extensible");
	values[cell_bits] = Int32GetDatum(tbf.header.cell_bits);
	nulls[cell_bits] = exact;
	values[unit] = Float8GetDatum(unit_of(&tbf.header));
	values[bytes] = Int64GetDatum(sb_tbf_size(&tbf.header));
	values[base] = TimestampTzGetDatum(base_time);
	nulls[base] = !hits || !IS_VALID_TIMESTAMP(base_time);
	values[newest] = TimestampTzGetDatum(tbf.header.newest);
	nulls[newest] = !hits || !IS_VALID_TIMESTAMP(tbf.header.newest);
	values[slack] = Float8GetDatum(ldexp((double) sb_tbf_slack(&tbf.header), -SB_TBF_HIT_BITS));
	values[total] = Float8GetDatum(ldexp((double) tbf.header.total, -SB_TBF_HIT_BITS));
	values[fill] = Float8GetDatum(stats.fill);
	nulls[fill] = exact;
	values[current_rate] = Float8GetDatum(stats.current_fpr);
	values[cardinality] = Float8GetDatum(stats.items);
	values[minimum_increase] = BoolGetDatum((tbf.header.flags & SB_TBF_MINIMUM_INCREASE) != 0);
	values[recurring_minimum] = BoolGetDatum((tbf.header.flags & SB_TBF_RECURRING_MINIMUM) != 0);
	values[top] = Int32GetDatum(tbf.header.top);
	values[used_share] = Float8GetDatum(stats.items == 0 ? 0 : stats.items / sb_tbf_room(&tbf.header));
	return row_result(fcinfo, values, nulls, columns_);
}

/* tbf_histogram(tbf): hits_from, hits_to (both at the base), cells. For an exact filter, `cells` counts items. */
SB_FUNCTION_IN_OWN_MEMORY(tbf_histogram)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	sb_tbf_stats stats;
	TbfValue	tbf;
	int			used;

	begin_rows(fcinfo);
	tbf_open(PG_GETARG_DATUM(0), &tbf);
	used = measure_widths(&tbf, &stats);
	for (int digits = tbf_is_exact(&tbf.header) ? 1 : 0; digits < used; digits++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = Float8GetDatum(digits == 0 ? 0 : ldexp(unit_of(&tbf.header), digits - 1));
		values[1] = Float8GetDatum(digits == 0 ? 0 : (ldexp(1, digits) - 1) * unit_of(&tbf.header));
		values[2] = Int64GetDatum(stats.widths[digits]);
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
	return (Datum) 0;
}

SB_FUNCTION_IN_OWN_MEMORY(tbf_sketch)
{
	TbfValue	tbf;
	sb_tbf_stats stats;
	double		heights[SB_TBF_WIDTHS];
	int			used;
	char	   *fill = "exact";

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	used = measure_widths(&tbf, &stats);
	if (!tbf_is_exact(&tbf.header))
		fill = psprintf("%.1f%% full", 100 * stats.fill);

	/*
	 * One bar for each number of binary digits: how many counters have that many. There is no bar for counters of 0;
	 * "full" shows the share of the others. The bars would differ by orders of magnitude, so they show logarithms.
	 */
	for (int digits = 1; digits < used; digits++)
		heights[digits - 1] = log2(1 + (double) stats.widths[digits]);
	return text_result(psprintf("tbf of %s: %.0f items, %s, %s below %g hits%s |%s|",
								item_kind_text(&tbf.header.kind), stats.items, fill,
								tbf_is_exact(&tbf.header) ? "counts" : "counters", ldexp(unit_of(&tbf.header), used - 1),
								tbf.header.half_life != 0 ? " as of the base" : "", sketch_bars(heights, used - 1)));
}
