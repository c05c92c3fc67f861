/*
 * abf_support.h: an abf that owns its slices, for the tests.
 */
#ifndef STREAMBLOOM_TEST_ABF_SUPPORT_H
#define STREAMBLOOM_TEST_ABF_SUPPORT_H

#include "abf/abf.hpp"
#include "support.h"

namespace test {

struct Abf
{
	sb_abf parameters{};
	Bytes slices;

	Abf() = default;
	explicit Abf(const sb_abf &from) : parameters(from), slices(sb_abf_slice_bytes(&from)) {}
	static Abf by_items(int64_t window, double fpr = 0.01, int k = SB_ABF_CHOOSE, int l = SB_ABF_CHOOSE)
	{
		sb_abf planned;
		EXPECT_EQ(sb_abf_plan(window, false, 0, fpr, k, l, &planned), SB_OK);
		return Abf(planned);
	}
	static Abf by_time(int64_t window, uint64_t items, double fpr = 0.01, int k = SB_ABF_CHOOSE, int l = SB_ABF_CHOOSE)
	{
		sb_abf planned;
		EXPECT_EQ(sb_abf_plan(window, true, items, fpr, k, l, &planned), SB_OK);
		return Abf(planned);
	}

	/* Returns whether the item had come before. */
	bool add(uint64_t hash, int64_t at = 0)
	{
		bool duplicate = false;
		add_all(&hash, &at, 1, &duplicate);
		return duplicate;
	}
	void add_all(const uint64_t *hashes, const int64_t *times, size_t count, bool *duplicates)
	{
		if (parameters.kind.code == SB_KIND_NONE && count > 0)
			parameters.kind = kind_of(SB_KIND_INTEGER);
		EXPECT_EQ(
			sb_abf_add(&parameters, slices.data(), hashes, parameters.by_time ? times : nullptr, count, duplicates),
			SB_OK);
	}
	bool contains(uint64_t hash) const { return ask(hash, nullptr); }
	bool contains(uint64_t hash, int64_t at) const { return ask(hash, &at); }
	void advance(int64_t at)
	{
		EXPECT_EQ(sb_abf_advance(&parameters, slices.data(), sb_abf_generation(&parameters, at)), SB_OK);
	}
	void unite(const Abf &other)
	{
		EXPECT_EQ(sb_abf_unite(&parameters, slices.data(), &other.parameters, other.slices.data()), SB_OK);
	}
	Bytes stored() const
	{
		Bytes header(SB_ABF_HEADER);
		sb_abf_encode_header(&parameters, header.data());
		return parameters.filled ? header + slices : header;
	}

private:
	bool ask(uint64_t hash, const int64_t *at) const
	{
		Bytes header(SB_ABF_HEADER);
		sb_abf_encode_header(&parameters, header.data());
		sb_lookup lookup;
		const size_t total = sb_abf_size(&parameters);
		EXPECT_EQ(sb_lookup_open(&lookup, SB_LOOKUP_ABF, header.data(), header.size(), total), SB_OK);
		if (at != nullptr)
			sb_lookup_abf_at(&lookup, *at);
		sb_status status = sb_lookup_item(&lookup, hash);
		if (status == SB_NEED_BYTES)
		{
			/* memory of its own for these bytes, so that the sanitizers see a read beyond them */
			EXPECT_LE(lookup.need.offset + lookup.need.size, total);
			const Bytes piece(slices.data() + (lookup.need.offset - SB_ABF_HEADER), lookup.need.size);
			status = sb_lookup_next(&lookup, piece.data(), piece.size());
		}
		EXPECT_EQ(status, SB_OK);
		return lookup.found;
	}
};

inline sb_status read(const Bytes &value, sb_abf *out)
{
	sb_status status = sb_abf_decode_header(value.data(), value.size(), value.size(), out);
	return status != SB_OK ? status : sb_abf_check_slices(out, value.data() + SB_ABF_HEADER);
}

} // namespace test

#endif
