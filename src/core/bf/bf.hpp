/*
 * bf.hpp: what the files of the bf share: reading a header without a value; adding a set of hashes, an exact filter or
 * other lines to lines; the number of items in a line; and the sparse encoding of lines.
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

/* Like sb_bf_decode_header(), but for a header without its value: the length of the value is not checked. */
[[nodiscard]] sb_status decode_header(const void *data, size_t have, sb_bf *out);

/* Adds all hashes of a set to lines. May return SB_INTERRUPTED. */
[[nodiscard]] sb_status add_set(const sb_bf *bf, void *lines, const sb_hash_set *set);

/* Adds the items of the exact filter *from to lines. May return SB_BAD_CELLS, SB_INTERRUPTED. */
[[nodiscard]] sb_status add_exact(const sb_bf *bf, void *lines, const sb_bf *from, const void *stored);

/*
 * Estimates from the fill how many items a line of the filter holds on average; infinite if all bits are set. May
 * return SB_INTERRUPTED.
 */
[[nodiscard]] sb_status load_of_lines(const sb_bf *bf, const void *lines, double *out);

/*
 * dst |= src for any two numbers of lines. Each line of src is added to every line of dst in which one of its items
 * may lie. If src has as many lines as dst, or a multiple of that number, there is only one such line. Otherwise there
 * may be more, and an item of src also gets bits in lines of dst that are not its own. May return SB_INTERRUPTED.
 */
[[nodiscard]] sb_status map_lines(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines);

/*
 * The sparse encoding of lines whose bytes are mostly zero (bf_sparse.cpp). size_sparse_lines() computes its size in
 * bytes. write_sparse_lines() writes it; `out` must have room for 8 bytes more than this size. check_sparse_lines()
 * must be called before bytes that came from elsewhere are read as sparse lines; it returns SB_BAD_LENGTH if the
 * lengths in the encoding do not agree with `size`. All three may return SB_INTERRUPTED.
 */
[[nodiscard]] sb_status size_sparse_lines(const sb_bf *bf, const void *lines, size_t *size);
[[nodiscard]] sb_status write_sparse_lines(const sb_bf *bf, const void *lines, void *out);
[[nodiscard]] sb_status check_sparse_lines(const sb_bf *bf, const void *sparse, size_t size);

/*
 * lines |= the sparse lines. May return SB_INTERRUPTED. REQUIRES: check_sparse_lines() has accepted the sparse lines,
 * for the same parameters.
 */
[[nodiscard]] sb_status or_sparse_lines(const sb_bf *bf, void *lines, const void *sparse, size_t size);

} // namespace streambloom

#endif
