/*
 * memory.cpp: see memory.hpp.
 */
#include "base/memory.hpp"

#include "base/stop.hpp"

#include <cstring>

namespace streambloom {

sb_status allocate_zeroed(const sb_memory *memory, size_t size, void **out)
{
	auto *bytes = static_cast<unsigned char *>(memory->allocate(memory->context, size));
	*out = bytes;
	if (bytes == nullptr)
		return SB_NO_MEMORY;
	const sb_status status = in_pieces(size, bytes_at_once,
									   [&](size_t first, size_t count) { std::memset(bytes + first, 0, count); });
	if (status != SB_OK)
	{
		memory->release(memory->context, bytes);
		*out = nullptr;
	}
	return status;
}

/* The address of the block is kept just in front of the `before` bytes. */
sb_status allocate_aligned(const sb_memory *memory, size_t size, void **out, size_t before)
{
	void *block;
	const size_t in_front = before + sizeof block;
	const sb_status status = allocate_zeroed(memory, in_front + cache_line - 1 + size, &block);
	*out = nullptr;
	if (status != SB_OK)
		return status;
	const auto first = reinterpret_cast<uintptr_t>(block) + in_front;
	auto *aligned = static_cast<unsigned char *>(block) + in_front + (cache_line - first % cache_line) % cache_line;
	std::memcpy(aligned - in_front, &block, sizeof block);
	*out = aligned;
	return SB_OK;
}

void release_aligned(const sb_memory *memory, void *aligned, size_t before)
{
	void *block;
	std::memcpy(&block, static_cast<unsigned char *>(aligned) - before - sizeof block, sizeof block);
	memory->release(memory->context, block);
}

} // namespace streambloom
