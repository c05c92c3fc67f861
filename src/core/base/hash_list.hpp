/*
 * hash_list.hpp: sorted hashes in blocks with a directory, each hash alone or with a count: the exact form of a small
 * bf or tbf. Writes such a list, reads it, checks it, and looks hashes up in it. The bytes of a list may come from
 * anywhere. For the core only.
 *
 * The 48 highest bits of a hash are kept (SB_KEPT_HASH_BITS); they are called digits here. With n items these bytes
 * follow the header of the filter (with n = 0 there are none):
 *
 *     directory      3 bytes for each block: where the block ends, counted from the end of the directory
 *     blocks         block i has the items whose hashes begin with the digits of i; a block without items has no bytes
 *
 * There are 2^b blocks of 64 to 128 items on average (fewer only if the filter has fewer). So a filter of fewer than
 * 65,536 items has its header and its directory in the first 1,664 bytes. The first b digits of a hash are the number
 * of its block. The next q digits are the number of its bucket in the block: two to four times as many buckets as
 * items, at most 256. The next l = 48 - b - q digits, the lower ones, are stored as they are. struct hash_digits says
 * which b and q belong to n; with counts they are those of n, without those of n - 1.
 *
 * A block of m items is
 *
 *     m - 1          2 bytes
 *     k              1 byte; only with counts
 *     taken          a bit for each bucket of the block: does it have items?
 *     last           a bit for each item: is it the last one of its bucket?
 *     more           a bit for each item: does count - 1 have more than k digits? only with counts
 *     records        for each item the l lower digits of its hash, then the k lower digits of count - 1
 *     rest           for each item whose `more` is set: the other digits of count - 1, in gamma code
 *
 * Strings of bits follow each other without gaps. Numbers begin with their lowest digit, in the lowest bit of a byte.
 * Zeros fill up the last byte. k is the smallest number for which `more` is set for at most half of the block's items.
 * So a set of items can be written in only one way.
 *
 * A hash costs three to five bits beyond its lower digits, nearly as in the code of Elias 1974 and Fano 1971: 4.4 bytes
 * if there are 65,536 hashes, and 5 bytes if there are a thousand. A look-up reads the bit `taken` of its bucket. This
 * bit alone answers two of three look-ups of items that are not there. If the bucket is taken, the look-up finds the
 * record by counting bits. It decodes something only if `more` is set for its item: the rests of the block's items up
 * to this one.
 */
#ifndef STREAMBLOOM_HASH_LIST_HPP
#define STREAMBLOOM_HASH_LIST_HPP

#include "base/hash_block.hpp"

namespace streambloom {

/* A stored list. */
struct hash_list
{
	hash_list(uint32_t number, bool with_counts, const void *data, size_t bytes_of_data)
		: items(number), counts(with_counts), digits(with_counts ? number : std::max(number, 1u) - 1),
		  bytes(static_cast<const unsigned char *>(data)), size(bytes_of_data)
	{
	}

	uint32_t items;
	bool counts;
	hash_digits digits;
	const unsigned char *bytes;
	size_t size;

	uint32_t blocks() const { return items == 0 ? 0 : digits.blocks(); }
	size_t directory() const { return directory_entry * blocks(); }

	/* Where `taken` begins in a block, in bits; the first head() bytes of a block end with it. */
	size_t taken() const { return counts ? 24 : 16; }
	size_t head() const { return (taken() + digits.buckets() + 7) / 8; }

	/* The bits of a block before its rests. */
	size_t block_bits(size_t of_block, int k) const
	{
		return taken() + digits.buckets() + of_block * static_cast<size_t>(1 + counts + digits.lower + k);
	}

	/*
	 * Where a block lies. `begin` and `end` are the entries of the block before it (0 for the first) and of this one.
	 */
	[[nodiscard]] sb_status range(uint32_t begin, uint32_t end, size_t *offset, size_t *length) const
	{
		if (begin > end || size < directory() || end > size - directory())
			return SB_BAD_CELLS;
		*offset = directory() + begin;
		*length = end - begin;
		return SB_OK;
	}

	/*
	 * A look-up takes three steps. directory_range() says which bytes of the directory are needed to find the block of
	 * a hash (length 0: there are no items). block_range() gets these bytes, and says where the block lies.
	 * find_in_block() gets the block. Offsets count from the first byte of the list.
	 */
	void directory_range(uint64_t hash, size_t *offset, size_t *length) const
	{
		const uint32_t block = items == 0 ? 0 : digits.block(hash);
		*length = items == 0 ? 0 : block == 0 ? directory_entry : 2 * directory_entry;
		*offset = directory_entry * (block == 0 ? 0 : block - 1);
	}
	[[nodiscard]] sb_status block_range(uint64_t hash, const void *entries, size_t *offset, size_t *length) const;
};

/*
 * Finds a hash in its block, and sets *units to its count (without counts 1), 0 if it is not there. Gets the first
 * `have` of the `size` bytes of the block. SB_NEED_BYTES: these are not enough. head() bytes are often enough, `size`
 * bytes always are. SB_BAD_CELLS: the block is damaged.
 */
[[nodiscard]] sb_status find_in_block(const hash_list &list, const void *block, size_t have, size_t size, uint64_t hash,
									  uint64_t *units);

/* A whole look-up, for callers that have all bytes of the list. */
[[nodiscard]] sb_status find_in_list(const hash_list &list, uint64_t hash, uint64_t *units);

/* Checks the directory and the blocks: are they exactly what write_list() would write? *largest: the largest count. */
[[nodiscard]] sb_status check_list(const hash_list &list, uint64_t *largest);

/*
 * Items to be written: hashes in ascending order, no two of them equal; with counts each hash is followed by its
 * count.
 */
struct items_to_list
{
	const uint64_t *first;
	uint32_t count;
	bool counts;

	uint64_t hash(size_t i) const { return first[i * (1 + counts)]; }
	uint64_t units(size_t i) const { return counts ? first[2 * i + 1] : 1; }
};

/* write_list() writes directory and blocks; list_size() returns how many bytes they take. */
size_t list_size(const items_to_list &items);
void write_list(const items_to_list &items, unsigned char *out);

/* Finds the k of a block from the number of digits of each count - 1. */
class order_of_counts
{
public:
	void add(uint64_t units)
	{
		of_width_[std::bit_width(units - 1)]++;
		all_++;
	}
	int order() const
	{
		int k = 0;
		for (uint64_t wider = all_ - of_width_[0]; 2 * wider > all_; wider -= of_width_[k])
			k++;
		return k;
	}

private:
	uint32_t of_width_[64] = {};
	uint32_t all_ = 0;
};

/* What the first bytes of a block say, and where its parts begin, in bits from its first byte on. */
struct block_parts
{
	uint32_t items; /* how many the block has */
	int order;		/* k */
	size_t last;
	size_t more;
	size_t records;
	size_t record; /* the length of one record */
	size_t rest;
};

/* Reads the items of a list by ascending hash. */
class list_reader
{
public:
	static constexpr size_t at_once = 256;

	/* If `counts` is not NULL, also refuses blocks whose k write_list() would not choose; `counts` is used for that. */
	explicit list_reader(const hash_list &list, order_of_counts *counts = nullptr) : list_(list), counts_(counts) {}

	/*
	 * Reads the next items and returns their number. 0 means that there are no more, or that the rest cannot be read:
	 * see status(). hashes() and units() are valid until the next call.
	 */
	size_t next();
	const uint64_t *hashes() const { return hashes_; }
	const uint64_t *units() const { return units_; }

	/*
	 * SB_OK, or SB_BAD_CELLS if reading ended at a block that is damaged, or the list has not as many items as it
	 * says.
	 */
	sb_status status() const { return status_; }

private:
	bool open_block();
	template <bool counts>
	sb_status read_item(uint64_t *hash, uint64_t *units);
	template <bool counts>
	size_t read();
	void find_taken();

	hash_list list_;
	order_of_counts *counts_;
	uint32_t block_ = 0; /* the block after the open one */
	uint32_t given_ = 0;
	uint32_t end_ = 0; /* where the open block ends */
	sb_status status_ = SB_OK;

	/* the open block */
	bit_reader bits_{nullptr, nullptr}; /* the next read begins at the next rest */
	block_parts parts_ = {};
	uint32_t next_ = 0;
	uint64_t first_hash_ = 0; /* the lowest hash that the block can have */
	uint32_t bucket_ = 0;	  /* bucket of the next item */
	uint64_t at_least_ = 0;	  /* the least lower digits that the next item may have; 0 if it begins a bucket */
	size_t record_ = 0;		  /* where the next record begins */

	uint64_t hashes_[at_once];
	uint64_t units_[at_once];
};

} // namespace streambloom

#endif
