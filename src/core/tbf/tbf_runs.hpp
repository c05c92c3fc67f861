/*
 * tbf_runs.hpp: sums of items in runs. A run has the items of one process in packed columns (hash_run.hpp): the hashes
 * in ascending order, and beside each hash its sums, one word for each plane (the hits of 16 half-lives, tbf_sums.hpp).
 * The process that unites the builders of parallel workers keeps their runs as they are, and reads them side by side.
 * So memory is read in order, and mostly no item is inserted into a set again (tbf_builder_runs.cpp says when this is
 * necessary).
 */
#ifndef STREAMBLOOM_TBF_RUNS_HPP
#define STREAMBLOOM_TBF_RUNS_HPP

#include "base/hash_run.hpp"
#include "streambloom.h"
#include "tbf/tbf_place.hpp"

#include <algorithm>

namespace streambloom {

struct item_run
{
	item_run *next; /* the next run of the same builder */
	hash_run hashes;
	int64_t newest_plane;				/* the number of the plane of words[0] */
	packed_column words[SB_TBF_PLANES]; /* words[i]: plane newest_plane - i; bytes are NULL if there is no such plane */
	size_t bytes; /* of all columns, one after the other; the first begins at hashes.differences.bytes */
};

/* Returns the column of a run for the plane with this number, or NULL. */
inline const packed_column *column_of_plane(const item_run *run, int64_t plane)
{
	const int64_t i = run->newest_plane - plane;
	return i >= 0 && i < SB_TBF_PLANES && run->words[i].bytes != nullptr ? &run->words[i] : nullptr;
}

inline size_t count_runs(const item_run *first)
{
	size_t number = 0;
	for (; first != nullptr; first = first->next)
		number++;
	return number;
}

/* Copies a run with its columns into one block; memory->release() frees it. May return SB_NO_MEMORY, SB_INTERRUPTED. */
[[nodiscard]] sb_status copy_run(const sb_memory *memory, const item_run *run, item_run **out);

/* Counts the different items of all runs. REQUIRES: at most most_runs runs. */
[[nodiscard]] sb_status count_items_of_runs(const sb_memory *memory, const item_run *first, uint64_t *out);

/* Reads a run, some items at a time. */
class item_run_reader
{
public:
	static constexpr size_t at_once = hash_run_reader::at_once;

	item_run_reader() = default;
	explicit item_run_reader(const item_run *run) : run_(run), hashes_(run->hashes) {}

	/* Reads the next hashes. Returns their number, 0 after the last one. */
	size_t next(uint64_t *hashes)
	{
		count_ = hashes_.next(hashes);
		return count_;
	}

	/* Reads the words of the items that next() has read last, in plane number `plane`: zeros if the run lacks it. */
	void words(int64_t plane, uint64_t *out) const
	{
		if (const packed_column *column = column_of_plane(run_, plane); column != nullptr)
			unpack_words(*column, hashes_.read() - count_, count_, out);
		else
			std::fill_n(out, count_, 0);
	}

	const item_run *run() const { return run_; }

private:
	const item_run *run_ = nullptr;
	hash_run_reader hashes_;
	size_t count_ = 0;
};

/*
 * Reads the items of some runs by ranges of hashes. An item that several runs have is read several times. Most often
 * the ranges are read in ascending order.
 */
class runs_by_range
{
public:
	/*
	 * Begins to read runs. An index of a plane counts from plane number `newest_plane` back to older ones. end()
	 * releases the memory, also after a failure. May return SB_NO_MEMORY.
	 */
	[[nodiscard]] sb_status begin(const sb_memory *memory, const item_run *first, int64_t newest_plane);
	void end();

	/* Returns whether a run has words in plane newest_plane - index. */
	bool has_plane(int index) const { return has_plane_[index]; }

	/*
	 * Cuts all hashes into `parts` equal ranges, as multiply_high(hash, parts) does, and calls take(hashes, words,
	 * count) for the items in range number `part`; words[i] are their words in plane newest_plane - i. SB_INTERRUPTED:
	 * some items were not taken. REQUIRES: each call has the same number of parts.
	 */
	template <typename Take>
	[[nodiscard]] sb_status in_part(uint64_t parts, uint64_t part, Take take)
	{
		if (part < next_part_)
			rewind();
		next_part_ = part + 1;
		for (size_t i = 0; i < number_; i++)
			read_part(&ahead_[i], parts, part, take);
		return stopped_ ? SB_INTERRUPTED : SB_OK;
	}

private:
	/* Some items that were read of a run. Those before `at` lie in earlier ranges. */
	struct items_ahead
	{
		item_run_reader reader;
		size_t at;
		size_t end;
		uint64_t hashes[item_run_reader::at_once];
		uint64_t words[SB_TBF_PLANES][item_run_reader::at_once];
	};

	void rewind();
	bool read_more(items_ahead *ahead);

	template <typename Take>
	void read_part(items_ahead *ahead, uint64_t parts, uint64_t part, Take take)
	{
		while (ahead->at < ahead->end || read_more(ahead))
		{
			size_t first = ahead->at;
			while (first < ahead->end && multiply_high(ahead->hashes[first], parts) < part)
				first++;
			size_t behind = first;
			while (behind < ahead->end && multiply_high(ahead->hashes[behind], parts) == part)
				behind++;
			ahead->at = behind;
			if (behind > first)
			{
				const uint64_t *words[SB_TBF_PLANES];
				for (int i = 0; i < SB_TBF_PLANES; i++)
					words[i] = ahead->words[i] + first;
				take(ahead->hashes + first, words, behind - first);
			}
			if (behind < ahead->end)
				return;
		}
	}

	const sb_memory *memory_ = nullptr;
	const item_run *first_ = nullptr;
	int64_t newest_plane_ = 0;
	size_t number_ = 0;
	uint64_t next_part_ = 0;
	items_ahead *ahead_ = nullptr;
	bool has_plane_[SB_TBF_PLANES] = {};
	bool stopped_ = false;
};

} // namespace streambloom

#endif
