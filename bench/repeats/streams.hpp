/*
 * streams.hpp: the streams of bench/duplicates: items in the order of their arrival, with times if the source has
 * them. Two streams are made up; all random numbers come from fixed seeds.
 */
#ifndef REPEATS_STREAMS_HPP
#define REPEATS_STREAMS_HPP

#include "base/bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace repeats {

struct Stream
{
	std::string name;
	std::vector<uint32_t> item;	   /* by number, from 0 */
	std::vector<int64_t> at;	   /* microseconds; empty: the source has no times */
	std::vector<float> importance; /* 0 .. 1, by arrival */
};

class Random
{
public:
	explicit Random(uint64_t seed) : state_(seed) {}
	uint64_t operator()()
	{
		state_ += streambloom::random_step;
		return streambloom::mix(state_);
	}
	double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

private:
	uint64_t state_;
};

/* Draws an importance for each item, uniformly. For sources that have none. */
inline void draw_importances(Stream *stream)
{
	stream->importance.reserve(stream->item.size());
	for (uint32_t item : stream->item)
		stream->importance.push_back(static_cast<float>(streambloom::mix(item + 12345) >> 40) * 0x1p-24f);
}

/* Reads the first 300,000 lines of a file. A line is "microseconds TAB item" or, without times, "item". */
inline Stream read_stream(const std::string &name, const std::string &file, bool timed)
{
	Stream stream;
	stream.name = name;
	std::ifstream in(file);
	std::unordered_map<std::string, uint32_t> ids;
	std::string line;
	while (stream.item.size() < 300000 && std::getline(in, line))
	{
		size_t begin = 0;
		if (timed)
		{
			begin = line.find('\t') + 1;
			stream.at.push_back(std::stoll(line));
		}
		stream.item.push_back(ids.try_emplace(line.substr(begin), static_cast<uint32_t>(ids.size())).first->second);
	}
	draw_importances(&stream);
	return stream;
}

/*
 * Clicks: some two a second on average, in bursts ten times as dense, each with an id of its own; every eighth is
 * sent again after a delay that is exponential with a mean of three minutes, and some 1 % of all come up to two
 * minutes late.
 */
inline Stream clicks(size_t arrivals)
{
	Stream stream;
	stream.name = "clicks with bursts";
	Random random(1);
	struct Click
	{
		int64_t arrives;
		int64_t at;
		uint32_t id;
	};
	std::vector<Click> all;
	double now = 0;
	uint32_t id = 0;
	while (all.size() < arrivals)
	{
		const bool burst = std::fmod(now, 1200) < 60;
		now -= std::log1p(-random.uniform()) / (burst ? 20 : 1.2);
		const auto at = static_cast<int64_t>(now * 1e6);
		all.push_back({at + (random() % 100 == 0 ? static_cast<int64_t>(random.uniform() * 120e6) : 0), at, id});
		if (random() % 8 == 0)
		{
			const auto again = static_cast<int64_t>((now - std::log1p(-random.uniform()) * 180) * 1e6);
			all.push_back({again, again, id});
		}
		id++;
	}
	std::stable_sort(all.begin(), all.end(), [](const Click &a, const Click &b) { return a.arrives < b.arrives; });
	for (const Click &click : all)
	{
		stream.item.push_back(click.id);
		stream.at.push_back(click.at);
	}
	draw_importances(&stream);
	return stream;
}

/* A long tail: item i is drawn in proportion to 1/i^0.8, of 2,000,000; some come often, most once. */
inline Stream long_tail(size_t arrivals)
{
	Stream stream;
	stream.name = "a long tail";
	Random random(2);
	const double items = 2e6;
	for (size_t i = 0; i < arrivals; i++)
		stream.item.push_back(static_cast<uint32_t>(std::pow(random.uniform(), 5) * items));
	draw_importances(&stream);
	return stream;
}

} // namespace repeats

#endif
