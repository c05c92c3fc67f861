/* tbf_packed_read.cpp: reads packed blocks (tbf_packed.hpp): opens one, takes it apart, reads one counter of it. */
#include "tbf/tbf_packed.hpp"
#include "base/simd.hpp"

#include <algorithm>

namespace streambloom {

/* ---------------------------------------------------------------- bit strings */

/* Returns code number `index` of a string of codes that lies before `end`. A code has `width` bits, up to 32. */
static uint64_t code_at(const unsigned char *bits, const unsigned char *end, uint64_t index, int width)
{
	uint64_t first = index * static_cast<uint64_t>(width);
	uint64_t word = load_up_to(bits + first / 8, end) >> (first % 8);
	return word & ((UINT64_C(1) << width) - 1);
}

/*
 * Counts the bits from .. to - 1 that are set. It first counts the bits in each byte, adds these counts up over up to
 * 17 words, byte by byte, and then adds the 8 sums. It does not use std::popcount, which would be a function call,
 * because not every x86-64 has an instruction for it. REQUIRES: `from` is a multiple of 8.
 */
static uint64_t ones_between(const unsigned char *bits, uint64_t from, uint64_t to)
{
	constexpr uint64_t even_bytes = UINT64_C(0x00ff00ff00ff00ff);
	constexpr uint64_t most_words = 16; /* 8 * 17 fits a byte; 64 * 17, the sum of all, fits 16 bits */
	uint64_t ones = 0;
	while (to > from)
	{
		uint64_t sums = 0;
		for (uint64_t words = std::min((to - from) / 64, most_words); words > 0; words--, from += 64)
			sums += ones_in_bytes(load_le<uint64_t>(bits + from / 8));
		if (to - from < 64)
		{
			uint64_t rest = load_up_to(bits + from / 8, bits + bytes_for(to));
			sums += ones_in_bytes(rest & ((UINT64_C(1) << (to - from)) - 1));
			from = to;
		}
		sums = (sums & even_bytes) + (sums >> 8 & even_bytes);
		ones += sums * UINT64_C(0x0001000100010001) >> 48;
	}
	return ones;
}

/* ---------------------------------------------------------------- unpacking */

static const unsigned char *more_of(const packed_block &block, const unsigned char *codes, int i)
{
	return codes + bytes_for(uint64_t{block.l.codes[i]} * static_cast<uint64_t>(block.l.width[i]));
}

bool open_block(const void *data, size_t size, uint32_t cells, packed_block *out)
{
	const auto *bytes = static_cast<const unsigned char *>(data);
	if (size < 3)
		return false;
	out->cells = cells;
	out->l.count = bytes[0];
	out->l.nonzero = load_le<uint16_t>(bytes + 1);
	if (out->l.count > most_levels || out->l.nonzero == 0 || out->l.nonzero > cells ||
		size < head_size(cells, out->l.count))
		return false;

	const unsigned char *counts = bytes + 3 + out->l.count;
	int bits = 0;
	for (int i = 0; i < out->l.count; i++)
	{
		out->l.width[i] = bytes[3 + i];
		out->l.codes[i] = i == 0 ? out->l.nonzero : load_le<uint16_t>(counts + 2 * (i - 1));
		bits += out->l.width[i];
		if (out->l.width[i] == 0 || out->l.width[i] > widest_code || bits > most_levels || out->l.codes[i] == 0 ||
			(i > 0 && out->l.codes[i] > out->l.codes[i - 1]))
			return false;
	}
	out->samples = counts + 2 * std::max(out->l.count - 1, 0);
	out->bitmap = bytes + head_size(cells, out->l.count);
	out->level = out->bitmap + cells / 8;
	out->end = bytes + size;
	return packed_size(cells, out->l) == size;
}

/* Calls add(j, code) for each code of a level. */
template <typename Add>
SB_KERNEL void read_codes(const unsigned char *bits, const unsigned char *end, uint32_t count, int width, Add add)
{
	const uint64_t mask = (UINT64_C(1) << width) - 1;
	const auto step = static_cast<uint64_t>(width);

	/* easy: how many codes can be read by loading eight bytes from the byte on in which they begin */
	auto have = static_cast<uint64_t>(end - bits);
	auto easy = static_cast<uint32_t>(have < 8 ? 0 : std::min<uint64_t>(count, (have - 8) * 8 / step + 1));
	uint32_t j = 0;
	uint64_t first = 0;
	if (width <= 14) /* four codes lie in the same eight bytes, wherever the first begins */
		for (; j + 4 <= easy; j += 4, first += 4 * step)
		{
			uint64_t four = load_le<uint64_t>(bits + first / 8) >> (first % 8);
			add(j, four & mask);
			add(j + 1, four >> step & mask);
			add(j + 2, four >> 2 * step & mask);
			add(j + 3, four >> 3 * step & mask);
		}
	for (; j < easy; j++, first += step)
		add(j, load_le<uint64_t>(bits + first / 8) >> (first % 8) & mask);
	for (; j < count; j++)
		add(j, code_at(bits, end, j, width));
}

template <sb_simd variant>
SB_KERNEL bool take_block_apart_kernel(const packed_block *block, gathered *out)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < block->cells / 64; i++)
	{
		uint64_t word = load_le<uint64_t>(block->bitmap + size_t{8} * i);
		out->bitmap[i] = word;
		out->before[i] = static_cast<uint16_t>(count);
		count += ones_of<variant>(word);
	}
	out->count = count;
	if (count != block->l.nonzero)
		return false;
	if (block->l.count == 0)
	{
		std::memset(out->codes, 0, count * sizeof *out->codes);
		return true;
	}

	uint16_t place[SB_TBF_BLOCK]; /* from level 2 on: for each code, the index in `values` of its counter */
	const unsigned char *codes = block->level;
	int shift = block->l.width[0];
	uint64_t *values = out->codes;
	read_codes(
		codes, block->end, count,
		shift, [values](uint32_t j, uint64_t code) __attribute__((always_inline)) { values[j] = code; });
	for (int i = 1; i < block->l.count; i++)
	{
		const unsigned char *more = more_of(*block, codes, i - 1);
		codes = more + bytes_for(count);
		uint32_t going_on = 0;
		for (uint32_t first = 0; first < count; first += 64)
		{
			uint64_t word = load_up_to(more + first / 8, codes);
			if (count - first < 64)
				word &= (UINT64_C(1) << (count - first)) - 1;
			for (; word != 0; word &= word - 1)
			{
				uint32_t j = first + static_cast<uint32_t>(std::countr_zero(word));
				place[going_on++] = i == 1 ? static_cast<uint16_t>(j) : place[j];
			}
		}
		if (going_on != block->l.codes[i])
			return false;
		count = going_on;
		const uint16_t *to = place;
		read_codes(
			codes, block->end, count, block->l.width[i],
			[ values, to, shift ](uint32_t j, uint64_t code)
				__attribute__((always_inline)) { values[to[j]] += code << shift; });
		shift += block->l.width[i];
	}
	return true;
}
static bool take_block_apart(const packed_block *block, gathered *out);
SB_VARIANTS(bool, take_block_apart, (const packed_block *block, gathered *out), (block, out))

bool take_apart(const void *data, size_t size, uint32_t cells, gathered *out)
{
	packed_block block;
	return open_block(data, size, cells, &block) && take_block_apart(&block, out);
}

template <sb_simd variant>
SB_KERNEL void scatter_kernel(const gathered *block, uint32_t cells, uint64_t *counters)
{
	const uint64_t *code = block->codes;
	std::memset(counters, 0, cells * sizeof *counters);
	for (uint32_t i = 0; i < cells / 64; i++)
		for (uint64_t word = block->bitmap[i]; word != 0; word &= word - 1)
			counters[i * 64 + static_cast<uint32_t>(std::countr_zero(word))] = *code++ + 1;
}
SB_VARIANTS(void, scatter, (const gathered *block, uint32_t cells, uint64_t *counters), (block, cells, counters))

bool packed_counter(const packed_block &block, uint32_t index, uint64_t *out)
{
	uint32_t sample = index / sample_every;
	uint64_t rank = sample == 0 ? 0 : load_le<uint16_t>(block.samples + size_t{2} * (sample - 1));
	rank += ones_between(block.bitmap, uint64_t{sample} * sample_every, index);

	const unsigned char *codes = block.level;
	uint64_t value = 1;
	int shift = 0;
	for (int i = 0; i < block.l.count; i++)
	{
		if (rank >= block.l.codes[i])
			return false;
		const unsigned char *more = more_of(block, codes, i);
		value += code_at(codes, block.end, rank, block.l.width[i]) << shift;
		if (i + 1 == block.l.count || !packed_bit(more, rank))
			break;
		shift += block.l.width[i];
		rank = ones_between(more, 0, rank);
		codes = more + bytes_for(block.l.codes[i]);
	}
	*out = value;
	return true;
}

} // namespace streambloom
