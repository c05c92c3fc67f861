/*
 * tbf_support.h: what the tests of tbf share: a tbf and a builder that own their memory, checks of a stored tbf, access
 * to single cells, and an exact oracle for decayed counts.
 */
#ifndef STREAMBLOOM_TEST_TBF_SUPPORT_H
#define STREAMBLOOM_TEST_TBF_SUPPORT_H

#include "support.h"

#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"

#include <cmath>
#include <memory>

namespace test {

/*
 * A hash for each number below 2^48. All these hashes differ in the bits that a tbf keeps. Their other bits are mostly
 * not 0, so that a test fails if something depends on these other bits.
 */
constexpr uint64_t hash_of(uint64_t number)
{
	return number << (64 - SB_KEPT_HASH_BITS) | (~SB_KEPT_HASH_MASK & (number * 0x9e37 + 0x79b9));
}

/* tbf_block() is the block in which an item's cells lie. The other function says which cells of the block they are. */
inline uint32_t tbf_block(const sb_tbf *tbf, uint64_t hash)
{
	return streambloom::block_of(tbf->block_count, hash);
}

inline void tbf_positions(const sb_tbf *tbf, uint64_t hash, uint16_t *positions)
{
	streambloom::positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
}

/* A stored tbf. */
struct Tbf
{
	sb_tbf parameters{};
	Bytes cells;

	size_t cell_bytes() const { return sb_tbf_size(&parameters) - SB_TBF_HEADER; }
	uint64_t cell(uint64_t i) const
	{
		std::vector<uint64_t> block(parameters.block_cells);
		EXPECT_EQ(
			streambloom::unpack_block(&parameters, cells.data(), static_cast<uint32_t>(i / block.size()), block.data()),
			SB_OK);
		return block[i % block.size()];
	}
	std::vector<uint64_t> counters() const
	{
		std::vector<uint64_t> all(sb_tbf_cells(&parameters));
		for (uint32_t block = 0; block < parameters.block_count; block++)
			EXPECT_EQ(streambloom::unpack_block(&parameters, cells.data(), block,
												&all[size_t{block} * parameters.block_cells]),
					  SB_OK);
		return all;
	}

	/* An item's count in units, read piece by piece as by a look-up in a stored value. */
	uint64_t least(uint64_t hash) const
	{
		Bytes header(SB_TBF_HEADER);
		sb_lookup lookup;
		sb_tbf_encode_header(&parameters, header.data());
		EXPECT_EQ(look_up(&lookup, SB_LOOKUP_TBF, hash, header, cells), SB_OK);
		EXPECT_EQ(lookup.found, lookup.units != 0);
		return lookup.units;
	}
	double count(uint64_t hash, int64_t at) const { return sb_tbf_count(&parameters, least(hash), at); }

	Bytes value() const
	{
		Bytes header(SB_TBF_HEADER);
		sb_tbf_encode_header(&parameters, header.data());
		return header + cells;
	}
	/*
	 * *out becomes the filter that a function of the core makes of this one: status = make(to, in_front, &header,
	 * &value). If the function had nothing to do, *out is this filter, and nothing may have been allocated.
	 */
	template <typename Make>
	[[nodiscard]] sb_status made(Tbf *out, Make make) const
	{
		constexpr size_t in_front = 5;
		Memory memory;
		void *value = &memory; /* any pointer that is not NULL */
		const sb_status status = make(memory, in_front, &out->parameters, &value);
		EXPECT_EQ(memory.blocks, value != nullptr ? 1u : 0u);
		if (status != SB_OK)
		{
			EXPECT_EQ(value, nullptr);
			return status;
		}
		if (value == nullptr)
		{
			EXPECT_EQ(memory.allocations, 0u);
			const Bytes before = this->value();
			out->cells = cells;
			EXPECT_TRUE(same_bytes(out->value(), before));
			return SB_OK;
		}
		const Bytes whole(static_cast<unsigned char *>(value) + in_front, sb_tbf_size(&out->parameters));
		memory.memory.release(memory.memory.context, value);
		out->cells = Bytes(whole.data() + SB_TBF_HEADER, whole.size() - SB_TBF_HEADER);
		EXPECT_TRUE(same_bytes(whole, out->value()));
		return SB_OK;
	}
	[[nodiscard]] sb_status decay(int64_t at, Tbf *out) const
	{
		return made(out, [&](const sb_memory *to, size_t in_front, sb_tbf *header, void **value) {
			return sb_tbf_decay(&parameters, cells.data(), at, to, in_front, header, value);
		});
	}
	Tbf decayed(int64_t at) const
	{
		Tbf result;
		EXPECT_EQ(decay(at, &result), SB_OK);
		return result;
	}
	[[nodiscard]] sb_status set_layout(uint8_t layout, Tbf *out) const
	{
		return made(out, [&](const sb_memory *to, size_t in_front, sb_tbf *header, void **value) {
			return sb_tbf_set_layout(&parameters, cells.data(), layout, to, in_front, header, value);
		});
	}
	[[nodiscard]] sb_status remove(uint64_t hash, const sb_moment *moment, uint64_t hit, Tbf *out, double *most) const
	{
		return made(out, [&](const sb_memory *to, size_t in_front, sb_tbf *header, void **value) {
			return sb_tbf_remove(&parameters, cells.data(), hash, moment, hit, to, in_front, header, value, most);
		});
	}

	/* Returns the filter with the same counters in the other layout. */
	Tbf relaid() const
	{
		Tbf result;
		EXPECT_EQ(set_layout(parameters.layout == SB_TBF_FLAT ? SB_TBF_EXTENSIBLE : SB_TBF_FLAT, &result), SB_OK);
		return result;
	}
};

inline ::testing::AssertionResult readable_as_it_is(const Tbf &filter)
{
	Bytes value = filter.value();
	sb_tbf read;
	sb_status status = sb_tbf_decode_header(value.data(), value.size(), value.size(), &read);
	if (status != SB_OK)
		return ::testing::AssertionFailure() << "header refused: " << sb_status_text(status);
	status = sb_tbf_check(&read, value.data() + SB_TBF_HEADER);
	if (status != SB_OK)
		return ::testing::AssertionFailure() << "cells or list refused: " << sb_status_text(status);
	Bytes again(SB_TBF_HEADER);
	sb_tbf_encode_header(&read, again.data());
	return same_bytes(Bytes(value.data(), SB_TBF_HEADER), again);
}

/*
 * Compares an exact filter with the same filter with cells. No item may have a lower count, slack included, in the
 * filter with cells. Base, newest hit and total must be the same in both headers, and the second must be a header of a
 * filter with cells. A look-up in the exact filter must find the count that is stored for each item, in the same units.
 */
inline ::testing::AssertionResult not_undercounted(const Tbf &exact, const Tbf &cells)
{
	const sb_tbf &a = exact.parameters;
	const sb_tbf &b = cells.parameters;
	if (a.base != b.base || a.newest != b.newest || a.total != b.total || b.item_count != 0 ||
		(b.flags & SB_TBF_EXACT) != 0)
		return ::testing::AssertionFailure() << "the header of the same filter with cells differs";
	streambloom::exact_reader reader(&a, exact.cells.data());
	while (const size_t count = reader.next())
		for (size_t i = 0; i < count; i++)
		{
			uint64_t most = cells.least(reader.hashes()[i]);
			if ((static_cast<streambloom::u128>(most) << (SB_TBF_HIT_BITS - b.unit_bits)) + sb_tbf_slack(&b) <
				(static_cast<streambloom::u128>(reader.units()[i]) << (SB_TBF_HIT_BITS - a.unit_bits)) +
					sb_tbf_slack(&a))
				return ::testing::AssertionFailure() << "undercounted: item " << reader.hashes()[i];
			if (exact.least(reader.hashes()[i]) != reader.units()[i])
				return ::testing::AssertionFailure() << "a look-up answers otherwise: item " << reader.hashes()[i];
		}
	return ::testing::AssertionSuccess();
}

/*
 * Checks a filter that the core has stored. The core's own readers must accept it, and its header, read and written
 * again, must have the same bytes. The other layout must have the same counters, give the same answers, and decay to
 * the same filter. The way back must lead to the same bytes. For an exact filter the other layout is a filter with
 * cells, and not_undercounted() compares the two.
 */
inline ::testing::AssertionResult readable(const Tbf &filter)
{
	if (auto fine = readable_as_it_is(filter); !fine)
		return fine;
	Tbf other = filter.relaid();
	if (auto fine = readable_as_it_is(other); !fine)
		return fine << " (in the other layout)";
	if (streambloom::is_exact(&filter.parameters))
		return not_undercounted(filter, other);
	if (filter.counters() != other.counters())
		return ::testing::AssertionFailure() << "the other layout has other counters";
	if (auto fine = same_bytes(other.relaid().value(), filter.value()); !fine)
		return fine << " (there and back)";
	Random random(sb_tbf_cells(&filter.parameters));
	for (int i = 0; i < 20; i++)
	{
		uint64_t hash = random();
		if (filter.least(hash) != other.least(hash))
			return ::testing::AssertionFailure() << "the other layout answers otherwise";
	}
	if (filter.parameters.half_life != 0)
		for (int64_t steps : {1, 3, 40})
		{
			double later = static_cast<double>(filter.parameters.base + steps) *
						   static_cast<double>(filter.parameters.half_life);
			int64_t at = std::abs(later) < 1e18 ? static_cast<int64_t>(later) : SB_TBF_MAX_TIME;
			if (auto fine = same_bytes(filter.decayed(at).relaid().value(), other.decayed(at).value()); !fine)
				return fine << " (after decay)";
		}
	return ::testing::AssertionSuccess();
}

/*
 * The parameters of a filter of integers with room for `cells` counters. REQUIRES: cells is a power of two, at least
 * 64.
 */
inline sb_tbf shape(uint32_t cells, uint8_t hashes, int64_t half_life, int64_t epoch)
{
	sb_tbf tbf{};
	tbf.kind = kind_of(SB_KIND_INTEGER);
	tbf.block_count = cells > SB_TBF_BLOCK ? cells / SB_TBF_BLOCK : 1;
	tbf.block_cells = static_cast<uint16_t>(std::min<uint32_t>(cells, SB_TBF_BLOCK));
	tbf.hash_count = hashes;
	tbf.cell_bits = 8;
	tbf.unit_bits = half_life != 0 ? SB_TBF_UNIT_BITS : 0;
	tbf.half_life = half_life;
	tbf.epoch = half_life != 0 ? epoch : 0;
	tbf.fpr = 0.01;
	return tbf;
}

struct Hit
{
	uint64_t hash;
	int64_t at;
	double weight = 1;
};

/* The word of a cell in a plane of sums. It is 0 if there is no plane, or if the cell's block holds nothing. */
inline uint64_t word_of(const streambloom::cell_plane *plane, uint64_t cell)
{
	return plane != nullptr ?
			   place_of_block(plane, static_cast<uint32_t>(
										 cell / plane->block_cells))[static_cast<uint32_t>(cell % plane->block_cells)] :
			   0;
}

/* The word of word_of(), as a reference with which it can be changed. Makes its block if there is none. */
inline uint64_t &held_word(streambloom::cell_plane *plane, uint64_t cell)
{
	const auto block = static_cast<uint32_t>(cell / plane->block_cells);
	EXPECT_EQ(streambloom::hold_block(plane, block), SB_OK);
	return plane->block[block][cell % plane->block_cells];
}

/* Adds a value to one cell, as a hit of an item with a single hash would do. */
inline sb_status add_to_cell(streambloom::tbf_sums &sums, int index, uint64_t cell, int64_t half_lives, uint64_t value)
{
	uint64_t amount;
	const sb_status status = streambloom::shifted(value, streambloom::place_in_plane(half_lives), &amount);
	return status == SB_OK ? streambloom::add_to_word(&held_word(sums.planes[index].cells, cell), amount) : status;
}

/* A plane of sums of cells, with an allocator that counts. */
class Cells
{
public:
	explicit Cells(const sb_tbf &tbf) { EXPECT_EQ(streambloom::make_cell_plane(memory_, &tbf, &plane_), SB_OK); }
	Cells(const sb_tbf &tbf, const std::vector<uint64_t> &words) : Cells(tbf)
	{
		for (uint64_t cell = 0; cell < words.size(); cell++)
			if (words[cell] != 0)
				(*this)[cell] = words[cell];
	}
	Cells(const Cells &) = delete;
	Cells &operator=(const Cells &) = delete;
	~Cells() { streambloom::release_cell_plane(plane_); }

	operator streambloom::cell_plane *() { return plane_; }
	uint64_t &operator[](uint64_t cell) { return held_word(plane_, cell); }
	std::vector<uint64_t> words() const
	{
		std::vector<uint64_t> all(uint64_t{plane_->block_count} * plane_->block_cells);
		for (uint64_t cell = 0; cell < all.size(); cell++)
			all[cell] = word_of(plane_, cell);
		return all;
	}

private:
	Memory memory_;
	streambloom::cell_plane *plane_ = nullptr;
};

/* Stores a builder with some bytes in front of the value, as PostgreSQL needs them, and reads the value back. */
inline sb_status store_builder(sb_tbf_builder *builder, Memory &memory, Tbf *out)
{
	constexpr size_t in_front = 5;
	void *value;
	const sb_status status = sb_tbf_builder_store(builder, memory, in_front, &out->parameters, &value);
	EXPECT_EQ(value != nullptr, status == SB_OK);
	if (status != SB_OK)
		return status;
	const Bytes whole(static_cast<unsigned char *>(value) + in_front, sb_tbf_size(&out->parameters));
	memory.memory.release(memory.memory.context, value);
	out->cells = Bytes(whole.data() + SB_TBF_HEADER, whole.size() - SB_TBF_HEADER);
	EXPECT_TRUE(same_bytes(whole, out->value()));
	EXPECT_TRUE(readable(*out));
	return SB_OK;
}

/* A builder with an allocator that counts. Each value that it stores must be readable. */
class Builder
{
public:
	Memory memory;
	sb_tbf_builder *builder = nullptr;

	explicit Builder(const sb_tbf &plan, sb_tbf_sums_of sums_of = SB_TBF_SUMS_OF_CELLS, bool self_sized = false)
	{
		EXPECT_EQ(sb_tbf_builder_begin(memory, &plan, sums_of, self_sized, &builder), SB_OK);
	}
	/* Begins with the content of a filter. */
	explicit Builder(const Tbf &filter)
	{
		EXPECT_EQ(sb_tbf_builder_of(memory, &filter.parameters, filter.cells.data(), &builder), SB_OK);
	}
	Builder(const Builder &) = delete;
	Builder &operator=(const Builder &) = delete;
	~Builder()
	{
		if (builder != nullptr)
			sb_tbf_builder_release(builder);
	}

	const sb_tbf &plan() const { return *sb_tbf_builder_parameters(builder); }
	streambloom::tbf_sums &sums() { return builder->sums; }

	[[nodiscard]] sb_status add(const Hit &hit)
	{
		sb_status status = add_waiting(hit);
		return status == SB_OK ? sb_tbf_builder_settle(builder) : status;
	}
	void add(const std::vector<Hit> &hits)
	{
		for (const Hit &hit : hits)
			ASSERT_EQ(add_waiting(hit), SB_OK);
		ASSERT_EQ(sb_tbf_builder_settle(builder), SB_OK);
	}
	[[nodiscard]] sb_status add(const Tbf &filter, double weight = 1)
	{
		sb_difference difference;
		return sb_tbf_builder_add_filter(builder, &filter.parameters, filter.cells.data(), weight, &difference);
	}
	[[nodiscard]] sb_status unite(Builder &other)
	{
		sb_difference difference;
		return sb_tbf_builder_unite(builder, other.builder, &difference);
	}
	[[nodiscard]] sb_status store(Tbf *out) { return store_builder(builder, memory, out); }
	Tbf stored()
	{
		Tbf filter;
		sb_status status = store(&filter);
		EXPECT_EQ(status, SB_OK);
		if (status != SB_OK) /* the test has failed, but goes on reading */
			filter = {plan(), Bytes(sb_tbf_size(&plan()) - SB_TBF_HEADER)};
		if (status == SB_OK && !streambloom::has_items(&builder->sums))
			stores_the_same_in_any_room(filter);
		return filter;
	}

	/* Calls sums_turn(), and makes sure that the plane exists whose number it returns. */
	int turned(int64_t half_lives)
	{
		int index = streambloom::sums_turn(&builder->sums, half_lives);
		EXPECT_EQ(streambloom::make_plane(builder, index), SB_OK);
		return index;
	}

private:
	/* Adds a hit, which may stay pending. */
	[[nodiscard]] sb_status add_waiting(const Hit &hit)
	{
		sb_moment moment;
		uint64_t value;
		sb_tbf_moment(plan().half_life, plan().epoch, hit.at, &moment);
		sb_status status = sb_tbf_hit(&moment, hit.weight, &value);
		if (status != SB_OK)
			return status;
		const auto add_hit = (plan().flags & SB_TBF_OPTIONS) != 0 ? sb_tbf_builder_add_in_order : sb_tbf_builder_add_hit;
		return add_hit(builder, hit.hash, &moment, value);
	}

	/* Checks that sums_store() writes the same in more room, and returns SB_TOO_LARGE if it has not enough. */
	void stores_the_same_in_any_room(const Tbf &filter) const
	{
		const Tbf packed = filter.parameters.layout == SB_TBF_FLAT ? filter.relaid() : filter;
		const size_t counters = streambloom::counters_size(&packed.parameters);
		for (size_t room : {counters + 1000, counters, counters - 1})
		{
			if (room > counters + 1000)
				continue;
			Tbf once;
			once.cells = Bytes(room);
			sb_status status = streambloom::sums_store(&builder->sums, nullptr, &plan(), &once.parameters,
													   once.cells.data(), room);
			ASSERT_EQ(status, room < counters ? SB_TOO_LARGE : SB_OK);
			ASSERT_EQ(streambloom::counters_size(&once.parameters), counters);
			if (status == SB_OK)
			{
				ASSERT_TRUE(same_bytes(Bytes(once.cells.data(), counters), Bytes(packed.cells.data(), counters)));
			}
		}
	}
};

inline Tbf stored(const sb_tbf &like, const std::vector<Hit> &hits)
{
	Builder builder(like);
	builder.add(hits);
	return builder.stored();
}

inline Tbf merged(const sb_tbf &like, const std::vector<const Tbf *> &filters)
{
	Builder builder(like);
	for (const Tbf *filter : filters)
		EXPECT_EQ(builder.add(*filter), SB_OK);
	return builder.stored();
}

/* Merges two filters; the result has the parameters that sb_tbf_plan_merge() gives. */
inline Tbf joined(const Tbf &a, const Tbf &b)
{
	sb_tbf like;
	sb_difference difference;
	EXPECT_EQ(sb_tbf_plan_merge(&a.parameters, &b.parameters, &like, &difference), SB_OK);
	return merged(like, {&a, &b});
}

/* -------------------------------------------------------------------- oracle */

inline int64_t floor_quotient(int64_t a, int64_t b)
{
	int64_t quotient = a / b;
	return quotient - (a % b != 0 && a < 0 ? 1 : 0);
}

/*
 * The factor by which a hit at `from` has decayed at `at`, with 64 bits of precision: 2^(x(from) - x(at)), where x(t)
 * is the beginning of t's epoch as a number of half-lives.
 */
inline long double faded(int64_t half_life, int64_t epoch, int64_t from, int64_t at)
{
	if (half_life == 0)
		return 1;
	__extension__ __int128 distance = (static_cast<__int128>(floor_quotient(from, epoch)) - floor_quotient(at, epoch)) *
									  epoch;
	return exp2l(static_cast<long double>(distance) / static_cast<long double>(half_life));
}

/* The true decayed count of an item. */
inline long double truth(const sb_tbf &tbf, const std::vector<Hit> &hits, uint64_t hash, int64_t at)
{
	long double sum = 0;
	for (const Hit &hit : hits)
		if (hit.hash == hash)
			sum += static_cast<long double>(hit.weight) * faded(tbf.half_life, tbf.epoch, hit.at, at);
	return sum;
}

/* The relative error that the oracle may have by the rounding of long double: a tenth of the last bit of a double. */
inline constexpr long double oracle_error = 2e-17L;

} // namespace test

#endif
