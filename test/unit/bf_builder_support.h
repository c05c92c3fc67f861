/*
 * bf_builder_support.h: a builder that releases itself, for tests.
 */
#ifndef STREAMBLOOM_TEST_BF_BUILDER_SUPPORT_H
#define STREAMBLOOM_TEST_BF_BUILDER_SUPPORT_H

#include "support.h"

#include "bf/bf_exact.hpp"

#include <algorithm>

namespace test {

/* The plan of a filter of `items` integers at this rate. With 0 items it sizes itself. */
inline sb_bf builder_plan(uint64_t items, double fpr = 0.01)
{
	sb_bf plan;
	EXPECT_EQ(sb_bf_plan(items == 0 ? 1 : items, fpr, items == 0, &plan), SB_OK);
	plan.kind = kind_of(SB_KIND_INTEGER);
	return plan;
}

/* Serializes a builder, and copies the bytes. The copy has exactly their size, so ASan sees reads beyond the end. */
inline sb_status serialize(sb_bf_builder *builder, Bytes *out)
{
	constexpr size_t in_front = 5;
	const sb_memory memory = builder->memory;
	void *bytes;
	size_t size;
	sb_status status = sb_bf_builder_serialize(builder, &memory, in_front, &bytes, &size);
	EXPECT_EQ(bytes != nullptr, status == SB_OK);
	if (status != SB_OK)
		return status;
	*out = Bytes(static_cast<unsigned char *>(bytes) + in_front, size);
	memory.release(memory.context, bytes);
	return SB_OK;
}

class BfBuilder
{
public:
	sb_bf_builder builder{};

	BfBuilder(const Memory &memory, const sb_bf &plan)
	{
		EXPECT_EQ(sb_bf_builder_begin(&builder, memory, &plan), SB_OK);
	}
	BfBuilder(const Memory &memory, const Bytes &serialized)
	{
		EXPECT_EQ(sb_bf_builder_deserialize(&builder, memory, serialized.data(), serialized.size()), SB_OK);
	}
	BfBuilder(const Memory &, Bytes &&) = delete; /* the bytes are borrowed, so they have to stay */
	BfBuilder(const BfBuilder &) = delete;
	BfBuilder &operator=(const BfBuilder &) = delete;
	~BfBuilder() { sb_bf_builder_release(&builder); }

	operator sb_bf_builder *() { return &builder; }

	void add(const std::vector<uint64_t> &hashes)
	{
		for (uint64_t hash : hashes)
			ASSERT_EQ(sb_bf_builder_add(&builder, hash), SB_OK);
	}
	void unite(BfBuilder &other) { ASSERT_EQ(sb_bf_builder_unite(&builder, &other.builder), SB_OK); }
	Bytes serialized()
	{
		Bytes bytes;
		EXPECT_EQ(serialize(&builder, &bytes), SB_OK);
		return bytes;
	}
	/* Returns the result. If the builder's own lines are the result, checks that they are the same. */
	Bf result()
	{
		sb_bf plan;
		EXPECT_EQ(sb_bf_builder_plan(&builder, false, &plan), SB_OK);
		Bf filter(plan);
		EXPECT_EQ(sb_bf_builder_write(&builder, &plan, filter.lines.data()), SB_OK);
		if (const unsigned char *lines = sb_bf_builder_lines(&builder, &plan); lines != nullptr)
		{
			EXPECT_TRUE(same_bytes(Bytes(lines, filter.lines.size()), filter.lines));
		}
		return filter;
	}
};

/* Reads an exact filter, and returns whether it holds what is kept of these hashes, which ascend, and nothing else. */
inline bool holds_exactly(const Bf &bf, std::vector<uint64_t> hashes)
{
	for (auto &hash : hashes)
		hash &= SB_KEPT_HASH_MASK;
	hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
	std::vector<uint64_t> read;
	auto take = [&](const uint64_t *some, size_t count) {
		read.insert(read.end(), some, some + count);
		return SB_OK;
	};
	return sb_bf_is_exact(&bf.parameters) &&
		   streambloom::for_each_hash(&bf.parameters, bf.lines.data(), take) == SB_OK && read == hashes;
}

/*
 * Makes the result for these hashes as sb_bf_builder.h describes it. Lines are made without a builder; an exact filter
 * is made by a builder that gets the distinct hashes in ascending order, and read again.
 */
inline Bf expected_bf(const sb_bf &plan, const std::vector<uint64_t> &hashes)
{
	std::vector<uint64_t> distinct(hashes);
	std::sort(distinct.begin(), distinct.end());
	distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
	sb_bf header = plan;
	if (plan.expected_items == 0 && distinct.size() <= SB_BF_EXACT_ITEMS)
	{
		Bf exact = Bf::exact(plan, distinct);
		EXPECT_TRUE(holds_exactly(exact, distinct));
		return exact;
	}
	if (plan.expected_items == 0)
	{
		EXPECT_EQ(sb_bf_plan(std::max<size_t>(distinct.size(), 1), plan.fpr, true, &header), SB_OK);
		header.kind = plan.kind;
	}
	const bool folds = plan.expected_items == 0 && distinct.size() >= (UINT64_C(1) << 20) / 8 * 5;
	if (folds)
		header.line_count = 1 << 19;
	Bf filter(header);
	sb_bf_add_many(&header, filter.lines.data(), hashes.data(), hashes.size());
	if (folds)
	{
		double items;
		sb_bf wanted;
		EXPECT_EQ(sb_bf_items(&header, filter.lines.data(), &items), SB_OK);
		EXPECT_EQ(sb_bf_plan(static_cast<uint64_t>(items) + 1, plan.fpr, true, &wanted), SB_OK);
		int halvings = 0;
		while (header.line_count >> halvings > wanted.line_count)
			halvings++;
		EXPECT_EQ(sb_bf_fold(&filter.parameters, filter.lines.data(), halvings, filter.lines.data()), SB_OK);
		filter.lines = Bytes(filter.lines.data(), sb_bf_size(&filter.parameters) - SB_BF_HEADER);
	}
	return filter;
}

} // namespace test

#endif
