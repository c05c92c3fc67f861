/*
 * tbf_exact.hpp: the exact form of a small tbf: the hashes of its items in their order, each with its count. For the
 * core's own files and its tests; everybody else goes through sb_lookup.h and sb_tbf_builder.h.
 *
 * What follows the header (n: sb_tbf.item_count, 1 to SB_TBF_EXACT_ITEMS; without items there are no bytes at all):
 *
 *     directory      3 bytes for each block: where the block ends, counted from the end of the directory
 *     blocks         a block has the items whose hashes begin with its number; no bytes if it has none
 *
 * There are 2^b blocks, b the largest number for which a block has at least 64 items on average (0 if n < 64): so a
 * filter of fewer than 65,536 items has its header and its directory in the first 1,664 bytes. The q digits of a hash
 * after the block's number are its bucket: 8 of them, or floor(log2 n) + 2 if that is less. The l = 64 - b - q digits
 * after those are kept as they are. A block of m items is
 *
 *     m - 1          2 bytes
 *     k              1 byte
 *     taken          a bit for each bucket of the block: does it have items?
 *     last           a bit for each item: is it the last one of its bucket?
 *     more           a bit for each item: does its count less 1 have more than k digits?
 *     records        for each item the l lower digits of its hash, then the k lower digits of its count less 1
 *     rest           for each item with more digits: those, in gamma code
 *
 * Strings of bits follow each other without gaps; numbers begin with their lowest digit, which is the lowest bit of a
 * byte; zeros fill up the last byte. k is the smallest number for which at most half of the block's counts less 1 have
 * more than k digits. So there is one way only to write a set of items.
 *
 * A hash costs three to five bits beyond its lower digits, nearly as in the code of Elias 1974 and Fano 1971: 6.4 bytes
 * for 65,536 hashes, 7 for a thousand. A look-up reads the bit of its bucket, which answers two of three for items that
 * are not there. If the bucket is taken it finds its record by counting bits, and decodes nothing else but the rests
 * before its own.
 */
#ifndef STREAMBLOOM_TBF_EXACT_HPP
#define STREAMBLOOM_TBF_EXACT_HPP

#include "base/hash_block.hpp"
#include "streambloom.h"

#include <bit>

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
 * The bytes of directory and blocks, and writing them: out has room for so many. REQUIRES: count <= SB_TBF_EXACT_ITEMS,
 * the hashes ascend, and no two are the same.
 */
size_t exact_size(const exact_item *items, uint32_t count);
void exact_write(const exact_item *items, uint32_t count, unsigned char *out);

/*
 * What the header says of these items: how many they are, the width of the largest count, the bytes they take. REQUIRES
 * as above.
 */
void describe_items(const exact_item *items, uint32_t count, sb_tbf *out);

inline uint32_t blocks_of(const sb_tbf *exact)
{
	return exact->item_count == 0 ? 0 : hash_digits(exact->item_count).blocks();
}

/* A block, which may be any bytes, and where its parts begin, in bits. */
class exact_block
{
public:
	/* REQUIRES: begin < end. SB_BAD_CELLS: the block cannot have that many items. */
	[[nodiscard]] sb_status open(const sb_tbf *filter, uint32_t block, const unsigned char *begin,
								 const unsigned char *end);

	/* Its items, one after the other. REQUIRES: left() > 0. */
	uint32_t left() const { return items_ - next_; }
	[[nodiscard]] sb_status next(exact_item *out);

	/* The k of its counts. */
	int order_of_counts() const { return order_of_counts_; }

	/* After the last item: is there nothing but zeros up to the next whole byte, which is the end? */
	bool is_at_end() const { return bits_.is_at_end(); }

private:
	void find_taken();

	bit_reader bits_{nullptr, nullptr}; /* stands at the next item's rest */
	uint32_t items_ = 0;
	uint32_t next_ = 0;
	uint64_t first_hash_ = 0; /* of the block */
	uint32_t buckets_ = 0;
	uint32_t bucket_ = 0;	  /* of the next item, or before it */
	uint64_t last_lower_ = 0; /* of the item before, if that is in the same bucket */
	bool same_bucket_ = false;
	size_t last_ = 0;
	size_t record_ = 0; /* the next one */
	int lower_digits_ = 0;
	int order_of_counts_ = 0;
};

/* The items of a stored filter in the order of their hashes. Trusts nothing. */
class exact_reader
{
public:
	static constexpr size_t at_once = 256;

	/* cells: what follows the header */
	exact_reader(const sb_tbf *filter, const void *cells)
		: filter_(filter), cells_(static_cast<const unsigned char *>(cells))
	{
	}

	/*
	 * The next items; 0: there are no more, or the rest cannot be read: see status(). They are there until the next
	 * call.
	 */
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
 * block lies, given these bytes; and the item's units in that block, 0 if it is not there. Offsets count from the
 * header's first byte. Of the `size` bytes of a block the first `have` are at hand. SB_NEED_BYTES: they are not enough;
 * exact_head() of them often are, all of them always are. SB_BAD_CELLS.
 */
void exact_directory_range(const sb_tbf *filter, uint64_t hash, size_t *offset, size_t *size);
[[nodiscard]] sb_status exact_block_range(const sb_tbf *filter, uint64_t hash, const void *directory, size_t *offset,
										  size_t *size);
size_t exact_head(const sb_tbf *filter);
[[nodiscard]] sb_status exact_find(const sb_tbf *filter, const void *block, size_t have, size_t size, uint64_t hash,
								   uint64_t *units);

/* The same for whom all bytes after the header are at hand. */
[[nodiscard]] sb_status exact_count(const sb_tbf *filter, const void *cells, uint64_t hash, uint64_t *units);

} // namespace streambloom

#endif
