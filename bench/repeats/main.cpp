/*
 * main.cpp: counts repetitions that are missed, and new items that are taken for repetitions, at equal bytes.
 * bench/duplicates builds and runs this program, which reads the streams that the script has unpacked, and prints
 * Markdown.
 *
 *   repeats DIRECTORY [--quick]
 */
#include <algorithm>

#include "filters.hpp"
#include "streams.hpp"

#include <chrono>

namespace repeats {

namespace {

bool quick;

struct Share
{
	uint64_t of = 0;
	uint64_t count = 0;

	void add(bool yes)
	{
		of++;
		count += yes;
	}
	std::string text() const
	{
		char out[32];
		if (of < 20)
			return "";
		std::snprintf(out, sizeof out, "%.2f", 100.0 * static_cast<double>(count) / static_cast<double>(of));
		return out;
	}
};

/* The repetitions are divided by how long ago the item came last, in windows. */
constexpr double edges[] = {0.25, 0.5, 1};

struct Outcome
{
	Share missed[3];	 /* up to a quarter of the window ago, half of it, all of it */
	Share remembered[2]; /* one to two windows ago, and more: a yes is no error, but nobody asked for it */
	Share wrong;		 /* of items that never came: yes */
	double nanoseconds = 0;
};

Outcome run(const Stream &stream, const Setting &setting, Filter *filter, const std::vector<uint64_t> &hashes)
{
	constexpr int64_t never = INT64_MIN;
	std::vector<int64_t> last(hashes.size(), never);
	Outcome outcome;
	int64_t newest = never;
	for (size_t i = 0; i < stream.item.size(); i++)
	{
		const uint32_t item = stream.item[i];
		const int64_t position = setting.by_time ? stream.at[i] : static_cast<int64_t>(i);
		newest = std::max(newest, position);
		/* plain filters know only the arrival: a late row belongs to the present window */
		const bool found = filter->step(hashes[item], filter->name() == "abf" ? position : newest,
										stream.importance[i]);
		if (last[item] == never)
			outcome.wrong.add(found);
		else
		{
			const double ago = static_cast<double>(newest - last[item]) / static_cast<double>(setting.window);
			size_t bin = 0;
			while (bin < std::size(edges) && ago > edges[bin])
				bin++;
			if (bin < std::size(edges))
				outcome.missed[bin].add(!found);
			else
				outcome.remembered[ago > 2].add(found);
		}
		last[item] = std::max(last[item], position);
	}
	return outcome;
}

double time_of(const Stream &stream, const Setting &setting, Filter *filter, const std::vector<uint64_t> &hashes)
{
	const auto begin = std::chrono::steady_clock::now();
	int64_t newest = INT64_MIN;
	bool any = false;
	for (size_t i = 0; i < stream.item.size(); i++)
	{
		newest = std::max(newest, setting.by_time ? stream.at[i] : static_cast<int64_t>(i));
		any ^= filter->step(hashes[stream.item[i]], newest, stream.importance[i]);
	}
	const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
	return taken.count() / static_cast<double>(stream.item.size()) + (any ? 0 : 1e-9);
}

std::string many(uint64_t value)
{
	std::string text = std::to_string(value);
	for (size_t at = text.size(); at > 3;)
		text.insert(at -= 3, 1, ',');
	return text;
}

std::string of_window(const Setting &s)
{
	if (!s.by_time)
		return many(static_cast<uint64_t>(s.window)) + " items";
	const int64_t minutes = s.window / 60000000;
	return minutes % 60 == 0 ? std::to_string(minutes / 60) + " h" : std::to_string(minutes) + " min";
}

void table(const Stream &stream, const Setting &setting)
{
	uint32_t distinct = 0;
	for (uint32_t item : stream.item)
		distinct = std::max(distinct, item + 1);
	std::vector<uint64_t> hashes(distinct);
	for (uint32_t i = 0; i < distinct; i++)
		hashes[i] = sb_hash_int64(i);

	std::printf("**%s**, within %s, %s bytes (up to %s items in the window)\n\n", stream.name.c_str(),
				of_window(setting).c_str(), many(setting.bytes).c_str(), many(setting.expected).c_str());
	std::puts("| | new, taken for known | missed, up to 1/4 window ago | 1/4 to 1/2 | 1/2 to 1 | known, 1 to 2 windows "
			  "ago | more | ns an item |");
	std::puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
	auto filters = filters_of(setting);
	std::vector<double> times(filters.size(), 1e9);
	for (int round = 0; round < (quick ? 1 : 3); round++)
	{
		auto again = filters_of(setting);
		for (size_t i = 0; i < again.size(); i++)
			/* evicting by value takes a thousand times as long, so it is timed once */
			if (again[i]->name().find("simulated") == std::string::npos &&
				(round == 0 || again[i]->name().find("weighted") == std::string::npos))
				times[i] = std::min(times[i], time_of(stream, setting, again[i].get(), hashes));
	}
	for (size_t i = 0; i < filters.size(); i++)
	{
		const Outcome o = run(stream, setting, filters[i].get(), hashes);
		std::printf("| %s | %s | %s | %s | %s | %s | %s | ", filters[i]->name().c_str(), o.wrong.text().c_str(),
					o.missed[0].text().c_str(), o.missed[1].text().c_str(), o.missed[2].text().c_str(),
					o.remembered[0].text().c_str(), o.remembered[1].text().c_str());
		if (times[i] < 1e9)
			std::printf("%.0f", times[i]);
		std::puts(" |");
	}
	std::puts("");
	std::fflush(stdout);
}

/* The setting with the largest window, in items, that an abf of this many bytes can have at a rate of 1 %. */
Setting by_items(uint64_t bytes)
{
	int64_t low = 1;
	int64_t high = static_cast<int64_t>(bytes) * 8;
	int k = SB_ABF_CHOOSE;
	int l = SB_ABF_CHOOSE;
	sb_abf_choose(0.01, &k, &l);
	while (high - low > 1)
	{
		const int64_t middle = (low + high) / 2;
		sb_abf abf;
		must(sb_abf_plan(middle, false, 0, 0.01, k, l, &abf));
		(sb_abf_slice_bytes(&abf) <= bytes ? low : high) = middle;
	}
	return {low, false, static_cast<uint64_t>(low), bytes, 0.01};
}

/*
 * The setting for a window of time. Its bytes are those of an abf for the largest number of items in any such window
 * of the stream.
 */
Setting by_time(const Stream &stream, int64_t window)
{
	std::vector<int64_t> at = stream.at;
	std::sort(at.begin(), at.end());
	size_t most = 1;
	for (size_t begin = 0, end = 0; end < at.size(); end++)
	{
		while (at[end] - at[begin] > window)
			begin++;
		most = std::max(most, end - begin + 1);
	}
	sb_abf abf;
	must(sb_abf_plan(window, true, most, 0.01, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf));
	return {window, true, most, sb_abf_slice_bytes(&abf), 0.01};
}

bool there(const Stream &stream)
{
	return !stream.item.empty();
}

} // namespace

} // namespace repeats

int main(int count, char **arguments)
{
	using namespace repeats;
	if (count < 2)
		die("usage: repeats DIRECTORY [--quick]");
	quick = count > 2;
	const std::string directory = std::string(arguments[1]) + "/";
	std::vector<Stream> streams;
	streams.push_back(read_stream("shop requests, 2013", directory + "shop.txt", false));
	streams.push_back(read_stream("block ids", directory + "block.txt", false));
	streams.push_back(read_stream("blog requests (host, url), 2016", directory + "blog.txt", true));
	streams.push_back(read_stream("retail rows (customer, article), 2011", directory + "retail.txt", true));
	streams.push_back(clicks(quick ? 100000 : 300000));
	streams.push_back(long_tail(quick ? 100000 : 300000));

	std::puts("## By items\n");
	for (const Stream &stream : streams)
		for (uint64_t bytes : {16384u, 65536u, 262144u})
			if (const Setting setting = by_items(bytes);
				there(stream) && static_cast<uint64_t>(setting.window) * 2 < stream.item.size())
				table(stream, setting);
	std::puts("## By time\n");
	for (const Stream &stream : streams)
		for (int64_t minutes : {10, 60, 1440})
			if (there(stream) && !stream.at.empty())
				table(stream, by_time(stream, minutes * 60000000));
	return 0;
}
