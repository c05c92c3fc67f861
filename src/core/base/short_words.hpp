/*
 * short_words.hpp: words in as many bytes as they need, for what travels between processes and is never stored. Each
 * two words begin with a byte that has their lengths, 0 to 8, in its lower and its higher four bits; then come the
 * bytes of the words, the lowest first. For the core only.
 */
#ifndef STREAMBLOOM_SHORT_WORDS_HPP
#define STREAMBLOOM_SHORT_WORDS_HPP

#include "base/bits.hpp"

namespace streambloom {

/* So many bytes take `count` words at most. A writer may also write to the eight bytes behind them. */
constexpr uint64_t most_short_words(uint64_t count)
{
	return count * sizeof(uint64_t) + (count + 1) / 2;
}

inline unsigned bytes_of_word(uint64_t word)
{
	return (71u - static_cast<unsigned>(std::countl_zero(word))) / 8;
}

/* Writes `count` words, and returns where the next byte goes. */
inline unsigned char *put_short_words(unsigned char *out, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i += 2)
	{
		const uint64_t second = i + 1 < count ? words[i + 1] : 0;
		const unsigned length = bytes_of_word(words[i]);
		const unsigned second_length = bytes_of_word(second);
		*out = static_cast<unsigned char>(length | second_length << 4);
		store_le(out + 1, words[i]);
		store_le(out + 1 + length, second);
		out += 1 + length + second_length;
	}
	return out;
}

/* The word of so many bytes that begins here. */
inline uint64_t take_short_word(const unsigned char *from, const unsigned char *end, unsigned length)
{
	const uint64_t bytes = load_up_to(from, end);
	return length >= 8 ? bytes : bytes & ((UINT64_C(1) << (8 * length)) - 1);
}

/*
 * Reads `count` words, and returns where the next byte is; NULL: the bytes end before, or are none that
 * put_short_words() writes.
 */
inline const unsigned char *take_short_words(const unsigned char *from, const unsigned char *end, uint64_t *words,
											 size_t count)
{
	for (size_t i = 0; i < count; i += 2)
	{
		if (from == end)
			return nullptr;
		const unsigned length = *from & 15u;
		const unsigned second_length = *from >> 4;
		from++;
		if (length > 8 || second_length > 8 || static_cast<size_t>(end - from) < length + second_length ||
			(i + 1 == count && second_length != 0))
			return nullptr;
		words[i] = take_short_word(from, end, length);
		if (i + 1 < count)
			words[i + 1] = take_short_word(from + length, end, second_length);
		from += length + second_length;
	}
	return from;
}

} // namespace streambloom

#endif
