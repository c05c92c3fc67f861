/*
 * bf_builder_travel.cpp: turns a builder into bytes and back. In this form the states of bf_agg and bf_union_agg travel
 * from a parallel worker to the leader.
 *
 *   offset size
 *    0      64   the header of the filter that is built; expected_items is 0 if it sizes itself
 *   64       1   the form of the items: 0 hashes, 1 lines, 2 sparse lines
 *   65       8   the number of bytes of the items
 *   73           the items; hashes are little-endian words in the order of slots
 *                if filters with lines were added: the header of their union, and its lines
 *
 * This file copies lines once when they are sent, and not at all when they arrive. PostgreSQL itself copies the bytes
 * when it puts them into a tuple, sends it and receives it. A filter that sizes itself has 32 MB of lines, which are
 * nearly empty in each of many workers: sparse lines make all these copies shorter.
 */
#include "base/hash_set.hpp"
#include "base/travel.hpp"
#include "bf/bf.hpp"
#include "bf/bf_builder.hpp"

using namespace streambloom;

static constexpr size_t travel_header = SB_BF_HEADER + 1 + sizeof(uint64_t);

namespace {

enum class travel_form : unsigned char
{
	hashes,
	lines,
	sparse_lines /* used if they take at most 3/4 of the bytes of the lines */
};

} // namespace

/* ----------------------------------------------------------------- serializing */

/* write_sparse_lines() may write this many bytes beyond the end of the encoding. */
static constexpr size_t spare = 8;

/*
 * Chooses the form in which the items of a builder travel. *size becomes the number of bytes that they take.
 * REQUIRES: no item is pending, that is, handed to the builder but not yet added.
 */
static sb_status choose_form(const sb_bf_builder *builder, travel_form *form, size_t *size)
{
	switch (builder->form)
	{
		case SB_BF_OWNS_SET:
			*form = travel_form::hashes;
			*size = static_cast<size_t>(builder->set.count) * sizeof(uint64_t);
			return SB_OK;
		case SB_BF_OWNS_LINES:
		{
			const size_t all = line_bytes(&builder->plan);
			const sb_status status = size_sparse_lines(&builder->plan, builder->lines, size);
			*form = *size <= all / 4 * 3 ? travel_form::sparse_lines : travel_form::lines;
			if (*form == travel_form::lines)
				*size = all;
			return status;
		}
		case SB_BF_BORROWS_HASHES:
			*form = travel_form::hashes;
			break;
		case SB_BF_BORROWS_LINES:
			*form = travel_form::lines;
			break;
		case SB_BF_BORROWS_SPARSE_LINES:
			*form = travel_form::sparse_lines;
			break;
		default:
			return SB_OUT_OF_RANGE;
	}
	*size = builder->borrowed_bytes;
	return SB_OK;
}

static sb_status copy(unsigned char *to, const unsigned char *from, size_t size)
{
	return in_pieces(size, bytes_at_once,
					 [&](size_t first, size_t count) { std::memcpy(to + first, from + first, count); });
}

static sb_status write_items(const sb_bf_builder *builder, travel_form form, size_t size, unsigned char *out)
{
	if (is_borrowed(builder->form))
		return copy(out, builder->borrowed, size);
	if (builder->form == SB_BF_OWNS_SET)
		return hash_set_write(&builder->set, out);
	return form == travel_form::lines ? copy(out, builder->lines, size) :
										write_sparse_lines(&builder->plan, builder->lines, out);
}

sb_status sb_bf_builder_serialize(sb_bf_builder *builder, const sb_memory *to, size_t in_front, void **bytes,
								  size_t *size) noexcept
{
	*bytes = nullptr;
	*size = 0;
	if (builder->form == SB_BF_HAS_NOTHING)
		return SB_OUT_OF_RANGE;
	travel_form form;
	size_t items;
	sb_status status = settle(builder);
	if (status == SB_OK)
		status = choose_form(builder, &form, &items);
	if (status != SB_OK)
		return status;
	const size_t filters = builder->filters.line_count == 0 ? 0 : SB_BF_HEADER + line_bytes(&builder->filters);
	outgoing out(to, in_front, SIZE_MAX);
	status = out.reserve(travel_header + items + filters + spare);
	if (status != SB_OK)
		return status;
	sb_bf_encode_header(&builder->plan, out.end());
	out.took(SB_BF_HEADER);
	out.number(static_cast<uint8_t>(form));
	out.number(static_cast<uint64_t>(items));
	status = write_items(builder, form, items, out.end());
	out.took(items);
	if (status == SB_OK && filters != 0)
	{
		sb_bf_encode_header(&builder->filters, out.end());
		status = copy(out.end() + SB_BF_HEADER, builder->filter_lines, filters - SB_BF_HEADER);
		out.took(filters);
	}
	if (status == SB_OK)
	{
		*bytes = out.block();
		*size = out.used() - in_front;
	}
	else
		out.release();
	return status;
}

/* --------------------------------------------------------------- deserializing */

static sb_status check_plan(const sb_bf *plan)
{
	if (sb_bf_is_exact(plan) || plan->widened != 0 ||
		(plan->expected_items == 0 && plan->line_count != self_sized_lines))
		return SB_BAD_HEADER;
	return SB_OK;
}

/* Checks that the bytes are items in the form `travelled`. *form becomes the form of the builder. */
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

/* Checks the union of filters with lines, which follows the items. If `size` is 0, there is none. */
static sb_status check_filters(const sb_bf *plan, const unsigned char *bytes, size_t size, sb_bf *filters)
{
	*filters = {};
	if (size == 0)
		return SB_OK;
	if (size < SB_BF_HEADER)
		return SB_BAD_LENGTH;
	const sb_status status = sb_bf_decode_header(bytes, size, size, filters);
	if (status != SB_OK)
		return status;
	if (sb_bf_is_exact(filters) || plan->expected_items != 0 || filters->hash_count != plan->hash_count ||
		(filters->kind.code != SB_KIND_NONE && !sb_kind_equal(&filters->kind, &plan->kind)))
		return SB_BAD_HEADER;
	return sb_bf_check(filters, bytes + SB_BF_HEADER);
}

sb_status sb_bf_builder_deserialize(sb_bf_builder *builder, const sb_memory *memory, const void *bytes,
									size_t size) noexcept
{
	incoming in(static_cast<const unsigned char *>(bytes), size);
	*builder = {};
	const unsigned char *header = in.bytes(SB_BF_HEADER);
	const auto travelled = in.number<uint8_t>();
	const auto item_bytes = in.number<uint64_t>();
	if (in.status() != SB_OK)
		return SB_TRUNCATED;
	if (item_bytes > in.left())
		return SB_BAD_LENGTH;
	const unsigned char *items = in.bytes(item_bytes);
	const size_t rest = in.left();
	sb_bf plan;
	sb_bf filters;
	sb_bf_form form;
	sb_status status = decode_header(header, SB_BF_HEADER, &plan);
	if (status == SB_OK)
		status = check_plan(&plan);
	if (status == SB_OK)
		status = check_items(&plan, travelled, items, item_bytes, &form);
	if (status == SB_OK && plan.kind.code == SB_KIND_NONE && item_bytes != 0) /* the first item brings the kind */
		status = SB_BAD_HEADER;
	if (status == SB_OK)
		status = check_filters(&plan, in.bytes(rest), rest, &filters);
	if (status != SB_OK)
		return status;
	builder->plan = plan;
	builder->form = form;
	builder->borrowed = items;
	builder->borrowed_bytes = item_bytes;
	builder->memory = *memory;
	if (filters.line_count != 0)
	{
		builder->filters = filters;
		builder->filter_lines = items + item_bytes + SB_BF_HEADER;
		builder->filters_borrowed = true;
	}
	return SB_OK;
}
