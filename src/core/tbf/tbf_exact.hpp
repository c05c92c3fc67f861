/*
 * tbf_exact.hpp: the exact form of a small tbf: the hashes of its items in their order, each with its count. For the core's own
 * files and its tests; everybody else goes through sb_lookup.h and sb_tbf_builder.h.
 *
 * What follows the header (n: sb_tbf.item_count, 1 to SB_TBF_EXACT_ITEMS; without items there are no bytes at all):
 *
 *     directory      4 bytes for each block: where the block ends, counted from the end of the directory
 *     blocks         a block has the items whose hashes begin with its number; no bytes if it has none
 *
 * There are 2^b blocks, b the largest number for which a block has at least 32 items on average (0 if n < 32). A block is a
 * string of bits, the lowest bit of a byte first, filled up with zeros to a whole byte:
 *
 *     its number of items, in Elias's gamma code: z zeros, a one, the z lower bits of the number
 *     6 bits         k: the order of its code for counts
 *     for each item  the distance of its hash in Rice's code of order 63 - floor(log2 n): from the block's first hash for the
 *                    first item, else from the hash after the last one; its count less 1 in the exponential Golomb code of order k
 *
 * A Rice code of order r writes d as floor(d / 2^r) zeros, a one, and the r lower bits of d. An exponential Golomb code of order k
 * writes x as the gamma code of floor(x / 2^k) + 1, and the k lower bits of x. The k of a block is the smallest number for which
 * at most half of its counts less 1 have more than k binary digits; no other k takes fewer bits (up to one digit a count).
 *
 * So n hashes that are spread evenly take 64 - log2(n) + 1.5 bits each: 6.2 bytes for 65,536 items, 7 for a thousand.
 */
#ifndef STREAMBLOOM_TBF_EXACT_HPP
#define STREAMBLOOM_TBF_EXACT_HPP

#include "base/bit_stream.hpp"
#include "streambloom.h"

namespace streambloom {

/* An item and its count, in units (see sb_tbf.unit_bits). */
struct exact_item
{
	uint64_t hash;
	uint64_t units; /* 1 .. SB_TBF_MAX_CELL - 1 */
};

inline bool is_exact(const sb_tbf *tbf)
{
	return (tbf->flags & SB_TBF_EXACT) != 0;
}

/* unit_bits where counts are no whole hits. */
inline uint8_t unit_bits_of_parts(const sb_tbf *tbf)
{
	return is_exact(tbf) ? SB_TBF_HIT_BITS : SB_TBF_UNIT_BITS;
}

/*
 * The bytes of directory and blocks, and writing them: out has room for so many. REQUIRES: count <= SB_TBF_EXACT_ITEMS, the
 * hashes ascend, and no two are the same.
 */
size_t exact_size(const exact_item *items, uint32_t count);
void exact_write(const exact_item *items, uint32_t count, unsigned char *out);

/* What the header says of these items: how many they are, the width of the largest count, the bytes they take. REQUIRES as above. */
void describe_items(const exact_item *items, uint32_t count, sb_tbf *out);

/* The items of one block, one after the other. Trusts nothing. */
class exact_block
{
  public:
	/* REQUIRES: begin < end. SB_BAD_CELLS: no block of this number begins so. */
	[[nodiscard]] sb_status open(const sb_tbf *filter, uint32_t block, const unsigned char *begin, const unsigned char *end);

	uint64_t left() const { return left_; }

	/* The k of its counts. */
	int order_of_counts() const { return order_of_counts_; }

	/* Is there nothing but zeros up to the next whole byte, which is the end? */
	bool is_at_end() const { return bits_.is_at_end(); }

	/* REQUIRES: left() > 0. */
	[[nodiscard]] sb_status next(exact_item *out);

  private:
	/* A block has less than 64 items on average, so that 2^7 times 2^order lies beyond its end. */
	static constexpr uint64_t most_zeros = 127;

	bit_reader bits_{nullptr, nullptr};
	uint64_t left_ = 0;
	u128 from_ = 0;			/* the smallest hash that the next item can have */
	uint64_t last_ = 0;		/* the largest hash of the block */
	int order_of_hashes_ = 0;
	int order_of_counts_ = 0;
};

/* The items of a stored filter in the order of their hashes. Trusts nothing. */
class exact_reader
{
  public:
	static constexpr size_t at_once = 256;

	/* cells: what follows the header */
	exact_reader(const sb_tbf *filter, const void *cells) : filter_(filter), cells_(static_cast<const unsigned char *>(cells)) {}

	/* The next items; 0: there are no more, or the rest cannot be read: see status(). They are there until the next call. */
	size_t next();
	const uint64_t *hashes() const { return hashes_; }
	const uint64_t *units() const { return units_; }

	/* SB_BAD_CELLS if a block could not be read. */
	sb_status status() const { return status_; }

  private:
	bool open_block();

	const sb_tbf *filter_;
	const unsigned char *cells_;
	uint32_t block_ = 0; /* the one after the open one */
	exact_block items_;
	sb_status status_ = SB_OK;
	uint64_t hashes_[at_once];
	uint64_t units_[at_once];
};

/* Everything that can be wrong with the bytes after the header; there is one way only to write a set of items. */
[[nodiscard]] sb_status exact_check(const sb_tbf *filter, const void *cells);

/*
 * A look-up: which bytes of the directory say where the block of a hash lies (size 0: there are no items); where the
 * block lies, given these bytes; and the item's units in that block, 0 if it is not there. Offsets count from the header's first
 * byte. SB_BAD_CELLS.
 */
void exact_directory_range(const sb_tbf *filter, uint64_t hash, size_t *offset, size_t *size);
[[nodiscard]] sb_status exact_block_range(const sb_tbf *filter, uint64_t hash, const void *directory, size_t *offset, size_t *size);
[[nodiscard]] sb_status exact_find(const sb_tbf *filter, const void *block, size_t size, uint64_t hash, uint64_t *units);

/* The same for whom all bytes after the header are at hand. */
[[nodiscard]] sb_status exact_count(const sb_tbf *filter, const void *cells, uint64_t hash, uint64_t *units);

} // namespace streambloom

#endif
