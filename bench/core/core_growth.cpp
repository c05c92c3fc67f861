/*
 * core_growth.cpp: measures how the time per item grows with the size of the filter, and the time of operations on
 * whole filters. One thread.
 *
 *   core_growth [ROUNDS] [KEYS ...]      9 rounds; 10,000 to 50 million keys
 *
 * Prints a line for each measurement. Its fields are separated by tabs; median, least and most are over the rounds:
 *
 *   size, what, operation, median, least, most, bytes
 *
 * For operations on items the size is the number of keys, and the time is in ns per item. In each round each filter
 * in turn does a number of batches of 4,096 items, and the median of its batches counts, because other work on the
 * machine delays whole batches. For operations on a whole filter ("whole") the size is its bytes, and the time is in
 * ns per 1,000 bytes.
 *
 * The filters, each with as many bytes as a rate of 1 % needs:
 *
 *   floor        reads one word of the line that a hash names, or sets a bit of it: a filter cannot do less. The loads
 *                do not depend on each other, so the processor has many in flight
 *   floor, prefetched    does the same, and prefetches each line 64 hashes ahead
 *   classic      the plain Bloom filter: one array of bits, k positions by double hashing (Kirsch and Mitzenmacher
 *                2006)
 *   bf           one item at a time
 *   bf, many     128 at once, as aggregates do
 *
 * Keys are added to a filter that holds them, so filling has no part in it. Hashes are made outside of the time.
 */
#include "streambloom.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr double rate = 0.01;
constexpr size_t batch = 4096;
constexpr size_t ahead = 64;
constexpr size_t at_once = 128;
constexpr int64_t hour = INT64_C(3600000000);

/* keeps the compiler from leaving out what nobody looks at */
uint64_t sink;

/* SplitMix64: the i-th key's hash. */
uint64_t key(uint64_t i)
{
	uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x1234567);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

double now()
{
	using namespace std::chrono;
	return duration<double, std::nano>(steady_clock::now().time_since_epoch()).count();
}

void check(sb_status status)
{
	if (status != SB_OK)
	{
		std::fprintf(stderr, "core_growth: %s\n", sb_status_text(status));
		std::exit(1);
	}
}

double median(std::vector<double> &times)
{
	std::ranges::sort(times);
	return times[times.size() / 2];
}

/* Zeroed bytes; a filter's line of 64 is a line of the cache, as in aggregates. */
class Lines
{
public:
	explicit Lines(size_t bytes)
		: all_(bytes + 63), lines_(all_.data() + (-reinterpret_cast<uintptr_t>(all_.data()) & 63))
	{
	}
	unsigned char *data() { return lines_; }

private:
	std::vector<unsigned char> all_;
	unsigned char *lines_;
};

struct Series
{
	std::string what;
	std::string operation;
	std::function<void(const uint64_t *)> run; /* over `batch` hashes */
	uint64_t first;							   /* absent keys begin here; 0: present ones */
	std::vector<double> times;
};

void print(double size, const char *what, const char *operation, std::vector<double> &times, double bytes)
{
	const double middle = median(times);
	std::printf("%.0f\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.0f\n", size, what, operation, middle, times.front(), times.back(),
				bytes);
	std::fflush(stdout);
}

void items(uint64_t keys, int rounds)
{
	sb_bf bf;
	check(sb_bf_plan(keys, rate, false, &bf));
	const size_t bytes = sb_bf_size(&bf) - SB_BF_HEADER;
	Lines value(SB_BF_HEADER + bytes);
	unsigned char *lines = value.data() + SB_BF_HEADER;
	Lines word_lines(bytes);
	sb_lookup lookup;
	bf.kind.code = SB_KIND_INTEGER;
	sb_bf_encode_header(&bf, value.data());
	check(sb_lookup_open(&lookup, SB_LOOKUP_BF, value.data(), sb_bf_size(&bf), sb_bf_size(&bf)));
	auto *words = reinterpret_cast<uint64_t *>(word_lines.data());
	const uint64_t count = bf.line_count;
	auto word_of = [count](uint64_t hash) {
		return static_cast<size_t>((static_cast<sb_u128>(hash) * count) >> 64) * 8 + (hash & 7);
	};

	const auto bits = static_cast<uint64_t>(std::ceil(sb_bloom_bits(static_cast<double>(keys), rate)));
	const int hashes = static_cast<int>(
		std::lround(sb_bloom_hashes(static_cast<double>(bits), static_cast<double>(keys))));
	std::vector<uint64_t> classic((bits + 63) / 64);
	auto position = [bits](uint64_t hash) { return static_cast<uint64_t>((static_cast<sb_u128>(hash) * bits) >> 64); };

	auto floor_add = [&](const uint64_t *h) {
		for (size_t i = 0; i < batch; i++)
			words[word_of(h[i])] |= UINT64_C(1) << (h[i] >> 3 & 63);
	};
	auto floor_ask = [&](const uint64_t *h) {
		uint64_t sum = 0;
		for (size_t i = 0; i < batch; i++)
			sum += words[word_of(h[i])] >> (h[i] >> 3 & 63) & 1;
		sink += sum;
	};
	auto floor_add_ahead = [&](const uint64_t *h) {
		for (size_t i = 0; i < ahead; i++)
			__builtin_prefetch(&words[word_of(h[i])], 1);
		for (size_t i = 0; i < batch; i++)
		{
			__builtin_prefetch(&words[word_of(h[std::min(i + ahead, batch - 1)])], 1);
			words[word_of(h[i])] |= UINT64_C(1) << (h[i] >> 3 & 63);
		}
	};
	auto floor_ask_ahead = [&](const uint64_t *h) {
		uint64_t sum = 0;
		for (size_t i = 0; i < ahead; i++)
			__builtin_prefetch(&words[word_of(h[i])]);
		for (size_t i = 0; i < batch; i++)
		{
			__builtin_prefetch(&words[word_of(h[std::min(i + ahead, batch - 1)])]);
			sum += words[word_of(h[i])] >> (h[i] >> 3 & 63) & 1;
		}
		sink += sum;
	};
	auto classic_add = [&](const uint64_t *h) {
		for (size_t i = 0; i < batch; i++)
		{
			uint64_t hash = h[i];
			uint64_t step = std::rotl(hash, 32) | 1;
			for (int j = 0; j < hashes; j++, hash += step)
				classic[position(hash) / 64] |= UINT64_C(1) << (position(hash) % 64);
		}
	};
	auto classic_ask = [&](const uint64_t *h) {
		for (size_t i = 0; i < batch; i++)
		{
			uint64_t hash = h[i];
			uint64_t step = std::rotl(hash, 32) | 1;
			int j = 0;
			while (j < hashes && (classic[position(hash) / 64] >> (position(hash) % 64) & 1) != 0)
			{
				j++;
				hash += step;
			}
			sink += j == hashes;
		}
	};
	auto bf_add = [&](const uint64_t *h) {
		for (size_t i = 0; i < batch; i++)
			sb_bf_add_many(&bf, lines, &h[i], 1);
	};
	auto bf_ask = [&](const uint64_t *h) {
		for (size_t i = 0; i < batch; i++)
		{
			(void) !sb_lookup_item(&lookup, h[i]);
			sink += lookup.found;
		}
	};
	auto bf_add_many = [&](const uint64_t *h) {
		for (size_t i = 0; i < batch; i += at_once)
			sb_bf_add_many(&bf, lines, h + i, at_once);
	};
	auto bf_ask_many = [&](const uint64_t *h) {
		bool found[at_once];
		for (size_t i = 0; i < batch; i += at_once)
		{
			check(sb_bf_contains_many(&bf, lines, h + i, at_once, found));
			sink += found[i % at_once];
		}
	};

	std::vector<Series> all = {
		{"floor", "add", floor_add, 0, {}},
		{"floor, prefetched", "add", floor_add_ahead, 0, {}},
		{"classic", "add", classic_add, 0, {}},
		{"bf", "add", bf_add, 0, {}},
		{"bf, many", "add", bf_add_many, 0, {}},
		{"floor", "present", floor_ask, 0, {}},
		{"floor, prefetched", "present", floor_ask_ahead, 0, {}},
		{"classic", "present", classic_ask, 0, {}},
		{"bf", "present", bf_ask, 0, {}},
		{"bf, many", "present", bf_ask_many, 0, {}},
		{"classic", "absent", classic_ask, keys, {}},
		{"bf", "absent", bf_ask, keys, {}},
		{"bf, many", "absent", bf_ask_many, keys, {}},
	};

	std::vector<uint64_t> hash(batch);
	for (uint64_t next = 0; next < keys;)
	{
		for (uint64_t &h : hash)
			h = key(next++ % keys);
		floor_add(hash.data());
		classic_add(hash.data());
		bf_add_many(hash.data());
	}

	const int batches = keys > 1000000 ? 128 : 64; /* a stretch: a quarter or half a million items */
	uint64_t draw = 1;
	for (int round = 0; round <= rounds; round++) /* round 0 warms up */
		for (Series &series : all)
		{
			std::vector<double> times;
			for (int b = -4; b < batches; b++) /* the first bring back what the others drove out of the caches */
			{
				for (uint64_t &h : hash)
					h = key(series.first + key(draw++) % keys);
				double began = now();
				series.run(hash.data());
				if (b >= 0)
					times.push_back(now() - began);
			}
			if (round > 0)
				series.times.push_back(median(times) / static_cast<double>(batch));
		}
	for (Series &series : all)
		print(static_cast<double>(keys), series.what.c_str(), series.operation.c_str(), series.times,
			  static_cast<double>(series.what == "classic" ? classic.size() * 8 : bytes));
}

/* Bytes of a tbf of `keys` items with a hit each, one of them hot, so that flat counters have 16 bits. */
void decaying(uint64_t keys, uint8_t layout, sb_tbf *header, std::vector<unsigned char> *cells)
{
	sb_tbf tbf;
	sb_moment moment;
	uint64_t value;
	check(sb_tbf_plan(keys, rate, 7 * 24 * hour, hour, false, &tbf));
	tbf.kind.code = SB_KIND_INTEGER;
	tbf.layout = layout;
	sb_tbf_moment(tbf.half_life, tbf.epoch, 0, &moment);
	const sb_memory memory = {[](void *, size_t size) { return std::malloc(size); },
							  [](void *, void *block) { std::free(block); }, nullptr};
	sb_tbf_builder *builder;
	check(sb_tbf_builder_begin(&memory, &tbf, SB_TBF_SUMS_OF_ITEMS, false, &builder));
	for (uint64_t i = 0; i < keys; i++)
	{
		check(sb_tbf_hit(&moment, i == 0 ? 1000 : 1, &value));
		check(sb_tbf_builder_add_hit(builder, key(i), &moment, value));
	}
	void *stored;
	check(sb_tbf_builder_store(builder, &memory, 0, header, &stored));
	const unsigned char *bytes = static_cast<unsigned char *>(stored) + SB_TBF_HEADER;
	cells->assign(bytes, bytes + (sb_tbf_size(header) - SB_TBF_HEADER));
	std::free(stored);
	sb_tbf_builder_release(builder);
}

struct Pass
{
	const char *what;
	size_t bytes;
	std::function<void()> run;
	std::vector<double> times;
};

void whole(uint64_t keys, int rounds)
{
	sb_bf bf;
	check(sb_bf_plan(keys, rate, true, &bf));
	std::vector<unsigned char> lines(sb_bf_size(&bf) - SB_BF_HEADER);
	for (uint64_t i = 0; i < keys; i++)
	{
		const uint64_t hash = key(i);
		sb_bf_add_many(&bf, lines.data(), &hash, 1);
	}
	std::vector<unsigned char> other(lines.size());

	sb_tbf flat;
	sb_tbf extensible;
	std::vector<unsigned char> flat_cells;
	std::vector<unsigned char> extensible_cells;
	decaying(keys, SB_TBF_FLAT, &flat, &flat_cells);
	decaying(keys, SB_TBF_EXTENSIBLE, &extensible, &extensible_cells);
	std::vector<unsigned char> decayed(flat_cells.size());

	/* Decays to the same block again and again, whose pages are there. */
	const sb_memory same_block = {[](void *context, size_t size) -> void * {
									  auto *bytes = static_cast<std::vector<unsigned char> *>(context);
									  bytes->resize(size);
									  return bytes->data();
								  },
								  [](void *, void *) {}, &decayed};
	auto decay = [&same_block](const sb_tbf &header, const std::vector<unsigned char> &cells) {
		sb_tbf out;
		void *value;
		check(sb_tbf_decay(&header, cells.data(), 8 * 24 * hour, &same_block, 0, &out, &value));
	};
	auto copy = [&decayed](const std::vector<unsigned char> &cells) {
		decayed.resize(cells.size());
		std::memcpy(decayed.data(), cells.data(), cells.size());
	};
	auto measure = [&] {
		sb_bf_stats stats;
		check(sb_bf_measure(&bf, lines.data(), &stats));
		sink += stats.bits_set;
	};
	auto fold = [&] {
		sb_bf half = bf;
		std::memcpy(other.data(), lines.data(), lines.size());
		check(sb_bf_fold(&half, other.data(), 1, other.data()));
	};
	std::vector<Pass> all = {
		{"bf: memcpy", lines.size(), [&] { std::memcpy(other.data(), lines.data(), lines.size()); }, {}},
		{"bf: union", lines.size(), [&] { check(sb_bf_combine(&bf, other.data(), &bf, lines.data(), false)); }, {}},
		{"bf: bits set, cardinality", lines.size(), [&] { measure(); }, {}},
		{"bf: memcpy, then folded by half", lines.size(), [&] { fold(); }, {}},
		{"flat tbf: memcpy", flat_cells.size(), [&] { copy(flat_cells); }, {}},
		{"flat tbf: decay", flat_cells.size(), [&] { decay(flat, flat_cells); }, {}},
		{"extensible tbf: memcpy", extensible_cells.size(), [&] { copy(extensible_cells); }, {}},
		{"extensible tbf: decay", extensible_cells.size(), [&] { decay(extensible, extensible_cells); }, {}},
	};
	for (int round = 0; round <= rounds; round++)
		for (Pass &pass : all)
		{
			const size_t repeats = std::max<size_t>(1, 1000000 / pass.bytes);
			std::vector<double> times;
			pass.run(); /* so that the caches hold what they can, and all pages are there */
			for (int sample = 0; sample < 5; sample++)
			{
				double began = now();
				for (size_t i = 0; i < repeats; i++)
					pass.run();
				times.push_back(now() - began);
				if (times.back() > 5e8)
					break;
			}
			if (round > 0)
				pass.times.push_back(median(times) / static_cast<double>(repeats * pass.bytes) * 1000);
		}
	for (Pass &pass : all)
		print(static_cast<double>(pass.bytes), pass.what, "whole", pass.times, static_cast<double>(keys));
}

} // namespace

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
	std::vector<uint64_t> sizes;
	for (int i = 2; i < argc; i++)
		sizes.push_back(std::strtoull(argv[i], nullptr, 10));
	if (sizes.empty())
		sizes = {10000, 30000, 100000, 300000, 1000000, 3000000, 10000000, 30000000, 50000000};
	if (rounds < 1 || std::ranges::count(sizes, 0) > 0)
	{
		std::fprintf(stderr, "usage: core_growth [ROUNDS] [KEYS ...]\n");
		return 2;
	}
	for (uint64_t keys : sizes)
		items(keys, rounds);
	for (uint64_t keys : {uint64_t{10000}, std::min<uint64_t>(*std::ranges::max_element(sizes), 3000000)})
		whole(keys, std::min(rounds, 5));
	return sink == 1;
}
