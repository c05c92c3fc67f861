/*
 * describe.cpp: the table of the streams at the beginning of the page.
 */
#include "sections.hpp"

namespace papers {

namespace {

std::string orders(const Stream &stream)
{
	int mixed = stream.permutations - stream.first_mixed();
	std::string text = std::to_string(mixed) + (mixed == 1 ? " permutation" : " permutations");
	if (!stream.has_order)
		return text;
	return mixed == 0 ? "its own" : "its own, and " + text;
}

void row(const Stream &stream, const std::string &name)
{
	double distinct = static_cast<double>(stream.hash.size());
	double repeats = 1 - distinct / static_cast<double>(stream.item.size());
	std::printf("| %s | %s | %s | %s %% | %s | %s |\n", name.c_str(), many(stream.item.size()).c_str(), many(stream.hash.size()).c_str(),
				percent(repeats).c_str(), many(stream.bytes).c_str(), orders(stream).c_str());
}

} // namespace

void describe(const Streams &streams)
{
	std::puts("| stream | arrivals | distinct | repeats | bytes | orders |");
	std::puts("| --- | ---: | ---: | ---: | ---: | --- |");
	if (!streams.retail.empty())
		row(streams.retail[0], "retail (six importances)");
	for (const Stream &stream : streams.block)
		row(stream, stream.name);
	for (size_t i = 0; i < 3; i++)
		row(streams.made[i], "made up, " + std::to_string(i == 0 ? 10 : i == 1 ? 30 : 50) + " % repeats (three kinds)");
	row(streams.first_of_as_many_cells(), "made up, 30 % repeats (three kinds), BF of as many cells");
	std::puts("");
}

} // namespace papers
