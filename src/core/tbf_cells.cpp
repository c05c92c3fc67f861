/*
 * tbf_cells.cpp: stored counters, in two layouts of the same integers.
 *
 * Flat (the counters of B-TBF, Cheng et al., Fig. 1): each counter 8, 16, 32 or 64 bits wide, the narrowest that
 * holds the largest of the filter.
 *
 * Extensible (what their O-TBF, Fig. 3, wants: short counters for the many small ones, long for the few hot ones, any
 * of them found without unpacking the others). Their overflow table and pool of free counters need pointers; this is
 * today's form, directly addressable codes (Brisaboa, Ladra, Navarro, "DACs: Bringing direct access to variable-length
 * codes", 2013) over a bitmap of the counters that are not zero:
 *
 *   payload   directory: for each block, where it ends (4 bytes, counted from the end of the directory); then the blocks
 *   block     nothing at all if all its counters are zero, else
 *
 *     1                  number of levels L
 *     2                  counters that are not zero: the codes of level 1
 *     L                  for each level, bits of a code: 1 .. 32
 *     2 (L - 1)          for each level from the second on, number of codes
 *     2 (cells/512 - 1)  rank samples: counters not zero before counter 512, 1024, ...
 *     cells / 8          the bitmap
 *     each level         its codes, packed; then, but for the last level, a bit for each code: does it go on?
 *
 * A counter q > 0 stands as q - 1: its lowest bits in level 1, the next in level 2 and so on while there are any. The
 * code of level i + 1 that belongs to one of level i is found by counting the go-on bits before it. Every bit string
 * is filled up to a byte with zeros; bit 0 is the lowest of the first byte. The widths are those that make the block
 * smallest (see choose_levels), so equal counters give equal bytes.
 */
#include "tbf_cells.hpp"

#include <algorithm>

using namespace streambloom;

static constexpr uint32_t sample_every = 512;
static constexpr int widest_code = 32;
static constexpr int most_levels = 62; /* as many as a counter has bits */

static uint64_t bytes_for(uint64_t bits)
{
	return (bits + 7) / 8;
}

static uint8_t narrowest(uint64_t largest)
{
	return largest >> 32 ? 64 : largest >> 16 ? 32 : largest >> 8 ? 16 : 8;
}

static size_t flat_block_size(const sb_tbf *tbf)
{
	return static_cast<size_t>(tbf->block_cells) * (tbf->cell_bits / 8u);
}

static size_t directory_size(const sb_tbf *tbf)
{
	return tbf->payload == 0 ? 0 : size_t{4} * tbf->blocks;
}

/* ---------------------------------------------------------------- bit strings */

/* Eight bytes from here, or as many as there are before the end. */
static uint64_t load_up_to(const unsigned char *from, const unsigned char *end)
{
	if (end - from >= 8)
		return load_le<uint64_t>(from);
	uint64_t value = 0;
	for (int i = 0; from + i < end; i++)
		value |= static_cast<uint64_t>(from[i]) << (8 * i);
	return value;
}

static bool bit_at(const unsigned char *bits, uint64_t index)
{
	return bits[index / 8] >> (index % 8) & 1;
}

/* width <= 32; bits: a bit string before `end`. */
static uint64_t code_at(const unsigned char *bits, const unsigned char *end, uint64_t index, int width)
{
	uint64_t first = index * static_cast<uint64_t>(width);
	uint64_t word = load_up_to(bits + first / 8, end) >> (first % 8);
	return word & ((UINT64_C(1) << width) - 1);
}

/* How many bits are set in each byte. */
static uint64_t ones_in_bytes(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

/*
 * How many of the bits from .. to - 1 are set; from is a multiple of 8. The sums of a byte are added up over 16 words
 * before the bytes are: without an instruction for it, which not every x86-64 has, std::popcount is a call.
 */
static uint64_t ones_between(const unsigned char *bits, uint64_t from, uint64_t to)
{
	constexpr uint64_t even_bytes = UINT64_C(0x00ff00ff00ff00ff);
	constexpr uint64_t most_words = 16; /* 8 * 17 fits a byte, 16 * 8 * 17 the sum of all */
	uint64_t ones = 0;
	while (to > from)
	{
		uint64_t sums = 0;
		for (uint64_t words = std::min((to - from) / 64, most_words); words > 0; words--, from += 64)
			sums += ones_in_bytes(load_le<uint64_t>(bits + from / 8));
		if (to - from < 64)
		{
			uint64_t rest = load_up_to(bits + from / 8, bits + bytes_for(to));
			sums += ones_in_bytes(rest & ((UINT64_C(1) << (to - from)) - 1));
			from = to;
		}
		sums = (sums & even_bytes) + (sums >> 8 & even_bytes);
		ones += sums * UINT64_C(0x0001000100010001) >> 48;
	}
	return ones;
}

/* Writes bit strings one after the other. */
class bit_writer
{
  public:
	explicit bit_writer(unsigned char *to) : to_(to) {}

	/* width <= 32 */
	void add(uint64_t value, int width)
	{
		held_ |= value << count_;
		count_ += width;
		if (count_ >= 32)
		{
			store_le(to_, static_cast<uint32_t>(held_));
			to_ += 4;
			held_ >>= 32;
			count_ -= 32;
		}
	}

	/* Fills up the byte; the next bit string begins at the result. */
	unsigned char *finish()
	{
		for (; count_ > 0; count_ -= 8, held_ >>= 8)
			*to_++ = static_cast<unsigned char>(held_);
		count_ = 0;
		return to_;
	}

  private:
	unsigned char *to_;
	uint64_t held_ = 0;
	int count_ = 0;
};

/* ------------------------------------------------------------------- levels */

/* How a block is cut into levels. */
struct levels
{
	int count = 0;
	int width[most_levels];
	uint32_t codes[most_levels];
	uint32_t nonzero = 0;
};

static uint64_t head_size(uint32_t cells, int levels)
{
	uint64_t samples = cells / sample_every > 1 ? cells / sample_every - 1 : 0;
	return 3 + static_cast<uint64_t>(levels) + 2 * static_cast<uint64_t>(std::max(levels - 1, 0)) + 2 * samples;
}

static uint64_t level_size(const levels &l, int i)
{
	return bytes_for(uint64_t{l.codes[i]} * static_cast<uint64_t>(l.width[i])) +
		   (i + 1 < l.count ? bytes_for(l.codes[i]) : 0);
}

static uint64_t packed_size(uint32_t cells, const levels &l)
{
	if (l.nonzero == 0)
		return 0;
	uint64_t size = head_size(cells, l.count) + cells / 8;
	for (int i = 0; i < l.count; i++)
		size += level_size(l, i);
	return size;
}

/* The counters of a block that are not zero. */
struct gathered
{
	uint32_t count = 0;
	uint64_t codes[SB_TBF_BLOCK]; /* each one less by 1 */
	uint64_t bitmap[SB_TBF_BLOCK / 64]; /* which they are */
	uint16_t before[SB_TBF_BLOCK / 64]; /* how many there are before each word of the bitmap */
};

/* No branches: which counters are zero is as good as random, and building must not cost much more than it does flat. */
static void gather(const uint64_t *counters, uint32_t cells, gathered *out)
{
	uint32_t count = 0;
	for (uint32_t first = 0; first < cells; first += 64)
	{
		out->before[first / 64] = static_cast<uint16_t>(count);
		uint64_t word = 0;
		for (uint32_t i = 0; i < 64; i++)
		{
			uint64_t counter = counters[first + i];
			word |= static_cast<uint64_t>(counter != 0) << i;
			out->codes[count] = counter - 1;
			count += counter != 0;
		}
		out->bitmap[first / 64] = word;
	}
	out->count = count;
}

/*
 * How many codes have 0, 1, ... 62 bits. Given are numbers that are larger by `above` (counters: 1, codes: 0); zero
 * counters are found at 63. 2q + 1 is one bit longer than the code q, and all ones if q is -1. Four tables, so that equal
 * neighbours do not wait for each other.
 */
static void count_widths(const uint64_t *numbers, uint32_t count, uint64_t above, uint32_t of_width[64])
{
	uint32_t part[4][64] = {};
	uint32_t i = 0;
	for (; i + 4 <= count; i += 4)
		for (uint32_t j = 0; j < 4; j++)
			part[j][63 - std::countl_zero((numbers[i + j] - above) * 2 + 1)]++;
	for (; i < count; i++)
		part[0][63 - std::countl_zero((numbers[i] - above) * 2 + 1)]++;
	for (int width = 0; width < 64; width++)
		of_width[width] = part[0][width] + part[1][width] + part[2][width] + part[3][width];
}

/*
 * The widths that take the fewest bits, by dynamic programming from the top: with n[j] the number of codes that have
 * anything at bit j or above, a level from bit j of width b costs n[j] * b, and n[j] go-on bits if it is not the last.
 * Each further level is charged 32 bits, for its head and for bytes filled up. Of equal costs the narrower level is taken.
 */
static levels choose_levels(const uint32_t of_width[64], uint32_t nonzero)
{
	levels chosen;
	chosen.nonzero = nonzero;

	int bits = most_levels;
	while (bits > 0 && of_width[bits] == 0)
		bits--;
	uint32_t n[most_levels + 1];
	n[bits] = 0;
	for (int j = bits; j-- > 0;)
		n[j] = n[j + 1] + of_width[j + 1];

	uint64_t cost[most_levels + 1];
	int width[most_levels + 1];
	cost[bits] = 0;
	for (int j = bits; j-- > 0;)
	{
		uint64_t codes = j == 0 ? chosen.nonzero : n[j];
		cost[j] = UINT64_MAX;
		width[j] = 0;
		for (int b = 1; b <= std::min(widest_code, bits - j); b++)
		{
			uint64_t further = j + b < bits ? codes + 32 + cost[j + b] : 0;
			uint64_t all = codes * static_cast<uint64_t>(b) + further;
			if (all < cost[j])
			{
				cost[j] = all;
				width[j] = b;
			}
		}
	}
	for (int j = 0; j < bits; j += width[j])
	{
		chosen.width[chosen.count] = width[j];
		chosen.codes[chosen.count++] = j == 0 ? chosen.nonzero : n[j];
	}
	return chosen;
}

/* ------------------------------------------------------------------ packing */

static levels levels_of(const gathered &block)
{
	uint32_t of_width[64];
	count_widths(block.codes, block.count, 0, of_width);
	return choose_levels(of_width, block.count);
}

/* The same of counters that are only measured. */
static levels levels_of(const uint64_t *counters, uint32_t cells)
{
	uint32_t of_width[64];
	count_widths(counters, cells, 1, of_width);
	return choose_levels(of_width, cells - of_width[63]);
}

/* REQUIRES: room for packed_size(cells, l) bytes. Uses up the codes. */
static void pack(gathered *block, uint32_t cells, const levels &l, unsigned char *out)
{
	if (l.nonzero == 0)
		return;
	uint64_t *codes = block->codes;
	uint32_t count = block->count;

	*out++ = static_cast<unsigned char>(l.count);
	store_le(out, static_cast<uint16_t>(l.nonzero));
	out += 2;
	for (int i = 0; i < l.count; i++)
		*out++ = static_cast<unsigned char>(l.width[i]);
	for (int i = 1; i < l.count; i++, out += 2)
		store_le(out, static_cast<uint16_t>(l.codes[i]));
	for (uint32_t first = sample_every; first < cells; first += sample_every, out += 2)
		store_le(out, block->before[first / 64]);
	for (uint32_t word = 0; word < cells / 64; word++, out += 8)
		store_le(out, block->bitmap[word]);

	for (int i = 0; i < l.count; i++)
	{
		int width = l.width[i];
		bool last = i + 1 == l.count;
		bit_writer low(out);
		for (uint32_t j = 0; j < count; j++)
			low.add(codes[j] & ((UINT64_C(1) << width) - 1), width);
		out = low.finish();
		if (last)
			break;
		bit_writer more(out);
		uint32_t going_on = 0;
		for (uint32_t j = 0; j < count; j++)
		{
			uint64_t rest = codes[j] >> width;
			more.add(rest != 0, 1);
			codes[going_on] = rest;
			going_on += rest != 0;
		}
		out = more.finish();
		count = going_on;
	}
}

void cell_meter::add(const sb_tbf &shape, const uint64_t *counters)
{
	for (uint32_t i = 0; i < shape.block_cells; i++)
		largest_ = std::max(largest_, counters[i]);
	if (shape.layout == SB_TBF_EXTENSIBLE)
		packed_ += packed_size(shape.block_cells, levels_of(counters, shape.block_cells));
}

sb_status cell_meter::finish(sb_tbf *out) const
{
	out->cell_bits = narrowest(largest_);
	uint64_t payload = packed_ == 0 ? 0 : packed_ + uint64_t{4} * out->blocks;
	out->payload = static_cast<uint32_t>(std::min(payload, uint64_t{UINT32_MAX}));
	if (largest_ >= SB_TBF_MAX_CELL)
		return SB_BAD_CELLS; /* only out of damaged bytes; choose_levels() and pack() must not meet it */
	return sb_tbf_size(out) > SB_MAX_BYTES ? SB_TOO_LARGE : SB_OK;
}

template <typename Cell>
static void write_flat(const uint64_t *counters, uint32_t cells, unsigned char *out)
{
	for (uint32_t i = 0; i < cells; i++)
		store_le(out + i * sizeof(Cell), static_cast<Cell>(counters[i]));
}

void cell_writer::add(const uint64_t *counters)
{
	uint32_t cells = planned_.block_cells;
	uint32_t block = block_++;
	if (planned_.layout == SB_TBF_EXTENSIBLE)
	{
		if (planned_.payload == 0)
			return;
		size_t directory = directory_size(&planned_);
		gathered nonzero;
		gather(counters, cells, &nonzero);
		levels l = levels_of(nonzero);
		pack(&nonzero, cells, l, cells_ + directory + packed_);
		packed_ += packed_size(cells, l);
		store_le(cells_ + size_t{4} * block, static_cast<uint32_t>(packed_));
		return;
	}
	unsigned char *out = cells_ + flat_block_size(&planned_) * block;
	switch (planned_.cell_bits)
	{
		case 8:
			return write_flat<uint8_t>(counters, cells, out);
		case 16:
			return write_flat<uint16_t>(counters, cells, out);
		case 32:
			return write_flat<uint32_t>(counters, cells, out);
		default:
			return write_flat<uint64_t>(counters, cells, out);
	}
}

/* ---------------------------------------------------------------- unpacking */

/* A packed block, its head read and found to agree with its size. */
struct packed_block
{
	uint32_t cells;
	levels l;
	const unsigned char *samples;
	const unsigned char *bitmap;
	const unsigned char *level; /* where level 1 begins */
	const unsigned char *end;

	const unsigned char *more(const unsigned char *codes, int i) const
	{
		return codes + bytes_for(uint64_t{l.codes[i]} * static_cast<uint64_t>(l.width[i]));
	}
};

/* What the head says is checked against the size, so that nobody reads beyond the block; the bits are not looked at. */
static bool open_block(const void *data, size_t size, uint32_t cells, packed_block *out)
{
	const auto *bytes = static_cast<const unsigned char *>(data);
	if (size < 3)
		return false;
	out->cells = cells;
	out->l.count = bytes[0];
	out->l.nonzero = load_le<uint16_t>(bytes + 1);
	if (out->l.count > most_levels || out->l.nonzero == 0 || out->l.nonzero > cells ||
		size < head_size(cells, out->l.count))
		return false;

	const unsigned char *counts = bytes + 3 + out->l.count;
	int bits = 0;
	for (int i = 0; i < out->l.count; i++)
	{
		out->l.width[i] = bytes[3 + i];
		out->l.codes[i] = i == 0 ? out->l.nonzero : load_le<uint16_t>(counts + 2 * (i - 1));
		bits += out->l.width[i];
		if (out->l.width[i] == 0 || out->l.width[i] > widest_code || bits > most_levels || out->l.codes[i] == 0 ||
			(i > 0 && out->l.codes[i] > out->l.codes[i - 1]))
			return false;
	}
	out->samples = counts + 2 * std::max(out->l.count - 1, 0);
	out->bitmap = bytes + head_size(cells, out->l.count);
	out->level = out->bitmap + cells / 8;
	out->end = bytes + size;
	return packed_size(cells, out->l) == size;
}

static bool unpack(const packed_block &block, uint64_t *counters)
{
	uint16_t place[SB_TBF_BLOCK]; /* of each code of a level, its counter */
	uint32_t count = 0;

	std::memset(counters, 0, block.cells * sizeof *counters);
	for (uint32_t first = 0; first < block.cells; first += 64)
		for (uint64_t word = load_le<uint64_t>(block.bitmap + first / 8); word != 0; word &= word - 1)
		{
			auto i = static_cast<uint16_t>(first + static_cast<uint32_t>(std::countr_zero(word)));
			counters[i] = 1;
			place[count++] = i;
		}
	if (count != block.l.nonzero)
		return false;

	const unsigned char *codes = block.level;
	int shift = 0;
	for (int i = 0; i < block.l.count; i++)
	{
		int width = block.l.width[i];
		const unsigned char *more = block.more(codes, i);
		for (uint32_t j = 0; j < count; j++)
			counters[place[j]] += code_at(codes, block.end, j, width) << shift;
		shift += width;
		if (i + 1 == block.l.count)
			break;
		uint32_t going_on = 0;
		for (uint32_t j = 0; j < count; j++)
			if (bit_at(more, j))
				place[going_on++] = place[j];
		if (going_on != block.l.codes[i + 1])
			return false;
		count = going_on;
		codes = more + bytes_for(block.l.codes[i]);
	}
	return true;
}

template <typename Cell>
static void read_flat(const unsigned char *from, uint32_t cells, uint64_t *counters)
{
	for (uint32_t i = 0; i < cells; i++)
		counters[i] = load_le<Cell>(from + i * sizeof(Cell));
}

static void unpack_flat(const sb_tbf *tbf, const unsigned char *from, uint64_t *counters)
{
	switch (tbf->cell_bits)
	{
		case 8:
			return read_flat<uint8_t>(from, tbf->block_cells, counters);
		case 16:
			return read_flat<uint16_t>(from, tbf->block_cells, counters);
		case 32:
			return read_flat<uint32_t>(from, tbf->block_cells, counters);
		default:
			return read_flat<uint64_t>(from, tbf->block_cells, counters);
	}
}

sb_status sb_tbf_unpack_block(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters) noexcept
{
	size_t offset;
	size_t size;
	size_t at;

	sb_tbf_directory_range(tbf, block, &at, &size);
	const auto *bytes = static_cast<const unsigned char *>(cells);
	if (sb_status status = sb_tbf_block_range(tbf, block, bytes + (at - SB_TBF_HEADER), &offset, &size); status != SB_OK)
		return status;
	offset -= SB_TBF_HEADER;
	if (tbf->layout == SB_TBF_FLAT)
		unpack_flat(tbf, bytes + offset, counters);
	else if (size == 0)
		std::memset(counters, 0, tbf->block_cells * sizeof *counters);
	else
	{
		packed_block packed;
		if (!open_block(bytes + offset, size, tbf->block_cells, &packed) || !unpack(packed, counters))
			return SB_BAD_CELLS;
	}
	return SB_OK;
}

/* ------------------------------------------------------------------ look-ups */

void sb_tbf_directory_range(const sb_tbf *tbf, uint32_t block, size_t *offset, size_t *size) noexcept
{
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (tbf->layout == SB_TBF_FLAT || tbf->payload == 0)
		return;
	*size = block == 0 ? 4 : 8;
	*offset += size_t{4} * (block == 0 ? 0 : block - 1);
}

sb_status sb_tbf_block_range(const sb_tbf *tbf, uint32_t block, const void *directory, size_t *offset,
							 size_t *size) noexcept
{
	if (tbf->layout == SB_TBF_FLAT)
	{
		*size = flat_block_size(tbf);
		*offset = SB_TBF_HEADER + *size * block;
		return SB_OK;
	}
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (tbf->payload == 0)
		return SB_OK;
	const auto *ends = static_cast<const unsigned char *>(directory);
	uint32_t begin = block == 0 ? 0 : load_le<uint32_t>(ends);
	uint32_t end = load_le<uint32_t>(block == 0 ? ends : ends + 4);
	if (begin > end || end > tbf->payload - directory_size(tbf))
		return SB_BAD_CELLS;
	*offset += directory_size(tbf) + begin;
	*size = end - begin;
	return SB_OK;
}

static uint64_t flat_cell(const unsigned char *cells, int bits, uint64_t index)
{
	switch (bits)
	{
		case 8:
			return cells[index];
		case 16:
			return load_le<uint16_t>(cells + index * 2);
		case 32:
			return load_le<uint32_t>(cells + index * 4);
		default:
			return load_le<uint64_t>(cells + index * 8);
	}
}

/* A counter that the bitmap says is not zero. */
static bool packed_counter(const packed_block &block, uint32_t index, uint64_t *out)
{
	uint32_t sample = index / sample_every;
	uint64_t rank = sample == 0 ? 0 : load_le<uint16_t>(block.samples + size_t{2} * (sample - 1));
	rank += ones_between(block.bitmap, uint64_t{sample} * sample_every, index);

	const unsigned char *codes = block.level;
	uint64_t value = 1;
	int shift = 0;
	for (int i = 0; i < block.l.count; i++)
	{
		if (rank >= block.l.codes[i])
			return false;
		const unsigned char *more = block.more(codes, i);
		value += code_at(codes, block.end, rank, block.l.width[i]) << shift;
		if (i + 1 == block.l.count || !bit_at(more, rank))
			break;
		shift += block.l.width[i];
		rank = ones_between(more, 0, rank);
		codes = more + bytes_for(block.l.codes[i]);
	}
	*out = value;
	return true;
}

sb_status sb_tbf_block_min(const sb_tbf *tbf, const void *block, size_t size, uint64_t hash, uint64_t *out) noexcept
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t least = UINT64_MAX;

	sb_tbf_positions(tbf, hash, positions);
	*out = 0;
	if (tbf->layout == SB_TBF_FLAT)
	{
		for (int i = 0; i < tbf->hashes; i++)
			least = std::min(least, flat_cell(static_cast<const unsigned char *>(block), tbf->cell_bits, positions[i]));
		*out = least;
		return SB_OK;
	}

	if (size == 0)
		return SB_OK;
	packed_block packed;
	if (!open_block(block, size, tbf->block_cells, &packed))
		return SB_BAD_CELLS;
	for (int i = 0; i < tbf->hashes; i++)
		if (!bit_at(packed.bitmap, positions[i]))
			return SB_OK;
	for (int i = 0; i < tbf->hashes; i++)
	{
		uint64_t counter;
		if (!packed_counter(packed, positions[i], &counter))
			return SB_BAD_CELLS;
		least = std::min(least, counter);
	}
	*out = least;
	return SB_OK;
}

/* ------------------------------------------------ the table of recurring minimum */

uint64_t sb_tbf_entries(const sb_tbf *tbf) noexcept
{
	return (tbf->flags & SB_TBF_RECURRING_MINIMUM) != 0 ? tbf->extra / SB_TBF_ENTRY : 0;
}

void sb_tbf_write_entry(void *table, uint64_t index, const sb_tbf_entry *entry) noexcept
{
	unsigned char *to = static_cast<unsigned char *>(table) + index * SB_TBF_ENTRY;
	store_le(to, entry->hash);
	store_le(to + 8, entry->hits);
}

void sb_tbf_read_entry(const void *table, uint64_t index, sb_tbf_entry *out) noexcept
{
	const unsigned char *from = static_cast<const unsigned char *>(table) + index * SB_TBF_ENTRY;
	*out = {load_le<uint64_t>(from), load_le<uint64_t>(from + 8)};
}

uint64_t sb_tbf_entry_units(const sb_tbf *tbf, const sb_tbf_entry *entry) noexcept
{
	return shift_right_up(entry->hits, static_cast<uint64_t>(SB_TBF_HIT_BITS - tbf->unit_bits));
}

/* ------------------------------------------------------------------- checking */

/* Would these counters be packed to these very bytes? */
static bool is_canonical(const uint64_t *counters, uint32_t cells, const unsigned char *bytes, size_t size)
{
	unsigned char again[SB_TBF_BLOCK * 8 + SB_TBF_BLOCK]; /* no block is larger, see below */
	gathered nonzero;
	gather(counters, cells, &nonzero);
	levels l = levels_of(nonzero);

	/* one level of 32 bits and one of 30 would do for any counters: 62 bits, a go-on bit and a bitmap bit each, and a head */
	uint64_t wanted = packed_size(cells, l);
	if (wanted != size || wanted > sizeof again)
		return false;
	pack(&nonzero, cells, l, again);
	return std::memcmp(again, bytes, size) == 0;
}

/* Of recurring minimum: hashes ascend, so none is twice there; whole hits where the counters are. */
static bool table_is_valid(const sb_tbf *tbf, const unsigned char *table)
{
	sb_tbf_entry before;
	for (uint64_t i = 0, n = sb_tbf_entries(tbf); i < n; i++)
	{
		sb_tbf_entry entry;
		sb_tbf_read_entry(table, i, &entry);
		if ((i > 0 && entry.hash <= before.hash) || entry.hits == 0 || entry.hits >= SB_TBF_MAX_CELL ||
			(tbf->unit_bits == 0 && entry.hits % (1u << SB_TBF_HIT_BITS) != 0))
			return false;
		before = entry;
	}
	return true;
}

sb_status sb_tbf_check_cells(const sb_tbf *tbf, const void *cells) noexcept
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	block_counters counters;
	uint64_t largest = 0;
	size_t next = SB_TBF_HEADER + directory_size(tbf);
	for (uint32_t block = 0; block < tbf->blocks; block++)
	{
		if (sb_status status = sb_tbf_unpack_block(tbf, cells, block, counters); status != SB_OK)
			return status;
		for (uint32_t i = 0; i < tbf->block_cells; i++)
			largest = std::max(largest, counters[i]);
		if (tbf->layout == SB_TBF_FLAT)
			continue;

		size_t offset;
		size_t size;
		sb_tbf_directory_range(tbf, block, &offset, &size);
		const unsigned char *directory = bytes + (offset - SB_TBF_HEADER);
		if (sb_status status = sb_tbf_block_range(tbf, block, directory, &offset, &size); status != SB_OK)
			return status;
		if (offset != next ||
			!is_canonical(counters, tbf->block_cells, bytes + (offset - SB_TBF_HEADER), size))
			return SB_BAD_CELLS;
		next = offset + size;
		if (tbf->payload == 0)
			break;
	}

	/* Widths and the absence of an empty payload are part of the format: equal filters have equal bytes. */
	if (tbf->layout == SB_TBF_EXTENSIBLE && (next != SB_TBF_HEADER + sb_tbf_counters_size(tbf) || (largest == 0) != (tbf->payload == 0)))
		return SB_BAD_CELLS;
	if (largest >= SB_TBF_MAX_CELL || narrowest(largest) != tbf->cell_bits ||
		(largest != 0 && (tbf->flags & SB_TBF_HAS_HITS) == 0))
		return SB_BAD_CELLS;
	return table_is_valid(tbf, bytes + sb_tbf_counters_size(tbf)) ? SB_OK : SB_BAD_CELLS;
}

/* ------------------------------------------------------------ another layout */

sb_status sb_tbf_layout_plan(const sb_tbf *tbf, const void *cells, uint8_t layout, sb_tbf *out) noexcept
{
	*out = *tbf;
	out->layout = layout;
	return measure_cells(out, [&](uint32_t block, uint64_t *counters) {
		return sb_tbf_unpack_block(tbf, cells, block, counters);
	});
}

void sb_tbf_layout_write(const sb_tbf *tbf, const void *cells, const sb_tbf *planned, void *out) noexcept
{
	write_cells(*planned, out, [&](uint32_t block, uint64_t *counters) {
		return sb_tbf_unpack_block(tbf, cells, block, counters);
	});
}
