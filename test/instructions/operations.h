/*
 * operations.h: what the operations share: fixed input, memory, and the counter.
 */
#ifndef STREAMBLOOM_TEST_OPERATIONS_H
#define STREAMBLOOM_TEST_OPERATIONS_H

#include "streambloom.h"

#include <valgrind/callgrind.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace operations {

constexpr size_t many = 100000;
constexpr size_t batch = 128; /* aggregates and window functions hand over items in such batches */
constexpr double rate = 0.01;
constexpr int64_t hour = INT64_C(3600000000);
constexpr int64_t week = 7 * 24 * hour;

using Hashes = std::vector<uint64_t>;
using Bytes = std::vector<unsigned char>;

/* Ends the program unless an operation has done its work. */
inline void demand(bool condition, const char *what)
{
	if (condition)
		return;
	std::fprintf(stderr, "wrong result: %s\n", what);
	std::exit(1);
}

inline void ok(sb_status status)
{
	demand(status == SB_OK, sb_status_text(status));
}

/* SplitMix64: the i-th of a fixed sequence of random numbers. */
inline uint64_t random_bits(uint64_t i)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Returns `count` hashes: those of the items number first .. first + distinct - 1, again and again. */
inline Hashes hashes_of(size_t count, uint64_t distinct, uint64_t first = 0)
{
	Hashes hashes(count);
	for (size_t i = 0; i < count; i++)
		hashes[i] = random_bits(first + i % distinct);
	return hashes;
}

/*
 * Memory that is taken from one large block and is never given back, so that no instructions of a C library's malloc()
 * are counted.
 */
class Memory
{
public:
	Memory() : bytes_(static_cast<unsigned char *>(std::calloc(room, 1)))
	{
		demand(bytes_ != nullptr, "no memory");
		memory_ = {allocate, [](void *, void *) {}, this};
	}
	~Memory() { std::free(bytes_); }
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	operator const sb_memory *() const { return &memory_; }

private:
	static constexpr size_t room = size_t{64} << 20;

	static void *allocate(void *context, size_t size)
	{
		Memory *self = static_cast<Memory *>(context);
		const size_t at = (self->used_ + 63) & ~size_t{63};
		if (size > room || at > room - size)
			return nullptr;
		self->used_ = at + size;
		return self->bytes_ + at;
	}

	unsigned char *bytes_;
	size_t used_ = 0;
	sb_memory memory_;
};

/* Says which part of an operation is counted: what lies between begin() and end(). */
class Counter
{
public:
	Counter(const std::string &name, bool counts) : name_(name), counts_(counts) {}
	void begin() const
	{
		if (counts_)
			CALLGRIND_START_INSTRUMENTATION;
	}
	void end(uint64_t items) const
	{
		if (!counts_)
			return;
		CALLGRIND_STOP_INSTRUMENTATION;
		CALLGRIND_DUMP_STATS_AT(name_.c_str());
		std::printf("%s %" PRIu64 "\n", name_.c_str(), items);
	}

private:
	std::string name_;
	bool counts_;
};

/* Looks items up one by one, as `f @> item` does for a value that is in memory. Half of them were added. */
template <typename Found>
void look_up(const Counter &counter, sb_lookup_type type, const Bytes &value, uint64_t added, Found found)
{
	const Hashes hashes = hashes_of(many, 2 * added);
	size_t sum = 0;
	counter.begin();
	for (uint64_t hash : hashes)
	{
		sb_lookup lookup;
		ok(sb_lookup_open(&lookup, type, value.data(), value.size(), value.size()));
		ok(sb_lookup_item(&lookup, hash));
		sum += found(&lookup);
	}
	counter.end(many);
	demand(sum >= many / 2 && sum < many / 100 * 53, "the items that were found");
}

inline bool is_found(const sb_lookup *lookup)
{
	return lookup->found;
}

/* An operation that is counted. */
struct Operation
{
	const char *name;
	void (*run)(const Counter &counter);
	bool has_kernels; /* it is counted with AVX2, too */
};

extern const std::vector<Operation> of_bf;
extern const std::vector<Operation> of_tbf;
extern const std::vector<Operation> of_streams;
extern const std::vector<Operation> of_index;

} // namespace operations

#endif
