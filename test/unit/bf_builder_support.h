/*
 * bf_builder_support.h: a builder that releases itself, for tests.
 */
#ifndef STREAMBLOOM_TEST_BF_BUILDER_SUPPORT_H
#define STREAMBLOOM_TEST_BF_BUILDER_SUPPORT_H

#include "support.h"

namespace test {

/* Of so many integers at this rate; of 0 integers: sizes itself. */
inline sb_bf builder_plan(uint64_t items, double fpr = 0.01)
{
	sb_bf plan;
	EXPECT_EQ(sb_bf_plan(items == 0 ? 1 : items, fpr, items == 0, &plan), SB_OK);
	plan.kind = kind_of(SB_KIND_INTEGER);
	return plan;
}

/*
 * The bytes that a builder is sent as, in memory of the builder's own kind. The copy has exactly their size, so ASan
 * sees any byte beyond.
 */
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
	/* The result; where the builder has it as it is, that is the same. */
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

} // namespace test

#endif
