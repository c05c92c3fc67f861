/*
 * bits.hpp: little-endian loads and stores, and integer operations that the C++ library does not have. Buffers need no
 * alignment. This header is for the core only, so it does not compile in a file that includes postgres.h.
 */
#ifndef STREAMBLOOM_BITS_HPP
#define STREAMBLOOM_BITS_HPP

#ifdef POSTGRES_H
#error "core headers are not for files that include postgres.h: use streambloom.h"
#endif

#include <bit>
#include <cstdint>
#include <cstring>

namespace streambloom {

__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

template <typename T>
constexpr T byte_swapped(T value)
{
	if constexpr (sizeof(T) == 1)
		return value;
	else if constexpr (sizeof(T) == 2)
		return static_cast<T>(__builtin_bswap16(value));
	else if constexpr (sizeof(T) == 4)
		return __builtin_bswap32(value);
	else
		return __builtin_bswap64(value);
}

/* Loads a little-endian integer. T is uint8_t, uint16_t, uint32_t or uint64_t. */
template <typename T>
inline T load_le(const void *from)
{
	T value;
	std::memcpy(&value, from, sizeof value);
	if constexpr (std::endian::native == std::endian::big)
		value = byte_swapped(value);
	return value;
}

template <typename T>
inline void store_le(void *to, T value)
{
	if constexpr (std::endian::native == std::endian::big)
		value = byte_swapped(value);
	std::memcpy(to, &value, sizeof value);
}

/* Loads eight bytes, little-endian. Bytes from `end` on are taken as zeros. */
inline uint64_t load_up_to(const unsigned char *from, const unsigned char *end)
{
	if (end - from >= 8)
		return load_le<uint64_t>(from);
	uint64_t value = 0;
	for (int i = 0; from + i < end; i++)
		value |= static_cast<uint64_t>(from[i]) << (8 * i);
	return value;
}

/*
 * Returns the high 64 bits of the product. multiply_high(hash, n) cuts all hashes into n equal ranges and returns the
 * number of the hash's range, 0 .. n - 1. If n is even, multiply_high(hash, n / 2) is half that number, rounded down.
 */
constexpr uint64_t multiply_high(uint64_t a, uint64_t b)
{
	return static_cast<uint64_t>((static_cast<u128>(a) * b) >> 64);
}

/* What SplitMix64 adds to its state: 2^64 divided by the golden ratio, as an odd number. */
inline constexpr uint64_t random_step = UINT64_C(0x9e3779b97f4a7c15);

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit of x influences every bit of the result. */
constexpr uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Quotient rounded towards minus infinity. REQUIRES: b > 0. */
constexpr int64_t floor_divide(int64_t a, int64_t b)
{
	int64_t quotient = a / b;
	return quotient - ((a % b != 0 && a < 0) ? 1 : 0);
}

/* ceil(value / 2^shift), for any shift >= 0. */
constexpr uint64_t shift_right_up(uint64_t value, uint64_t shift)
{
	if (shift >= 64)
		return value != 0;
	uint64_t cut = value >> shift;
	return cut + ((cut << shift) != value);
}

constexpr u128 shift_right_up(u128 value, uint64_t shift)
{
	if (shift >= 128)
		return value != 0;
	u128 cut = value >> shift;
	return cut + ((cut << shift) != value);
}

/* log2 of a power of two, or -1. */
constexpr int exact_log2(uint64_t value)
{
	return std::has_single_bit(value) ? std::countr_zero(value) : -1;
}

/* Returns j if big is small * 2^j, else -1. REQUIRES: both > 0. */
constexpr int doublings(uint64_t small, uint64_t big)
{
	return (big % small == 0) ? exact_log2(big / small) : -1;
}

} // namespace streambloom

#endif
