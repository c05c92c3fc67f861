/*
 * hash_run.hpp: hashes in ascending order, and columns of words beside them, in few bytes. In this form the items of a
 * tbf builder travel from one process to another, and those of several builders can be read together without a set.
 *
 * A column has one word for each item. The lowest bits of the words are cut off as far as they are 0 in all words. Then
 * all words have the same number of bytes, the least that suffices for the largest one. A run of hashes is a column of
 * differences: each hash minus the one before it, the first one minus 0. Of the differences exactly those lowest bits
 * are cut off that are 0 in every kept hash (SB_KEPT_HASH_MASK). A million hashes that nobody has chosen take 4 or 5
 * bytes each.
 *
 * Columns lie in bytes that may come from anywhere. They are little-endian and need no alignment.
 */
#ifndef STREAMBLOOM_HASH_RUN_HPP
#define STREAMBLOOM_HASH_RUN_HPP

#include "base/bits.hpp"
#include "streambloom.h"

namespace streambloom {

/* Words in `width` bytes each, 0 to 8. A word is the number in these bytes times 2^shift. */
struct packed_column
{
	const unsigned char *bytes;
	uint8_t width;
	uint8_t shift;
};

/* Returns the column for words that are, all or-ed, `any`. It has no bytes yet. */
constexpr packed_column column_for(uint64_t any)
{
	const int shift = any != 0 ? std::countr_zero(any) : 0;
	const int width = (static_cast<int>(std::bit_width(any >> shift)) + 7) / 8;
	return {nullptr, static_cast<uint8_t>(width), static_cast<uint8_t>(shift)};
}

/* Writes words into the `count` * column.width bytes at `out`. REQUIRES: the column is wide enough. */
void pack_words(const packed_column &column, const uint64_t *words, size_t count, unsigned char *out);

/* Reads `count` words, from number `first` on. REQUIRES: the column has them. */
void unpack_words(const packed_column &column, uint64_t first, size_t count, uint64_t *out);

/* Hashes in ascending order, no two of them equal. */
struct hash_run
{
	uint64_t count;
	packed_column differences;
};

/*
 * Returns the column for the differences of these hashes, without bytes. REQUIRES: the hashes ascend, and have only
 * bits of SB_KEPT_HASH_MASK.
 */
packed_column column_for_hashes(const uint64_t *hashes, size_t count);

/*
 * Writes the differences of some hashes. `before` is the hash before the first of them, 0 if there is none. REQUIRES:
 * as column_for_hashes().
 */
void pack_hashes(const packed_column &differences, uint64_t before, const uint64_t *hashes, size_t count,
				 unsigned char *out);

/*
 * Checks a run that came from somewhere: the hashes must ascend and have only bits of SB_KEPT_HASH_MASK, and the
 * width and shift of the column must be possible for such hashes. SB_BAD_CELLS: this is not so. May return
 * SB_INTERRUPTED. REQUIRES: the column has its bytes.
 */
[[nodiscard]] sb_status check_run(const hash_run &run);

/* Reads the hashes of a run, some at a time. */
class hash_run_reader
{
public:
	static constexpr size_t at_once = 256;

	hash_run_reader() = default;
	explicit hash_run_reader(const hash_run &run) : run_(run) {}

	/* Reads at most at_once hashes. Returns their number, 0 after the last one. */
	size_t next(uint64_t *out);

	/* How many hashes have been read. */
	uint64_t read() const { return read_; }

private:
	hash_run run_ = {};
	uint64_t read_ = 0;
	uint64_t last_ = 0;
};

/* The most runs that are read together. */
constexpr size_t most_runs = 64;

/*
 * Counts the different hashes of some runs. May return SB_NO_MEMORY, SB_INTERRUPTED. REQUIRES: at most most_runs runs.
 */
[[nodiscard]] sb_status count_different(const sb_memory *memory, const hash_run *runs, size_t number, uint64_t *out);

} // namespace streambloom

#endif
