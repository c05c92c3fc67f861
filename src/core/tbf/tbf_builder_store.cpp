/*
 * tbf_builder_store.cpp: the stored filter that a builder's sums make.
 */
#include "base/memory.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>

using namespace streambloom;

/*
 * The size of the stored filter. Here a filter that sizes itself gets its size, from its number of items; if the sums are of
 * cells already, or no filter is large enough, it keeps the largest there is.
 */
static void plan_size(const sb_tbf_builder *builder, sb_tbf *plan)
{
	const sb_tbf &wanted = builder->plan;
	*plan = wanted;
	if (!sizes_itself(builder) || builder->form == sums_form::cells)
		return;
	const uint64_t items = std::max<uint64_t>(builder->set.count, 1);
	sb_tbf sized;
	if (sb_tbf_plan_for_load(items, wanted.fpr, wanted.hash_count, builder->load, wanted.half_life, wanted.epoch, true, &sized) != SB_OK)
		return;
	plan->block_count = sized.block_count;
	plan->block_cells = sized.block_cells;
}

namespace {

/* A value while it is made: a block of the memory that the caller gave for it. */
class value_block
{
  public:
	value_block(const sb_memory *memory, size_t in_front) : memory_(memory), in_front_(in_front) {}

	/* Not zeroed: all of it is going to be written. cells: the bytes after the header. */
	sb_status allocate(size_t cells)
	{
		block_ = static_cast<unsigned char *>(memory_->allocate(memory_->context, in_front_ + SB_TBF_HEADER + cells));
		return block_ != nullptr ? SB_OK : SB_NO_MEMORY;
	}
	sb_status allocate_zeros(size_t cells)
	{
		void *zeroed;
		const sb_status status = allocate_zeroed(memory_, in_front_ + SB_TBF_HEADER + cells, &zeroed);
		block_ = static_cast<unsigned char *>(zeroed);
		return status;
	}
	void release()
	{
		if (block_ != nullptr)
			memory_->release(memory_->context, block_);
		block_ = nullptr;
	}
	unsigned char *header() { return block_ + in_front_; }
	unsigned char *cells() { return header() + SB_TBF_HEADER; }
	unsigned char *block() { return block_; }

  private:
	const sb_memory *memory_;
	size_t in_front_;
	unsigned char *block_ = nullptr;
};

} // namespace

/* ------------------------------------------------------- what follows the counters */

/* The bytes that it takes at most. */
static size_t most_extra(const sb_tbf_builder *builder)
{
	if (counts_apart(builder))
		return size_of_recurring(builder);
	size_t bytes = 0;
	if (builder->plan.top != 0)
		bytes = SB_TOP_SECTION + size_t{SB_TOP_ENTRY} * builder->top.count + builder->top.bytes_used;
	return bytes;
}

static void plan_extra(const sb_tbf_builder *builder, sb_tbf *header)
{
	if (counts_apart(builder))
		header->extra = size_of_recurring(builder);
	if (builder->plan.top != 0 && (header->flags & SB_TBF_HAS_HITS) != 0)
		header->extra = top_size(&builder->top, header->base);
}

static sb_status write_extra(const sb_tbf_builder *builder, const sb_tbf *header, unsigned char *out)
{
	if (counts_apart(builder))
		return write_recurring(builder, out);
	if (header->extra != 0)
		top_write(&builder->top, header->base, out);
	return SB_OK;
}

/* ------------------------------------------------------------------- the whole */

/*
 * The counters, in a block with room for the rest. Extensible ones are packed into the usual room at once (what is not needed is
 * never touched), and only if that was too little it is found out first how much they need.
 */
static sb_status store_counters(const sb_tbf_builder *builder, const sb_hash_set *set, const sb_tbf *plan, sb_tbf *header,
								value_block *value)
{
	const tbf_sums *sums = &builder->sums;
	const size_t room = usual_room(plan);
	if (plan->layout == SB_TBF_EXTENSIBLE && room < SB_MAX_BYTES)
	{
		sb_status status = value->allocate(room + most_extra(builder));
		if (status != SB_OK)
			return status;
		status = sums_store(sums, set, plan, header, value->cells(), room);
		plan_extra(builder, header);
		if (status == SB_OK && sb_tbf_size(header) > SB_MAX_BYTES)
			return SB_TOO_LARGE;
		if (status != SB_TOO_LARGE)
			return status;
		value->release();
	}
	sb_status status = sums_plan(sums, set, plan, header);
	plan_extra(builder, header);
	if (status == SB_OK && sb_tbf_size(header) > SB_MAX_BYTES)
		status = SB_TOO_LARGE;
	if (status == SB_OK)
		status = value->allocate_zeros(sb_tbf_size(header) - SB_TBF_HEADER);
	return status == SB_OK ? sums_write(sums, set, header, value->cells()) : status;
}

/* The items in a form of which the core stores: where slots are not in the order of hashes it wants the hashes sorted, too. */
static sb_status sort_items(const sb_tbf_builder *builder, sb_hash_set *set, uint64_t **sorted)
{
	*set = builder->set;
	*sorted = nullptr;
	if (builder->form == sums_form::cells || set->secret[0] == 0)
		return SB_OK;
	sb_status status = allocate_words(builder, std::max<uint64_t>(set->count, 1), sorted);
	if (status == SB_OK)
		status = hash_set_sort(&builder->set, *sorted);
	set->sorted = *sorted;
	return status;
}

sb_status sb_tbf_builder_store(sb_tbf_builder *builder, const sb_memory *to, size_t in_front, sb_tbf *stored, void **value) noexcept
{
	value_block block(to, in_front);
	sb_tbf plan;
	sb_hash_set set;
	uint64_t *sorted = nullptr;
	*value = nullptr;
	sb_status status = sb_tbf_builder_settle(builder);
	if (status == SB_OK)
		status = own_items(builder);
	if (status != SB_OK)
		return status;
	if (builder->plan.top != 0)
		top_purge(&builder->top); /* which costs precision, but leaves a list that goes on */
	plan_size(builder, &plan);
	*stored = plan;
	status = sort_items(builder, &set, &sorted);
	if (status == SB_OK)
		status = store_counters(builder, builder->form == sums_form::cells ? nullptr : &set, &plan, stored, &block);
	if (status == SB_OK)
	{
		sb_tbf_encode_header(stored, block.header());
		status = write_extra(builder, stored, block.cells() + sb_tbf_counters_size(stored));
	}
	release_words(builder, sorted);
	if (status == SB_OK)
		*value = block.block();
	else
		block.release();
	return status;
}
