/*
 * memory.hpp: zeroed memory from the caller's sb_memory. It is cleared in pieces, between which the caller is asked whether to stop.
 */
#ifndef STREAMBLOOM_MEMORY_HPP
#define STREAMBLOOM_MEMORY_HPP

#include "streambloom.h"

namespace streambloom {

/* A line of the processor's cache. */
constexpr size_t cache_line = 64;

/* SB_NO_MEMORY, SB_INTERRUPTED: nothing is allocated, and *out is NULL. Goes with memory->release(). */
[[nodiscard]] sb_status allocate_zeroed(const sb_memory *memory, size_t size, void **out);

/*
 * The same at a multiple of cache_line, with `before` zeroed bytes in front of that place, to which *out points. Goes with
 * release_aligned().
 */
[[nodiscard]] sb_status allocate_aligned(const sb_memory *memory, size_t size, void **out, size_t before = 0);
void release_aligned(const sb_memory *memory, void *aligned, size_t before = 0);

} // namespace streambloom

#endif
