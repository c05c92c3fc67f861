/*
 * tbf_builder_support.h: what the tests of sb_tbf_builder share: builders that release themselves or travel as bytes,
 * hits, and results that are read back and checked.
 */
#ifndef STREAMBLOOM_TBF_BUILDER_SUPPORT_H
#define STREAMBLOOM_TBF_BUILDER_SUPPORT_H

#include "tbf_support.h"

#include <map>

namespace test {

constexpr int64_t hour = INT64_C(3600000000);

struct Ended
{
	void operator()(sb_tbf_builder *builder) const { sb_tbf_builder_release(builder); }
};
using Owned = std::unique_ptr<sb_tbf_builder, Ended>;

inline Owned begun(const sb_memory *memory, const sb_tbf &plan, sb_tbf_sums_of sums_of, bool self_sized = false)
{
	sb_tbf_builder *builder = nullptr;
	EXPECT_EQ(sb_tbf_builder_begin(memory, &plan, sums_of, self_sized, &builder), SB_OK);
	return Owned(builder);
}

inline sb_status add(sb_tbf_builder *builder, const Hit &hit)
{
	const sb_tbf *plan = sb_tbf_builder_parameters(builder);
	sb_moment moment;
	uint64_t value;
	sb_tbf_moment(plan->half_life, plan->epoch, hit.at, &moment);
	EXPECT_EQ(sb_tbf_hit(&moment, hit.weight, &value), SB_OK);
	const auto add_hit = (plan->flags & SB_TBF_OPTIONS) != 0 ? sb_tbf_builder_add_in_order : sb_tbf_builder_add_hit;
	sb_status status = add_hit(builder, hit.hash, &moment, value);
	if (status == SB_OK && sb_tbf_builder_add_hot_hit(builder, hit.hash, &moment, hit.weight))
	{
		const std::string name = "item " + std::to_string(hit.hash);
		status = sb_tbf_builder_name_hot_item(builder, name.data(), name.size());
	}
	return status;
}

inline void add_all(sb_tbf_builder *builder, const std::vector<Hit> &hits)
{
	for (const Hit &hit : hits)
		ASSERT_EQ(add(builder, hit), SB_OK);
}

inline sb_status unite(sb_tbf_builder *builder, sb_tbf_builder *other)
{
	sb_difference difference;
	return sb_tbf_builder_unite(builder, other, &difference);
}

inline sb_status store(sb_tbf_builder *builder, Tbf *out)
{
	Memory memory;
	return store_builder(builder, memory, out);
}

inline Tbf stored_by(sb_tbf_builder *builder)
{
	Tbf filter;
	EXPECT_EQ(store(builder, &filter), SB_OK);
	return filter;
}

inline Bytes sent(sb_tbf_builder *builder)
{
	constexpr size_t in_front = 3;
	Memory memory;
	void *bytes;
	size_t size;
	EXPECT_EQ(sb_tbf_builder_serialize(builder, memory, in_front, SIZE_MAX, &bytes, &size), SB_OK);
	Bytes result(static_cast<unsigned char *>(bytes) + in_front, size);
	memory.memory.release(memory.memory.context, bytes);

	/* the limit on the size is for all bytes, those in front included */
	void *none;
	size_t wanted;
	EXPECT_EQ(sb_tbf_builder_serialize(builder, memory, in_front, size / 2, &none, &wanted), SB_TOO_LARGE);
	EXPECT_EQ(none, nullptr);
	EXPECT_GT(in_front + wanted, size / 2);
	return result;
}

inline Owned arrived(const sb_memory *memory, const Bytes &bytes)
{
	sb_tbf_builder *builder = nullptr;
	EXPECT_EQ(sb_tbf_builder_deserialize(memory, bytes.data(), bytes.size(), &builder), SB_OK);
	return Owned(builder);
}

inline sb_tbf planned(uint64_t items, int64_t half_life, bool power = false)
{
	sb_tbf plan;
	EXPECT_EQ(sb_tbf_plan(items, 0.01, half_life, half_life / 7, power, &plan), SB_OK);
	plan.kind = kind_of(SB_KIND_INTEGER);
	return plan;
}

/* Makes hits with hashes of all sorts, 0 among them, at times within `hours`. */
inline std::vector<Hit> hits_of(Random &random, size_t count, uint64_t items, int64_t hours)
{
	std::vector<Hit> hits(count);
	for (Hit &hit : hits)
	{
		const uint64_t rank = random() % items;
		hit = {rank == 0 ? 0 :
			   rank == 1 ? UINT64_MAX :
						   rank * UINT64_C(0x9e3779b97f4a7c15),
			   between(random, 0, hours * hour), static_cast<double>(between(random, 1, 9)) / 4};
	}
	return hits;
}

inline void expect_no_undercount(const Tbf &filter, const std::vector<Hit> &hits)
{
	int64_t at = 0;
	for (const Hit &hit : hits)
		at = std::max(at, hit.at);
	std::map<uint64_t, long double> sums;
	for (const Hit &hit : hits)
		sums[hit.hash] += static_cast<long double>(hit.weight) *
						  faded(filter.parameters.half_life, filter.parameters.epoch, hit.at, at);
	for (const auto &[hash, sum] : sums)
		ASSERT_GE(filter.count(hash, at), sum * (1 - oracle_error)) << hash;
}

} // namespace test

#endif
