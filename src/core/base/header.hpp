/*
 * header.hpp: what the headers of all stored values have in common (format version 1; docs/format.md).
 *
 *   offset size
 *    0      2   'S' 'B'
 *    2      1   type: 1 bf, 2 sbf, 3 ibf, 4 tbf, 5 abf
 *    3      1   format version: 1
 *    4      2   flags of the type; unknown bits are zero
 *    6      2   item kind (sb_kind_code)
 *    8      4   detail of the kind
 *   12     28   name of the kind, zero-padded
 *   40          the type's own fields
 */
#ifndef STREAMBLOOM_HEADER_HPP
#define STREAMBLOOM_HEADER_HPP

#include "streambloom.h"

namespace streambloom {

inline constexpr size_t common_header = 40;
inline constexpr uint8_t format_version = 1;

enum class value_type : uint8_t
{
	bf = 1,
	sbf = 2,
	ibf = 3,
	tbf = 4,
	abf = 5
};

/* Writes the first 40 bytes. */
void encode_common(void *out, value_type type, uint16_t flags, const sb_kind &kind);

/*
 * Reads and checks the first 40 bytes of a value whose whole header has header_size bytes. Refuses flags outside
 * known_flags (SB_BAD_HEADER): a later version may use such a flag for something that changes the meaning of the
 * value.
 */
SB_NODISCARD sb_status decode_common(const void *data, size_t have, size_t header_size, value_type type,
									 uint16_t known_flags, uint16_t *flags, sb_kind *kind);

} // namespace streambloom

#endif
