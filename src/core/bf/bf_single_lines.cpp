/*
 * bf_single_lines.cpp: single lines of 64 bytes, for filters that are not stored as one value: the pages of the index
 * access method have the lines of many filters interleaved. An item has the same bits in a line here as in a bf: if the
 * lines of one such filter are put one after the other, they are the lines of a bf.
 */
#include "bf/bf_lines.hpp"

using namespace streambloom;

uint32_t sb_bf_line_of(uint32_t lines, uint64_t hash) noexcept
{
	return line_number(lines, hash);
}

void sb_bf_line_add(void *line, uint8_t hash_count, uint64_t hash) noexcept
{
	sb_bf one = {};
	one.line_count = 1;
	one.hash_count = hash_count;
	sb_bf_add_many(&one, line, &hash, 1);
}

void sb_bf_lines_containing(const void *lines, size_t count, uint8_t hash_count, uint64_t hash, uint64_t *mask) noexcept
{
	const auto *line = static_cast<const unsigned char *>(lines);
	for (size_t i = 0; i < count; i++, line += SB_BF_LINE)
		if (sb_bf_line_contains(line, hash_count, hash))
			mask[i / 64] |= uint64_t{1} << (i % 64);
}
