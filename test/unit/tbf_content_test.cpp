/*
 * tbf_content_test.cpp: the functions that work on a filter of many cells take memory for the blocks that hold
 * something, not for all cells. The limit is at most 20 times the bytes of arguments and result, plus the addresses of
 * blocks (8 bytes for each block in each plane). tbf_sums.hpp explains what planes are, and that old planes fall out.
 */
#include "tbf_support.h"

using namespace test;

namespace {

constexpr int64_t hour = INT64_C(3600000000);

/* Memory whose peak is measured from the construction of this object on. */
class Peak
{
public:
	Memory memory;

	void stays_within(const char *name, const sb_tbf &tbf, uint64_t bytes, uint64_t planes) const
	{
		EXPECT_LE(memory.most_bytes, 20 * bytes + planes * 8 * tbf.block_count + 4096) << name;
	}
};

sb_tbf large(int64_t half_life, uint64_t items = 12700000)
{
	sb_tbf plan;
	EXPECT_EQ(sb_tbf_plan(items, 0.01, half_life, half_life, true, &plan), SB_OK);
	plan.kind = kind_of(SB_KIND_INTEGER);
	plan.layout = SB_TBF_EXTENSIBLE;
	return plan;
}

/* The filter that a function of the core made at `value`. Releases the value. */
Tbf made(const Memory &memory, const sb_tbf &header, void *value)
{
	Tbf filter;
	filter.parameters = header;
	EXPECT_NE(value, nullptr);
	if (value == nullptr)
		return filter;
	filter.cells = Bytes(static_cast<unsigned char *>(value) + SB_TBF_HEADER, sb_tbf_size(&header) - SB_TBF_HEADER);
	memory.memory.release(memory.memory.context, value);
	return filter;
}

/*
 * What the builder stores, unchecked. Builder::store() would also compare all cells in both layouts, and most filters
 * here have a hundred million cells.
 */
Tbf stored(const Builder &builder)
{
	sb_tbf header;
	void *value;
	EXPECT_EQ(sb_tbf_builder_store(builder.builder, builder.memory, 0, &header, &value), SB_OK);
	return made(builder.memory, header, value);
}

Tbf with_one_hit(const sb_tbf &plan, uint64_t hash, int64_t at)
{
	Builder builder(plan);
	EXPECT_EQ(builder.add(Hit{hash, at}), SB_OK);
	return stored(builder);
}

/* Merges the filters, each with this weight. Counts the memory. */
Tbf added_up(const Peak &peak, const std::vector<const Tbf *> &filters, double weight = 1)
{
	sb_tbf_builder *builder;
	EXPECT_EQ(sb_tbf_builder_begin(peak.memory, &filters[0]->parameters, SB_TBF_SUMS_OF_CELLS, false, &builder), SB_OK);
	for (const Tbf *filter : filters)
	{
		sb_difference difference;
		EXPECT_EQ(sb_tbf_builder_add_filter(builder, &filter->parameters, filter->cells.data(), weight, &difference),
				  SB_OK);
	}
	sb_tbf stored;
	void *value;
	EXPECT_EQ(sb_tbf_builder_store(builder, peak.memory, 0, &stored, &value), SB_OK);
	Tbf result = made(peak.memory, stored, value);
	sb_tbf_builder_release(builder);
	return result;
}

uint64_t bytes_of(const std::vector<const Tbf *> &filters)
{
	uint64_t bytes = 0;
	for (const Tbf *filter : filters)
		bytes += sb_tbf_size(&filter->parameters);
	return bytes;
}

} // namespace

/* Two filters whose hits are up to six planes apart are merged with weights, and one filter is scaled alone. */
TEST(TbfContent, SumsTakeTheBlocksThatHoldSomething)
{
	Random random(11);
	for (int64_t half_life : {int64_t{0}, hour})
	{
		const sb_tbf plan = large(half_life);
		ASSERT_GT(sb_tbf_cells(&plan), 100000000u);
		const uint64_t hash = random();
		const Tbf one = with_one_hit(plan, hash, 0);
		for (int64_t at : {INT64_C(0), 20 * hour, 100 * hour})
		{
			const Tbf two = with_one_hit(plan, random(), at);
			for (double weight : {1.0, 0.3, 1000.0})
			{
				const Peak peak;
				const Tbf sum = added_up(peak, {&one, &two}, weight);
				peak.stays_within("sum", plan, bytes_of({&one, &two, &sum}), 3);
				EXPECT_GE(sum.count(hash, at), one.count(hash, at) * weight);
			}
		}
		const Peak peak;
		const Tbf scaled = added_up(peak, {&one}, 0.5);
		peak.stays_within("scaled", plan, bytes_of({&one, &scaled}), 1);
	}
}

TEST(TbfContent, AHitAddedTakesItsBlock)
{
	const sb_tbf plan = large(hour);
	const Tbf one = with_one_hit(plan, hash_of(17), 0);
	Builder builder(one);
	ASSERT_EQ(builder.add(Hit{UINT64_C(1) << 63, hour}), SB_OK);
	const Tbf sum = stored(builder);
	EXPECT_LE(builder.memory.most_bytes, 20 * bytes_of({&one, &sum}) + 8 * plan.block_count + 4096);
	EXPECT_EQ(sum.count(UINT64_C(1) << 63, hour), 1);
	EXPECT_EQ(sum.count(hash_of(17), hour), 0.5);
}

/* Each filter has hits of its own, so the sums grow with the blocks of all of them. */
TEST(TbfContent, ManyMergedTakeTheBlocksOfAll)
{
	Random random(12);
	const sb_tbf plan = large(0);
	std::vector<Tbf> filters;
	std::vector<const Tbf *> all;
	for (int i = 0; i < 20; i++)
		filters.push_back(with_one_hit(plan, random(), 0));
	for (const Tbf &filter : filters)
		all.push_back(&filter);
	const Peak peak;
	const Tbf sum = added_up(peak, all);
	peak.stays_within("merged", plan, bytes_of(all) + bytes_of({&sum}), 1);
	EXPECT_EQ(sum.parameters.total, 20u << SB_TBF_HIT_BITS);

	/* a state that is sent needs no more */
	Builder builder(plan);
	for (const Tbf &filter : filters)
		ASSERT_EQ(builder.add(filter), SB_OK);
	const Peak sent;
	void *bytes;
	size_t size;
	ASSERT_EQ(sb_tbf_builder_serialize(builder.builder, sent.memory, 0, SB_MAX_BYTES, &bytes, &size), SB_OK);
	sb_tbf_builder *received;
	ASSERT_EQ(sb_tbf_builder_deserialize(sent.memory, bytes, size, &received), SB_OK);
	sent.stays_within("sent", plan, bytes_of({&sum}), 1);
	Builder united(plan);
	sb_difference difference;
	ASSERT_EQ(sb_tbf_builder_unite(united.builder, received, &difference), SB_OK);
	EXPECT_TRUE(same_bytes(stored(united).value(), sum.value()));
	sb_tbf_builder_release(received);
	sent.memory.memory.release(sent.memory.memory.context, bytes);
}

TEST(TbfContent, DecayAndRemovingGoWithTheBytes)
{
	const sb_tbf plan = large(hour);
	const uint64_t hash = 99;
	Builder builder(plan);
	ASSERT_EQ(builder.add(Hit{hash, 0}), SB_OK);
	ASSERT_EQ(builder.add(Hit{hash << 40, 0}), SB_OK);
	const Tbf filter = stored(builder);
	sb_tbf out;
	void *value;
	const Peak decaying;
	ASSERT_EQ(sb_tbf_decay(&filter.parameters, filter.cells.data(), 3 * hour, decaying.memory, 0, &out, &value), SB_OK);
	const Tbf decayed = made(decaying.memory, out, value);
	EXPECT_LE(decaying.memory.most_bytes, 2 * bytes_of({&filter}));
	EXPECT_EQ(decayed.count(hash, 3 * hour), 0.125);

	sb_moment moment;
	uint64_t hit;
	double most;
	const Peak removing;
	sb_tbf_moment(hour, hour, 0, &moment);
	ASSERT_EQ(sb_tbf_hit(&moment, 1, &hit), SB_OK);
	ASSERT_EQ(sb_tbf_remove(&filter.parameters, filter.cells.data(), hash, &moment, hit, removing.memory, 0, &out,
							&value, &most),
			  SB_OK);
	const Tbf removed = made(removing.memory, out, value);
	EXPECT_LE(removing.memory.most_bytes, 2 * bytes_of({&filter}));
	EXPECT_EQ(removed.count(hash, 0), 0);
}

/* Planes that fall out release all their memory. */
TEST(TbfContent, APlaneThatFallsOutIsReleased)
{
	Random random(14);
	Builder builder(large(hour, 200000));
	uint64_t most = 0;
	for (int64_t plane = 0; plane < 12; plane++)
	{
		for (int i = 0; i < 10; i++)
			ASSERT_EQ(builder.add(Hit{random(), plane * 16 * hour}), SB_OK);
		most = plane < 5 ? std::max(most, builder.memory.bytes) : most;
		EXPECT_LE(builder.memory.bytes, most + most / 4);
	}
}

/*
 * Memory runs out after a few allocations, while many hits are still to be added. The hits that were added before
 * stay, and once there is memory again, the builder can be used further.
 */
TEST(TbfContent, MemoryThatEndsLeavesWhatWasAdded)
{
	Random random(13);
	const sb_tbf plan = large(0, 200000);
	std::vector<uint64_t> hashes(20000);
	for (uint64_t &hash : hashes)
		hash = random();
	for (uint64_t fails_at : {2u, 3u, 5u, 10u, 20u})
	{
		Builder builder(plan);
		builder.memory.fails_at = fails_at;
		std::vector<uint64_t> added;
		for (uint64_t hash : hashes)
			if (builder.add(Hit{hash, 0}) == SB_OK)
				added.push_back(hash);
		builder.memory.fails_at = UINT64_MAX;
		EXPECT_LT(added.size(), hashes.size());
		const Tbf filter = builder.stored();
		for (uint64_t hash : added)
			EXPECT_GE(filter.count(hash, 0), 1);
	}
}
