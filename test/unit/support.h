/*
 * support.h: what the unit tests share: random numbers and hashes, buffers and memory that the sanitizers watch, kinds
 * of items, look-ups, a bf that owns its memory, and sets of hashes.
 *
 * All randomness comes from std::mt19937_64 with a seed written in the test, so a failure comes back.
 */
#ifndef STREAMBLOOM_TEST_SUPPORT_H
#define STREAMBLOOM_TEST_SUPPORT_H

#include "streambloom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace test {

using Random = std::mt19937_64;

inline double uniform(Random &random)
{
	return static_cast<double>(random() >> 11) * 0x1p-53;
}

/*
 * Returns a number from low to high, both included. The remainder makes it slightly uneven, which does not matter
 * here.
 */
inline int64_t between(Random &random, int64_t low, int64_t high)
{
	auto width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
	return static_cast<int64_t>(static_cast<uint64_t>(low) + (width ? random() % width : random()));
}

/*
 * Zeroed bytes that begin at an odd address and end where their allocation ends. The core must not need any
 * alignment: UBSan sees loads that assume one, and ASan sees reads beyond the end.
 */
class Bytes
{
public:
	explicit Bytes(size_t size = 0) { memory_.resize(size + 1); }
	Bytes(const void *data, size_t size)
	{
		const auto *from = static_cast<const unsigned char *>(data);
		memory_.reserve(size + 1);
		memory_.push_back(0);
		memory_.insert(memory_.end(), from, from + size);
	}

	unsigned char *data() { return memory_.data() + 1; }
	const unsigned char *data() const { return memory_.data() + 1; }
	size_t size() const { return memory_.size() - 1; }
	unsigned char &operator[](size_t i) { return memory_[i + 1]; }
	unsigned char operator[](size_t i) const { return memory_[i + 1]; }
	friend bool operator==(const Bytes &, const Bytes &) = default;
	friend Bytes operator+(const Bytes &a, const Bytes &b)
	{
		Bytes sum;
		sum.memory_.reserve(1 + a.size() + b.size());
		sum.memory_.insert(sum.memory_.end(), a.memory_.begin() + 1, a.memory_.end());
		sum.memory_.insert(sum.memory_.end(), b.memory_.begin() + 1, b.memory_.end());
		return sum;
	}

private:
	std::vector<unsigned char> memory_;
};

/* Compares values. If they differ, it prints the place of the difference, not megabytes. */
inline ::testing::AssertionResult same_bytes(const Bytes &a, const Bytes &b)
{
	if (a == b)
		return ::testing::AssertionSuccess();
	if (a.size() != b.size())
		return ::testing::AssertionFailure() << "sizes differ: " << a.size() << " and " << b.size();
	size_t at = 0;
	size_t differing = 0;
	for (size_t i = a.size(); i-- > 0;)
		if (a[i] != b[i])
		{
			at = i;
			differing++;
		}
	return ::testing::AssertionFailure() << differing << " of " << a.size() << " bytes differ, first at " << at << ": "
										 << int{a[at]} << " and " << int{b[at]};
}

inline sb_kind kind_of(sb_kind_code code, uint32_t detail = 0)
{
	sb_kind kind{};
	kind.code = static_cast<uint16_t>(code);
	kind.detail = detail;
	return kind;
}

inline sb_kind named_kind(const std::string &name, uint32_t detail)
{
	sb_kind kind = kind_of(SB_KIND_NAMED, detail);
	std::memcpy(kind.name, name.data(), std::min<size_t>(name.size(), SB_KIND_NAME_SIZE - 1));
	return kind;
}

/* ------------------------------------------------------------------- look-ups */

/*
 * Makes a look-up like a caller that reads a stored value piece by piece. Each piece is in memory of its own, which
 * ends where the piece ends and is freed when the next piece comes. read(offset, size) reads a piece; `first` bytes
 * are handed over at first.
 */
template <typename Read>
sb_status look_up(sb_lookup *lookup, sb_lookup_type type, uint64_t hash, size_t first, size_t total, Read read)
{
	Bytes piece = read(size_t{0}, std::min(first, total));
	sb_status status = sb_lookup_open(lookup, type, piece.data(), piece.size(), total);
	if (status == SB_OK)
		status = sb_lookup_item(lookup, hash);
	while (status == SB_NEED_BYTES)
	{
		size_t offset = lookup->need.offset;
		size_t size = lookup->need.size;
		EXPECT_GT(lookup->need.enough, 0u);
		EXPECT_LE(lookup->need.enough, size);
		if (offset > total || size > total - offset)
		{
			ADD_FAILURE() << "asks for " << size << " bytes from " << offset << " of " << total;
			return SB_BAD_LENGTH;
		}
		if (hash % 2 == 0)
			size = lookup->need.enough; /* for half of the hashes the core gets only need.enough bytes */
		piece = read(offset, size);
		status = sb_lookup_next(lookup, piece.data(), size);
	}
	return status;
}

/* Makes a look-up, piece by piece, in a value in memory, of which `first` bytes are handed over at first. */
inline sb_status look_up(sb_lookup *lookup, sb_lookup_type type, uint64_t hash, const Bytes &value,
						 size_t first = SB_LOOKUP_FIRST)
{
	return look_up(lookup, type, hash, first, value.size(),
				   [&](size_t offset, size_t size) { return Bytes(value.data() + offset, size); });
}

/* Makes a look-up, piece by piece, in a value given as its header and its cells. The header is handed over at first. */
inline sb_status look_up(sb_lookup *lookup, sb_lookup_type type, uint64_t hash, const Bytes &header, const Bytes &cells)
{
	return look_up(lookup, type, hash, header.size(), header.size() + cells.size(), [&](size_t offset, size_t size) {
		return offset == 0 ? header : Bytes(cells.data() + (offset - header.size()), size);
	});
}

/*
 * An allocator for tests. Its blocks are filled with rubbish and counted, and have exactly the size asked for, so
 * ASan sees reads beyond the end. A test can make allocations fail. The destructor expects that all blocks were
 * released.
 */
class Memory
{
public:
	sb_memory memory{allocate, release, this};
	uint64_t blocks = 0;			/* that are allocated now */
	uint64_t bytes = 0;				/* the size of all these blocks */
	uint64_t most_bytes = 0;		/* the largest value that `bytes` had */
	uint64_t allocations = 0;		/* number of calls since the beginning, failed ones included */
	uint64_t fails_at = UINT64_MAX; /* allocation number fails_at and all later ones fail; the first is number 0 */

	Memory() = default;
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	~Memory() { EXPECT_EQ(blocks, 0u) << "not released"; }

	operator const sb_memory *() const { return &memory; }

private:
	static constexpr size_t in_front = 16; /* bytes before a block, for its size */

	static void *allocate(void *context, size_t size)
	{
		auto *self = static_cast<Memory *>(context);
		if (self->allocations++ >= self->fails_at)
			return nullptr;
		auto *block = static_cast<unsigned char *>(::operator new(in_front + size));
		std::memcpy(block, &size, sizeof size);
		std::memset(block + in_front, 0xa7, size);
		self->blocks++;
		self->bytes += size;
		self->most_bytes = std::max(self->most_bytes, self->bytes);
		return block + in_front;
	}
	static void release(void *context, void *block)
	{
		auto *self = static_cast<Memory *>(context);
		size_t size;
		std::memcpy(&size, static_cast<unsigned char *>(block) - in_front, sizeof size);
		self->blocks--;
		self->bytes -= size;
		::operator delete(static_cast<unsigned char *>(block) - in_front);
	}
};

/* ------------------------------------------------------------------------ bf */

struct Bf
{
	sb_bf parameters{};
	Bytes lines; /* of an exact filter: its items */

	explicit Bf(const sb_bf &from) : parameters(from), lines(sb_bf_size(&from) - SB_BF_HEADER) {}
	Bf(uint32_t line_count, uint8_t hashes, double fpr = 0.01)
	{
		parameters.kind = kind_of(SB_KIND_INTEGER);
		parameters.line_count = line_count;
		parameters.hash_count = hashes;
		parameters.fpr = fpr;
		lines = Bytes(sb_bf_size(&parameters) - SB_BF_HEADER);
	}
	/*
	 * Makes a filter of these items that sizes itself. It is exact up to SB_BF_EXACT_ITEMS items; with more it has
	 * lines, with room for further items.
	 */
	static Bf exact(const sb_bf &like, const std::vector<uint64_t> &hashes)
	{
		const Memory memory;
		sb_bf_builder builder;
		sb_bf header;
		EXPECT_EQ(sb_bf_builder_begin_union(&builder, memory, &like), SB_OK);
		EXPECT_EQ(sb_bf_builder_add_many(&builder, hashes.data(), hashes.size(), false), SB_OK);
		EXPECT_EQ(sb_bf_builder_plan(&builder, true, &header), SB_OK);
		Bf result(header);
		EXPECT_EQ(sb_bf_builder_write(&builder, &header, result.lines.data()), SB_OK);
		sb_bf_builder_release(&builder);
		return result;
	}
	static Bf planned(uint64_t items, double fpr)
	{
		sb_bf parameters;
		EXPECT_EQ(sb_bf_plan(items, fpr, false, &parameters), SB_OK);
		return Bf(parameters);
	}

	void add(uint64_t hash) { sb_bf_add_many(&parameters, lines.data(), &hash, 1); }
	void add(const std::vector<uint64_t> &hashes)
	{
		for (uint64_t hash : hashes)
			add(hash);
	}
	bool contains(uint64_t hash) const
	{
		bool found = false;
		EXPECT_EQ(sb_bf_contains_many(&parameters, lines.data(), &hash, 1, &found), SB_OK);
		return found;
	}
	bool contains(const std::vector<uint64_t> &hashes) const
	{
		for (uint64_t hash : hashes)
			if (!contains(hash))
				return false;
		return true;
	}
	sb_bf_stats measured() const
	{
		sb_bf_stats stats;
		EXPECT_EQ(sb_bf_measure(&parameters, lines.data(), &stats), SB_OK);
		return stats;
	}
	Bytes value() const
	{
		Bytes header(SB_BF_HEADER);
		sb_bf_encode_header(&parameters, header.data());
		return header + lines;
	}
};

/* a | b and a & b, made as sb_bf.h says: plan the union, make a zeroed (or widened) copy, combine. */
inline Bf united(const Bf &a, const Bf &b)
{
	sb_bf parameters;
	sb_difference difference;
	EXPECT_EQ(sb_bf_plan_union(&a.parameters, &b.parameters, &parameters, &difference), SB_OK);
	Bf result(parameters);
	EXPECT_EQ(sb_bf_combine(&result.parameters, result.lines.data(), &a.parameters, a.lines.data(), false), SB_OK);
	EXPECT_EQ(sb_bf_combine(&result.parameters, result.lines.data(), &b.parameters, b.lines.data(), false), SB_OK);
	return result;
}

inline Bf intersected(const Bf &a, const Bf &b)
{
	sb_bf parameters;
	sb_difference difference;
	EXPECT_EQ(sb_bf_plan_union(&a.parameters, &b.parameters, &parameters, &difference), SB_OK);
	Bf result(parameters);
	EXPECT_EQ(sb_bf_combine(&result.parameters, result.lines.data(), &a.parameters, a.lines.data(), false), SB_OK);
	EXPECT_EQ(sb_bf_combine(&result.parameters, result.lines.data(), &b.parameters, b.lines.data(), true), SB_OK);
	return result;
}

inline std::vector<uint64_t> random_hashes(uint64_t seed, size_t count)
{
	Random random(seed);
	std::vector<uint64_t> hashes(count);
	for (uint64_t &hash : hashes)
		hash = random();
	return hashes;
}

/* Makes an empty set in these words, which are zeros. `secret` chooses its secret; 0 means none. */
inline sb_hash_set set_over(std::vector<uint64_t> &slots, uint64_t capacity, uint32_t beside, uint64_t secret = 0)
{
	sb_hash_set set{};
	set.slots = slots.data();
	set.capacity = capacity;
	set.beside = beside;
	set.secret[0] = secret;
	set.secret[1] = secret * UINT64_C(0xd6e8feb86659fd93);
	return set;
}

} // namespace test

#endif
