/*
 * hash.hpp: hashes many integers together.
 */
#ifndef STREAMBLOOM_HASH_HPP
#define STREAMBLOOM_HASH_HPP

#include "streambloom.h"

namespace streambloom {

/*
 * Writes sb_hash_int64() of values[i] to hashes[i]. That takes less time than single calls, because the processor
 * calculates several hashes at the same time. `hashes` may be `values`.
 */
void hash_int64s(const uint64_t *values, size_t count, uint64_t *hashes);

} // namespace streambloom

#endif
