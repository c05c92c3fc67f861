/*
 * tbf_builder_travel.cpp: turns a builder into bytes and back, so that the state of tbf_agg or tbf_merge_agg can be
 * sent from a parallel worker to the leader. All numbers are little-endian.
 *
 *     plan (a tbf header, 128 bytes)
 *     does the filter size itself? are there sums of items? and of cells? (a byte each)
 *     of tbf_sums: any, merged, fractions (a byte each); newest_plane, newest_half_life, oldest_base, newest (8 each);
 *     dropped_total, dropped_loss (16 each)
 *     for each plane (the sums of 16 half-lives) its total, slack and loss (16 each), and whether it is there for items and for cells (a byte each)
 *     the list of hot items, if the plan has one: base (8), the bytes of its section (4), the section as it is stored
 *     sums of items: their number (8), their hashes (8 each) in ascending order, for each plane that is there their
 *     words (8 each)
 *     sums of cells: if the plan has none, their shape (a header); for each plane that is there its number of bytes (8),
 *     and its words as extensible counters
 *
 * An item is 16 bytes or more, a cell mostly one. PostgreSQL copies the bytes when it sends them.
 */
#include "base/memory.hpp"
#include "base/travel.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_cells.hpp"

using namespace streambloom;

/* ------------------------------------------------------------------- sending */

constexpr size_t bytes_of_notes = SB_TBF_HEADER + 6 + 4 * 8 + 2 * 16 + SB_TBF_PLANES * (3 * 16 + 2);

static void send_notes(outgoing *out, const sb_tbf_builder *builder)
{
	const tbf_sums &sums = builder->sums;
	sb_tbf_encode_header(&builder->plan, out->end());
	out->took(SB_TBF_HEADER);
	for (bool flag : {builder->self_sized, has_items(&sums), builder->shape.block_count != 0, sums.any, sums.merged,
					  sums.fractions})
		out->flag(flag);
	for (int64_t number : {sums.newest_plane, sums.newest_half_life, sums.oldest_base, sums.newest})
		out->number(static_cast<uint64_t>(number));
	out->number(sums.dropped_total);
	out->number(sums.dropped_loss);
	for (const plane_sums &plane : sums.planes)
	{
		out->number(plane.total);
		out->number(plane.slack);
		out->number(plane.loss);
		out->flag(plane.column != 0);
		out->flag(plane.cells != nullptr);
	}
}

constexpr size_t bytes_before_list = 8 + 4;

static sb_status send_list(outgoing *out, top_list *list)
{
	const int64_t base = list->any ? list->base : 0;
	top_purge(list);
	const uint32_t size = top_size(list, base);
	if (sb_status status = out->reserve(bytes_before_list + size); status != SB_OK)
		return status;
	out->number(static_cast<uint64_t>(base));
	out->number(size);
	top_write(list, base, out->end());
	out->took(size);
	return SB_OK;
}

static sb_status send_items(outgoing *out, const sb_tbf_builder *builder)
{
	const tbf_sums *sums = &builder->sums;
	const uint64_t items = sums->set.count;
	const auto column = static_cast<size_t>(items) * sizeof(uint64_t);
	size_t columns = 1;
	for (const plane_sums &plane : sums->planes)
		columns += plane.column != 0;
	void *sorted;
	sb_status status = allocate_zeroed(&builder->memory, std::max<size_t>(column, 1), &sorted);
	if (status != SB_OK)
		return status;
	const auto *hashes = static_cast<uint64_t *>(sorted);
	status = hash_set_sort(&sums->set, static_cast<uint64_t *>(sorted));
	if (status == SB_OK)
		status = out->reserve(sizeof items + column * columns);
	if (status == SB_OK)
		out->number(items);
	for (uint64_t first = 0; first < items && status == SB_OK; first += tbf_batch)
	{
		const auto count = static_cast<size_t>(std::min<uint64_t>(items - first, tbf_batch));
		unsigned char *to = out->end() + first * sizeof(uint64_t);
		uint64_t slots[tbf_batch];
		uint64_t words[tbf_batch];
		status = stop_wanted() ? SB_INTERRUPTED : SB_OK;
		hash_set_write_words(hashes + first, count, to);
		hash_set_find_many(&sums->set, hashes + first, count, slots);
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (sums->planes[i].column != 0)
			{
				read_words(sums, i, slots, count, words);
				hash_set_write_words(words, count, to += column);
			}
	}
	if (status == SB_OK)
		out->took(column * columns);
	builder->memory.release(builder->memory.context, sorted);
	return status;
}

/* Sends a plane. If the usual room is too small, packing finds out how much is needed, and is repeated. */
static sb_status send_plane(outgoing *out, const sb_tbf_builder *builder, const cell_plane *plane)
{
	constexpr size_t before = sizeof(uint64_t);
	sb_tbf packed;
	size_t room = usual_room(&builder->shape, usual_bytes(plane));
	for (;;)
	{
		sb_status status = out->reserve(before + room);
		if (status != SB_OK)
			return status;
		status = sums_pack_plane(plane, &builder->shape, &packed, out->end() + before, room);
		if (status == SB_TOO_LARGE && packed.payload > room)
		{
			room = packed.payload;
			continue;
		}
		if (status == SB_OK)
			out->number(uint64_t{packed.payload});
		if (status == SB_OK || status == SB_TOO_LARGE) /* if it is too large for any value, report its size */
			out->took(packed.payload);
		return status;
	}
}

static sb_status send_planes(outgoing *out, const sb_tbf_builder *builder)
{
	/* reserve room for all planes at once: growing plane by plane would copy megabytes again and again */
	uint64_t room = SB_TBF_HEADER;
	for (const plane_sums &plane : builder->sums.planes)
		if (plane.cells != nullptr)
			room += sizeof(uint64_t) + usual_room(&builder->shape, usual_bytes(plane.cells));
	sb_status status = out->reserve(room);
	if (status == SB_OK && is_exact(&builder->plan))
	{
		sb_tbf_encode_header(&builder->shape, out->end());
		out->took(SB_TBF_HEADER);
	}
	for (const plane_sums &plane : builder->sums.planes)
		if (plane.cells != nullptr && status == SB_OK)
			status = send_plane(out, builder, plane.cells);
	return status;
}

sb_status sb_tbf_builder_serialize(sb_tbf_builder *builder, const sb_memory *to, size_t in_front, size_t most,
								   void **bytes, size_t *size) noexcept
{
	outgoing out(to, in_front, most);
	*bytes = nullptr;
	*size = 0;
	if ((builder->plan.flags & SB_TBF_RECURRING_MINIMUM) != 0)
		return SB_DIFFERENT;
	sb_status status = sb_tbf_builder_settle(builder);
	if (status == SB_OK)
		status = out.reserve(bytes_of_notes);
	if (status == SB_OK)
		send_notes(&out, builder);
	if (status == SB_OK && builder->plan.top != 0)
		status = send_list(&out, &builder->top);
	if (status == SB_OK && has_items(&builder->sums))
		status = send_items(&out, builder);
	if (status == SB_OK && builder->shape.block_count != 0)
		status = send_planes(&out, builder);
	if (status == SB_OK || status == SB_TOO_LARGE)
		*size = out.used() - in_front;
	if (status == SB_OK)
		*bytes = out.block();
	else
		out.release();
	return status;
}

/* ----------------------------------------------------------------- receiving */

constexpr int64_t furthest = INT64_C(1) << 61;

static bool is_near(int64_t half_lives)
{
	return half_lives > -furthest && half_lives < furthest;
}

/* Reads the plan: a header. The header may be that of a filter with cells, but its cells do not follow. */
static sb_status receive_plan(incoming *in, sb_tbf *plan)
{
	const unsigned char *header = in->bytes(SB_TBF_HEADER);
	if (header == nullptr)
		return SB_TRUNCATED;
	sb_status status = sb_tbf_decode_header(header, SB_TBF_HEADER, SB_TBF_HEADER, plan);
	if (status == SB_BAD_LENGTH)
		status = sb_tbf_decode_header(header, SB_TBF_HEADER, sb_tbf_size(plan), plan);
	if (status == SB_OK && (plan->flags & SB_TBF_RECURRING_MINIMUM) != 0)
		return SB_BAD_HEADER;
	return status;
}

namespace {

/* Which sums follow. */
struct parts_to_come
{
	bool items;
	bool cells;
	bool plane_of_items[SB_TBF_PLANES];
	bool plane_of_cells[SB_TBF_PLANES];
};

} // namespace

/* Reads and checks the flags, times and totals that follow the plan. */
static sb_status receive_notes(incoming *in, sb_tbf_builder *builder, parts_to_come *parts)
{
	tbf_sums *sums = &builder->sums;
	bool any_of_items = false;
	bool any_of_cells = false;
	builder->self_sized = in->flag();
	parts->items = in->flag();
	parts->cells = in->flag();
	sums->any = in->flag();
	sums->merged = in->flag();
	sums->fractions = in->flag();
	sums->newest_plane = in->integer();
	sums->newest_half_life = in->integer();
	sums->oldest_base = in->integer();
	sums->newest = in->integer();
	sums->dropped_total = in->wide_number();
	sums->dropped_loss = in->wide_number();
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		plane_sums *plane = &sums->planes[i];
		plane->total = in->wide_number();
		plane->slack = in->wide_number();
		plane->loss = in->wide_number();
		any_of_items |= parts->plane_of_items[i] = in->flag();
		any_of_cells |= parts->plane_of_cells[i] = in->flag();
	}
	if (sb_status status = in->status(); status != SB_OK)
		return status;
	if (!is_near(sums->newest_half_life) || !is_near(sums->oldest_base) ||
		sums->newest_plane < -furthest / SB_TBF_PLANE || sums->newest_plane > furthest / SB_TBF_PLANE)
		return SB_BAD_HEADER;
	const int64_t in_plane = sums->newest_half_life - sums->newest_plane * SB_TBF_PLANE;
	/* only a filter that sizes itself and has not outgrown its set has items beside cells */
	const bool size_could_be = is_exact(&builder->plan) ? builder->self_sized && parts->items :
														  parts->items != parts->cells &&
															  !(builder->self_sized && parts->items);
	const bool could_be = in_plane >= -SB_TBF_PLANE && in_plane < SB_TBF_PLANE && size_could_be &&
						  any_of_items <= (sums->any && parts->items) && any_of_cells <= (sums->any && parts->cells);
	return could_be ? SB_OK : SB_BAD_HEADER;
}

/*
 * Returns whether the sums would get a valid header if they were stored for the moment `base`, in half-lives. A total
 * or a slack that is too large to be stored is allowed: sb_tbf_builder_store() will refuse it.
 */
static bool could_be_stored(const sb_tbf_builder *builder, int64_t base)
{
	unsigned char bytes[SB_TBF_HEADER];
	sb_tbf header;
	sb_tbf read;
	const bool fits = sums_describe(&builder->sums, &builder->plan, base, &header) == SB_OK;
	if (!fits)
	{
		header.flags |= SB_TBF_HAS_HITS;
		header.base = base;
		header.newest = builder->sums.newest;
		header.total = UINT64_MAX;
	}
	header.layout = SB_TBF_EXTENSIBLE;
	sb_tbf_encode_header(&header, bytes);
	if (!fits)
		store_le(bytes + 96, uint64_t{0});
	return sb_tbf_decode_header(bytes, SB_TBF_HEADER, sb_tbf_size(&header), &read) == SB_OK;
}

static bool nothing_is_noted(const tbf_sums &sums)
{
	bool nothing = !sums.merged && !sums.fractions && sums.dropped_total == 0 && sums.dropped_loss == 0;
	for (const plane_sums &plane : sums.planes)
		nothing &= plane.total == 0 && plane.slack == 0 && plane.loss == 0;
	return nothing;
}

/* Checks that times and totals give valid filters when they are stored, even after they are united with others. */
static sb_status check_notes(const sb_tbf_builder *builder, const parts_to_come &parts)
{
	const tbf_sums &sums = builder->sums;
	const int64_t half_life = builder->plan.half_life;
	if (!sums.any) /* totals must be 0 then, because later hits are added to them */
		return nothing_is_noted(sums) ? SB_OK : SB_BAD_HEADER;
	if (half_life == 0)
	{
		/* without decay, everything lies in the planes from -2 to 1, and never falls out */
		constexpr int last = SB_TBF_PLANES - 1;
		bool may_fall_out = sums.newest_plane == 0 &&
							(sums.planes[last].total != 0 || sums.planes[last].loss != 0 || parts.plane_of_items[last] ||
							 parts.plane_of_cells[last]);
		for (const plane_sums &plane : sums.planes)
			may_fall_out |= plane.slack != 0;
		if (may_fall_out || sums.dropped_loss != 0 || sums.dropped_total != 0 || sums.newest_plane < 0 ||
			sums.newest_plane > 1 || sums.newest_half_life != 0)
			return SB_BAD_HEADER;
	}
	else if (floor_divide(sums.newest, half_life) > sums.newest_half_life)
		return SB_BAD_HEADER;
	if (!could_be_stored(builder, sums.newest_half_life))
		return SB_BAD_HEADER;
	/* the lowest base at which merged filters can be stored (choose_base()) */
	const int64_t oldest = std::clamp(sums.oldest_base, sums.newest_half_life - SB_TBF_MAX_SPREAD,
									  sums.newest_half_life);
	return !sums.merged || could_be_stored(builder, oldest) ? SB_OK : SB_BAD_HEADER;
}

static sb_status receive_list(incoming *in, sb_tbf_builder *builder)
{
	top_section section;
	const int64_t base = in->integer();
	const auto size = in->number<uint32_t>();
	const unsigned char *bytes = in->bytes(size);
	if (bytes == nullptr || in->status() != SB_OK)
		return SB_TRUNCATED;
	if (!is_near(base))
		return SB_BAD_LIST;
	const sb_status status = top_open(bytes, size, builder->plan.top, UINT64_MAX, &section);
	if (status != SB_OK || (section.count == 0 && section.error == 0))
		return status;
	return add_section(&builder->top, &builder->memory, section, base);
}

/* Reads the items into a set, which has room for all of them before the first comes (tbf_builder_items.cpp says why). */
static sb_status receive_items(incoming *in, sb_tbf_builder *builder, const bool *plane)
{
	tbf_sums *sums = &builder->sums;
	const auto items = in->number<uint64_t>();
	const auto planes = static_cast<uint32_t>(std::count(plane, plane + SB_TBF_PLANES, true));
	/* No builder has more items than a set may have. */
	if (items > in->left() / (sizeof(uint64_t) * (1 + planes)) ||
		!may_have_capacity(builder, hash_set_capacity_for(items + 1)))
		return SB_BAD_LENGTH;
	sb_status status = hash_set_make(&sums->set, &builder->memory, hash_set_capacity_for(items + 1),
									 std::max(planes, 1u));
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
		if (plane[i])
			status = make_column(sums, &builder->memory, i);
	const size_t column = static_cast<size_t>(items) * sizeof(uint64_t);
	const unsigned char *bytes = in->bytes(column * (1 + planes));
	uint64_t before = 0;
	for (uint64_t first = 0; first < items && status == SB_OK; first += tbf_batch)
	{
		const auto count = static_cast<size_t>(std::min<uint64_t>(items - first, tbf_batch));
		const unsigned char *from = bytes + first * sizeof(uint64_t);
		uint64_t hashes[tbf_batch];
		uint64_t words[tbf_batch];
		hash_set_read_words(from, hashes, count);
		for (size_t i = 0; i < count; before = hashes[i++])
			if ((first + i != 0 && hashes[i] <= before) || (hashes[i] & ~SB_KEPT_HASH_MASK) != 0)
				return SB_BAD_CELLS;
		status = stop_wanted() ? SB_INTERRUPTED : grow_if_needed(builder);
		if (status == SB_OK && planes == 0)
			(void) hash_set_insert_many(&sums->set, hashes, count);
		for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
			if (plane[i])
			{
				hash_set_read_words(from += column, words, count);
				(void) sums_add_hits(sums, i, start_of_plane(sums, i), hashes, words, count, &status);
			}
	}
	return status == SB_OVERFLOW ? SB_BAD_CELLS : status;
}

static sb_status receive_plane(incoming *in, sb_tbf_builder *builder, int index)
{
	sb_tbf packed = builder->shape;
	const auto payload = in->number<uint64_t>();
	const unsigned char *cells = in->bytes(payload);
	if (cells == nullptr || in->status() != SB_OK)
		return SB_TRUNCATED;
	if (payload != 0 && payload < uint64_t{4} * packed.block_count)
		return SB_BAD_LENGTH;
	packed.layout = SB_TBF_EXTENSIBLE;
	packed.payload = static_cast<uint32_t>(payload);
	if (sb_status status = make_cells(builder, index); status != SB_OK)
		return status;
	cell_plane *plane = builder->sums.planes[index].cells;
	block_counters words;
	for (uint32_t block = 0; block < packed.block_count; block++)
	{
		bool empty;
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (unpack_counters(&packed, cells, block, words, &empty) != SB_OK)
			return SB_BAD_CELLS;
		if (empty)
			continue;
		if (std::any_of(words, words + packed.block_cells, [](uint64_t word) { return word >= SB_TBF_MAX_CELL; }))
			return SB_BAD_CELLS;
		if (sb_status status = add_block_words(plane, block, words); status != SB_OK)
			return status;
	}
	return SB_OK;
}

/* Reads sums of cells. It must be possible to merge a filter of their shape with the builder's. */
static sb_status receive_planes(incoming *in, sb_tbf_builder *builder, const bool *plane)
{
	sb_tbf united;
	sb_difference difference;
	sb_status status = SB_OK;
	builder->shape = builder->plan;
	if (is_exact(&builder->plan))
		status = receive_plan(in, &builder->shape);
	if (status == SB_OK && (is_exact(&builder->shape) ||
							sb_tbf_plan_merge(&builder->plan, &builder->shape, &united, &difference) != SB_OK))
		status = SB_BAD_HEADER;
	clear_hits(&builder->shape);
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
		if (plane[i])
			status = receive_plane(in, builder, i);
	return status;
}

/* Reads everything that follows the plan. */
static sb_status receive_sums(incoming *in, sb_tbf_builder *builder)
{
	parts_to_come parts = {};
	sb_status status = receive_notes(in, builder, &parts);
	if (status == SB_OK)
		status = check_notes(builder, parts);
	if (status == SB_OK && builder->plan.top != 0)
		status = receive_list(in, builder);
	if (status == SB_OK && parts.items)
		status = receive_items(in, builder, parts.plane_of_items);
	if (status == SB_OK && parts.cells)
		status = receive_planes(in, builder, parts.plane_of_cells);
	if (status == SB_OK)
		status = in->status();
	return status == SB_OK && in->left() != 0 ? SB_BAD_LENGTH : status;
}

sb_status sb_tbf_builder_deserialize(const sb_memory *memory, const void *bytes, size_t size,
									 sb_tbf_builder **out) noexcept
{
	incoming in(static_cast<const unsigned char *>(bytes), size);
	sb_tbf plan;
	*out = nullptr;
	sb_status status = receive_plan(&in, &plan);
	if (status == SB_OK)
		status = make_builder(memory, &plan, false, out);
	return *out == nullptr ? status : ended_if_failed(receive_sums(&in, *out), out);
}
