/*
 * main.cpp: the experiments of Bhoraskar, Gabale, P. Kulkarni, D. Kulkarni 2013 (the IBF paper) over the core.
 * bench/papers builds and runs this program, which reads the unpacked data files, prints the page's Markdown, and
 * writes files with the points of the plots and with the streams that SQL repeats.
 *
 *   papers DIRECTORY [--quick]     DIRECTORY holds retail.csv and block.txt, or not; files are written there
 *
 * Every random choice comes from a fixed seed, so all figures but those of time are the same on every run.
 */
#include "exports.hpp"
#include "sections.hpp"

#include <chrono>

namespace papers {

namespace {

/* Prints on standard error what begins, and the time since the start. */
class Progress
{
  public:
	void operator()(const char *what) const
	{
		std::chrono::duration<double> since = std::chrono::steady_clock::now() - began_;
		std::fprintf(stderr, "papers: %3.0f s: %s\n", since.count(), what);
	}

  private:
	std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/* All that is measured with P = 10, then the comparison with P = 25. */
void compare(const Streams &streams, const Progress &progress)
{
	progress("Table II");
	Results results;
	for (const Stream *stream : streams.all())
		results.add(*stream, 10);
	table_two(streams, results);
	std::puts("## All streams, P = 10\n");
	all_streams(streams, results);

	progress("P = 25");
	std::puts("## All streams, P = 25: the bound of SBF is the 20 % that the paper states for P = 10\n");
	Results results25;
	for (const Stream *stream : streams.all())
		if (stream->id != "block16")
			results25.add(*stream, 25);
	all_streams(streams, results25);

	by_importance(streams, results);
}

void theory(const Streams &streams, const Progress &progress)
{
	progress("zero cells");
	zero_cells();
	progress("gaps");
	gaps();
	if (!streams.block.empty())
		real_gaps(streams.block[0]);
}

void page(const Streams &streams)
{
	const Progress progress;
	describe(streams);
	compare(streams, progress);
	progress("Max 3, 7, 15");
	max_sweep(streams);
	theory(streams, progress);
	progress("abf");
	with_abf(streams);
	progress("endless stream");
	endless();
}

} // namespace

} // namespace papers

int main(int count, char **arguments)
{
	using namespace papers;
	if (count < 2)
		die("usage: papers DIRECTORY [--quick]");
	directory = arguments[1];
	quick = count > 2 && std::string(arguments[2]) == "--quick";

	const Streams streams{retail_streams(), block_streams(), made_up_streams()};
	page(streams);
	export_for_sql(streams.equal30(), false);
	if (!streams.retail.empty())
		export_for_sql(streams.retail_quantity_rank(), true);
	return 0;
}
