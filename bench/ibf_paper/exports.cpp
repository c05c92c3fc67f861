/*
 * exports.cpp: writes the points of the plots over the importance, and the files of a stream that SQL repeats.
 */
#include "exports.hpp"

#include "experiment.hpp"

#include <algorithm>
#include <fstream>

namespace papers {

void write_points(const Stream &stream, const Five &five, int width)
{
	std::ofstream out(directory + "/" + stream.id + ".dat");
	out << "# importance, share of arrivals, FP of " << varieties << " filters, FN of them (percent)\n";
	std::vector<double> share(top + 1);
	for (float importance : stream.importance)
		share[static_cast<size_t>(importance)] += 100.0 / static_cast<double>(stream.importance.size());
	for (int first = 0; first <= top; first += width)
	{
		double arrivals = 0;
		std::array<Tally, varieties> fp{}, fn{};
		int last = std::min(top, first + width - 1);
		if (width > 1 && last == top - 1) /* 50 joins the last class */
			last = top;
		for (int i = first; i <= last; i++)
		{
			auto bin = static_cast<size_t>(i);
			arrivals += share[bin];
			for (size_t v = 0; v < varieties; v++)
			{
				fp[v] += five[v].fp_at[bin];
				fn[v] += five[v].fn_at[bin];
			}
		}
		if (arrivals == 0)
			continue;
		out << 0.5 * (first + last) << ' ' << arrivals / (last - first + 1);
		auto write = [&](const Tally &tally)
		{
			if (tally.asked > 0)
				out << ' ' << 100 * tally.rate();
			else
				out << " nan";
		};
		for (const Tally &tally : fp)
			write(tally);
		for (const Tally &tally : fn)
			write(tally);
		out << '\n';
		if (last == top)
			break;
	}
}

void export_for_sql(const Stream &stream, bool text)
{
	std::vector<uint32_t> order = order_of(stream, 0);
	std::FILE *out = std::fopen((directory + "/sql-" + stream.id + ".csv").c_str(), "w");
	if (out == nullptr)
		die("cannot write into the directory");
	for (size_t i = 0; i < order.size(); i++)
	{
		uint32_t item = stream.item[order[i]];
		double importance = static_cast<double>(stream.importance[order[i]]);
		if (text)
			std::fprintf(out, "%zu,%s,%.17g\n", i, retail_code(item).c_str(), importance);
		else
			std::fprintf(out, "%zu,%u,%.17g\n", i, item, importance);
	}
	std::fclose(out);
	std::ofstream expected(directory + "/sql-" + stream.id + ".expected");
	for (int v = 0; v < varieties; v++)
	{
		Filter filter = Filter::of(static_cast<Variety>(v), v == BF ? stream.plain_bytes : stream.bytes, 5, 3, 10);
		Counts counts = run(stream, order, &filter);
		expected << names[v] << ' ' << static_cast<uint64_t>(counts.fp.wrong) << ' '
				 << static_cast<uint64_t>(counts.fn.wrong) << ' ' << stream.bytes << '\n';
	}
}

} // namespace papers
