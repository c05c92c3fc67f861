/*
 * fuzz_support.h: what the fuzz targets share: a check that ends the program, buffers that end where their allocation
 * ends, look-ups in stored values, a reader of inputs, and a mutator that changes numbers where headers have them.
 */
#ifndef STREAMBLOOM_FUZZ_SUPPORT_H
#define STREAMBLOOM_FUZZ_SUPPORT_H

#include "streambloom.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace fuzz {

using Random = std::mt19937_64;
using Input = std::vector<unsigned char>;

/*
 * Each target defines these: a function that makes an input, mostly a valid one; and the number of bytes in it before
 * what the target is about, such as a stored value.
 */
Input make_input(Random &random);
extern const size_t prefix_size;

#define FUZZ_CHECK(condition) \
	do \
	{ \
		if (!(condition)) \
		{ \
			std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
			std::abort(); \
		} \
	} while (false)

/*
 * A copy of bytes at an odd address; its allocation ends where they end. So the sanitizers notice loads that need an
 * aligned address, and reads beyond the end.
 */
class Copy
{
public:
	explicit Copy(size_t size) : memory_(1) { memory_.resize(size + 1); }
	Copy(const void *data, size_t size)
	{
		const auto *from = static_cast<const unsigned char *>(data);
		memory_.reserve(size + 1);
		memory_.push_back(0);
		memory_.insert(memory_.end(), from, from + size);
	}
	unsigned char *data() { return memory_.data() + 1; }
	const unsigned char *data() const { return memory_.data() + 1; }
	size_t size() const { return memory_.size() - 1; }
	friend bool operator==(const Copy &, const Copy &) = default;

private:
	std::vector<unsigned char> memory_;
};

/*
 * Finishes a look-up piece by piece. Each piece is in memory of its own, which ends where the piece ends and is freed
 * when the next piece comes. Checks that the core asks only for bytes of the value, and not for ever.
 */
inline sb_status finish_look_up(sb_lookup *lookup, const Copy &value, Copy *piece, sb_status status)
{
	for (int pieces = 0; status == SB_NEED_BYTES; pieces++)
	{
		size_t offset = lookup->need.offset;
		size_t size = pieces % 2 == 0 ? lookup->need.enough : lookup->need.size;
		FUZZ_CHECK(pieces < 100);
		FUZZ_CHECK(size > 0 && offset <= value.size() && size <= value.size() - offset &&
				   lookup->need.enough <= lookup->need.size);
		*piece = Copy(value.data() + offset, size);
		status = sb_lookup_next(lookup, piece->data(), size);
	}
	return status;
}

inline sb_status look_up_by_pieces(sb_lookup *lookup, sb_lookup_type type, uint64_t hash, const Copy &value)
{
	Copy piece(value.data(), std::min<size_t>(value.size(), SB_LOOKUP_FIRST));
	sb_status status = sb_lookup_open(lookup, type, piece.data(), piece.size(), value.size());
	if (status != SB_OK)
		return status;
	return finish_look_up(lookup, value, &piece, sb_lookup_item(lookup, hash));
}

/* Looks a hash up in both ways, which must agree: piece by piece, and with the whole value handed over at first. */
inline sb_status look_up(sb_lookup *lookup, sb_lookup_type type, uint64_t hash, const Copy &value)
{
	sb_lookup whole;
	sb_status status = sb_lookup_open(&whole, type, value.data(), value.size(), value.size());
	if (status == SB_OK)
		status = sb_lookup_item(&whole, hash);
	FUZZ_CHECK(status != SB_NEED_BYTES);
	FUZZ_CHECK(look_up_by_pieces(lookup, type, hash, value) == status);
	if (status == SB_OK)
		FUZZ_CHECK(lookup->found == whole.found && lookup->units == whole.units);
	return status;
}

/* An allocator whose blocks have exactly the size that was asked for. */
inline const sb_memory *memory()
{
	static const sb_memory all = {[](void *, size_t size) { return std::malloc(size); },
								  [](void *, void *block) { std::free(block); }, nullptr};
	return &all;
}

/* Takes numbers from the front of an input. At its end it gives zeroes. */
class Reader
{
public:
	Reader(const unsigned char *data, size_t size) : data_(data), size_(size) {}
	uint64_t number()
	{
		unsigned char bytes[8] = {};
		size_t taken = size_ < 8 ? size_ : 8;
		if (taken != 0)
			std::memcpy(bytes, data_, taken);
		data_ += taken;
		size_ -= taken;
		uint64_t value = 0;
		for (int i = 7; i >= 0; i--)
			value = value << 8 | bytes[i];
		return value;
	}
	void skip(size_t bytes)
	{
		data_ += bytes;
		size_ -= bytes;
	}
	const unsigned char *data() const { return data_; }
	size_t size() const { return size_; }

private:
	const unsigned char *data_;
	size_t size_;
};

inline void append_number(Input *input, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		input->push_back(static_cast<unsigned char>(value >> (8 * i)));
}

/* Returns a number that is likely to lie at some limit. */
inline uint64_t odd_number(Random &random)
{
	uint64_t value = 0;
	switch (random() % 5)
	{
		case 0:
			value = random();
			break;
		case 1:
			value = UINT64_C(1) << (random() % 64);
			break;
		case 2:
			value = random() % 20;
			break;
		case 3:
			value = random() >> (random() % 64);
			break;
		default:
			value = UINT64_MAX;
	}
	value += random() % 5;
	value -= random() % 5;
	return random() % 3 == 0 ? 0 - value : value;
}

/* Changes an input a little, or replaces it. */
inline void mutate(Input *input, Random &random)
{
	if (input->empty() || random() % 16 == 0)
		*input = make_input(random);
	for (uint64_t n = random() % 4; n > 0 && !input->empty(); n--)
		switch (random() % 8)
		{
			case 0:
				(*input)[random() % input->size()] ^= static_cast<unsigned char>(1u << (random() % 8));
				break;
			case 1:
				(*input)[random() % input->size()] = static_cast<unsigned char>(random());
				break;
			case 2: /* a number of one, two, four or eight bytes, at a multiple of its size, as in headers */
			case 3:
			{
				size_t width = size_t{1} << (random() % 4);
				size_t at = random() % 160 / width * width;
				uint64_t value = odd_number(random);
				for (size_t i = 0; i < width && at + i < input->size(); i++)
					(*input)[at + i] = static_cast<unsigned char>(value >> (8 * i));
				break;
			}
			case 4:
				input->resize(random() % (input->size() + 1));
				break;
			case 5:
				input->resize(input->size() + random() % 130);
				break;
			default:
			{
				size_t at = random() % input->size();
				if (at >= prefix_size)
					(*input)[at] = static_cast<unsigned char>(random() % 4);
			}
		}
}

} // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
