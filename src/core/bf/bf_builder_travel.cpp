/*
 * bf_builder_travel.cpp: a builder as bytes, on their way from a parallel worker.
 *
 *   offset size
 *    0      64   the header of the filter that is built; expected_items is 0 if it sizes itself
 *   64       1   what follows: 0 hashes, 1 lines, 2 sparse lines
 *   65           the items; hashes are little-endian words in the order of slots
 *
 * Nothing is squeezed when it arrives, and lines are copied once when they leave. But PostgreSQL makes a tuple of the
 * bytes, sends that and receives it, each time into fresh memory: a filter that sizes itself, nearly empty in each
 * worker, is worth squeezing.
 */
#include "base/bits.hpp"
#include "base/hash_set.hpp"
#include "base/stop.hpp"
#include "bf/bf.hpp"
#include "bf/bf_builder.hpp"

using namespace streambloom;

static constexpr size_t travel_header = SB_BF_HEADER + 1;

enum class travel_form : unsigned char
{
	hashes,
	lines,
	sparse_lines /* where they take at most 3/4 of the bytes of the lines */
};

static travel_form form_of_borrowed(sb_bf_form form)
{
	if (form == SB_BF_BORROWS_HASHES)
		return travel_form::hashes;
	return form == SB_BF_BORROWS_LINES ? travel_form::lines : travel_form::sparse_lines;
}

/* ----------------------------------------------------------------- serializing */

static sb_status size_of_lines(const sb_bf_builder *builder, size_t *size)
{
	const size_t all = line_bytes(&builder->plan);
	size_t sparse;
	const sb_status status = size_sparse_lines(&builder->plan, builder->lines, &sparse);
	*size = sparse <= all / 4 * 3 ? sparse : all;
	return status;
}

sb_status sb_bf_builder_serialized_size(sb_bf_builder *builder, size_t *size) noexcept
{
	*size = 0;
	if (builder->form == SB_BF_HAS_NOTHING)
		return SB_OUT_OF_RANGE;
	sb_status status = settle(builder);
	size_t items = builder->borrowed_bytes;
	if (status == SB_OK && builder->form == SB_BF_OWNS_SET)
		items = static_cast<size_t>(builder->set.count) * sizeof(uint64_t);
	else if (status == SB_OK && builder->form == SB_BF_OWNS_LINES)
		status = size_of_lines(builder, &items);
	*size = travel_header + items;
	return status;
}

static sb_status copy(unsigned char *to, const unsigned char *from, size_t size)
{
	return in_pieces(size, bytes_at_once, [&](size_t first, size_t count) {
		std::memcpy(to + first, from + first, count);
	});
}

static void write_header(const sb_bf_builder *builder, travel_form form, unsigned char *out)
{
	sb_bf_encode_header(&builder->plan, out);
	out[SB_BF_HEADER] = static_cast<unsigned char>(form);
}

/* Their size says whether they are to be sparse. */
static sb_status serialize_lines(const sb_bf_builder *builder, unsigned char *out, size_t items)
{
	const size_t all = line_bytes(&builder->plan);
	if (items > all)
		return SB_BAD_LENGTH;
	write_header(builder, items == all ? travel_form::lines : travel_form::sparse_lines, out);
	out += travel_header;
	return items == all ? copy(out, builder->lines, all) : write_sparse_lines(&builder->plan, builder->lines, out);
}

sb_status sb_bf_builder_serialize(sb_bf_builder *builder, void *out, size_t size) noexcept
{
	auto *to = static_cast<unsigned char *>(out);
	if (builder->form == SB_BF_HAS_NOTHING)
		return SB_OUT_OF_RANGE;
	if (size < travel_header || builder->pending_count != 0)
		return SB_BAD_LENGTH;
	const size_t items = size - travel_header;
	if (builder->form == SB_BF_OWNS_LINES)
		return serialize_lines(builder, to, items);
	if (builder->form == SB_BF_OWNS_SET)
	{
		if (items != builder->set.count * sizeof(uint64_t))
			return SB_BAD_LENGTH;
		write_header(builder, travel_form::hashes, to);
		return hash_set_write(&builder->set, to + travel_header);
	}
	if (items != builder->borrowed_bytes)
		return SB_BAD_LENGTH;
	write_header(builder, form_of_borrowed(builder->form), to);
	return copy(to + travel_header, builder->borrowed, items);
}

/* --------------------------------------------------------------- deserializing */

static sb_status check_plan(const sb_bf *plan)
{
	if (plan->widened != 0 || (plan->expected_items == 0 && plan->line_count != self_sized_lines))
		return SB_BAD_HEADER;
	return SB_OK;
}

/* Are the items what this form says? Then *form becomes that of the builder. */
static sb_status check_items(const sb_bf *plan, unsigned char travelled, const unsigned char *items, size_t size,
							 sb_bf_form *form)
{
	switch (static_cast<travel_form>(travelled))
	{
		case travel_form::hashes:
			*form = SB_BF_BORROWS_HASHES;
			return size % sizeof(uint64_t) == 0 ? SB_OK : SB_BAD_LENGTH;
		case travel_form::lines:
			*form = SB_BF_BORROWS_LINES;
			return size == line_bytes(plan) ? SB_OK : SB_BAD_LENGTH;
		case travel_form::sparse_lines:
			*form = SB_BF_BORROWS_SPARSE_LINES;
			return check_sparse_lines(plan, items, size);
	}
	return SB_BAD_HEADER;
}

sb_status sb_bf_builder_deserialize(sb_bf_builder *builder, const sb_memory *memory, const void *bytes,
									size_t size) noexcept
{
	const auto *data = static_cast<const unsigned char *>(bytes);
	*builder = {};
	if (size < travel_header)
		return SB_TRUNCATED;
	const unsigned char *items = data + travel_header;
	const size_t item_bytes = size - travel_header;
	sb_bf plan;
	sb_bf_form form;
	sb_status status = decode_header(data, SB_BF_HEADER, &plan);
	if (status == SB_OK)
		status = check_plan(&plan);
	if (status == SB_OK)
		status = check_items(&plan, data[SB_BF_HEADER], items, item_bytes, &form);
	if (status == SB_OK && plan.kind.code == SB_KIND_NONE && item_bytes != 0) /* there are no items of no kind */
		status = SB_BAD_HEADER;
	if (status != SB_OK)
		return status;
	builder->plan = plan;
	builder->form = form;
	builder->borrowed = items;
	builder->borrowed_bytes = item_bytes;
	builder->memory = *memory;
	return SB_OK;
}
