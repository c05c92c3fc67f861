/*
 * bf_exact.hpp: the exact form of a bf: the hashes of its items in ascending order, called a *list* here and in
 * bf_exact.cpp. For the core's own files and its tests; everybody else goes through the headers sb_*.h.
 *
 * The 48 highest bits of a hash are kept (SB_KEPT_HASH_BITS); they are called digits here. With n = sb_bf.item_count, 1
 * to SB_BF_EXACT_ITEMS, these bytes follow the header (with n = 0 there are none):
 *
 *     directory      3 bytes for each block: where the block ends, counted from the end of the directory
 *     blocks         a block has the items whose hashes begin with its number; a block without items has no bytes
 *
 * There are 2^b blocks, where b is the smallest number for which a block has at most 128 items on average. So the
 * header and the directory lie in the first 1,600 bytes. The first b digits of a hash are the number of its block.
 * The next q digits are its bucket; q is the smaller of 8 and w + 1, where n - 1 has w binary digits. The other
 * l = 48 - b - q digits are stored. A block of m items is
 *
 *     m - 1          2 bytes
 *     taken          a bit for each of the 2^q buckets: does it have items?
 *     last           a bit for each item: is it the last one of its bucket?
 *     lower          for each item the l lower digits of its hash
 *
 * These parts follow each other without gaps. Numbers begin with their lowest digit, and bytes with their lowest bit;
 * zeros fill up the last byte. So a set of items can be written in one way only. A thousand items take 5.1 bytes
 * each, 65,536 items take 4.3. A look-up first reads the bit `taken` of its bucket. If the bit is 0, the item is not in
 * the filter; this answers the look-ups of two of three such items. Otherwise the look-up counts bits to find the place
 * of the bucket's items.
 */
#ifndef STREAMBLOOM_BF_EXACT_HPP
#define STREAMBLOOM_BF_EXACT_HPP

#include "base/hash_block.hpp"
#include "streambloom.h"

namespace streambloom {

/* How the hashes of a filter of `items` items are cut. REQUIRES: items > 0. */
inline hash_digits list_digits(uint32_t items)
{
	return hash_digits(items - 1);
}

/*
 * Calculates the number of bytes of a list. add() tells it the hash of each item, in any order. REQUIRES: items <=
 * SB_BF_EXACT_ITEMS.
 */
class list_sizer
{
public:
	explicit list_sizer(uint32_t items) : items_(items) {}
	void add(uint64_t hash) { of_block_[list_digits(items_).block(hash)]++; }
	size_t size() const;

	static constexpr size_t most_blocks = SB_BF_EXACT_ITEMS / 128;

private:
	uint32_t items_;
	uint32_t of_block_[most_blocks] = {};
};

/*
 * Makes *bf the header of a list of `items` items that takes `payload` bytes after the header. kind, hash_count and
 * fpr stay.
 */
void plan_list(sb_bf *bf, uint32_t items, size_t payload);

/*
 * Writes the bytes that follow the header. REQUIRES: the hashes ascend, no two have the same digits, and all bits
 * below the digits are 0.
 */
void list_write(const uint64_t *hashes, uint32_t count, unsigned char *out);

/* Reads the hashes of a block. Its bytes may be anything. */
class list_block
{
public:
	/* Begins to read a block. SB_BAD_CELLS: the block cannot have as many items as it says. REQUIRES: begin < end. */
	[[nodiscard]] sb_status open(const hash_digits &digits, uint32_t items_of_filter, uint32_t block,
								 const unsigned char *begin, const unsigned char *end);

	/*
	 * left() is the number of hashes that are still to be read; next() reads one of them. next() REQUIRES: left() >
	 * 0.
	 */
	uint32_t left() const { return items_ - next_; }
	[[nodiscard]] sb_status next(uint64_t *hash);

	/* To be called after the last item: true if only the zero bits follow that fill up the last byte. */
	bool is_at_end() const { return bits_.is_at_end(); }

private:
	void find_taken();

	bit_reader bits_{nullptr, nullptr};
	uint32_t items_ = 0;
	uint32_t next_ = 0;
	uint64_t first_hash_ = 0; /* the lowest hash of the block */
	uint32_t buckets_ = 0;
	uint32_t bucket_ = 0;	/* the bucket of the next item */
	uint64_t at_least_ = 0; /* the least lower digits that the next item may have; 0 if it begins a bucket */
	size_t last_ = 0;
	size_t lower_ = 0; /* the bit of the block at which the lower digits of the next item begin */
	int lower_digits_ = 0;
};

/*
 * Reads the hashes of a stored list in ascending order. Trusts nothing, and never returns more than item_count
 * hashes.
 */
class list_reader
{
public:
	static constexpr size_t at_once = 256;

	/* stored: the bytes that follow the header */
	list_reader(const sb_bf *bf, const void *stored) : bf_(bf), stored_(static_cast<const unsigned char *>(stored)) {}

	/*
	 * Reads more hashes and returns how many. hashes() has them until the next call. Returns 0 if there are no more,
	 * or if the rest cannot be read; status() tells which.
	 */
	size_t next();
	const uint64_t *hashes() const { return hashes_; }

	/* SB_OK, or why reading ended early: SB_BAD_CELLS (the list is damaged), SB_INTERRUPTED. */
	sb_status status() const { return status_; }

private:
	bool open_block();

	const sb_bf *bf_;
	const unsigned char *stored_;
	uint32_t block_ = 0; /* the block after the open one */
	uint32_t given_ = 0;
	uint32_t end_ = 0; /* where the open block ends */
	list_block items_;
	sb_status status_ = SB_OK;
	uint64_t hashes_[at_once];
};

/*
 * Calls take(hashes, count) until all hashes of a list were given to it, some at a time. take() returns a status; any
 * other than SB_OK ends the walk and is returned.
 */
template <typename Take>
[[nodiscard]] sb_status for_each_hash(const sb_bf *bf, const void *stored, Take take)
{
	list_reader reader(bf, stored);
	while (const size_t count = reader.next())
		if (const sb_status status = take(reader.hashes(), count); status != SB_OK)
			return status;
	return reader.status();
}

/* Checks all the bytes after the header. */
[[nodiscard]] sb_status list_check(const sb_bf *bf, const void *stored);

/*
 * The steps of a look-up. list_directory_range() says which bytes of the directory are needed; if *size is 0, the
 * filter has no items. list_block_range() gets these bytes and says where the block of the hash lies. list_find()
 * gets the block and says whether the hash is in it. Offsets count from the header's first byte.
 *
 * list_find() may get only the first `have` of the block's `size` bytes. The first list_head() bytes are often
 * enough; `size` bytes always are. SB_NEED_BYTES: `have` bytes were not enough. SB_BAD_CELLS: the bytes are damaged.
 */
void list_directory_range(const sb_bf *bf, uint64_t hash, size_t *offset, size_t *size);
[[nodiscard]] sb_status list_block_range(const sb_bf *bf, uint64_t hash, const void *directory, size_t *offset,
										 size_t *size);
size_t list_head(const sb_bf *bf);
[[nodiscard]] sb_status list_find(const sb_bf *bf, const void *block, size_t have, size_t size, uint64_t hash,
								  bool *found);

/* Looks many hashes up when all bytes after the header are at hand (`stored`). May return SB_BAD_CELLS. */
[[nodiscard]] sb_status list_find_many(const sb_bf *bf, const void *stored, const uint64_t *hashes, size_t count,
									   bool *found);

} // namespace streambloom

#endif
