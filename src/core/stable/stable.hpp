/*
 * stable.hpp: packed cells of d bits (1 to 8), and what else the files of the stable filters share. stable.cpp and
 * stable_step.cpp have the code that is the same for sbf and ibf; sbf.cpp and ibf.cpp have what differs.
 *
 * The payload is the bytes of the cells. Cell i has the bits d * i .. d * i + d - 1 of the payload; bit b of the
 * payload is bit b % 8 of byte b / 8. The bits after the last cell in its byte are zero. decrement_run() takes 1 from
 * each cell of a run of neighbours, in groups of whole cells that a 64-bit word holds. stable_run.hpp does the same
 * faster, but may read and write bytes behind the run.
 */
#ifndef STREAMBLOOM_STABLE_HPP
#define STREAMBLOOM_STABLE_HPP

#include "base/bits.hpp"
#include "base/header.hpp"
#include "streambloom.h"

#include <algorithm>

namespace streambloom {

inline size_t stable_payload(const sb_stable *stable)
{
	return static_cast<size_t>((static_cast<uint64_t>(stable->cell_count) * stable->bits + 7) / 8);
}

/* The number of bytes of the sample of importances behind the cells: 0 unless the filter ranks importances. */
inline size_t sample_bytes(const sb_stable *stable)
{
	return stable->ranked ? SB_STABLE_SAMPLE_BYTES : 0;
}

/* The number of the i-th cell of an item, 0 <= i < K. The cells are drawn independently, so two may be the same. */
inline uint32_t cell_of(const sb_stable *stable, uint64_t hash, int i)
{
	const uint64_t mixed = mix(hash + static_cast<uint64_t>(i + 1) * random_step);
	return static_cast<uint32_t>(multiply_high(mixed, stable->cell_count));
}

/* The generator of all stable filters: SplitMix64 (Steele, Lea, Flood 2014). Advances the state, returns 64 bits. */
inline uint64_t draw(uint64_t *state)
{
	*state += random_step;
	return mix(*state);
}

/* How many cells fit in a 64-bit word of which up to 7 low bits may belong to another cell. */
constexpr unsigned cells_of_group(unsigned bits)
{
	return (64 - 7) / bits;
}

/* of[d]: a word with a 1 at the lowest bit of each cell of a group (cells_of_group()) of cells of d bits. */
struct lowest_bits_table
{
	uint64_t of[SB_STABLE_MAX_BITS + 1];
};
constexpr lowest_bits_table lowest_bits = [] {
	lowest_bits_table table{};
	for (unsigned bits = 1; bits <= SB_STABLE_MAX_BITS; bits++)
		for (unsigned i = 0; i < cells_of_group(bits); i++)
			table.of[bits] |= uint64_t{1} << (i * bits);
	return table;
}();

inline uint64_t low_mask(unsigned bits)
{
	return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

/* Loads eight bytes, little-endian. If only `have` bytes are there, the others are taken as zeros. */
inline uint64_t load_up_to(const unsigned char *from, size_t have)
{
	if (have >= 8)
		return load_le<uint64_t>(from);
	uint64_t word = 0;
	for (size_t i = 0; i < have; i++)
		word |= static_cast<uint64_t>(from[i]) << (8 * i);
	return word;
}

inline void store_up_to(unsigned char *to, size_t have, uint64_t word)
{
	if (have >= 8)
		store_le(to, word);
	else
		for (size_t i = 0; i < have; i++)
			to[i] = static_cast<unsigned char>(word >> (8 * i));
}

/*
 * `fields` is a word that consists of fields of `bits` bits, such as cells. Returns a 1 at the lowest bit of each field
 * that is not zero. `lowest` has a 1 at the lowest bit of each field.
 */
inline uint64_t nonzero_fields(uint64_t fields, unsigned bits, uint64_t lowest)
{
	uint64_t any = fields;
	for (unsigned i = 1; i < bits; i++)
		any |= fields >> i;
	return any & lowest;
}

/*
 * The two bytes that hold all bits of a cell, from byte `at` of the payload on; the cell begins at their bit `shift`. A
 * payload has at least two bytes, so no branch is needed for cells that lie in one byte only.
 */
struct cell_window
{
	size_t at;
	unsigned shift;
};

inline cell_window window_of(unsigned bits, uint64_t cell)
{
	uint64_t bit = cell * bits;
	uint64_t last = (bit + bits - 1) / 8;
	uint64_t at = last - (last != 0);
	return {static_cast<size_t>(at), static_cast<unsigned>(bit - at * 8)};
}

inline uint8_t get_cell(const unsigned char *cells, unsigned bits, uint64_t cell)
{
	cell_window window = window_of(bits, cell);
	return static_cast<uint8_t>(uint64_t{load_le<uint16_t>(cells + window.at)} >> window.shift & low_mask(bits));
}

inline void put_cell(unsigned char *cells, unsigned bits, uint64_t cell, uint8_t value)
{
	cell_window window = window_of(bits, cell);
	auto mask = static_cast<unsigned>(low_mask(bits)) << window.shift;
	unsigned word = load_le<uint16_t>(cells + window.at);
	store_le(cells + window.at, static_cast<uint16_t>((word & ~mask) | static_cast<unsigned>(value) << window.shift));
}

/* The sum of two counts, at most SB_STABLE_MAX_STEPS. */
inline uint64_t counted(uint64_t count, uint64_t more)
{
	return more >= SB_STABLE_MAX_STEPS - count ? SB_STABLE_MAX_STEPS : count + more;
}

/*
 * Takes 1 from each of the `count` cells from cell number `first` on; cells that are zero stay zero. `size` is the
 * number of bytes of the payload. REQUIRES: first + count is at most the number of cells.
 */
inline void decrement_cells(unsigned char *cells, size_t size, unsigned bits, uint64_t first, uint64_t count)
{
	const unsigned group = cells_of_group(bits);
	const uint64_t lowest = lowest_bits.of[bits];
	uint64_t bit = first * bits;

	while (count > 0)
	{
		auto taken = static_cast<unsigned>(std::min<uint64_t>(count, group));
		size_t at = static_cast<size_t>(bit / 8);
		unsigned shift = bit % 8;
		uint64_t word = load_up_to(cells + at, size - at);
		uint64_t fields = word >> shift & low_mask(taken * bits);

		/* only fields of at least 1 lose 1, so nothing is borrowed from the next field */
		store_up_to(cells + at, size - at, word - (nonzero_fields(fields, bits, lowest) << shift));
		count -= taken;
		bit += static_cast<uint64_t>(taken) * bits;
	}
}

/*
 * Does what decrement_cells() does, but at the end of the filter it goes on with cell 0. `all_cells` is the number of
 * cells. REQUIRES: first < all_cells, count <= all_cells.
 */
inline void decrement_run(unsigned char *cells, size_t size, unsigned bits, uint64_t all_cells, uint64_t first,
						  uint64_t count)
{
	uint64_t before_end = std::min<uint64_t>(count, all_cells - first);

	decrement_cells(cells, size, bits, first, before_end);
	decrement_cells(cells, size, bits, 0, count - before_end);
}

/* The two ways to evict in a step: at random (sbf.cpp), and by value (ibf.cpp). */
void evict_run(sb_stable *stable, unsigned char *cells);
void evict_by_value(sb_stable *stable, unsigned char *cells);

/*
 * For the sample of importances behind the cells (ibf.cpp): sample_is_valid() checks a sample, unite_samples() unites
 * two.
 */
bool sample_is_valid(const sb_stable *stable, const unsigned char *cells);
void unite_samples(const sb_stable *stable, unsigned char *dst, const unsigned char *src);

/*
 * Evicts at random as Deng and Rafiei (2006) do: the P cells of a step are drawn one by one. Only a test calls it, to
 * compare it with evict_run().
 */
void evict_scattered(sb_stable *stable, unsigned char *cells);

} // namespace streambloom

#endif
