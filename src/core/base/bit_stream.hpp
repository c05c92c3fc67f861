/*
 * bit_stream.hpp: writes numbers as bits, one after the other, and reads them again. The lowest bit of a byte comes
 * first, and so does the lowest bit of a number. The gamma code (Elias 1975) is for numbers whose width is not fixed. A
 * number of z + 1 binary digits is written as z zeros, a one, and its z lower digits: 5, in binary 101, is written as
 * 0 0 1 1 0. For the core only.
 */
#ifndef STREAMBLOOM_BIT_STREAM_HPP
#define STREAMBLOOM_BIT_STREAM_HPP

#include "base/bits.hpp"

#include <algorithm>

namespace streambloom {

/* value mod 2^count, 0 <= count <= 63. */
constexpr uint64_t lower_bits(uint64_t value, int count)
{
	return value & ((UINT64_C(1) << count) - 1);
}

/* Writes bits into bytes. */
class bit_writer
{
public:
	explicit bit_writer(unsigned char *out) : out_(out) {}

	/* REQUIRES: count <= 56, value < 2^count */
	void put(uint64_t value, int count)
	{
		pending_ |= value << used_;
		used_ += count;
		for (; used_ >= 8; used_ -= 8)
		{
			*out_++ = static_cast<unsigned char>(pending_);
			pending_ >>= 8;
		}
	}
	/* Like put(), for count <= 63. */
	void put_wide(uint64_t value, int count)
	{
		const int low = std::min(count, 32);
		put(value & ((UINT64_C(1) << low) - 1), low);
		put(value >> low, count - low);
	}
	void zeros_and_one(uint64_t zeros)
	{
		for (; zeros >= 32; zeros -= 32)
			put(0, 32);
		put(UINT64_C(1) << zeros, static_cast<int>(zeros) + 1);
	}
	void put_gamma(uint64_t value)
	{
		int zeros = static_cast<int>(std::bit_width(value)) - 1;
		put_wide(0, zeros);
		put(1, 1);
		put_wide(lower_bits(value, zeros), zeros);
	}

	/* Fills the last byte up with zeros. Returns where the next byte goes. */
	unsigned char *finish()
	{
		if (used_ > 0)
			put(0, 8 - used_);
		return out_;
	}

private:
	unsigned char *out_;
	uint64_t pending_ = 0;
	int used_ = 0;
};

/* The number of bits of the gamma code of `value`. REQUIRES: value > 0. */
constexpr size_t gamma_bits(uint64_t value)
{
	return 2 * static_cast<size_t>(std::bit_width(value)) - 1;
}

/* Reads bits from bytes that may hold anything. After the last byte it reads zeros, and then ok() is false. */
class bit_reader
{
public:
	bit_reader(const unsigned char *begin, const unsigned char *end) : begin_(begin), end_(end) {}

	/* Reads a number of `count` bits, 0 <= count <= 63. */
	uint64_t get(int count)
	{
		const uint64_t value = lower_bits(next_64(), count);
		bit_ += static_cast<size_t>(count);
		return value;
	}

	/*
	 * Reads a gamma code and returns its number. If there is none, or if it stands for a number of more than 63
	 * digits, returns 0, and ok() is false from then on.
	 */
	uint64_t gamma()
	{
		const uint64_t bits = next_64();
		const int zeros = std::countr_zero(bits);
		if (zeros > 62)
		{
			failed_ = true;
			return 0;
		}
		bit_ += static_cast<size_t>(zeros) + 1;
		return UINT64_C(1) << zeros | get(zeros);
	}

	/* The next read begins at bit number `bit`. */
	void seek(size_t bit) { bit_ = bit; }

	/* True if fewer than eight bits are left, and they are all zero. */
	bool is_at_end() const
	{
		const size_t bits = static_cast<size_t>(end_ - begin_) * 8;
		return bit_ <= bits && bits - bit_ < 8 && next_64() == 0;
	}

	bool ok() const { return !failed_ && bit_ <= static_cast<size_t>(end_ - begin_) * 8; }

	/*
	 * Returns the number in the `count` bits from bit number `bit` on, 0 <= count <= 63. The next get() is not
	 * affected.
	 */
	uint64_t at(size_t bit, int count) const { return lower_bits(word_at(bit), count); }

	/* Returns the 64 bits from bit number `bit` on, with zeros after the last byte. */
	uint64_t word_at(size_t bit) const
	{
		const size_t size = static_cast<size_t>(end_ - begin_);
		const size_t byte = bit / 8;
		const int skip = static_cast<int>(bit % 8);
		if (byte >= size)
			return 0;
		const uint64_t low = load_up_to(begin_ + byte, end_) >> skip;
		return skip == 0 || byte + 8 >= size ? low : low | static_cast<uint64_t>(begin_[byte + 8]) << (64 - skip);
	}

private:
	uint64_t next_64() const { return word_at(bit_); }

	const unsigned char *begin_;
	const unsigned char *end_;
	size_t bit_ = 0;
	bool failed_ = false;
};

} // namespace streambloom

#endif
