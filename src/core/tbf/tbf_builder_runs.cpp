/*
 * tbf_builder_runs.cpp: a builder that keeps the items of other builders in runs. A *run* has the items of one process,
 * sorted by hash and packed (tbf_runs.hpp). In this way the builders of parallel workers are united: the leader's
 * builder is empty at first, and each worker's builder comes as one run.
 *
 * Runs are kept until something needs a set: a hit or a stored filter is added, several runs are serialized or united
 * with another builder, a builder is added that cannot be kept as a run (may_keep_run_of()), or the result is stored as
 * an exact filter. Then own_items() moves the items to a set. To store a result with cells needs a set only if it has
 * minimum increase or builder->filters.
 */
#include "base/memory.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_builder.hpp"

using namespace streambloom;

runs_from_items streambloom::runs_from;

void streambloom::release_runs(sb_tbf_builder *builder)
{
	while (item_run *run = builder->runs.first)
	{
		builder->runs.first = run->next;
		builder->memory.release(builder->memory.context, run);
	}
	builder->runs = {};
}

void streambloom::add_run(sb_tbf_builder *builder, item_run *run)
{
	item_runs *runs = &builder->runs;
	run->next = runs->first;
	*runs = {run, runs->number + 1, runs->most + run->hashes.count, std::max(runs->different, run->hashes.count),
			 runs->bytes + run->bytes};
}

sb_status streambloom::count_different_items(sb_tbf_builder *builder)
{
	item_runs *runs = &builder->runs;
	uint64_t counted;
	if (runs->different == runs->most)
		return SB_OK;
	const sb_status status = count_items_of_runs(&builder->memory, runs->first, &counted);
	if (status == SB_OK)
		runs->different = runs->most = counted;
	return status;
}

/*
 * Do the runs and one more take at most as much memory as a set of their different items would? (Runs of many workers
 * that all have the same items take more.) If the different items have not been counted, a lower bound of their number
 * is taken, so the result may be false although a set would take more.
 */
static bool are_smaller_than_a_set(const sb_tbf_builder *builder, const item_run *more)
{
	const item_runs *runs = &builder->runs;
	const uint64_t different = std::max(runs->different, more->hashes.count);
	uint32_t planes = 0;
	uint32_t planes_of_more = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		planes += has_plane(builder, i);
		planes_of_more += more->words[i].bytes != nullptr;
	}
	planes = std::max(planes, planes_of_more);
	return runs->bytes + more->bytes <= hash_set_bytes(hash_set_capacity_for(different + 1), std::max(planes, 1u));
}

sb_status streambloom::may_keep_run_of(sb_tbf_builder *builder, const sb_tbf_builder *other, bool *may)
{
	item_runs *runs = &builder->runs;
	const item_run *more = other->runs.first;
	const uint64_t in_set = builder->form == sums_form::items ? builder->set.count : 0;
	*may = false;
	if (builder->form == sums_form::cells || other->form != sums_form::runs || other->runs.number != 1 ||
		runs->number == most_runs)
		return SB_OK;
	if (builder->form == sums_form::items &&
		(more->hashes.count < runs_from.items || (in_set > 0 && in_set >= runs_from.items)))
		return SB_OK;

	/*
	 * A set that has too many items becomes cells (may_have_capacity()). If the items of the runs, of the builder's set
	 * and of `more` might be too many for one set, no run is kept: the caller puts all of them into a set, which finds
	 * out how many different ones there are, and becomes cells if need be. runs->most is only an upper bound of the
	 * different items, because runs may have items in common. So if this bound is too large, and at least twice as many
	 * as are known to be different, the items are counted first. This takes long, but happens rarely.
	 */
	auto may_be_in_a_set = [&] {
		return may_have_capacity(builder, hash_set_capacity_for(runs->most + in_set + more->hashes.count + 1));
	};
	sb_status status = SB_OK;
	if (!may_be_in_a_set() && runs->most >= 2 * runs->different)
		status = count_different_items(builder);
	if (status != SB_OK || !may_be_in_a_set())
		return status;
	*may = are_smaller_than_a_set(builder, more);
	if (*may)
		return SB_OK;
	status = count_different_items(builder);
	*may = status == SB_OK && are_smaller_than_a_set(builder, more);
	return status;
}

/* Makes this the first run of a builder that has a set, or adds it to the others. */
static void begin_or_add_run(sb_tbf_builder *builder, item_run *run)
{
	if (builder->form == sums_form::items)
	{
		forget_items(builder);
		builder->form = sums_form::runs;
	}
	add_run(builder, run);
}

sb_status streambloom::keep_run_of(sb_tbf_builder *builder, const sb_tbf_builder *other)
{
	item_run *run;
	const sb_status status = copy_run(&builder->memory, other->runs.first, &run);
	if (status == SB_OK)
		begin_or_add_run(builder, run);
	return status;
}

sb_status streambloom::set_to_run(sb_tbf_builder *builder)
{
	run_of_items made;
	if (builder->form != sums_form::items || builder->set.count == 0)
		return SB_OK;
	item_run *run = nullptr;
	sb_status status = made.begin(builder);
	if (status == SB_OK)
		status = made.make(&run);
	made.end();
	if (status == SB_OK)
		begin_or_add_run(builder, run);
	return status;
}

/* ---------------------------------------------------------------- making a run */

sb_status run_of_items::begin_with_set()
{
	const sb_tbf_builder *of = builder_;
	const sb_hash_set *set = &of->set;
	uint64_t any[SB_TBF_PLANES] = {};
	const size_t bytes = std::max<uint64_t>(set->count, 1) * sizeof *sorted_;
	sorted_ = static_cast<uint64_t *>(of->memory.allocate(of->memory.context, bytes));
	if (sorted_ == nullptr)
		return SB_NO_MEMORY;
	sb_status status = walk_to_sort(set, sorted_, [&](const uint64_t *slots, size_t count) {
		for (int i = 0; i < SB_TBF_PLANES; i++)
			for (size_t j = 0; j < count && has_plane_[i]; j++)
				any[i] |= of->sums.plane[i][hash_set_place(slots[j], set->beside)];
	});
	if (status == SB_OK)
		status = sort_walked(set, sorted_);
	if (status != SB_OK)
		return status;
	run_.hashes = {set->count, column_for_hashes(sorted_, set->count)};
	for (int i = 0; i < SB_TBF_PLANES; i++)
		run_.words[i] = column_for(any[i]);
	return SB_OK;
}

/* Columns of planes that have fallen out are left out. */
void run_of_items::begin_with_run()
{
	const item_run *run = builder_->runs.first;
	run_.hashes = run->hashes;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (has_plane_[i])
			run_.words[i] = *column_of_plane(run, builder_->sums.newest_plane - i);
}

sb_status run_of_items::begin(const sb_tbf_builder *builder)
{
	builder_ = builder;
	run_.newest_plane = builder->sums.newest_plane;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		has_plane_[i] = has_plane(builder, i);
	sb_status status = SB_OK;
	if (builder->form == sums_form::runs)
		begin_with_run();
	else
		status = begin_with_set();
	size_t width = run_.hashes.differences.width;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		width += has_plane_[i] ? run_.words[i].width : 0;
	run_.bytes = width * run_.hashes.count;
	return status;
}

void run_of_items::end()
{
	release_words(builder_, sorted_);
	sorted_ = nullptr;
}

sb_status run_of_items::write_from_set(unsigned char *out) const
{
	const sb_hash_set *set = &builder_->set;
	uint64_t before = 0;
	for (uint64_t first = 0; first < set->count; first += tbf_batch)
	{
		const auto count = static_cast<size_t>(std::min<uint64_t>(set->count - first, tbf_batch));
		const uint64_t *hashes = sorted_ + first;
		uint64_t slots[tbf_batch];
		uint64_t words[tbf_batch];
		unsigned char *column = out;
		if (stop_wanted())
			return SB_INTERRUPTED;
		hash_set_find_many(set, hashes, count, slots);
		pack_hashes(run_.hashes.differences, before, hashes, count, column + first * run_.hashes.differences.width);
		column += set->count * run_.hashes.differences.width;
		before = hashes[count - 1];
		for (int i = 0; i < SB_TBF_PLANES; i++)
		{
			if (!has_plane_[i])
				continue;
			for (size_t j = 0; j < count; j++)
				words[j] = builder_->sums.plane[i][hash_set_place(slots[j], set->beside)];
			pack_words(run_.words[i], words, count, column + first * run_.words[i].width);
			column += set->count * run_.words[i].width;
		}
	}
	return SB_OK;
}

static sb_status copy_column(unsigned char **to, const packed_column &column, uint64_t count)
{
	unsigned char *out = *to;
	const size_t bytes = count * column.width;
	*to += bytes;
	return in_pieces(bytes, bytes_at_once,
					 [=](size_t first, size_t now) { std::memcpy(out + first, column.bytes + first, now); });
}

sb_status run_of_items::write(unsigned char *out) const
{
	if (builder_->form == sums_form::items)
		return write_from_set(out);
	sb_status status = copy_column(&out, run_.hashes.differences, run_.hashes.count);
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
		if (has_plane_[i])
			status = copy_column(&out, run_.words[i], run_.hashes.count);
	return status;
}

sb_status run_of_items::make(item_run **out) const
{
	const sb_memory *memory = &builder_->memory;
	auto *run = static_cast<item_run *>(memory->allocate(memory->context, sizeof(item_run) + run_.bytes));
	*out = nullptr;
	if (run == nullptr)
		return SB_NO_MEMORY;
	auto *to = reinterpret_cast<unsigned char *>(run + 1);
	if (sb_status status = write(to); status != SB_OK)
	{
		memory->release(memory->context, run);
		return status;
	}
	*run = run_;
	run->hashes.differences.bytes = to;
	to += run_.hashes.count * run_.hashes.differences.width;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (has_plane_[i])
		{
			run->words[i].bytes = to;
			to += run_.hashes.count * run_.words[i].width;
		}
		else
			run->words[i] = {};
	*out = run;
	return SB_OK;
}
