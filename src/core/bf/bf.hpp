/*
 * bf.hpp: what the files of the bf share: reading a header without a value, adding a set of hashes to lines, exact
 * filters, and the sparse encoding of lines.
 */
#ifndef STREAMBLOOM_BF_HPP
#define STREAMBLOOM_BF_HPP

#include "streambloom.h"

namespace streambloom {

/* The number of bytes of the lines alone. */
inline size_t line_bytes(const sb_bf *bf)
{
	return size_t{bf->line_count} * SB_BF_LINE;
}

/* As sb_bf_decode_header(), but for a header alone: the length of a value is not checked. */
[[nodiscard]] sb_status decode_header(const void *data, size_t have, sb_bf *out);

/* Adds all hashes of a set to lines. SB_INTERRUPTED. */
[[nodiscard]] sb_status add_set(const sb_bf *bf, void *lines, const sb_hash_set *set);

/* Adds the items of an exact filter to lines. SB_BAD_CELLS, SB_INTERRUPTED. */
[[nodiscard]] sb_status add_exact(const sb_bf *bf, void *lines, const sb_bf *from, const void *stored);

/*
 * How many items a line of the filter holds on average, estimated from the fill; infinite if all bits are set.
 * SB_INTERRUPTED.
 */
[[nodiscard]] sb_status load_of_lines(const sb_bf *bf, const void *lines, double *out);

/*
 * dst |= src for any two numbers of lines: each line of dst gets all lines of src that items of it may have. The
 * items of src get bits in more lines than their own, unless the number of dst's lines is that of src's divided by
 * a whole number. SB_INTERRUPTED.
 */
[[nodiscard]] sb_status map_lines(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines);

/*
 * The sparse encoding of lines of which most bytes are zero: its size in bytes; a writer, which may write 8 bytes more
 * than that; and a check. The check returns SB_BAD_LENGTH if the lengths in the encoding do not agree with `size`, and
 * must come before the lines are read.
 */
[[nodiscard]] sb_status size_sparse_lines(const sb_bf *bf, const void *lines, size_t *size);
[[nodiscard]] sb_status write_sparse_lines(const sb_bf *bf, const void *lines, void *out);
[[nodiscard]] sb_status check_sparse_lines(const sb_bf *bf, const void *sparse, size_t size);

/* lines |= the sparse lines. REQUIRES: check_sparse_lines() has accepted them, for the same parameters. */
[[nodiscard]] sb_status or_sparse_lines(const sb_bf *bf, void *lines, const void *sparse, size_t size);

} // namespace streambloom

#endif
