/*
 * endless.cpp: an endless stream of distinct integers through an sbf and a bf of the same bytes: rates, time and
 * memory.
 */
#include "sections.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>

namespace papers {

namespace {

constexpr uint64_t million = 1000000;

/*
 * The number of pages that the process has in memory now; 0 if there is no /proc. (Its peak would not do, because the
 * streams before took more.)
 */
long resident()
{
	long all = 0;
	long pages = 0;
	std::FILE *file = std::fopen("/proc/self/statm", "r");
	if (file == nullptr || std::fscanf(file, "%ld %ld", &all, &pages) != 2)
		pages = 0;
	if (file != nullptr)
		std::fclose(file);
	return pages;
}

sb_stable planned()
{
	sb_stable plan;
	if (sb_stable_plan(paper_bytes, 0.01, SB_STABLE, 0, 0, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, 0,
					   &plan) != SB_OK)
		die("the endless sbf is refused");
	return plan;
}

/* A bf with the hashes that are best for 1 %. */
struct Plain
{
	sb_bf bf{};
	double load; /* items a line */
	std::vector<unsigned char> lines;

	Plain() : lines(paper_bytes)
	{
		bf.line_count = paper_bytes / SB_BF_LINE;
		load = sb_bf_items_per_line(0.01, &bf.hash_count);
	}
};

struct Measured
{
	std::vector<double> ns;        /* a step, of each million */
	std::vector<Tally> of_million; /* the sbf's false positives */
	long pages = 0;                /* more in memory at the end than after the first million */
};

/* The points of the plot. A point has the rates since the point before it. */
class Curve
{
  public:
	void add(double done, bool sbf_seen, bool bf_seen)
	{
		sbf_.add(1, sbf_seen);
		bf_.add(1, bf_seen);
		if (done >= next_)
		{
			out_ << done << ' ' << 100 * sbf_.rate() << ' ' << 100 * bf_.rate() << '\n';
			sbf_ = bf_ = Tally();
			next_ *= 1.2;
		}
	}

  private:
	std::ofstream out_{directory + "/endless.dat"};
	Tally sbf_;
	Tally bf_;
	double next_ = 1000;
};

Measured measure(uint64_t n, Filter *filter, Plain *plain)
{
	Measured measured;
	Curve curve;
	long before = 0;
	for (uint64_t start = 0; start < n; start += million)
	{
		/* The items are hashed beforehand, so that the steps alone are timed. */
		std::vector<uint64_t> hashes(million);
		std::vector<bool> answers(million);
		for (uint64_t i = 0; i < million; i++)
			hashes[i] = sb_hash_int64(static_cast<int64_t>(start + i));
		std::clock_t began = std::clock(); /* of this process: the machine may be shared */
		for (uint64_t i = 0; i < million; i++)
			answers[i] = filter->step(hashes[i], uint8_t{7});
		measured.ns.push_back(1e9 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC /
							  static_cast<double>(million));
		measured.of_million.emplace_back();
		for (uint64_t i = 0; i < million; i++)
		{
			measured.of_million.back().add(1, answers[i]);
			bool bf_seen;
			(void)!sb_bf_contains_many(&plain->bf, plain->lines.data(), &hashes[i], 1, &bf_seen);
			sb_bf_add_many(&plain->bf, plain->lines.data(), &hashes[i], 1);
			curve.add(static_cast<double>(start + i + 1), answers[i], bf_seen);
		}
		if (start == 0)
			before = resident();
	}
	measured.pages = resident() - before;
	return measured;
}

void print_sbf(const Filter &filter, const sb_stable &plan, const Measured &measured)
{
	std::vector<double> shares;
	sb_stable_chain chain = filter.chain(&shares);
	double most = 0;
	for (const Tally &tally : measured.of_million)
		most = std::max(most, tally.rate());
	double first = measured.of_million.front().rate();
	double last = measured.of_million.back().rate();
	std::printf("| `sbf`: false positives | %.3f %% | %.3f %% | highest of a million %.3f %%; bound %.3f %% |\n", 100 * first, 100 * last,
				100 * most, 100 * sb_stable_bound(&chain));
	std::vector<double> sorted = measured.ns;
	std::sort(sorted.begin(), sorted.end());
	std::printf("| `sbf`: ns of processor time a step | %.0f | %.0f | median %.0f, least %.0f, most %.0f |\n", measured.ns.front(),
				measured.ns.back(), sorted[sorted.size() / 2], sorted.front(), sorted.back());
	std::printf("| `sbf`: bytes | %s | %s | the whole process had %+ld pages of memory after the last |\n",
				many(SB_STABLE_HEADER + sb_stable_cell_bytes(&plan)).c_str(),
				many(sb_stable_size(&filter.parameters)).c_str(), measured.pages);
}

void print_bf(const Plain &plain)
{
	sb_bf_stats stats;
	if (sb_bf_measure(&plain.bf, plain.lines.data(), &stats) != SB_OK)
		die("the cells cannot be counted");
	std::printf("| `bf`: bits set | | %s %% | says \"seen\" to %s %% of the items that are new |\n\n",
				percent(static_cast<double>(stats.bits_set) / static_cast<double>(stats.bits)).c_str(),
				percent(stats.current_fpr).c_str());
}

} // namespace

void endless()
{
	const uint64_t n = quick ? 3000000 : 20000000;
	const sb_stable plan = planned();
	Filter filter(plan);
	Plain plain;
	const Measured measured = measure(n, &filter, &plain);
	std::puts("## An endless stream\n");
	std::printf(
		"%s distinct integers through one `sbf` of 16,384 bytes for 1 %% (K %d, P %u, as planned), and through a `bf` of the same bytes\n"
		"(k %d), which was made for %s items at 1 %%.\n\n", many(n).c_str(), int{plan.hash_count}, plan.evictions, int{plain.bf.hash_count},
		many(static_cast<uint64_t>(plain.load * plain.bf.line_count)).c_str());
	std::puts("| | first million | last million | all |");
	std::puts("| --- | ---: | ---: | --- |");
	print_sbf(filter, plan, measured);
	print_bf(plain);
	std::puts("So an endless stream wants an `sbf`; a `bf` is for a number of items that is known.\n");
	std::puts("![an endless stream](papers-endless.svg)\n");
}

} // namespace papers
