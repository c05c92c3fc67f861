/*
 * by_importance.cpp: the share of repeats that is missed, by importance: a table of fifths, and the points of Figures
 * 3 to 17.
 */
#include "exports.hpp"
#include "sections.hpp"

namespace papers {

namespace {

void fifths(const Five &five)
{
	std::puts("| importance | SBF | 2C | MC | H |");
	std::puts("| --- | ---: | ---: | ---: | ---: |");
	for (size_t first = 1; first <= top; first += 10)
	{
		std::printf("| %zu to %zu |", first, first + 9);
		for (size_t v = SBF; v < varieties; v++)
		{
			Tally fn;
			for (size_t i = first; i < first + 10; i++)
				fn += five[v].fn_at[i];
			std::printf(" %s %% |", percent(fn.rate()).c_str());
		}
		std::puts("");
	}
	std::puts("");
}

} // namespace

void by_importance(const Streams &streams, const Results &results)
{
	std::puts("## By importance (Figures 3 to 17)\n");
	std::puts("False negatives of the repeats of each fifth of the importances, made up, equal, 30 % repeats, P = 10:\n");
	fifths(results.mixed.at("equal30"));
	if (!streams.block.empty())
	{
		std::puts("The block trace in its own order:\n");
		fifths(results.own.at("block"));
	}
	for (const Stream &stream : streams.retail)
		write_points(stream, results.mixed.at(stream.id), 5);
	if (!streams.block.empty())
		write_points(streams.block[0], results.own.at("block"), 2);
	for (const Stream &stream : streams.made)
		write_points(stream, results.mixed.at(stream.id), 2);
	std::puts("PLOTS"); /* bench/papers puts the drawings here */
}

} // namespace papers
