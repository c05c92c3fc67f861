/*
 * tbf_runs.cpp: copies runs, counts their items, and reads them by ranges of hashes. A run has the items of one
 * process, sorted by hash (tbf_runs.hpp).
 */
#include "tbf/tbf_runs.hpp"

#include "base/stop.hpp"

using namespace streambloom;

sb_status streambloom::copy_run(const sb_memory *memory, const item_run *run, item_run **out)
{
	auto *copy = static_cast<item_run *>(memory->allocate(memory->context, sizeof(item_run) + run->bytes));
	*out = copy;
	if (copy == nullptr)
		return SB_NO_MEMORY;
	auto *to = reinterpret_cast<unsigned char *>(copy + 1);
	const unsigned char *from = run->hashes.differences.bytes;
	const sb_status status = in_pieces(
		run->bytes, bytes_at_once, [=](size_t first, size_t count) { std::memcpy(to + first, from + first, count); });
	if (status != SB_OK)
	{
		memory->release(memory->context, copy);
		*out = nullptr;
		return status;
	}
	*copy = *run;
	copy->hashes.differences.bytes = to;
	for (packed_column &column : copy->words)
		if (column.bytes != nullptr)
			column.bytes = to + (column.bytes - from);
	return SB_OK;
}

sb_status streambloom::count_items_of_runs(const sb_memory *memory, const item_run *first, uint64_t *out)
{
	hash_run runs[most_runs];
	size_t number = 0;
	for (; first != nullptr; first = first->next)
		runs[number++] = first->hashes;
	return count_different(memory, runs, number, out);
}

sb_status runs_by_range::begin(const sb_memory *memory, const item_run *first, int64_t newest_plane)
{
	memory_ = memory;
	first_ = first;
	newest_plane_ = newest_plane;
	number_ = count_runs(first);
	ahead_ = static_cast<items_ahead *>(memory->allocate(memory->context, number_ * sizeof(items_ahead)));
	if (ahead_ == nullptr)
		return SB_NO_MEMORY;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		for (const item_run *run = first; run != nullptr; run = run->next)
			has_plane_[i] |= column_of_plane(run, newest_plane - i) != nullptr;
	rewind();
	return SB_OK;
}

void runs_by_range::end()
{
	if (ahead_ != nullptr)
		memory_->release(memory_->context, ahead_);
	ahead_ = nullptr;
}

void runs_by_range::rewind()
{
	next_part_ = 0;
	const item_run *run = first_;
	for (size_t i = 0; i < number_; i++, run = run->next)
	{
		ahead_[i].reader = item_run_reader(run);
		ahead_[i].at = ahead_[i].end = 0;
	}
}

/* Reads more items of a run. Returns false after the last one, and if somebody wants to stop. */
bool runs_by_range::read_more(items_ahead *ahead)
{
	stopped_ = stopped_ || stop_wanted();
	if (stopped_)
		return false;
	ahead->at = 0;
	ahead->end = ahead->reader.next(ahead->hashes);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (has_plane_[i])
			ahead->reader.words(newest_plane_ - i, ahead->words[i]);
	return ahead->end != 0;
}
