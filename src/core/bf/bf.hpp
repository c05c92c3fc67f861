/*
 * bf.hpp: what the files of the bf share: its header without the length of the value, sets of hashes and sparse lines
 * into lines.
 */
#ifndef STREAMBLOOM_BF_HPP
#define STREAMBLOOM_BF_HPP

#include "streambloom.h"

namespace streambloom {

/* The bytes of the lines alone. */
inline size_t line_bytes(const sb_bf *bf)
{
	return size_t{bf->line_count} * SB_BF_LINE;
}

/* sb_bf_decode_header() for a header whose lines are elsewhere, or not there at all. */
[[nodiscard]] sb_status decode_header(const void *data, size_t have, sb_bf *out);

/* Adds all hashes of a set. */
[[nodiscard]] sb_status add_set(const sb_bf *bf, void *lines, const sb_hash_set *set);

/*
 * Sparse encoding of lines of which most bytes are zero: its size, a writer (which needs 8 spare bytes), and a check,
 * which has to come before reading: SB_BAD_LENGTH if the lengths inside do not agree with the size.
 */
[[nodiscard]] sb_status size_sparse_lines(const sb_bf *bf, const void *lines, size_t *size);
[[nodiscard]] sb_status write_sparse_lines(const sb_bf *bf, const void *lines, void *out);
[[nodiscard]] sb_status check_sparse_lines(const sb_bf *bf, const void *sparse, size_t size);

/* lines |= those. REQUIRES: check_sparse_lines() found nothing wrong, for the same parameters. */
[[nodiscard]] sb_status or_sparse_lines(const sb_bf *bf, void *lines, const void *sparse, size_t size);

} // namespace streambloom

#endif
