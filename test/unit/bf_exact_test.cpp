/*
 * bf_exact_test.cpp: the exact form of a bf, which stores the hashes of its items instead of lines of bits. Such
 * filters are written, read, asked, united, intersected and added to lines, and compared with std::set. Bytes that are
 * no exact form are refused.
 */
#include "bf_builder_support.h"

#include "bf/bf_exact.hpp"

#include <algorithm>
#include <set>

using namespace test;

namespace {

using Set = std::set<uint64_t>;

const sb_bf like = Bf(1, 6).parameters;

/*
 * The exact form keeps the highest 48 bits of a hash. `one` is the smallest hash with such a bit, `last` the largest.
 */
constexpr uint64_t one = UINT64_C(1) << (64 - SB_KEPT_HASH_BITS);
constexpr uint64_t last = SB_KEPT_HASH_MASK;

std::vector<uint64_t> vector_of(const Set &set)
{
	return {set.begin(), set.end()};
}

Bf filter_of(const Set &set)
{
	return Bf::exact(like, vector_of(set));
}

/*
 * A set of `count` hashes. With 48 binary digits they are spread as real hashes are; with fewer digits they lie close
 * together, from the hash `from` on.
 */
Set random_set(Random &random, size_t count, int digits = SB_KEPT_HASH_BITS, uint64_t from = 0)
{
	Set set;
	while (set.size() < count)
		set.insert(from + (random() >> (64 - digits)) * one);
	return set;
}

Set items_of(const Bf &bf)
{
	std::vector<uint64_t> items;
	EXPECT_TRUE(sb_bf_is_exact(&bf.parameters));
	EXPECT_EQ(streambloom::for_each_hash(&bf.parameters, bf.lines.data(),
										 [&](const uint64_t *hashes, size_t count) {
											 items.insert(items.end(), hashes, hashes + count);
											 return SB_OK;
										 }),
			  SB_OK);
	EXPECT_EQ(std::adjacent_find(items.begin(), items.end(), std::greater_equal<>()), items.end());
	return {items.begin(), items.end()};
}

sb_status status_of(const Bytes &value)
{
	sb_bf read;
	const sb_status status = sb_bf_decode_header(value.data(), value.size(), value.size(), &read);
	return status == SB_OK ? sb_bf_check(&read, value.data() + SB_BF_HEADER) : status;
}

/* The result of a builder that takes these filters, one after the other, and then these items. */
Bf built(const std::vector<Bf> &filters, const std::vector<uint64_t> &items = {})
{
	const Memory memory;
	sb_bf_builder builder;
	sb_difference difference;
	sb_bf plan;
	EXPECT_EQ(sb_bf_builder_begin_union(&builder, memory, &filters.front().parameters), SB_OK);
	for (const Bf &filter : filters)
		EXPECT_EQ(sb_bf_builder_add_filter(&builder, &filter.parameters, filter.lines.data(), &difference), SB_OK);
	EXPECT_EQ(sb_bf_builder_add_many(&builder, items.data(), items.size(), false), SB_OK);
	EXPECT_EQ(sb_bf_builder_plan(&builder, true, &plan), SB_OK);
	Bf result(plan);
	EXPECT_EQ(sb_bf_builder_write(&builder, &plan, result.lines.data()), SB_OK);
	sb_bf_builder_release(&builder);
	return result;
}

/* The union or the intersection of a and b, made as bf_union() and bf_intersection() make it. */
Bf combined(const Bf &a, const Bf &b, bool intersect)
{
	if (!sb_bf_is_exact(&a.parameters) && !sb_bf_is_exact(&b.parameters))
		return intersect ? intersected(a, b) : united(a, b);
	if (!intersect)
		return built({a, b});
	const Memory memory;
	const sb_memory *to = memory;
	constexpr size_t in_front = 4;
	sb_bf header;
	void *value;
	sb_difference difference;
	EXPECT_EQ(sb_bf_intersect_exact(&a.parameters, a.lines.data(), &b.parameters, b.lines.data(), to, in_front, &header,
									&value, &difference),
			  SB_OK);
	Bf result(header);
	const auto *data = static_cast<const unsigned char *>(value) + in_front;
	result.lines = Bytes(data + SB_BF_HEADER, sb_bf_size(&header) - SB_BF_HEADER);
	EXPECT_TRUE(same_bytes(result.value(), Bytes(data, sb_bf_size(&header))));
	to->release(to->context, value);
	return result;
}

/* Numbers of items around the limits of blocks and of the exact form. */
const std::vector<size_t> counts = {0,	 1,	  2,   3,	31,	 63,  64,  65,	 127, 128,
									129, 130, 255, 256, 257, 258, 500, 1000, 5000};

} // namespace

/* --------------------------------------------------------------------- the bytes */

TEST(BfExact, GivesBackWhatWasWritten)
{
	Random random(1);
	auto expect = [](const Set &set) {
		const Bf bf = filter_of(set);
		EXPECT_EQ(bf.parameters.item_count, set.size());
		EXPECT_TRUE(items_of(bf) == set);
		EXPECT_EQ(status_of(bf.value()), SB_OK);
	};
	for (size_t count : counts)
		for (int round = 0; round < 20; round++)
			expect(random_set(random, count));
	for (int digits : {13, 14, 20, 30, 39, 40, 41, 47})
		for (size_t count : std::initializer_list<size_t>{1, 2, 31, 64, 65, 129, 1000, 5000})
		{
			expect(random_set(random, count, digits));
			expect(random_set(random, count, digits, last - ((UINT64_C(1) << digits) - 1) * one));
		}
	expect(random_set(random, SB_BF_EXACT_ITEMS));
	expect(random_set(random, SB_BF_EXACT_ITEMS, 17));
	expect({0});
	expect({last});
	expect({0, last});
	expect({0, one, 2 * one, last - one, last});
}

/* The lowest 16 of the 64 bits of a hash are not stored. */
TEST(BfExact, HasFortyEightBitsOfAHash)
{
	Random random(12);
	const std::vector<uint64_t> hashes = random_hashes(12, 300);
	std::vector<uint64_t> others = hashes;
	for (uint64_t &hash : others)
		hash ^= random() >> SB_KEPT_HASH_BITS;
	EXPECT_TRUE(same_bytes(Bf::exact(like, hashes).value(), Bf::exact(like, others).value()));
	EXPECT_TRUE(Bf::exact(like, hashes).contains(others));
	Bf lines(100, 6);
	Bf of_others(100, 6);
	lines.add(hashes);
	of_others.add(others);
	EXPECT_TRUE(same_bytes(lines.value(), of_others.value()));
}

TEST(BfExact, TakesFewBytes)
{
	Random random(2);
	const auto bytes = [&](size_t count) {
		return static_cast<double>(filter_of(random_set(random, count)).lines.size()) / static_cast<double>(count);
	};
	EXPECT_LE(bytes(64), 6);
	EXPECT_LE(bytes(1000), 5.3);
	EXPECT_LE(bytes(10000), 5);
	EXPECT_LE(bytes(SB_BF_EXACT_ITEMS), 4.5);
	EXPECT_EQ(filter_of({}).value().size(), size_t{SB_BF_HEADER});
}

TEST(BfExact, FindsItsItemsAndNoOthers)
{
	Random random(3);
	for (size_t count : counts)
	{
		const Set set = random_set(random, count, count % 2 == 0 ? SB_KEPT_HASH_BITS : 24);
		const Bf bf = filter_of(set);
		const Bytes value = bf.value();
		auto found = [&](uint64_t hash) {
			sb_lookup lookup;
			EXPECT_EQ(look_up(&lookup, SB_LOOKUP_BF, hash, value), SB_OK);
			EXPECT_EQ(bf.contains(hash), lookup.found);
			return lookup.found;
		};
		for (uint64_t hash : set)
		{
			EXPECT_TRUE(found(hash));
			EXPECT_TRUE(found(hash | ~SB_KEPT_HASH_MASK));
			EXPECT_EQ(found(hash + one), set.contains(hash + one));
			EXPECT_EQ(found(hash - one), set.contains(hash - one));
		}
		for (int i = 0; i < 1000; i++)
			EXPECT_FALSE(found(random()));
	}
}

/* Every change of a bit gives another set, or is refused. So a set can be written in one way only. */
TEST(BfExact, RefusesEveryOtherWayToWriteItsItems)
{
	Random random(4);
	for (size_t count : std::initializer_list<size_t>{1, 2, 5, 31, 64, 129, 300})
	{
		const Bf bf = filter_of(random_set(random, count));
		const Bytes value = bf.value();
		const Set set = items_of(bf);
		for (size_t bit = 0; bit < bf.lines.size() * 8; bit++)
		{
			Bf other = bf;
			other.lines[bit / 8] = static_cast<unsigned char>(other.lines[bit / 8] ^ 1u << bit % 8);
			const sb_status status = status_of(other.value());
			ASSERT_TRUE(status == SB_OK || status == SB_BAD_CELLS);
			if (status == SB_OK)
			{
				const Set others = items_of(other);
				EXPECT_TRUE(others != set && others.size() == set.size());
				EXPECT_TRUE(same_bytes(filter_of(others).value(), other.value()));
			}
		}

		/* a byte more or less, whether the header agrees or not */
		EXPECT_EQ(status_of(value + Bytes(1)), SB_BAD_LENGTH);
		EXPECT_EQ(status_of(Bytes(value.data(), value.size() - 1)), SB_BAD_LENGTH);
		for (int more : {1, -1})
		{
			Bytes other = more == 1 ? value + Bytes(1) : Bytes(value.data(), value.size() - 1);
			const uint64_t payload = bf.parameters.payload + static_cast<uint64_t>(more);
			std::memcpy(other.data() + 48, &payload, sizeof payload);
			EXPECT_NE(status_of(other), SB_OK);
		}

		/* another number of items */
		for (uint32_t items = 0; items < 700; items++)
		{
			Bytes other = value;
			std::memcpy(other.data() + 40, &items, sizeof items);
			EXPECT_EQ(status_of(other) == SB_OK, items == count) << items;
		}
	}
}

TEST(BfExact, RefusesHeadersThatNobodyWrites)
{
	const Bf bf = filter_of({one, 2 * one, 3 * one});
	auto changed = [&](auto change) {
		Bytes value = bf.value();
		change(value.data());
		return status_of(value);
	};
	EXPECT_EQ(changed([](unsigned char *) {}), SB_OK);
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[45] = 1; }), SB_BAD_HEADER) << "widened";
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[46] = 1; }), SB_BAD_HEADER) << "what is always zero";
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[40] = 1, bytes[42] = 1; }), SB_BAD_HEADER) << "65,537 items";
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[40] = 0; }), SB_BAD_HEADER) << "bytes, but no items";
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[48] = 0; }), SB_BAD_HEADER) << "items, but no bytes";
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[55] = 1; }), SB_BAD_HEADER)
		<< "more bytes than a value can have";
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[4] = 3; }), SB_BAD_HEADER) << "an unknown flag";
	EXPECT_EQ(changed([](unsigned char *bytes) { bytes[44] = 0; }), SB_BAD_HEADER) << "no hashes";
	Bf none = bf;
	none.parameters.kind = {};
	EXPECT_EQ(status_of(none.value()), SB_BAD_HEADER);
	none = filter_of({});
	none.parameters.kind = {};
	EXPECT_EQ(status_of(none.value()), SB_OK) << "without items and kind";
}

/* Any bytes are refused or stand for a set; ASan watches. */
TEST(BfExact, TrustsNothing)
{
	Random random(5);
	int accepted = 0;
	for (int round = 0; round < 100000; round++)
	{
		const auto items = static_cast<uint32_t>(between(random, 1, between(random, 1, 400)));
		Bf bf = filter_of(round % 2 == 0 ? Set{one} : random_set(random, items));
		bf.parameters.item_count = items;
		if (round % 2 == 0)
		{
			bf.parameters.payload = static_cast<uint32_t>(between(random, 1, 7) * items + between(random, 1, 30));
			bf.lines = Bytes(bf.parameters.payload);
			for (size_t i = 0; i < bf.lines.size(); i++)
				bf.lines[i] = static_cast<unsigned char>(random() & random());
		}
		else
			for (int64_t changes = between(random, 1, 4); changes > 0; changes--)
				bf.lines[random() % bf.lines.size()] = static_cast<unsigned char>(random());
		sb_lookup lookup;
		const sb_status status = status_of(bf.value());
		const sb_status looked = look_up(&lookup, SB_LOOKUP_BF, random(), bf.value());
		EXPECT_TRUE(looked == SB_OK || looked == status);
		if (status != SB_OK)
			continue;
		accepted++;
		EXPECT_TRUE(same_bytes(filter_of(items_of(bf)).value(), bf.value()));
	}
	EXPECT_GT(accepted, 10);
}

/* -------------------------------------------------------------------- combining */

TEST(BfExact, UnionAndIntersectionAreThoseOfSets)
{
	Random random(6);
	for (int round = 0; round < 1000; round++)
	{
		const size_t most = counts[random() % counts.size()] + 1;
		const Set shared = random_set(random, random() % most);
		Set a = random_set(random, random() % most);
		Set b = random_set(random, random() % most);
		a.insert(shared.begin(), shared.end());
		b.insert(shared.begin(), shared.end());
		Set all = a;
		all.insert(b.begin(), b.end());
		const Bf left = filter_of(a);
		const Bf right = filter_of(b);
		const Bf both = combined(left, right, false);
		EXPECT_TRUE(sb_bf_is_exact(&both.parameters));
		EXPECT_TRUE(same_bytes(both.value(), filter_of(all).value()));
		EXPECT_TRUE(same_bytes(both.value(), combined(right, left, false).value()));
		EXPECT_TRUE(same_bytes(combined(left, left, false).value(), left.value()));
		EXPECT_TRUE(items_of(combined(left, right, true)) == shared);
		EXPECT_TRUE(same_bytes(combined(right, left, true).value(), combined(left, right, true).value()));
	}
}

/*
 * However items come together in one builder, the bytes of the result are the same, also beyond the limit of the
 * exact form. As long as the result is exact, the same holds for unions of filters.
 */
TEST(BfExact, OrderAndSplitsLeaveNoTrace)
{
	Random random(7);
	for (size_t count :
		 std::initializer_list<size_t>{10, 64, 200, 1000, SB_BF_EXACT_ITEMS, SB_BF_EXACT_ITEMS + 1, 100000})
	{
		std::vector<uint64_t> items = vector_of(random_set(random, count));
		const bool exact = count <= SB_BF_EXACT_ITEMS;
		Bytes first;
		for (int round = 0; round < (count > 1000 ? 3 : 20); round++)
		{
			std::shuffle(items.begin(), items.end(), random);
			std::vector<Bf> parts;
			for (size_t at = 0; at < items.size();)
			{
				const size_t many = std::min<size_t>(items.size() - at, random() % (count / 5 + 2));
				const auto from = items.begin() + static_cast<ptrdiff_t>(at);
				parts.push_back(Bf::exact(like, {from, from + static_cast<ptrdiff_t>(many)}));
				at += many;
			}
			Bf all = built(parts);
			EXPECT_TRUE(all.contains(items));
			EXPECT_EQ(sb_bf_is_exact(&all.parameters), exact);
			if (round == 0)
				first = all.value();
			EXPECT_TRUE(same_bytes(all.value(), first)) << count;
			Bf one_by_one = filter_of({});
			for (const Bf &part : parts)
				one_by_one = random() % 2 == 0 ? combined(one_by_one, part, false) : combined(part, one_by_one, false);
			EXPECT_TRUE(one_by_one.contains(items));
			EXPECT_TRUE(!exact || same_bytes(one_by_one.value(), first)) << count;
			EXPECT_LE(one_by_one.measured().current_fpr, like.fpr);
		}
	}
}

TEST(BfExact, BecomesLinesWithRoomForFourTimesItsItems)
{
	Random random(8);
	const std::vector<uint64_t> items = vector_of(random_set(random, SB_BF_EXACT_ITEMS + 1));
	for (double fpr : {0.5, 0.1, 0.01, 0.001, SB_BF_MIN_FPR})
	{
		sb_bf of_rate;
		ASSERT_EQ(sb_bf_plan(1, fpr, true, &of_rate), SB_OK);
		of_rate.kind = kind_of(SB_KIND_INTEGER);
		const Bf lines = Bf::exact(of_rate, items);
		sb_bf room;
		ASSERT_EQ(sb_bf_plan(4 * items.size(), fpr, true, &room), SB_OK);
		EXPECT_FALSE(sb_bf_is_exact(&lines.parameters));
		EXPECT_GE(lines.parameters.line_count, room.line_count);
		EXPECT_LE(lines.parameters.line_count, 2 * room.line_count);
		EXPECT_EQ(lines.parameters.hash_count, room.hash_count);
		EXPECT_EQ(lines.parameters.expected_items, 0u);
		EXPECT_TRUE(lines.contains(items));
	}
}

/*
 * When an exact filter is united with lines, only the bits of its items are set. Fewer than 7 lines may be widened for
 * that.
 */
TEST(BfExact, IsAddedToLinesItemByItem)
{
	Random random(9);
	for (uint32_t count : {1u, 3u, 7u, 64u, 1001u})
	{
		const Set set = random_set(random, 10);
		Bf lines(count, 6, 0.02);
		lines.parameters.expected_items = count * 40;
		lines.add(random_hashes(count, 10 * count));
		Bf wanted = lines;
		wanted.add(vector_of(set));
		const Bf both = combined(lines, filter_of(set), false);
		EXPECT_TRUE(count < 7 || same_bytes(both.value(), wanted.value()));
		EXPECT_TRUE(both.contains(vector_of(set)));
		EXPECT_TRUE(same_bytes(combined(filter_of(set), lines, false).value(), both.value()));

		Set contained;
		for (uint64_t hash : set)
			if (lines.contains(hash))
				contained.insert(hash);
		EXPECT_TRUE(items_of(combined(lines, filter_of(set), true)) == contained);
		EXPECT_TRUE(items_of(combined(filter_of(set), lines, true)) == contained);
		EXPECT_TRUE(items_of(combined(wanted, filter_of(set), true)) == set);
	}
}

/*
 * The exact filter has more items than the lines of the other one have room for. Then the lines are widened until the
 * rate is kept. No item is missed, in any order of the filters.
 */
TEST(BfExact, WidensLinesThatItWouldFill)
{
	Random random(13);
	for (uint32_t count : {1u, 3u, 10u})
	{
		Bf lines(count, 6, 0.01);
		const std::vector<uint64_t> before = random_hashes(count, 20 * count);
		lines.add(before);
		const Set few = random_set(random, 300);
		const Set many = random_set(random, 3000);
		const Bf result = built({lines, filter_of(few), filter_of(many)});
		EXPECT_TRUE(result.contains(before) && result.contains(vector_of(few)) && result.contains(vector_of(many)));
		EXPECT_TRUE(same_bytes(built({filter_of(many), lines, filter_of(few)}).value(), result.value()));
		EXPECT_TRUE(same_bytes(built({filter_of(few), filter_of(many), lines}).value(), result.value()));
		EXPECT_EQ(result.parameters.line_count % count, 0u);
		EXPECT_GT(result.parameters.widened, 0);
		EXPECT_LE(result.measured().current_fpr, 0.011);
		EXPECT_EQ(status_of(result.value()), SB_OK);
	}
}

TEST(BfExact, IsUnitedOnlyIfHashesAgree)
{
	const Bf seven = Bf::exact(Bf(1, 7).parameters, {one});
	for (const Bf &other : {filter_of({one}), Bf(3, 6)})
	{
		const Memory memory;
		sb_bf out;
		void *value;
		sb_difference difference{};
		EXPECT_EQ(sb_bf_plan_union(&seven.parameters, &other.parameters, &out, &difference), SB_DIFFERENT);
		EXPECT_STREQ(difference.parameter, "hashes");
		difference = {};
		EXPECT_EQ(sb_bf_intersect_exact(&seven.parameters, seven.lines.data(), &other.parameters, other.lines.data(),
										memory, 0, &out, &value, &difference),
				  SB_DIFFERENT);
		EXPECT_STREQ(difference.parameter, "hashes");
		EXPECT_EQ(value, nullptr);
		difference = {};
		sb_bf_builder builder;
		ASSERT_EQ(sb_bf_builder_begin_union(&builder, memory, &seven.parameters), SB_OK);
		EXPECT_EQ(sb_bf_builder_add_filter(&builder, &other.parameters, other.lines.data(), &difference), SB_DIFFERENT);
		EXPECT_STREQ(difference.parameter, "hashes");
		sb_bf_builder_release(&builder);
	}
}

/* ----------------------------------------------------------------- lines of just its items */

TEST(BfExact, IsCompactedToTheLinesOfItsItems)
{
	Random random(14);
	for (double fpr : {0.1, 0.01, 0.001})
		for (size_t count : std::initializer_list<size_t>{0, 1, 64, 1000, 20000})
		{
			const std::vector<uint64_t> items = vector_of(random_set(random, count));
			const Bf list = Bf::exact(like, items);
			sb_bf plan;
			sb_bf told;
			ASSERT_EQ(sb_bf_plan_compact(&list.parameters, fpr, &plan), SB_OK);
			ASSERT_EQ(sb_bf_plan(std::max<size_t>(count, 1), fpr, false, &told), SB_OK);
			Bf lines(plan);
			ASSERT_EQ(sb_bf_exact_to_lines(&list.parameters, list.lines.data(), &plan, lines.lines.data()), SB_OK);
			told.kind = kind_of(SB_KIND_INTEGER);
			Bf wanted(told);
			wanted.add(items);
			EXPECT_TRUE(same_bytes(lines.value(), wanted.value()));
		}
	sb_bf plan;
	const Bf of_one = filter_of({one});
	EXPECT_EQ(sb_bf_plan_compact(&of_one.parameters, 0.7, &plan), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_bf_plan_compact(&like, 0.01, &plan), SB_OUT_OF_RANGE) << "it has lines";
}

/* --------------------------------------------------------------------- the builder */

TEST(BfExact, IsWhatABuilderMakesUpToTheLimit)
{
	Random random(10);
	for (size_t count : std::initializer_list<size_t>{0, 1, 64, 65, 3000, SB_BF_EXACT_ITEMS, SB_BF_EXACT_ITEMS + 1})
	{
		Memory memory;
		const Set set = random_set(random, count);
		BfBuilder builder(memory, builder_plan(0));
		BfBuilder told(memory, builder_plan(1000));
		builder.add(vector_of(set));
		builder.add(vector_of(set));
		told.add(vector_of(set));
		const Bf result = builder.result();
		EXPECT_EQ(sb_bf_is_exact(&result.parameters), count <= SB_BF_EXACT_ITEMS);
		if (count <= SB_BF_EXACT_ITEMS)
		{
			EXPECT_TRUE(items_of(result) == set);
		}
		const Bf of_told = told.result();
		EXPECT_FALSE(sb_bf_is_exact(&of_told.parameters));

		sb_bf plan;
		ASSERT_EQ(sb_bf_builder_plan(builder, true, &plan), SB_OK);
		EXPECT_EQ(sb_bf_is_exact(&plan), count <= SB_BF_EXACT_ITEMS);
		Bf with_room(plan);
		ASSERT_EQ(sb_bf_builder_write(builder, &plan, with_room.lines.data()), SB_OK);
		EXPECT_TRUE(with_room.contains(vector_of(set)));
		if (count > SB_BF_EXACT_ITEMS)
		{
			EXPECT_EQ(plan.line_count, 4 * result.parameters.line_count);
		}
		ASSERT_EQ(sb_bf_builder_plan(told, true, &plan), SB_OK);
		EXPECT_EQ(plan.line_count, of_told.parameters.line_count);
	}
}

/* A builder finds every item that it has: its own, also the pending ones, and those of filters with lines. */
TEST(BfExact, ABuilderIsAskedForItems)
{
	Memory memory;
	Random random(15);
	BfBuilder builder(memory, builder_plan(0));
	sb_difference difference;
	bool found;
	std::vector<uint64_t> items;
	Bf lines(64, builder.builder.plan.hash_count);
	lines.add(one);
	ASSERT_EQ(sb_bf_builder_add_filter(builder, &lines.parameters, lines.lines.data(), &difference), SB_OK);
	ASSERT_EQ(sb_bf_builder_contains(builder, one, &found), SB_OK);
	EXPECT_TRUE(found);
	for (int i = 0; i < 3000; i++)
	{
		const uint64_t hash = random();
		ASSERT_EQ(sb_bf_builder_contains(builder, hash, &found), SB_OK);
		EXPECT_FALSE(found);
		builder.add({hash});
		ASSERT_EQ(sb_bf_builder_contains(builder, hash, &found), SB_OK);
		EXPECT_TRUE(found);
	}
}

/* ------------------------------------------------------------------------ measures */

TEST(BfExact, IsMeasuredAsWhatItIs)
{
	Random random(11);
	const Bf bf = filter_of(random_set(random, 333));
	const sb_bf_stats stats = bf.measured();
	EXPECT_EQ(stats.items, 333);
	EXPECT_EQ(stats.current_fpr, 0);
	EXPECT_EQ(stats.bits, 0u);
	EXPECT_EQ(sb_bf_sample_fpr(&bf.parameters, bf.lines.data(), 0), 0);
	sb_bf folded = bf.parameters;
	Bytes lines = bf.lines;
	EXPECT_EQ(sb_bf_fold(&folded, lines.data(), 0, lines.data()), SB_OUT_OF_RANGE);
	EXPECT_TRUE(same_bytes(lines, bf.lines));
}
