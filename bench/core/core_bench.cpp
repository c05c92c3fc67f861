/*
 * core_bench.cpp: measures the time per item of bf and tbf, beside the classic Bloom filter of one bit array and k
 * independent positions. All are sized for the same number of keys at the same rate. One thread; results are
 * nanoseconds per item and items per second.
 *
 *   core_bench                 10,000 and 1 million keys: a filter in the caches, and one at their edge
 *   core_bench --large         50 million keys too: each probe is a cache miss
 *   core_bench --benchmark_filter='contains' ...     as Google Benchmark's own options say
 */
#include "base/simd.hpp"
#include "streambloom.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr double rate = 0.01;
constexpr size_t batch = 4096; /* keys asked for in a round; their hashes are at hand, so only the filter is timed */

/* SplitMix64: the i-th key's hash, so that no table of hashes shares the caches with the filter. */
uint64_t key(uint64_t i)
{
	uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x1234567);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t keys_of(const benchmark::State &state)
{
	return static_cast<uint64_t>(state.range(0));
}

/* The plain filter of the slides: one array of bits, k positions by double hashing (Kirsch and Mitzenmacher 2006). */
class Classic
{
public:
	explicit Classic(uint64_t items)
		: bits_(static_cast<uint64_t>(std::ceil(sb_bloom_bits(static_cast<double>(items), rate)))),
		  hashes_(
			  static_cast<int>(std::lround(sb_bloom_hashes(static_cast<double>(bits_), static_cast<double>(items))))),
		  words_((bits_ + 63) / 64)
	{
	}
	void add(uint64_t hash)
	{
		uint64_t step = std::rotl(hash, 32) | 1;
		for (int i = 0; i < hashes_; i++, hash += step)
		{
			uint64_t bit = position(hash);
			words_[bit / 64] |= UINT64_C(1) << (bit % 64);
		}
	}
	bool contains(uint64_t hash) const
	{
		uint64_t step = std::rotl(hash, 32) | 1;
		for (int i = 0; i < hashes_; i++, hash += step)
		{
			uint64_t bit = position(hash);
			if ((words_[bit / 64] >> (bit % 64) & 1) == 0)
				return false;
		}
		return true;
	}
	double bytes() const { return static_cast<double>(words_.size() * 8); }

private:
	uint64_t position(uint64_t hash) const { return static_cast<uint64_t>((static_cast<sb_u128>(hash) * bits_) >> 64); }

	uint64_t bits_;
	int hashes_;
	std::vector<uint64_t> words_;
};

class Blocked
{
public:
	explicit Blocked(uint64_t items)
	{
		if (sb_bf_plan(items, rate, false, &bf_) != SB_OK)
			std::abort();
		bf_.kind.code = SB_KIND_INTEGER;
		all_.resize(sb_bf_size(&bf_) + 63);
		unsigned char *value = all_.data() + (-reinterpret_cast<uintptr_t>(all_.data()) & 63); /* as in aggregates */
		lines_ = value + SB_BF_HEADER;
		sb_bf_encode_header(&bf_, value);
		if (sb_lookup_open(&lookup_, SB_LOOKUP_BF, value, sb_bf_size(&bf_), sb_bf_size(&bf_)) != SB_OK)
			std::abort();
	}
	Blocked(const Blocked &) = delete;
	Blocked &operator=(const Blocked &) = delete;
	void add(uint64_t hash) { sb_bf_add_many(&bf_, lines_, &hash, 1); }
	bool contains(uint64_t hash)
	{
		(void) !sb_lookup_item(&lookup_, hash);
		return lookup_.found;
	}
	void contains_all(const uint64_t *hashes, size_t count, bool *found) const
	{
		(void) !sb_bf_contains_many(&bf_, lines_, hashes, count, found);
	}
	void add_all(const uint64_t *hashes, size_t count) { sb_bf_add_many(&bf_, lines_, hashes, count); }
	double bytes() const { return static_cast<double>(all_.size() - 63 - SB_BF_HEADER); }
	const sb_bf &parameters() const { return bf_; }
	const unsigned char *lines() const { return lines_; }

private:
	sb_bf bf_;
	std::vector<unsigned char> all_;
	unsigned char *lines_;
	sb_lookup lookup_;
};

/* The lower bound for filters with lines: touches one byte of an item's line, with many items in flight. */
class Floor : public Blocked
{
public:
	explicit Floor(uint64_t items)
		: Blocked(items), bytes_(static_cast<size_t>(bytes())), lines_(parameters().line_count)
	{
	}
	void add_all(const uint64_t *hashes, size_t count)
	{
		for (size_t i = 0; i < count; i++)
			bytes_[size_t{sb_bf_line_of(lines_, hashes[i])} * SB_BF_LINE] |= static_cast<unsigned char>(hashes[i]);
	}
	void contains_all(const uint64_t *hashes, size_t count, bool *found) const
	{
		for (size_t i = 0; i < count; i++)
			found[i] = bytes_[size_t{sb_bf_line_of(lines_, hashes[i])} * SB_BF_LINE] != 0;
	}

private:
	std::vector<unsigned char> bytes_;
	uint32_t lines_;
};

/* Aggregates collect this many hashes before they add them. */
constexpr size_t waiting = 128;

template <typename Filter>
void add_batches(benchmark::State &state)
{
	uint64_t keys = keys_of(state);
	Filter filter(keys);
	uint64_t hashes[waiting];
	uint64_t next = 0;
	for (auto _ : state)
	{
		for (size_t i = 0; i < batch; i += waiting)
		{
			for (auto &hash : hashes)
				hash = key(next++ % keys);
			filter.add_all(hashes, waiting);
		}
		benchmark::ClobberMemory();
	}
	state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
}

template <typename Filter>
void contains_batches(benchmark::State &state)
{
	uint64_t keys = keys_of(state);
	Filter filter(keys);
	uint64_t hashes[waiting];
	bool there[waiting];
	uint64_t next = 0;
	uint64_t found = 0;
	for (uint64_t i = 0; i < keys; i++)
	{
		uint64_t hash = key(i);
		filter.add_all(&hash, 1);
	}
	for (auto _ : state)
		for (size_t i = 0; i < batch; i += waiting)
		{
			for (auto &hash : hashes)
				hash = key(next++ % keys);
			filter.contains_all(hashes, waiting, there);
			for (bool is : there)
				found += is;
		}
	benchmark::DoNotOptimize(found);
	state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
}

/* Runs a benchmark on the portable code, without AVX2. */
template <void (*function)(benchmark::State &)>
void portable(benchmark::State &state)
{
	(void) streambloom::choose_simd(streambloom::SB_SIMD_PORTABLE);
	function(state);
	(void) streambloom::choose_simd(streambloom::SB_SIMD_AVX2);
}

template <typename Filter>
void add(benchmark::State &state)
{
	uint64_t keys = keys_of(state);
	Filter filter(keys);
	uint64_t next = 0;
	for (auto _ : state)
	{
		for (size_t i = 0; i < batch; i++)
			filter.add(key(next++ % keys));
		benchmark::ClobberMemory();
	}
	state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
	state.counters["bytes"] = filter.bytes();
}

/* Looks keys up: keys that were added if `present` is set, else other keys. */
template <typename Filter>
void contains(benchmark::State &state, bool present)
{
	uint64_t keys = keys_of(state);
	Filter filter(keys);
	for (uint64_t i = 0; i < keys; i++)
		filter.add(key(i));
	uint64_t next = 0;
	uint64_t found = 0;
	for (auto _ : state)
		for (size_t i = 0; i < batch; i++)
			found += filter.contains(key(present ? next++ % keys : keys + next++));
	benchmark::DoNotOptimize(found);
	state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
	state.counters["found"] = static_cast<double>(found) / static_cast<double>(next);
	state.counters["bytes"] = filter.bytes();
}

template <typename Filter>
void contains_present(benchmark::State &state)
{
	contains<Filter>(state, true);
}

template <typename Filter>
void contains_absent(benchmark::State &state)
{
	contains<Filter>(state, false);
}

/* ----------------------------------------------------------------------- tbf */

/* The state of tbf_agg: the sums of the hits of one hour, with a half-life of a week. */
class Decaying
{
public:
	static constexpr int64_t hour = INT64_C(3600000000);

	explicit Decaying(uint64_t items)
	{
		if (sb_tbf_plan(items, rate, 7 * 24 * hour, hour, false, &tbf_) != SB_OK)
			std::abort();
		tbf_.kind.code = SB_KIND_INTEGER;
		if (sb_tbf_builder_begin(&memory_, &tbf_, SB_TBF_SUMS_OF_CELLS, false, &builder_) != SB_OK)
			std::abort();
	}
	~Decaying() { sb_tbf_builder_release(builder_); }
	Decaying(const Decaying &) = delete;
	Decaying &operator=(const Decaying &) = delete;

	/* Like an aggregate whose rows come in order of time: the moment is computed once for each epoch. */
	void at(int64_t time)
	{
		sb_tbf_moment(tbf_.half_life, tbf_.epoch, time, &moment_);
		if (sb_tbf_hit(&moment_, 1, &value_) != SB_OK)
			std::abort();
	}
	void add(uint64_t hash)
	{
		if (sb_tbf_builder_add_hit(builder_, hash, &moment_, value_) != SB_OK)
			std::abort();
	}
	size_t store()
	{
		void *value;
		if (sb_tbf_builder_store(builder_, &memory_, 0, &stored_header_, &value) != SB_OK)
			std::abort();
		const unsigned char *bytes = static_cast<unsigned char *>(value);
		stored_.assign(bytes, bytes + sb_tbf_size(&stored_header_));
		std::free(value);
		return stored_.size() - SB_TBF_HEADER;
	}
	/* All that a query does for a count, except hashing the item. */
	double count(uint64_t hash, int64_t time) const
	{
		sb_lookup lookup;
		if (sb_lookup_open(&lookup, SB_LOOKUP_TBF, stored_.data(), stored_.size(), stored_.size()) != SB_OK ||
			sb_lookup_item(&lookup, hash) != SB_OK)
			std::abort();
		return sb_tbf_count(&lookup.header.tbf, lookup.units, time);
	}
	double bytes() const { return static_cast<double>(sb_tbf_cells(&tbf_) * 8); }

private:
	sb_tbf tbf_;
	sb_tbf stored_header_{};
	sb_memory memory_ = {[](void *, size_t size) { return std::malloc(size); },
						 [](void *, void *block) { std::free(block); }, nullptr};
	sb_tbf_builder *builder_ = nullptr;
	sb_moment moment_{};
	uint64_t value_ = 0;
	std::vector<unsigned char> stored_;
};

void tbf_add(benchmark::State &state)
{
	uint64_t keys = keys_of(state);
	Decaying filter(keys);
	uint64_t next = 0;
	int64_t hours = 0;
	for (auto _ : state)
	{
		filter.at(++hours % 1000 * Decaying::hour);
		for (size_t i = 0; i < batch; i++)
			filter.add(key(next++ % keys));
		benchmark::ClobberMemory();
	}
	state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
	state.counters["bytes"] = filter.bytes();
}

/* The worst order: every row has an epoch of its own. */
void tbf_moment(benchmark::State &state)
{
	uint64_t next = 0;
	for (auto _ : state)
	{
		sb_moment moment;
		uint64_t value;
		sb_tbf_moment(7 * 24 * Decaying::hour, Decaying::hour, static_cast<int64_t>(key(next++) >> 10), &moment);
		benchmark::DoNotOptimize(sb_tbf_hit(&moment, 1, &value));
		benchmark::DoNotOptimize(value);
	}
	state.SetItemsProcessed(state.iterations());
}

void tbf_store(benchmark::State &state)
{
	uint64_t keys = keys_of(state);
	Decaying filter(keys);
	filter.at(0);
	for (uint64_t i = 0; i < keys; i++)
		filter.add(key(i));
	size_t stored = 0;
	for (auto _ : state)
		stored = filter.store();
	state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys));
	state.counters["bytes"] = static_cast<double>(stored);
}

void tbf_count(benchmark::State &state)
{
	uint64_t keys = keys_of(state);
	Decaying filter(keys);
	filter.at(0);
	for (uint64_t i = 0; i < keys; i++)
		filter.add(key(i));
	filter.store();
	uint64_t next = 0;
	double sum = 0;
	for (auto _ : state)
		for (size_t i = 0; i < batch; i++)
			sum += filter.count(key(next++ % keys), 100 * Decaying::hour);
	benchmark::DoNotOptimize(sum);
	state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
}

/* ----------------------------------------------------------------- whole filters */

void bf_measure(benchmark::State &state)
{
	uint64_t keys = keys_of(state);
	Blocked filter(keys);
	for (uint64_t i = 0; i < keys; i++)
		filter.add(key(i));
	for (auto _ : state)
	{
		sb_bf_stats stats;
		if (sb_bf_measure(&filter.parameters(), filter.lines(), &stats) != SB_OK)
			std::abort();
		benchmark::DoNotOptimize(stats);
	}
	state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(filter.bytes()));
}

void bf_union(benchmark::State &state)
{
	Blocked source(keys_of(state));
	std::vector<unsigned char> target(static_cast<size_t>(source.bytes()));
	for (auto _ : state)
	{
		if (sb_bf_combine(&source.parameters(), target.data(), &source.parameters(), source.lines(), false) != SB_OK)
			std::abort();
		benchmark::ClobberMemory();
	}
	state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(source.bytes()));
}

/* Two rates take turns, because the core remembers the plan of the last rate. */
void bf_plan(benchmark::State &state)
{
	double fpr = rate;
	for (auto _ : state)
	{
		sb_bf bf;
		benchmark::DoNotOptimize(sb_bf_plan(1000000, fpr, false, &bf));
		fpr = 1.5 * rate - fpr;
	}
}

void hash_int64(benchmark::State &state)
{
	int64_t next = 0;
	for (auto _ : state)
		benchmark::DoNotOptimize(sb_hash_int64(next++));
	state.SetItemsProcessed(state.iterations());
}

void hash_bytes(benchmark::State &state)
{
	std::vector<unsigned char> text(static_cast<size_t>(state.range(0)), 'x');
	for (auto _ : state)
	{
		benchmark::DoNotOptimize(sb_hash_bytes(text.data(), text.size()));
		text[0]++;
	}
	state.SetBytesProcessed(state.iterations() * state.range(0));
}

void of_sizes(const std::string &name, void (*function)(benchmark::State &), bool large)
{
	auto *bench = benchmark::RegisterBenchmark(name.c_str(), function);
	bench->Arg(10000)->Arg(1000000);
	if (large)
		bench->Arg(50000000);
}

} // namespace

int main(int argc, char **argv)
{
	char **end = std::remove_if(argv + 1, argv + argc,
								[](const char *word) { return std::strcmp(word, "--large") == 0; });
	bool large = end != argv + argc;
	argc = static_cast<int>(end - argv);

	of_sizes("classic/add", add<Classic>, large);
	of_sizes("bf/add", add<Blocked>, large);
	of_sizes("bf/add/batches", add_batches<Blocked>, large);
	of_sizes("bf/add/batches/portable", portable<add_batches<Blocked>>, large);
	of_sizes("floor/add/batches", add_batches<Floor>, large);
	of_sizes("bf/contains/batches", contains_batches<Blocked>, large);
	of_sizes("bf/contains/batches/portable", portable<contains_batches<Blocked>>, large);
	of_sizes("floor/contains/batches", contains_batches<Floor>, large);
	of_sizes("tbf/add", tbf_add, large);
	of_sizes("classic/contains/present", contains_present<Classic>, large);
	of_sizes("bf/contains/present", contains_present<Blocked>, large);
	of_sizes("classic/contains/absent", contains_absent<Classic>, large);
	of_sizes("bf/contains/absent", contains_absent<Blocked>, large);
	of_sizes("tbf/count", tbf_count, large);
	of_sizes("tbf/store", tbf_store, large);
	of_sizes("bf/measure", bf_measure, large);
	of_sizes("bf/union", bf_union, large);
	benchmark::RegisterBenchmark("tbf/moment", tbf_moment);
	benchmark::RegisterBenchmark("bf/plan", bf_plan);
	benchmark::RegisterBenchmark("hash/int64", hash_int64);
	benchmark::RegisterBenchmark("hash/bytes", hash_bytes)->Arg(16)->Arg(64)->Arg(1024);

	benchmark::Initialize(&argc, argv);
	if (benchmark::ReportUnrecognizedArguments(argc, argv))
		return 1;
	benchmark::RunSpecifiedBenchmarks();
	benchmark::Shutdown();
	return 0;
}
