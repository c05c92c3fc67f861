/*
 * all_streams.cpp: a row for each stream, in its own order and permuted, and whether the filters rank by their errors
 * as in the paper.
 */
#include "sections.hpp"

#include <algorithm>

namespace papers {

namespace {

struct Verdicts
{
	int streams = 0, fp = 0, fn = 0, weighted = 0, independent = 0, independent_weighted = 0;
};

/* The largest deviations between permutations. */
struct Spread
{
	double fp = 0;
	double fn = 0;

	void look_at(const Five &five)
	{
		for (const Counts &c : five)
		{
			fp = std::max(fp, deviation(c.fp_of_run));
			fn = std::max(fn, deviation(c.fn_of_run));
		}
	}
};

void head()
{
	std::puts("| stream | bytes | FP: BF | SBF | 2C | MC | H | FN: SBF | 2C | MC | H | wFN: SBF | 2C | MC | H | "
			  "order FP | order FN | wFN < FN |");
	std::puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
			  "--- | --- | --- |");
}

void row(const Stream &stream, const char *order, const Five &f, Verdicts *verdicts)
{
	bool fp = f[BF].fp.rate() > f[SBF].fp.rate() && f[SBF].fp.rate() > f[TWO].fp.rate() &&
		f[TWO].fp.rate() > f[MULTI].fp.rate();
	bool fn = f[BF].fn.rate() < f[SBF].fn.rate() && f[SBF].fn.rate() < f[TWO].fn.rate() &&
		f[TWO].fn.rate() < f[MULTI].fn.rate();
	bool weighted = true;
	for (size_t v = TWO; v < varieties; v++)
		weighted = weighted && (f[v].runs == 0 || f[v].wfn.rate() < f[v].fn.rate());
	verdicts->streams++;
	verdicts->fp += fp;
	verdicts->fn += fn;
	verdicts->weighted += weighted;
	verdicts->independent += stream.independent;
	verdicts->independent_weighted += stream.independent && weighted;
	std::printf("| %s%s | %s |", stream.name.c_str(), order, many(stream.bytes).c_str());
	for (const Counts &counts : f)
		std::printf(" %s |", counts.runs > 0 ? percent(counts.fp.rate()).c_str() : "");
	for (size_t v = SBF; v < varieties; v++)
		std::printf(" %s |", f[v].runs > 0 ? percent(f[v].fn.rate()).c_str() : "");
	for (size_t v = SBF; v < varieties; v++)
		std::printf(" %s |", f[v].runs > 0 ? percent(f[v].wfn.rate()).c_str() : "");
	std::printf(" %s | %s | %s |\n", fp ? "yes" : "no", fn ? "yes" : "no", weighted ? "yes" : "no");
}

} // namespace

void all_streams(const Streams &streams, const Results &results)
{
	Verdicts verdicts;
	Spread spread;
	head();
	for (const Stream *stream : streams.all())
	{
		auto own = results.own.find(stream->id);
		auto mixed = results.mixed.find(stream->id);
		if (own != results.own.end())
			row(*stream, ", own order", own->second, &verdicts);
		if (mixed != results.mixed.end())
		{
			row(*stream, stream->has_order ? ", permuted" : "", mixed->second, &verdicts);
			spread.look_at(mixed->second);
		}
	}
	std::printf(
		"\nOf %d rows: false positives BF > SBF > 2C > MC in %d; false negatives BF < SBF < 2C < MC in %d; wFN < FN for 2C, MC and H in\n"
		"%d, of the %d where importance and repeats are independent in %d. Largest standard deviation between permutations: FP %s %%,\n"
		"FN %s %% absolute.\n\n",
		verdicts.streams, verdicts.fp, verdicts.fn, verdicts.weighted, verdicts.independent,
		verdicts.independent_weighted, percent(spread.fp).c_str(), percent(spread.fn).c_str());
}

} // namespace papers
