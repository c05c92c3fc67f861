/*
 * memory.hpp: zeroed memory from the caller's sb_memory. It is cleared in pieces, and between two pieces the caller is
 * asked whether to stop.
 */
#ifndef STREAMBLOOM_MEMORY_HPP
#define STREAMBLOOM_MEMORY_HPP

#include "streambloom.h"

namespace streambloom {

/* The size in bytes of a line of the processor's cache. */
constexpr size_t cache_line = 64;

/* Allocates zeroed memory; memory->release() frees it. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL. */
[[nodiscard]] sb_status allocate_zeroed(const sb_memory *memory, size_t size, void **out);

/*
 * Allocates `before` + `size` zeroed bytes. *out is a multiple of cache_line and has `before` bytes in front of it.
 * release_aligned() with the same `before` frees the memory. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL.
 */
[[nodiscard]] sb_status allocate_aligned(const sb_memory *memory, size_t size, void **out, size_t before = 0);
void release_aligned(const sb_memory *memory, void *aligned, size_t before = 0);

} // namespace streambloom

#endif
