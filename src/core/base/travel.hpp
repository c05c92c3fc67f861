/*
 * travel.hpp: the bytes in which a builder is sent to another process: written in the one, read in the other. Numbers
 * are little-endian. For the core only.
 */
#ifndef STREAMBLOOM_TRAVEL_HPP
#define STREAMBLOOM_TRAVEL_HPP

#include "base/bits.hpp"
#include "base/stop.hpp"
#include "streambloom.h"

namespace streambloom {

/* The bytes to be sent: a block that grows. */
class outgoing
{
public:
	outgoing(const sb_memory *memory, size_t in_front, size_t most) : memory_(memory), most_(most), used_(in_front) {}

	/*
	 * Makes room for `bytes` more. SB_TOO_LARGE: there would be more than `most`; used() counts these bytes as well.
	 */
	sb_status reserve(uint64_t bytes)
	{
		if (bytes > most_ || used_ > most_ - bytes)
		{
			used_ += bytes;
			return SB_TOO_LARGE;
		}
		return used_ + bytes > room_ ? enlarge(used_ + static_cast<size_t>(bytes)) : SB_OK;
	}

	/* Appends a number. REQUIRES: the room is reserved. */
	template <typename T>
	void number(T value)
	{
		store_le(end(), value);
		used_ += sizeof value;
	}
	void number(sb_u128 value)
	{
		number(static_cast<uint64_t>(value));
		number(static_cast<uint64_t>(value >> 64));
	}
	void flag(bool value) { number(static_cast<uint8_t>(value)); }

	/* Where the next byte goes; took() says how many bytes were written there. */
	unsigned char *end() { return block_ + used_; }
	void took(size_t bytes) { used_ += bytes; }

	size_t used() const { return used_; }
	unsigned char *block() { return block_; }
	void release()
	{
		if (block_ != nullptr)
			memory_->release(memory_->context, block_);
		block_ = nullptr;
	}

private:
	const sb_memory *memory_;
	size_t most_;
	size_t used_;
	size_t room_ = 0;
	unsigned char *block_ = nullptr;

	sb_status enlarge(size_t room)
	{
		auto *larger = static_cast<unsigned char *>(memory_->allocate(memory_->context, room));
		if (larger == nullptr)
			return SB_NO_MEMORY;
		const unsigned char *from = block_;
		sb_status status = SB_OK;
		if (from != nullptr)
			status = in_pieces(used_, bytes_at_once,
							   [=](size_t first, size_t count) { std::memcpy(larger + first, from + first, count); });
		release();
		block_ = larger;
		room_ = room;
		return status;
	}
};

/* The bytes received. If they end too early, number() returns 0, bytes() nullptr, and status() is SB_TRUNCATED. */
class incoming
{
public:
	incoming(const unsigned char *data, size_t size) : at_(data), left_(size) {}

	const unsigned char *bytes(uint64_t count)
	{
		const unsigned char *found = at_;
		if (count > left_)
		{
			truncated_ = true;
			return nullptr;
		}
		at_ += count;
		left_ -= static_cast<size_t>(count);
		return found;
	}
	template <typename T>
	T number()
	{
		const unsigned char *found = bytes(sizeof(T));
		return found != nullptr ? load_le<T>(found) : T{0};
	}
	int64_t integer() { return static_cast<int64_t>(number<uint64_t>()); }
	sb_u128 wide_number()
	{
		const auto low = number<uint64_t>();
		return static_cast<sb_u128>(number<uint64_t>()) << 64 | low;
	}
	bool flag()
	{
		const auto byte = number<uint8_t>();
		wrong_flag_ |= byte > 1;
		return byte != 0;
	}

	size_t left() const { return left_; }
	sb_status status() const
	{
		if (truncated_)
			return SB_TRUNCATED;
		return wrong_flag_ ? SB_BAD_HEADER : SB_OK;
	}

private:
	const unsigned char *at_;
	size_t left_;
	bool truncated_ = false;
	bool wrong_flag_ = false;
};

} // namespace streambloom

#endif
