/*
 * streams.cpp: makes the streams of the block trace and the made-up ones, chooses the size of the filters for a
 * stream, and makes the permutations.
 */
#include "streams.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace papers {

namespace {

/* The plain filter's mean rate over n first arrivals, each into a filter that holds those before it. */
double mean_plain_rate(double bits, uint64_t n)
{
	double sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += std::pow(1 - std::pow(1 - 1 / bits, 5 * static_cast<double>(i)), 5);
	return sum / static_cast<double>(n);
}

/* The number of distinct items on which the plain filter of these bytes reaches the paper's rate. */
uint64_t scaled_distinct(uint64_t bytes)
{
	uint64_t low = 1;
	uint64_t high = 16 * bytes;
	while (low < high)
	{
		uint64_t middle = (low + high) / 2;
		if (mean_plain_rate(8 * static_cast<double>(bytes), middle) < paper_rate)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The paper's three kinds of streams. Each of n items comes once, and there are repeats of items that are drawn with
 * equal probability, with one proportional to the item's importance, or with one inversely proportional to it. The
 * permutations mix all arrivals.
 */
Stream generated(int kind, int repeats, uint64_t distinct)
{
	constexpr const char *which[] = {"equal", "∝ importance", "∝ 1/importance"};
	constexpr const char *ids[] = {"equal", "direct", "inverse"};
	Stream stream;
	stream.id = std::string(ids[kind]) + std::to_string(repeats);
	stream.name = std::string("made up, ") + which[kind] + ", " + std::to_string(repeats) + " % repeats";
	stream.independent = kind == 0;
	stream.permutations = quick ? 1 : 5;
	Random random(static_cast<uint64_t>(1000 * kind + repeats));
	std::vector<float> drawn(distinct);
	std::vector<double> up_to(distinct);
	double sum = 0;
	for (uint64_t i = 0; i < distinct; i++)
	{
		drawn[i] = static_cast<float>(1 + random.below(top));
		sum += kind == 0 ? 1 : kind == 1 ? drawn[i] : 1 / drawn[i];
		up_to[i] = sum;
		stream.item.push_back(static_cast<uint32_t>(i));
		stream.hash.push_back(sb_hash_int64(static_cast<int64_t>(i)));
	}
	for (uint64_t i = distinct * static_cast<uint64_t>(repeats) / static_cast<uint64_t>(100 - repeats); i > 0; i--)
	{
		auto at = std::upper_bound(up_to.begin(), up_to.end(), random.uniform() * sum) - up_to.begin();
		stream.item.push_back(static_cast<uint32_t>(std::min<uint64_t>(static_cast<uint64_t>(at), distinct - 1)));
	}
	for (uint32_t item : stream.item)
		stream.importance.push_back(drawn[item]);
	return stream;
}

} // namespace

uint64_t scaled_bytes(uint64_t distinct)
{
	uint64_t low = SB_STABLE_MIN_BYTES;
	uint64_t high = distinct;
	while (low < high)
	{
		uint64_t middle = (low + high) / 2;
		if (mean_plain_rate(8 * static_cast<double>(middle), distinct) > paper_rate)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void draw(Stream *stream, uint64_t seed)
{
	Random random(seed);
	std::vector<float> drawn(stream->hash.size());
	for (float &importance : drawn)
		importance = static_cast<float>(1 + random.below(top));
	stream->importance.resize(stream->item.size());
	for (size_t i = 0; i < stream->item.size(); i++)
		stream->importance[i] = drawn[stream->item[i]];
}

std::vector<Stream> block_streams()
{
	std::FILE *file = std::fopen((directory + "/block.txt").c_str(), "r");
	if (file == nullptr)
		return {};
	Stream stream;
	stream.id = "block";
	stream.name = "block trace";
	stream.has_order = true;
	stream.independent = true;
	stream.permutations = 2;
	std::unordered_map<int64_t, uint32_t> ids;
	long long id;
	while (std::fscanf(file, "%lld", &id) == 1)
	{
		auto [at, is_new] = ids.try_emplace(id, static_cast<uint32_t>(ids.size()));
		if (is_new)
			stream.hash.push_back(sb_hash_int64(id));
		stream.item.push_back(at->second);
	}
	std::fclose(file);
	draw(&stream, 106);
	stream.plain_bytes = stream.bytes = scaled_bytes(stream.hash.size());
	Stream small = stream;
	small.id = "block16";
	small.name = "block trace, 16 KB";
	small.permutations = 1;
	small.plain_bytes = small.bytes = paper_bytes;
	return {stream, small};
}

std::vector<Stream> made_up_streams()
{
	const uint64_t distinct = scaled_distinct(paper_bytes);
	std::vector<Stream> made;
	for (int kind = 0; kind < 3; kind++)
		for (int repeats : {10, 30, 50})
			made.push_back(generated(kind, repeats, distinct));
	/* The plain filter has as many cells of one bit as the others have of three bits, so a third of the bytes. */
	const uint64_t few = scaled_distinct(paper_bytes / 3);
	for (int kind = 0; kind < 3; kind++)
	{
		made.push_back(generated(kind, 30, few));
		made.back().id += "cells";
		made.back().name += ", BF of as many cells";
		made.back().plain_bytes = paper_bytes / 3;
	}
	return made;
}

std::vector<const Stream *> Streams::all() const
{
	std::vector<const Stream *> every;
	for (const auto *list : {&retail, &block, &made})
		for (const Stream &stream : *list)
			every.push_back(&stream);
	return every;
}

std::vector<uint32_t> order_of(const Stream &stream, int p)
{
	std::vector<uint32_t> order(stream.item.size());
	for (size_t i = 0; i < order.size(); i++)
		order[i] = static_cast<uint32_t>(i);
	if (stream.has_order && p == 0)
		return order;
	Random random(static_cast<uint64_t>(p) + 77);
	for (size_t i = order.size(); i > 1; i--)
		std::swap(order[i - 1], order[random.below(i)]);
	return order;
}

} // namespace papers
