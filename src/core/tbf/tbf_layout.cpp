/* tbf_layout.cpp: stores the same counters in the other layout, or an exact filter as a filter with cells. */
#include "base/stop.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_exact.hpp"
#include "tbf/tbf_value.hpp"

using namespace streambloom;

sb_status sb_tbf_set_layout(const sb_tbf *tbf, const void *cells, uint8_t layout, const sb_memory *to, size_t in_front,
							sb_tbf *out, void **value) noexcept
{
	*out = *tbf;
	*value = nullptr;
	if (is_exact(tbf))
		return store_as_cells(tbf, cells, layout, to, in_front, out, value);
	if (layout == tbf->layout)
		return SB_OK;
	out->layout = layout;
	value_block block(to, in_front);
	sb_status status = fill_value(&block, out, [&](uint32_t index, uint64_t *counters, bool *empty) {
		return unpack_counters(tbf, cells, index, counters, empty);
	});
	if (status == SB_OK)
		status = in_pieces(tbf->extra, bytes_at_once, [&](size_t first, size_t count) {
			const unsigned char *from = static_cast<const unsigned char *>(cells) + counters_size(tbf) + first;
			std::memcpy(block.cells() + counters_size(out) + first, from, count);
		});
	if (status == SB_OK)
		block.hand_over(out, value);
	return status;
}
