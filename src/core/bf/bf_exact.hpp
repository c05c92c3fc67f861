/*
 * bf_exact.hpp: the exact form of a bf: the hashes of its items in ascending order. For the core's own files and
 * its tests; everybody else goes through sb_bf_exact.h, sb_bf_builder.h and sb_lookup.h.
 *
 * Of a hash the 48 highest bits are kept (SB_BF_HASH_BITS); they are called digits here. What follows the header
 * (n: sb_bf.item_count, 1 to SB_BF_EXACT_ITEMS; without items there are no bytes at all):
 *
 *     directory      3 bytes for each block: where the block ends, counted from the end of the directory
 *     blocks         a block has the items whose hashes begin with its number; no bytes if it has none
 *
 * There are 2^b blocks, b the smallest number for which a block has at most 128 items on average: so the header and
 * the directory lie in the first 1,600 bytes. The q digits of a hash after the block's number are its bucket: 8 of
 * them, or the number of digits of n - 1 plus 1 if that is less. The l = 48 - b - q digits after those are kept as
 * they are. A block of m items is
 *
 *     m - 1          2 bytes
 *     taken          a bit for each of the 2^q buckets: does it have items?
 *     last           a bit for each item: is it the last one of its bucket?
 *     lower          for each item the l lower digits of its hash
 *
 * Strings of bits follow each other without gaps; numbers begin with their lowest digit, which is the lowest bit of
 * a byte; zeros fill up the last byte. So there is one way only to write a set of items. A thousand items take 5.1
 * bytes each, 65,536 take 4.3. A look-up reads the bit of its bucket, which answers two of three for items that are
 * not there; otherwise it finds its item by counting bits.
 */
#ifndef STREAMBLOOM_BF_EXACT_HPP
#define STREAMBLOOM_BF_EXACT_HPP

#include "base/hash_block.hpp"
#include "streambloom.h"

namespace streambloom {

/* How the hashes of so many items are cut. REQUIRES: items > 0. */
inline hash_digits list_digits(uint32_t items)
{
	return hash_digits(items - 1, SB_BF_HASH_BITS);
}

/* The digits of a hash as a number, and back. */
constexpr int list_shift = 64 - SB_BF_HASH_BITS;

inline uint64_t to_digits(uint64_t hash)
{
	return hash >> list_shift;
}

/* The bytes of a list; it is told how many items each block has, in any order. REQUIRES: items <= SB_BF_EXACT_ITEMS. */
class list_sizer
{
public:
	explicit list_sizer(uint32_t items) : items_(items) {}
	void add(uint64_t hash) { of_block_[list_digits(items_).block(to_digits(hash))]++; }
	size_t size() const;

	static constexpr size_t most_blocks = SB_BF_EXACT_ITEMS / 128;

private:
	uint32_t items_;
	uint32_t of_block_[most_blocks] = {};
};

/*
 * Makes *bf the header of a list of so many items that takes so many bytes after the header; kind, hash_count and fpr
 * stay.
 */
void plan_list(sb_bf *bf, uint32_t items, size_t payload);

/*
 * Writes what follows the header. REQUIRES: the hashes ascend, no two have the same digits, and the bits after those
 * are 0.
 */
void list_write(const uint64_t *hashes, uint32_t count, unsigned char *out);

/* A block, which may be any bytes. */
class list_block
{
public:
	/* REQUIRES: begin < end. SB_BAD_CELLS: the block cannot have that many items. */
	[[nodiscard]] sb_status open(const hash_digits &digits, uint32_t items_of_filter, uint32_t block,
								 const unsigned char *begin, const unsigned char *end);

	/* Its hashes, one after the other. REQUIRES: left() > 0. */
	uint32_t left() const { return items_ - next_; }
	[[nodiscard]] sb_status next(uint64_t *hash);

	/* After the last item: is there nothing but zeros up to the next whole byte, which is the end? */
	bool is_at_end() const { return bits_.is_at_end(); }

private:
	void find_taken();

	bit_reader bits_{nullptr, nullptr};
	uint32_t items_ = 0;
	uint32_t next_ = 0;
	uint64_t first_digits_ = 0;
	uint32_t buckets_ = 0;
	uint32_t bucket_ = 0;	/* of the next item, or before it */
	uint64_t at_least_ = 0; /* the lower digits of the next item, if it is in the same bucket as the one before */
	size_t last_ = 0;
	size_t lower_ = 0; /* of the next item */
	int lower_digits_ = 0;
};

/* The hashes of a stored list in ascending order. Trusts nothing; never gives more than item_count of them. */
class list_reader
{
public:
	static constexpr size_t at_once = 256;

	/* stored: what follows the header */
	list_reader(const sb_bf *bf, const void *stored) : bf_(bf), stored_(static_cast<const unsigned char *>(stored)) {}

	/*
	 * The next hashes; 0: there are no more, or the rest cannot be read: see status(). They are there until the next
	 * call.
	 */
	size_t next();
	const uint64_t *hashes() const { return hashes_; }

	/* SB_BAD_CELLS if the list is damaged; SB_INTERRUPTED. */
	sb_status status() const { return status_; }

private:
	bool open_block();

	const sb_bf *bf_;
	const unsigned char *stored_;
	uint32_t block_ = 0; /* the one after the open one */
	uint32_t given_ = 0;
	uint32_t end_ = 0; /* of the open block */
	list_block items_;
	sb_status status_ = SB_OK;
	uint64_t hashes_[at_once];
};

/* Calls take(hashes, count) for all hashes of a list; take() returns a status. */
template <typename Take>
[[nodiscard]] sb_status for_each_hash(const sb_bf *bf, const void *stored, Take take)
{
	list_reader reader(bf, stored);
	while (const size_t count = reader.next())
		if (const sb_status status = take(reader.hashes(), count); status != SB_OK)
			return status;
	return reader.status();
}

/* Everything that can be wrong with the bytes after the header. */
[[nodiscard]] sb_status list_check(const sb_bf *bf, const void *stored);

/*
 * A look-up: which bytes of the directory say where the block of a hash lies (size 0: there are no items); where
 * the block lies, given these bytes; and whether the item is in that block. Offsets count from the header's first
 * byte. Of the `size` bytes of a block the first `have` are at hand. SB_NEED_BYTES: they are not enough;
 * list_head() of them often are, all of them always are. SB_BAD_CELLS.
 */
void list_directory_range(const sb_bf *bf, uint64_t hash, size_t *offset, size_t *size);
[[nodiscard]] sb_status list_block_range(const sb_bf *bf, uint64_t hash, const void *directory, size_t *offset,
										 size_t *size);
size_t list_head(const sb_bf *bf);
[[nodiscard]] sb_status list_find(const sb_bf *bf, const void *block, size_t have, size_t size, uint64_t hash,
								  bool *found);

/* The same of many, for whom all bytes after the header are at hand. SB_INTERRUPTED. */
[[nodiscard]] sb_status list_find_many(const sb_bf *bf, const void *stored, const uint64_t *hashes, size_t count,
									   bool *found);

} // namespace streambloom

#endif
