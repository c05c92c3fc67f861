/*
 * bf_sparse.cpp: the sparse encoding of lines, in which a builder with lines may travel from a parallel worker
 * (bf_builder_travel.cpp). It is never stored.
 *
 * For each line the encoding has a word of 64 bits, and then the bytes of the line that are not zero, in order. Bit i
 * of the word is set if byte i of the line is not zero.
 */
#include "base/bits.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "bf/bf.hpp"

using namespace streambloom;

static constexpr size_t words = SB_BF_LINE / 8;
static constexpr size_t lines_at_once = bytes_at_once / SB_BF_LINE;
static constexpr uint64_t each_byte = UINT64_C(0x0101010101010101);

/* Each byte of the result is 1 if that byte of `word` is not zero, else 0. */
SB_KERNEL uint64_t used_bytes(uint64_t word)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
	return (((word & low) + low) | word) >> 7 & each_byte;
}

/* Bit i of the result is the lowest bit of byte i. */
SB_KERNEL uint64_t bit_of_each_byte(uint64_t ones)
{
	return ones * UINT64_C(0x0102040810204080) >> 56;
}

#if SB_HAS_AVX2_CODE

namespace {

/*
 * Operands of the shuffle instruction, for each subset of the eight bytes of a word. squeeze[subset] moves the bytes of
 * the subset to the front. spread[subset] moves the bytes at the front to the places of the subset. All other bytes of
 * the result are zero.
 */
struct shuffles
{
	alignas(8) uint8_t squeeze[256][8];
	alignas(8) uint8_t spread[256][8];
	constexpr shuffles() : squeeze{}, spread{}
	{
		constexpr uint8_t zero = 0x80;
		for (unsigned which = 0; which < 256; which++)
		{
			unsigned count = 0;
			for (unsigned byte = 0; byte < 8; byte++)
			{
				const bool wanted = (which >> byte & 1) != 0;
				squeeze[which][byte] = zero;
				spread[which][byte] = wanted ? static_cast<uint8_t>(count) : zero;
				if (wanted)
					squeeze[which][count++] = static_cast<uint8_t>(byte);
			}
		}
	}
};

} // namespace

constexpr shuffles shuffle;

/* The instructions pext and pdep could do this, too, but on some processors they take more than a hundred cycles. */
SB_AVX2 static inline uint64_t shuffled(uint64_t bytes, const uint8_t *how)
{
	const __m128i to = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(how));
	const __m128i from = _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
	return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_shuffle_epi8(from, to)));
}
#endif

/*
 * Moves the bytes of `word` whose bits are set in `which` to the low end, in order. REQUIRES: all other bytes of the
 * word are 0.
 */
template <sb_simd variant>
SB_KERNEL uint64_t squeeze(uint64_t word, uint64_t which)
{
#if SB_HAS_AVX2_CODE
	if constexpr (variant == SB_SIMD_AVX2)
		return shuffled(word, shuffle.squeeze[which]);
#endif
	uint64_t result = 0;
	for (unsigned shift = 0; which != 0; which >>= 1, word >>= 8)
	{
		result |= (word & 255) << shift;
		shift += static_cast<unsigned>(which & 1) * 8;
	}
	return result;
}

/* The inverse of squeeze(): moves the lowest bytes to the places whose bits are set in `which`. */
template <sb_simd variant>
SB_KERNEL uint64_t spread(uint64_t bytes, uint64_t which)
{
#if SB_HAS_AVX2_CODE
	if constexpr (variant == SB_SIMD_AVX2)
		return shuffled(bytes, shuffle.spread[which]);
#endif
	uint64_t result = 0;
	for (; which != 0; which &= which - 1, bytes >>= 8)
		result |= (bytes & 255) << (8 * std::countr_zero(which));
	return result;
}

template <sb_simd variant>
SB_KERNEL size_t sparse_size_kernel(const unsigned char *lines, size_t count)
{
	size_t size = count * sizeof(uint64_t);
	for (size_t i = 0; i < count * words; i++)
		size += ones_of<variant>(used_bytes(load_le<uint64_t>(lines + 8 * i)));
	return size;
}
static size_t sparse_size(const unsigned char *lines, size_t count);
SB_VARIANTS(size_t, sparse_size, (const unsigned char *lines, size_t count), (lines, count))

sb_status streambloom::size_sparse_lines(const sb_bf *bf, const void *lines, size_t *size)
{
	*size = 0;
	return in_pieces(bf->line_count, lines_at_once, [&](size_t first, size_t count) {
		*size += sparse_size(static_cast<const unsigned char *>(lines) + first * SB_BF_LINE, count);
	});
}

template <sb_simd variant>
SB_KERNEL unsigned char *write_sparse_kernel(const unsigned char *lines, size_t count, unsigned char *out)
{
	for (size_t line = 0; line < count; line++, lines += SB_BF_LINE)
	{
		uint64_t which = 0;
		unsigned char *to = out + sizeof which;
		for (size_t i = 0; i < words; i++)
		{
			const uint64_t word = load_le<uint64_t>(lines + 8 * i);
			const uint64_t here = bit_of_each_byte(used_bytes(word));
			which |= here << (8 * i);
			store_le(to, squeeze<variant>(word, here)); /* the next store overwrites the zeros at the end */
			to += ones_of<variant>(here);
		}
		store_le(out, which);
		out = to;
	}
	return out;
}
static unsigned char *write_sparse(const unsigned char *lines, size_t count, unsigned char *out);
SB_VARIANTS(unsigned char *, write_sparse, (const unsigned char *lines, size_t count, unsigned char *out),
			(lines, count, out))

sb_status streambloom::write_sparse_lines(const sb_bf *bf, const void *lines, void *out)
{
	auto *to = static_cast<unsigned char *>(out);
	return in_pieces(bf->line_count, lines_at_once, [&](size_t first, size_t count) {
		to = write_sparse(static_cast<const unsigned char *>(lines) + first * SB_BF_LINE, count, to);
	});
}

/* Returns where the encoding of `count` lines ends, or NULL if it goes beyond `end`. */
template <sb_simd variant>
SB_KERNEL const unsigned char *skip_lines_kernel(const unsigned char *sparse, const unsigned char *end, size_t count)
{
	for (size_t line = 0; line < count; line++)
	{
		if (end - sparse < static_cast<ptrdiff_t>(sizeof(uint64_t)))
			return nullptr;
		const uint32_t bytes = ones_of<variant>(load_le<uint64_t>(sparse));
		sparse += sizeof(uint64_t);
		if (end - sparse < static_cast<ptrdiff_t>(bytes))
			return nullptr;
		sparse += bytes;
	}
	return sparse;
}
static const unsigned char *skip_lines(const unsigned char *sparse, const unsigned char *end, size_t count);
SB_VARIANTS(const unsigned char *, skip_lines, (const unsigned char *sparse, const unsigned char *end, size_t count),
			(sparse, end, count))

sb_status streambloom::check_sparse_lines(const sb_bf *bf, const void *sparse, size_t size)
{
	const auto *at = static_cast<const unsigned char *>(sparse);
	const unsigned char *end = at + size;
	sb_status status = in_pieces(bf->line_count, lines_at_once, [&](size_t, size_t count) {
		if (at != nullptr)
			at = skip_lines(at, end, count);
	});
	return status == SB_OK && at != end ? SB_BAD_LENGTH : status;
}

/* lines |= `count` sparse lines. Returns where their encoding ends. */
template <sb_simd variant>
SB_KERNEL const unsigned char *or_sparse_kernel(unsigned char *lines, size_t count, const unsigned char *sparse,
												const unsigned char *end)
{
	for (size_t line = 0; line < count; line++, lines += SB_BF_LINE)
	{
		uint64_t which = load_le<uint64_t>(sparse);
		sparse += sizeof which;
		for (size_t i = 0; i < words; i++, which >>= 8)
		{
			unsigned char *to = lines + 8 * i;
			store_le(to, load_le<uint64_t>(to) | spread<variant>(load_up_to(sparse, end), which & 255));
			sparse += ones_of<variant>(which & 255);
		}
	}
	return sparse;
}
static const unsigned char *or_sparse(unsigned char *lines, size_t count, const unsigned char *sparse,
									  const unsigned char *end);
SB_VARIANTS(const unsigned char *, or_sparse,
			(unsigned char *lines, size_t count, const unsigned char *sparse, const unsigned char *end),
			(lines, count, sparse, end))

sb_status streambloom::or_sparse_lines(const sb_bf *bf, void *lines, const void *sparse, size_t size)
{
	const auto *at = static_cast<const unsigned char *>(sparse);
	const unsigned char *end = at + size;
	return in_pieces(bf->line_count, lines_at_once, [&](size_t first, size_t count) {
		at = or_sparse(static_cast<unsigned char *>(lines) + first * SB_BF_LINE, count, at, end);
	});
}
