/*
 * tbf_exact.hpp: the exact form of a small tbf: the hashes of its items in ascending order, each with its count. For
 * the core's own files and its tests; the extension looks items up through sb_lookup.h.
 *
 * With n = sb_tbf.item_count, 1 to SB_TBF_EXACT_ITEMS, these bytes follow the header (with n = 0 there are none):
 *
 *     directory      3 bytes for each block: where the block ends, counted from the end of the directory
 *     blocks         block i has the items whose hashes begin with the digits of i; a block without items has no bytes
 *
 * There are 2^b blocks. b is the largest number for which a block has at least 64 items on average (0 if n < 64). So a
 * filter of fewer than 65,536 items has its header and its directory in the first 1,664 bytes. The first b binary
 * digits of a hash are the number of its block. The next q digits are the number of its bucket in the block: q is 8, or
 * floor(log2 n) + 2 if that is less. The next l = 48 - b - q digits, the lower ones, are stored as they are. The last
 * 16 are not kept (SB_KEPT_HASH_BITS).
 *
 * A block of m items is
 *
 *     m - 1          2 bytes
 *     k              1 byte
 *     taken          a bit for each bucket of the block: does it have items?
 *     last           a bit for each item: is it the last one of its bucket?
 *     more           a bit for each item: does count - 1 have more than k digits?
 *     records        for each item the l lower digits of its hash, then the k lower digits of count - 1
 *     rest           for each item whose `more` is set: the other digits of count - 1, in gamma code
 *
 * Strings of bits follow each other without gaps. Numbers begin with their lowest digit, in the lowest bit of a byte.
 * Zeros fill up the last byte. k is the smallest number for which `more` is set for at most half of the block's items.
 * So a set of items can be written in only one way.
 *
 * A hash costs three to five bits beyond its lower digits, nearly as in the code of Elias 1974 and Fano 1971. With its
 * lower digits it takes 4.4 bytes if there are 65,536 hashes, and 5 bytes if there are a thousand. A look-up reads the
 * bit `taken` of its bucket. This bit alone answers two of three look-ups of items that are not there. If the bucket is
 * taken, the look-up finds the record by counting bits. It decodes something only if `more` is set for its item: the
 * rests of the block's items up to this one.
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
	uint64_t hash;	/* the bits that are not kept are 0 */
	uint64_t units; /* 1 .. SB_TBF_MAX_CELL - 1 */
};

inline bool is_exact(const sb_tbf *tbf)
{
	return (tbf->flags & SB_TBF_EXACT) != 0;
}

/* Returns the unit_bits of a filter (exact or with cells, as its flags say) whose counts are not all whole hits. */
inline uint8_t unit_bits_of_parts(const sb_tbf *tbf)
{
	return is_exact(tbf) ? SB_TBF_HIT_BITS : SB_TBF_UNIT_BITS;
}

/*
 * exact_write() writes directory and blocks; exact_size() returns how many bytes they take. REQUIRES: count <=
 * SB_TBF_EXACT_ITEMS, the hashes ascend, no two are equal, and `out` has room.
 */
size_t exact_size(const exact_item *items, uint32_t count);
void exact_write(const exact_item *items, uint32_t count, unsigned char *out);

/*
 * Sets the fields of a header that describe these items: their number, the width of the largest count, and the number
 * of bytes that exact_write() writes. REQUIRES: as exact_size().
 */
void describe_items(const exact_item *items, uint32_t count, sb_tbf *out);

inline uint32_t blocks_of(const sb_tbf *exact)
{
	return exact->item_count == 0 ? 0 : hash_digits(exact->item_count).blocks();
}

/*
 * Reads the items of a block, whose bytes may be anything. The positions of its parts are counted in bits from its
 * first byte.
 */
class exact_block
{
public:
	/*
	 * Reads the beginning of a block. REQUIRES: begin < end. SB_BAD_CELLS: a block of this size cannot begin like this.
	 */
	[[nodiscard]] sb_status open(const sb_tbf *filter, uint32_t block, const unsigned char *begin,
								 const unsigned char *end);

	/* left() is the number of items that are still to be read; next() reads one. next() REQUIRES: left() > 0. */
	uint32_t left() const { return items_ - next_; }
	[[nodiscard]] sb_status next(exact_item *out);

	/* Returns the block's k: how many lower digits of each count - 1 stand in its record. */
	int order_of_counts() const { return order_of_counts_; }

	/*
	 * Checks the end of the block, after the last item: the last byte is filled up with zeros, and no more bytes
	 * follow.
	 */
	bool is_at_end() const { return bits_.is_at_end(); }

private:
	void find_taken();

	bit_reader bits_{nullptr, nullptr}; /* the next read begins at the next rest */
	uint32_t items_ = 0;
	uint32_t next_ = 0;
	uint64_t first_hash_ = 0; /* the lowest hash that the block can have */
	uint32_t buckets_ = 0;
	uint32_t bucket_ = 0;	  /* bucket of the next item */
	uint64_t last_lower_ = 0; /* lower digits of the last item read; used if same_bucket_ */
	bool same_bucket_ = false;
	size_t last_ = 0;	/* where the bits `last` begin; the bits `more` follow them */
	size_t record_ = 0; /* where the next record begins */
	int lower_digits_ = 0;
	int order_of_counts_ = 0;
};

/* Reads the items of a stored filter by ascending hash. Trusts nothing. */
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
	 * Reads the next items and returns their number. 0 means that there are no more, or that the rest cannot be read:
	 * see status(). hashes() and units() are valid until the next call.
	 */
	size_t next();
	const uint64_t *hashes() const { return hashes_; }
	const uint64_t *units() const { return units_; }

	/* SB_OK, or SB_BAD_CELLS if reading ended at a block that is damaged. */
	sb_status status() const { return status_; }

private:
	bool open_block();

	const sb_tbf *filter_;
	const unsigned char *cells_;
	uint32_t block_ = 0; /* the block after the open one */
	exact_block items_;
	sb_status status_ = SB_OK;
	uint64_t hashes_[at_once];
	uint64_t units_[at_once];
};

/*
 * Checks the directory and the blocks: are they exactly the bytes that exact_write() would write for the items in them?
 */
[[nodiscard]] sb_status exact_check(const sb_tbf *filter, const void *cells);

/*
 * A look-up takes three steps. exact_directory_range() says which bytes of the directory are needed to find the block
 * of a hash (size 0: there are no items). exact_block_range() gets these bytes, and says where the block lies.
 * exact_find() gets the block, and finds the item's units, 0 if the item is not there. Offsets count from the header's
 * first byte.
 *
 * exact_find() may get only the first `have` of the `size` bytes of a block. SB_NEED_BYTES: these are not enough.
 * exact_head() bytes are often enough, `size` bytes always are. SB_BAD_CELLS: the block is damaged.
 */
void exact_directory_range(const sb_tbf *filter, uint64_t hash, size_t *offset, size_t *size);
[[nodiscard]] sb_status exact_block_range(const sb_tbf *filter, uint64_t hash, const void *directory, size_t *offset,
										  size_t *size);
size_t exact_head(const sb_tbf *filter);
[[nodiscard]] sb_status exact_find(const sb_tbf *filter, const void *block, size_t have, size_t size, uint64_t hash,
								   uint64_t *units);

/* A whole look-up, for callers that have all bytes after the header. */
[[nodiscard]] sb_status exact_count(const sb_tbf *filter, const void *cells, uint64_t hash, uint64_t *units);

} // namespace streambloom

#endif
