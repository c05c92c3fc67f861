/*
 * hash.hpp: many integers hashed together.
 */
#ifndef STREAMBLOOM_HASH_HPP
#define STREAMBLOOM_HASH_HPP

#include "streambloom.h"

namespace streambloom {

/*
 * sb_hash_int64() of `count` integers, in less time than one by one, since no hash waits for another. `hashes` may be
 * `values`.
 */
void hash_int64s(const uint64_t *values, size_t count, uint64_t *hashes);

} // namespace streambloom

#endif
