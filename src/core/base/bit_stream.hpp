/*
 * bit_stream.hpp: numbers written as strings of bits, and read again: the lowest bit of a byte comes first. A number of a fixed
 * width begins with its lowest bit, too. The gamma code (Elias 1975) of a number of z + 1 digits is z zeros, a one, and the z lower
 * bits. For the core only.
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

/* Bits on their way into bytes. */
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

	/* Where the next byte goes, after the last one was filled up. */
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

/* As bit_writer, but it counts only. */
class bit_meter
{
  public:
	void put(uint64_t, int count) { bits_ += static_cast<uint64_t>(count); }
	void put_wide(uint64_t, int count) { bits_ += static_cast<uint64_t>(count); }
	void zeros_and_one(uint64_t zeros) { bits_ += zeros + 1; }
	size_t bytes() const { return static_cast<size_t>((bits_ + 7) / 8); }

  private:
	uint64_t bits_ = 0;
};

/* The gamma code of a value above 0, to a bit_writer or a bit_meter. */
template <typename Bits>
inline void put_gamma(Bits *bits, uint64_t value)
{
	const int zeros = static_cast<int>(std::bit_width(value)) - 1;
	bits->zeros_and_one(static_cast<uint64_t>(zeros));
	bits->put_wide(lower_bits(value, zeros), zeros);
}

/* Bits out of bytes that may be anything. After the last one there are zeros, and ok() is false once one of those was taken. */
class bit_reader
{
  public:
	bit_reader(const unsigned char *begin, const unsigned char *end) : begin_(begin), end_(end) {}

	/* The number of the next `count` bits, 0 .. 63. */
	uint64_t get(int count)
	{
		const uint64_t value = lower_bits(next_64(), count);
		bit_ += static_cast<size_t>(count);
		return value;
	}

	/* How many zeros come before the next one, which is taken too; more than `most` are not ok. */
	uint64_t zeros_before_one(uint64_t most)
	{
		uint64_t zeros = 0;
		for (;;)
		{
			const uint64_t bits = next_64();
			const int run = std::countr_zero(bits);
			zeros += static_cast<uint64_t>(run);
			bit_ += static_cast<size_t>(run);
			if (zeros > most)
				failed_ = true;
			if (bits != 0 || zeros > most)
				break;
		}
		bit_++;
		return std::min(zeros, most);
	}

	/* A gamma code of at most 63 digits. */
	uint64_t gamma()
	{
		const int zeros = static_cast<int>(zeros_before_one(62));
		return UINT64_C(1) << zeros | get(zeros);
	}

	/* Is less than a byte left, and that zero? */
	bool is_at_end() const
	{
		const size_t bits = static_cast<size_t>(end_ - begin_) * 8;
		return bit_ <= bits && bits - bit_ < 8 && next_64() == 0;
	}

	bool ok() const { return !failed_ && bit_ <= static_cast<size_t>(end_ - begin_) * 8; }

  private:
	uint64_t next_64() const
	{
		const size_t size = static_cast<size_t>(end_ - begin_);
		const size_t byte = bit_ / 8;
		const int skip = static_cast<int>(bit_ % 8);
		if (byte >= size)
			return 0;
		const uint64_t low = load_up_to(begin_ + byte, end_) >> skip;
		return skip == 0 || byte + 8 >= size ? low : low | static_cast<uint64_t>(begin_[byte + 8]) << (64 - skip);
	}

	const unsigned char *begin_;
	const unsigned char *end_;
	size_t bit_ = 0;
	bool failed_ = false;
};

} // namespace streambloom

#endif
