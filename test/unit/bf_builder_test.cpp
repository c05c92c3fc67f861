/*
 * bf_builder_test.cpp: the builder of a bf. Every item is found. The bytes of the result depend on the set of items
 * alone. A builder can be sent to another process. Damaged bytes are refused.
 */
#include "bf_builder_support.h"

using namespace test;

namespace {

/*
 * Hashes of small integers, some of them more than once. `integers` gets the integers that belong to the hashes.
 */
std::vector<uint64_t> items_of(uint64_t seed, size_t count, std::vector<uint64_t> *integers = nullptr)
{
	Random random(seed);
	std::vector<uint64_t> hashes;
	for (size_t i = 0; i < count; i++)
	{
		const auto integer = random() % (2 * count);
		if (integers != nullptr)
			integers->push_back(integer);
		hashes.push_back(sb_hash_int64(static_cast<int64_t>(integer)));
	}
	return hashes;
}

std::vector<uint64_t> part_of(const std::vector<uint64_t> &all, size_t part, size_t parts)
{
	std::vector<uint64_t> some;
	for (size_t i = part; i < all.size(); i += parts)
		some.push_back(all[i]);
	return some;
}

struct Case
{
	uint64_t told; /* the expected number of items; 0: the filter sizes itself */
	size_t items;
	sb_bf_form form;
};

/*
 * Cases on both sides of each limit. 7 hashes fill the first set of hashes. A set becomes lines when it is as large as
 * the lines of the filter; in a filter that sizes itself, when it has 5/8 of 2^20 hashes.
 */
const Case cases[] = {
	{1, 0, SB_BF_OWNS_SET},			  {1, 1, SB_BF_OWNS_SET},
	{1, 300, SB_BF_OWNS_LINES},		  {100, 30, SB_BF_OWNS_LINES},
	{1000, 50, SB_BF_OWNS_SET},		  {1000, 500, SB_BF_OWNS_LINES},
	{100000, 5000, SB_BF_OWNS_SET},	  {100000, 60000, SB_BF_OWNS_LINES},
	{1000000, 50000, SB_BF_OWNS_SET}, {0, 0, SB_BF_OWNS_SET},
	{0, 5, SB_BF_OWNS_SET},			  {0, 64, SB_BF_OWNS_SET},
	{0, 65, SB_BF_OWNS_SET},		  {0, 3000, SB_BF_OWNS_SET},
	{0, 60000, SB_BF_OWNS_SET},		  {0, 900000, SB_BF_OWNS_LINES},
};

} // namespace

/* ------------------------------------------------------------------- the bytes */

TEST(BfBuilder, OrdersSplitsAndWaysLeaveNoTrace)
{
	for (const Case &c : cases)
	{
		SCOPED_TRACE(::testing::Message() << "told " << c.told << ", " << c.items << " items");
		Memory memory;
		const sb_bf plan = builder_plan(c.told);
		std::vector<uint64_t> integers;
		std::vector<uint64_t> hashes = items_of(c.items, c.items, &integers);
		const Bytes value = expected_bf(plan, hashes).value();

		BfBuilder one(memory, plan);
		one.add(hashes);
		const Bf filter = one.result();
		EXPECT_EQ(one.builder.form, c.form);
		EXPECT_TRUE(filter.contains(hashes));
		EXPECT_TRUE(same_bytes(filter.value(), value));
		EXPECT_TRUE(same_bytes(one.result().value(), value)) << "a second time";

		BfBuilder of_integers(memory, plan);
		for (uint64_t integer : integers)
			ASSERT_EQ(sb_bf_builder_add_integer(of_integers, static_cast<int64_t>(integer)), SB_OK);
		EXPECT_TRUE(same_bytes(of_integers.result().value(), value)) << "integers";

		Random random(c.items);
		BfBuilder mixed(memory, plan);
		for (size_t at = 0, count; at < hashes.size(); at += count)
		{
			count = std::min<size_t>(random() % (random() % 8 == 0 ? 40000 : 300), hashes.size() - at);
			const bool whole = random() % 2 == 0;
			ASSERT_EQ(sb_bf_builder_add_many(mixed, (whole ? integers : hashes).data() + at, count, whole), SB_OK);
		}
		EXPECT_TRUE(same_bytes(mixed.result().value(), value)) << "many at once, hashes and integers";

		std::shuffle(hashes.begin(), hashes.end(), random);
		BfBuilder again(memory, plan);
		again.add(hashes);
		again.add(part_of(hashes, 1, 3));
		EXPECT_TRUE(same_bytes(again.result().value(), value)) << "another order, a third of them twice";

		BfBuilder united(memory, plan);
		for (size_t part = 0; part < 3; part++)
		{
			BfBuilder some(memory, plan);
			some.add(part_of(hashes, part, 3));
			united.unite(some);
			const Bytes kept = expected_bf(plan, part_of(hashes, part, 3)).value();
			EXPECT_TRUE(same_bytes(some.result().value(), kept)) << "united, and kept";
		}
		united.unite(united);
		EXPECT_TRUE(same_bytes(united.result().value(), value)) << "united";
	}
}

TEST(BfBuilder, HasTheBytesOfItsParametersForEveryRate)
{
	for (double fpr : {SB_BF_MIN_FPR, 0.001, 0.03, SB_BF_MAX_FPR})
		for (uint64_t told : {0u, 700u})
		{
			Memory memory;
			const sb_bf plan = builder_plan(told, fpr);
			const std::vector<uint64_t> hashes = items_of(3, 1000);
			BfBuilder builder(memory, plan);
			builder.add(hashes);
			EXPECT_TRUE(same_bytes(builder.result().value(), expected_bf(plan, hashes).value())) << told << " " << fpr;
		}
}

/* The hash function is public, so somebody can choose items whose searches all begin at the same slot. */
TEST(BfBuilder, TakesHashesThatWereChosenToCrowd)
{
	Memory memory;
	const sb_bf plan = builder_plan(0);
	std::vector<uint64_t> hashes(200000);
	for (size_t i = 0; i < hashes.size(); i++)
		hashes[i] = i << (64 - SB_KEPT_HASH_BITS);
	BfBuilder builder(memory, plan);
	builder.add(hashes);
	EXPECT_NE(builder.builder.set.secret[0], 0u);
	EXPECT_TRUE(same_bytes(builder.result().value(), expected_bf(plan, hashes).value()));
}

/* Sets of hashes mark empty slots by zeros, so the hash 0 is kept apart from them. */
TEST(BfBuilder, TakesTheHashZero)
{
	for (uint64_t told : {0u, 700u})
		for (size_t count : {0u, 1u, 1000u})
		{
			SCOPED_TRACE(::testing::Message() << "told " << told << ", " << count << " more");
			Memory memory;
			const sb_bf plan = builder_plan(told);
			std::vector<uint64_t> hashes = items_of(6, count);
			BfBuilder without(memory, plan);
			without.add(hashes);
			hashes.push_back(0);
			BfBuilder with(memory, plan);
			with.add(hashes);
			with.add({0});
			const Bytes expected = expected_bf(plan, hashes).value();
			EXPECT_TRUE(same_bytes(with.result().value(), expected));
			EXPECT_FALSE(same_bytes(without.result().value(), expected));
			BfBuilder united(memory, plan);
			united.unite(with);
			united.unite(without);
			EXPECT_TRUE(same_bytes(united.result().value(), expected)) << "united";
		}
}

/* bench/results/layouts.md gives the size that this test demands. */
TEST(BfBuilder, IsSmallForFewItems)
{
	Memory memory;
	BfBuilder builder(memory, builder_plan(0));
	builder.add(items_of(1, 6));
	EXPECT_EQ(memory.allocations, 1u);
	EXPECT_EQ(memory.bytes, 104u);
}

TEST(BfBuilder, LendsItsLines)
{
	Memory memory;
	const sb_bf plan = builder_plan(100000);
	const std::vector<uint64_t> hashes = items_of(4, 60000);
	BfBuilder builder(memory, plan);
	EXPECT_EQ(sb_bf_builder_lines(builder, &plan), nullptr) << "a set has no lines to lend";
	builder.add(hashes);
	const Bf result = builder.result();
	unsigned char *lines = sb_bf_builder_lines(builder, &plan);
	ASSERT_NE(lines, nullptr);
	EXPECT_EQ(reinterpret_cast<uintptr_t>(lines) % 64, 0u);
	for (int i = 1; i <= SB_BF_BEFORE_LINES; i++)
		ASSERT_EQ(lines[-i], 0);
	std::memset(lines - SB_BF_BEFORE_LINES, 0xff, SB_BF_BEFORE_LINES); /* the caller may overwrite these bytes */
	EXPECT_TRUE(same_bytes(builder.result().value(), result.value()));

	sb_bf folded = plan;
	folded.line_count /= 2;
	EXPECT_EQ(sb_bf_builder_lines(builder, &folded), nullptr);
}

TEST(BfBuilder, RefusesAPlanOfAnotherSize)
{
	Memory memory;
	BfBuilder builder(memory, builder_plan(1000));
	builder.add(items_of(4, 1000));
	Bf filter = builder.result();
	sb_bf plan = filter.parameters;
	plan.line_count += 1;
	EXPECT_EQ(sb_bf_builder_write(builder, &plan, filter.lines.data()), SB_OUT_OF_RANGE);
	plan.line_count = filter.parameters.line_count * 2;
	EXPECT_EQ(sb_bf_builder_write(builder, &plan, filter.lines.data()), SB_OUT_OF_RANGE);
}

/* --------------------------------------------------------------------- uniting */

TEST(BfBuilder, RefusesToUniteOthers)
{
	Memory memory;
	const sb_bf plan = builder_plan(1000);
	BfBuilder builder(memory, plan);
	builder.add(items_of(5, 20));
	const Bytes before = builder.result().value();
	sb_bf text = plan;
	text.kind = kind_of(SB_KIND_TEXT, 6);
	for (const sb_bf &other_plan : {builder_plan(0), builder_plan(5000), builder_plan(1000, 0.0001), text})
	{
		BfBuilder other(memory, other_plan);
		EXPECT_EQ(sb_bf_builder_unite(builder, other), SB_DIFFERENT);
		EXPECT_EQ(sb_bf_builder_unite(other, builder), SB_DIFFERENT);
	}
	EXPECT_TRUE(same_bytes(builder.result().value(), before));

	sb_bf none = plan;
	none.kind = kind_of(SB_KIND_NONE);
	BfBuilder nothing(memory, none);
	builder.unite(nothing);
	nothing.unite(builder);
	EXPECT_TRUE(same_bytes(builder.result().value(), before));
	EXPECT_TRUE(same_bytes(nothing.result().value(), before)) << "and has its kind";
}

TEST(BfBuilder, ThatWasNotBegunDoesNothing)
{
	Memory memory;
	sb_bf_builder nothing{};
	BfBuilder builder(memory, builder_plan(0));
	const uint64_t hash = 1;
	void *bytes;
	size_t size;
	sb_bf plan = builder_plan(0);
	unsigned char out[200];
	for (int i = 0; i < 2; i++)
	{
		EXPECT_EQ(sb_bf_builder_add(&nothing, hash), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_builder_add_integer(&nothing, 1), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_builder_add_many(&nothing, &hash, 1, false), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_builder_unite(&nothing, builder), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_builder_unite(builder, &nothing), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_builder_plan(&nothing, false, &plan), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_builder_write(&nothing, &plan, out), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_builder_serialize(&nothing, memory, 0, &bytes, &size), SB_OUT_OF_RANGE);
		EXPECT_EQ(bytes, nullptr);
		EXPECT_EQ(sb_bf_builder_lines(&nothing, &plan), nullptr);
		sb_bf_builder_release(&nothing);
		nothing = builder.builder;
		builder.builder = {};
		sb_bf_builder_release(&nothing);
		builder.builder = {};
		plan = builder_plan(0);
		ASSERT_EQ(sb_bf_builder_begin(&builder.builder, memory, &plan), SB_OK);
	}
}

/* --------------------------------------------------------------------- travel */

/* The three forms in which a builder can arrive. */
struct Arrival
{
	uint64_t told;
	size_t items;
	sb_bf_form form;
};
const Arrival arrivals[] = {
	{0, 5, SB_BF_BORROWS_HASHES},
	{1000000, 50000, SB_BF_BORROWS_HASHES},
	{1000, 900, SB_BF_BORROWS_LINES},
	{300000, 30000, SB_BF_BORROWS_SPARSE_LINES},
	{0, 670000, SB_BF_BORROWS_SPARSE_LINES},
};

TEST(BfBuilder, TravelsAndIsUnited)
{
	for (const Arrival &a : arrivals)
	{
		SCOPED_TRACE(::testing::Message() << "told " << a.told << ", " << a.items << " items");
		Memory memory;
		const sb_bf plan = builder_plan(a.told);
		const std::vector<uint64_t> hashes = random_hashes(a.items, a.items);
		const std::vector<uint64_t> others = random_hashes(a.items + 1, a.items / 3 + 10);
		std::vector<uint64_t> all = hashes;
		all.insert(all.end(), others.begin(), others.end());
		const Bytes value = expected_bf(plan, all).value();

		BfBuilder from(memory, plan);
		from.add(hashes);
		const Bytes bytes = from.serialized();
		EXPECT_TRUE(same_bytes(from.serialized(), bytes)) << "a second time";
		BfBuilder arrived(memory, bytes);
		EXPECT_EQ(arrived.builder.form, a.form);

		/* as PostgreSQL does it: unite into a state that has items, and into a new one */
		BfBuilder leader(memory, plan);
		leader.add(others);
		leader.unite(arrived);
		EXPECT_EQ(arrived.builder.form, a.form) << "only read";
		EXPECT_TRUE(same_bytes(leader.result().value(), value));
		BfBuilder fresh(memory, plan);
		fresh.unite(arrived);
		fresh.add(others);
		EXPECT_TRUE(same_bytes(fresh.result().value(), value));
	}
}

/*
 * Calls functions that PostgreSQL never calls for a builder that has just arrived from another process. An earlier
 * version of these functions would have lost all items of such a builder.
 */
TEST(BfBuilder, ThatArrivedGivesRightAnswersToWhateverIsAsked)
{
	for (const Arrival &a : arrivals)
	{
		SCOPED_TRACE(::testing::Message() << "told " << a.told << ", " << a.items << " items");
		Memory memory;
		const sb_bf plan = builder_plan(a.told);
		const std::vector<uint64_t> hashes = random_hashes(a.items, a.items);
		const std::vector<uint64_t> others = random_hashes(a.items + 1, 200);
		std::vector<uint64_t> all = hashes;
		all.insert(all.end(), others.begin(), others.end());
		BfBuilder from(memory, plan);
		from.add(hashes);
		const Bytes bytes = from.serialized();

		BfBuilder serialized(memory, bytes);
		EXPECT_TRUE(same_bytes(serialized.serialized(), bytes)) << "serialized again";

		BfBuilder planned(memory, bytes);
		EXPECT_TRUE(same_bytes(planned.result().value(), expected_bf(plan, hashes).value())) << "planned and written";

		BfBuilder added(memory, bytes);
		added.add(others);
		EXPECT_TRUE(same_bytes(added.result().value(), expected_bf(plan, all).value())) << "added to";

		BfBuilder left(memory, bytes);
		BfBuilder right(memory, bytes);
		BfBuilder owner(memory, plan);
		owner.add(others);
		left.unite(right);
		left.unite(left);
		left.unite(owner);
		EXPECT_TRUE(same_bytes(left.result().value(), expected_bf(plan, all).value())) << "united";

		BfBuilder released(memory, bytes);
	}
}

TEST(BfBuilder, SendsPendingItemsTooAndCanGoOn)
{
	Memory memory;
	for (uint64_t told : {0u, 1000u, 100000u})
	{
		std::vector<uint64_t> hashes = random_hashes(7, 1001);
		BfBuilder builder(memory, builder_plan(told));
		builder.add(hashes);
		const Bytes first = builder.serialized();
		BfBuilder of_first(memory, first);
		EXPECT_TRUE(same_bytes(of_first.result().value(), builder.result().value()));

		builder.add({1});
		hashes.push_back(1);
		const Bytes second = builder.serialized();
		BfBuilder of_second(memory, second);
		EXPECT_TRUE(same_bytes(of_second.result().value(), builder.result().value()));
		EXPECT_TRUE(of_second.result().contains(hashes));
	}
}

TEST(BfBuilder, RefusesDamagedBytes)
{
	for (const Arrival &a : {arrivals[0], arrivals[2], arrivals[3]})
	{
		SCOPED_TRACE(::testing::Message() << "told " << a.told << ", " << a.items << " items");
		Memory memory;
		const sb_bf plan = builder_plan(a.told);
		BfBuilder from(memory, plan);
		from.add(random_hashes(8, a.items));
		const Bytes bytes = from.serialized();
		auto status_of = [&](const Bytes &damaged) {
			sb_bf_builder builder;
			const sb_status status = sb_bf_builder_deserialize(&builder, memory, damaged.data(), damaged.size());
			EXPECT_EQ(builder.form == SB_BF_HAS_NOTHING, status != SB_OK);
			return status;
		};
		auto changed = [&](size_t at, unsigned char to) {
			Bytes damaged = bytes;
			damaged[at] = to;
			return damaged;
		};
		ASSERT_EQ(status_of(bytes), SB_OK);
		for (size_t size = 0; size < 65; size++)
			EXPECT_EQ(status_of(Bytes(bytes.data(), size)), SB_TRUNCATED);
		for (size_t less = 1; less < 8; less++)
			EXPECT_EQ(status_of(Bytes(bytes.data(), bytes.size() - less)), SB_BAD_LENGTH);
		EXPECT_EQ(status_of(bytes + Bytes(1)), SB_BAD_LENGTH);
		EXPECT_EQ(status_of(changed(64, 3)), SB_BAD_HEADER);
		EXPECT_EQ(status_of(changed(64, 255)), SB_BAD_HEADER);
		EXPECT_EQ(status_of(changed(0, 'T')), SB_BAD_MAGIC);
		EXPECT_EQ(status_of(changed(45, 1)), SB_BAD_HEADER) << "widened";
		EXPECT_EQ(status_of(changed(40, bytes[40] ^ 2)), a.told == 0 ? SB_BAD_HEADER : SB_BAD_LENGTH) << "lines";

		sb_bf none = plan;
		none.kind = kind_of(SB_KIND_NONE);
		BfBuilder of_none(memory, none);
		EXPECT_EQ(status_of(of_none.serialized()), SB_OK) << "without items";
		of_none.add({1});
		EXPECT_EQ(status_of(of_none.serialized()), SB_BAD_HEADER) << "items of no kind";
	}
}

/* Bytes that are accepted can be used: ASan watches. */
TEST(BfBuilder, UsesWhateverItAccepts)
{
	Random random(9);
	int accepted = 0;
	for (int round = 0; round < 3000; round++)
	{
		Memory memory;
		const sb_bf plan = builder_plan(random() % 4 == 0 ? 0 : 1 + random() % 300);
		BfBuilder from(memory, plan);
		from.add(random_hashes(static_cast<uint64_t>(round), random() % 200));
		Bytes bytes = from.serialized();
		for (uint64_t flips = random() % 3; flips > 0; flips--)
			bytes[random() % bytes.size()] ^= static_cast<unsigned char>(1u << random() % 8);
		sb_bf_builder builder;
		if (sb_bf_builder_deserialize(&builder, memory, bytes.data(), bytes.size()) != SB_OK)
			continue;
		accepted++;
		EXPECT_EQ(sb_bf_builder_add(&builder, 4711), SB_OK);
		sb_bf result;
		ASSERT_EQ(sb_bf_builder_plan(&builder, false, &result), SB_OK);
		if (result.line_count < 100000)
		{
			Bf filter(result);
			ASSERT_EQ(sb_bf_builder_write(&builder, &result, filter.lines.data()), SB_OK);
			EXPECT_TRUE(filter.contains(4711));
		}
		sb_bf_builder_release(&builder);
	}
	EXPECT_GT(accepted, 1000);
}
