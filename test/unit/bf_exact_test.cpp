/*
 * bf_exact_test.cpp: the exact form of a small bf: items written, read and looked up; united, intersected and added to
 * lines, compared with std::set; and whatever is no such form.
 */
#include "bf_builder_support.h"

#include <set>

using namespace test;

namespace {

using Set = std::set<uint64_t>;

const sb_bf like = Bf(1, 6).parameters;

Bf filter_of(const Set &set)
{
	return Bf::exact(like, {set.begin(), set.end()});
}

/* Of 64 digits they are spread as real hashes are; of fewer, or near the end, they crowd. */
Set random_set(Random &random, size_t count, int digits = 64, uint64_t from = 0)
{
	Set set;
	while (set.size() < count)
		set.insert(from + (random() >> (64 - digits)));
	return set;
}

Set items_of(const Bf &bf)
{
	sb_bf_exact items;
	EXPECT_TRUE(sb_bf_is_exact(&bf.parameters));
	EXPECT_EQ(read_items(bf.parameters, bf.lines, &items), SB_OK);
	EXPECT_TRUE(std::is_sorted(items.hashes, items.hashes + items.count));
	return {items.hashes, items.hashes + items.count};
}

sb_status status_of(const Bytes &value)
{
	sb_bf read;
	const sb_status status = sb_bf_decode_header(value.data(), value.size(), value.size(), &read);
	return status == SB_OK ? sb_bf_check(&read, value.data() + SB_BF_HEADER) : status;
}

/* As bf_union() and bf_intersection() do it. */
Bf combined(const Bf &a, const Bf &b, bool intersect)
{
	sb_bf planned;
	sb_difference difference;
	EXPECT_EQ(sb_bf_plan_union(&a.parameters, &b.parameters, &planned, &difference), SB_OK);
	const bool exact_a = sb_bf_is_exact(&a.parameters);
	const bool exact_b = sb_bf_is_exact(&b.parameters);
	if (intersect ? !exact_a && !exact_b : !exact_a || !exact_b)
		return intersect ? intersected(a, b) : united(a, b);
	const Bf &first = exact_a ? a : b;
	const Bf &second = exact_a ? b : a;
	sb_bf_exact items;
	EXPECT_EQ(read_items(first.parameters, first.lines, &items), SB_OK);
	EXPECT_EQ(sb_bf_exact_combine(&items, &second.parameters, second.lines.data(), intersect), SB_OK);
	return Bf::exact(planned, {items.hashes, items.hashes + items.count});
}

} // namespace

/* --------------------------------------------------------------------- the bytes */

TEST(BfExact, GivesBackWhatWasWritten)
{
	Random random(1);
	auto expect = [](const Set &set) {
		const Bf bf = filter_of(set);
		EXPECT_EQ(bf.parameters.item_count, set.size());
		EXPECT_LE(bf.lines.size(), size_t{SB_BF_EXACT_BYTES});
		EXPECT_TRUE(items_of(bf) == set);
		EXPECT_EQ(status_of(bf.value()), SB_OK);
	};
	for (size_t count = 0; count <= SB_BF_EXACT_ITEMS; count++)
		for (int round = 0; round < 50; round++)
			expect(random_set(random, count));
	for (int digits : {7, 8, 20, 40, 57, 58, 63})
		for (size_t count : std::initializer_list<size_t>{1, 2, 31, 32, 33, 63, 64})
		{
			expect(random_set(random, count, digits));
			expect(random_set(random, count, digits, UINT64_MAX - (UINT64_MAX >> (64 - digits))));
		}
	expect({0});
	expect({UINT64_MAX});
	expect({0, UINT64_MAX});
	expect({0, 1, 2, UINT64_MAX - 1, UINT64_MAX});
}

TEST(BfExact, TakesAtMost480Bytes)
{
	Random random(2);
	for (size_t count = 1; count <= SB_BF_EXACT_ITEMS; count++)
		EXPECT_LE(filter_of(random_set(random, count)).lines.size(), 8 * count + 1);
	EXPECT_EQ(filter_of(random_set(random, SB_BF_EXACT_ITEMS)).lines.size(), 480u);
	EXPECT_EQ(filter_of({}).value().size(), size_t{SB_BF_HEADER});
	EXPECT_EQ(filter_of({UINT64_MAX}).lines.size(), 9u);
}

TEST(BfExact, FindsItsItemsAndNoOthers)
{
	Random random(3);
	for (size_t count = 0; count <= SB_BF_EXACT_ITEMS; count++)
	{
		const Set set = random_set(random, count);
		const Bytes value = filter_of(set).value();
		auto found = [&](uint64_t hash) {
			sb_lookup lookup;
			EXPECT_EQ(look_up(&lookup, SB_LOOKUP_BF, hash, value), SB_OK);
			EXPECT_EQ(filter_of(set).contains(hash), lookup.found);
			return lookup.found;
		};
		for (uint64_t hash : set)
		{
			EXPECT_TRUE(found(hash));
			EXPECT_FALSE(found(hash + 1));
			EXPECT_FALSE(found(hash - 1));
		}
		for (int i = 0; i < 100; i++)
			EXPECT_FALSE(found(random()));
	}
}

/* Every change of a bit gives another set, or is refused; so there is one way only to write a set. */
TEST(BfExact, RefusesEveryOtherWayToWriteItsItems)
{
	Random random(4);
	for (size_t count : std::initializer_list<size_t>{1, 2, 5, 31, 32, 63, 64})
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

		/* a byte more or less, with or without the header saying so */
		EXPECT_EQ(status_of(value + Bytes(1)), SB_BAD_LENGTH);
		EXPECT_EQ(status_of(Bytes(value.data(), value.size() - 1)), SB_BAD_LENGTH);
		for (int more : {1, -1})
		{
			Bytes other = more == 1 ? value + Bytes(1) : Bytes(value.data(), value.size() - 1);
			const auto payload = static_cast<uint16_t>(bf.parameters.payload + more);
			std::memcpy(other.data() + 46, &payload, sizeof payload);
			EXPECT_NE(status_of(other), SB_OK);
		}

		/* another number of items */
		for (int items = 0; items < 70; items++)
		{
			Bytes other = value;
			other[40] = static_cast<unsigned char>(items);
			EXPECT_EQ(status_of(other) == SB_OK, items == static_cast<int>(count)) << items;
		}
	}
}

TEST(BfExact, RefusesHeadersThatNobodyWrites)
{
	const Bf bf = filter_of({1, 2, 3});
	auto changed = [&](auto change) {
		Bf other = bf;
		change(&other.parameters);
		return status_of(other.value());
	};
	EXPECT_EQ(changed([](sb_bf *) {}), SB_OK);
	EXPECT_EQ(changed([](sb_bf *header) { header->widened = 1; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->expected_items = 3; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->item_count = 65; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->item_count = 0; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->payload = 0; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->payload = 481; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->kind = {}; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->hash_count = 0; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->flags = 3; }), SB_BAD_HEADER);
	EXPECT_EQ(changed([](sb_bf *header) { header->flags = 0, header->line_count = 3; }), SB_BAD_HEADER) << "a payload of lines";
	Bf none = filter_of({});
	none.parameters.kind = {};
	EXPECT_EQ(status_of(none.value()), SB_OK) << "without items and kind";
}

/* Whatever the bytes are, they are refused or stand for a set; ASan watches. */
TEST(BfExact, TrustsNothing)
{
	Random random(5);
	int accepted = 0;
	for (int round = 0; round < 100000; round++)
	{
		Bf bf = filter_of({1});
		const auto items = static_cast<uint32_t>(between(random, 1, between(random, 1, SB_BF_EXACT_ITEMS)));
		const bool right_length = random() % 2 == 0;
		bf.parameters.item_count = items;
		bf.parameters.payload = static_cast<uint16_t>(between(random, 1, 7) * items + between(random, 1, 30));
		bf.parameters.payload = std::min<uint16_t>(bf.parameters.payload, SB_BF_EXACT_BYTES);
		if (right_length)
			bf.parameters.payload = filter_of(random_set(random, items)).parameters.payload;
		bf.lines = Bytes(bf.parameters.payload);
		for (size_t i = 0; i < bf.lines.size(); i++)
			bf.lines[i] = static_cast<unsigned char>(random() & random());
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
	for (int round = 0; round < 3000; round++)
	{
		const Set shared = random_set(random, random() % 30);
		Set a = random_set(random, random() % 35);
		Set b = random_set(random, random() % 35);
		a.insert(shared.begin(), shared.end());
		b.insert(shared.begin(), shared.end());
		Set all = a;
		all.insert(b.begin(), b.end());
		const Bf left = filter_of(a);
		const Bf right = filter_of(b);
		const Bf both = combined(left, right, false);
		EXPECT_EQ(sb_bf_is_exact(&both.parameters), all.size() <= SB_BF_EXACT_ITEMS);
		EXPECT_TRUE(same_bytes(both.value(), filter_of(all).value()));
		EXPECT_TRUE(same_bytes(both.value(), combined(right, left, false).value()));
		EXPECT_TRUE(same_bytes(combined(left, left, false).value(), left.value()));
		EXPECT_TRUE(items_of(combined(left, right, true)) == shared);
		EXPECT_TRUE(same_bytes(combined(right, left, true).value(), combined(left, right, true).value()));
	}
}

/* However items come together one after the other, the bytes are the same, past the limit too. */
TEST(BfExact, OrderAndSplitsLeaveNoTrace)
{
	Random random(7);
	for (size_t count : std::initializer_list<size_t>{10, 64, 65, 66, 128, 200, 1000})
	{
		const Set set = random_set(random, count);
		std::vector<uint64_t> items(set.begin(), set.end());
		Bytes first;
		for (int round = 0; round < 20; round++)
		{
			std::shuffle(items.begin(), items.end(), random);
			Bf all = filter_of({});
			for (size_t at = 0; at < items.size();)
			{
				const size_t many = std::min<size_t>(items.size() - at, static_cast<size_t>(between(random, 0, 64)));
				const auto from = items.begin() + static_cast<ptrdiff_t>(at);
				const Bf some = filter_of({from, from + static_cast<ptrdiff_t>(many)});
				all = random() % 2 == 0 ? combined(all, some, false) : combined(some, all, false);
				at += many;
			}
			EXPECT_TRUE(all.contains(items));
			EXPECT_EQ(sb_bf_is_exact(&all.parameters), count <= SB_BF_EXACT_ITEMS);
			if (round == 0)
				first = all.value();
			EXPECT_TRUE(same_bytes(all.value(), first)) << count;
		}
	}
}

TEST(BfExact, BecomesLinesWithRoomForFourTimesItsItems)
{
	Random random(8);
	for (double fpr : {0.5, 0.1, 0.01, 0.001, SB_BF_MIN_FPR})
	{
		sb_bf of_rate;
		ASSERT_EQ(sb_bf_plan(1, fpr, true, &of_rate), SB_OK);
		of_rate.kind = kind_of(SB_KIND_INTEGER);
		const Set set = random_set(random, 65);
		const Bf lines = Bf::exact(of_rate, {set.begin(), set.end()});
		sb_bf room;
		ASSERT_EQ(sb_bf_plan(4 * 128, fpr, true, &room), SB_OK);
		EXPECT_FALSE(sb_bf_is_exact(&lines.parameters));
		EXPECT_EQ(lines.parameters.line_count, room.line_count);
		EXPECT_EQ(lines.parameters.hash_count, room.hash_count);
		EXPECT_EQ(lines.parameters.expected_items, 0u);
	}
}

/* Nothing but the bits of its items is set, whatever number of lines the other filter has. */
TEST(BfExact, IsAddedToLinesItemByItem)
{
	Random random(9);
	for (uint32_t count : {1u, 3u, 7u, 64u, 1001u})
	{
		const Set set = random_set(random, 40);
		Bf lines(count, 6, 0.02);
		lines.parameters.expected_items = count * 40;
		lines.add(random_hashes(count, 100));
		Bf wanted = lines;
		wanted.add({set.begin(), set.end()});
		EXPECT_TRUE(same_bytes(combined(lines, filter_of(set), false).value(), wanted.value()));
		EXPECT_TRUE(same_bytes(combined(filter_of(set), lines, false).value(), wanted.value()));

		Set contained;
		for (uint64_t hash : set)
			if (lines.contains(hash))
				contained.insert(hash);
		EXPECT_TRUE(items_of(combined(lines, filter_of(set), true)) == contained);
		EXPECT_TRUE(items_of(combined(filter_of(set), lines, true)) == contained);
		EXPECT_TRUE(items_of(combined(wanted, filter_of(set), true)) == set);
	}
}

TEST(BfExact, IsUnitedOnlyIfHashesAgree)
{
	sb_bf out;
	sb_difference difference{};
	const Bf seven = Bf::exact(Bf(1, 7).parameters, {1});
	for (const Bf &other : {filter_of({1}), Bf(3, 6)})
	{
		EXPECT_EQ(sb_bf_plan_union(&seven.parameters, &other.parameters, &out, &difference), SB_DIFFERENT);
		EXPECT_STREQ(difference.parameter, "hashes");
	}
}

/* --------------------------------------------------------------------- the builder */

TEST(BfExact, IsWhatABuilderMakesUpToTheLimit)
{
	Random random(10);
	for (size_t count : std::initializer_list<size_t>{0, 1, 7, 63, 64, 65, 128, 3000})
	{
		Memory memory;
		const Set set = random_set(random, count);
		BfBuilder builder(memory, builder_plan(0));
		BfBuilder told(memory, builder_plan(1000));
		builder.add({set.begin(), set.end()});
		builder.add({set.begin(), set.end()});
		told.add({set.begin(), set.end()});
		const Bf result = builder.result();
		EXPECT_EQ(sb_bf_is_exact(&result.parameters), count <= SB_BF_EXACT_ITEMS);
		if (count <= SB_BF_EXACT_ITEMS)
		{
			EXPECT_TRUE(same_bytes(result.value(), filter_of(set).value()));
		}
		const Bf of_told = told.result();
		EXPECT_FALSE(sb_bf_is_exact(&of_told.parameters));

		sb_bf plan;
		ASSERT_EQ(sb_bf_builder_plan(builder, true, &plan), SB_OK);
		EXPECT_EQ(sb_bf_is_exact(&plan), count <= SB_BF_EXACT_ITEMS);
		Bf with_room(plan);
		ASSERT_EQ(sb_bf_builder_write(builder, &plan, with_room.lines.data()), SB_OK);
		EXPECT_TRUE(with_room.contains({set.begin(), set.end()}));
		if (count > SB_BF_EXACT_ITEMS)
		{
			EXPECT_EQ(plan.line_count, std::max(4 * result.parameters.line_count, 16u));
			EXPECT_TRUE(count > 128 || same_bytes(with_room.value(), filter_of(set).value()));
		}
		ASSERT_EQ(sb_bf_builder_plan(told, true, &plan), SB_OK);
		EXPECT_EQ(plan.line_count, of_told.parameters.line_count);
	}
}

TEST(BfExact, BeginsABuilder)
{
	Memory memory;
	const Bf from = filter_of({1, 2, 3});
	BfBuilder builder(memory, from.parameters);
	builder.add({2, 3, 4});
	EXPECT_TRUE(same_bytes(builder.result().value(), filter_of({2, 3, 4}).value()));
	BfBuilder other(memory, builder_plan(0));
	builder.unite(other);
}

/* ------------------------------------------------------------------------ measures */

TEST(BfExact, IsMeasuredAsWhatItIs)
{
	Random random(11);
	const Bf bf = filter_of(random_set(random, 33));
	const sb_bf_stats stats = bf.measured();
	EXPECT_EQ(stats.items, 33);
	EXPECT_EQ(stats.current_fpr, 0);
	EXPECT_EQ(stats.bits, 0u);
	EXPECT_EQ(sb_bf_sample_fpr(&bf.parameters, bf.lines.data(), 0), 0);
	sb_bf folded = bf.parameters;
	Bytes lines = bf.lines;
	EXPECT_EQ(sb_bf_fold(&folded, lines.data(), 0, lines.data()), SB_OUT_OF_RANGE);
	EXPECT_TRUE(same_bytes(lines, bf.lines));
}

/* Where a sample says nothing certain, near the rate itself, it may say either. */
TEST(BfMeasure, ASampleIsNearTheRate)
{
	for (uint8_t hashes : std::initializer_list<uint8_t>{1, 3, 6, 9, 16})
		for (uint32_t lines : {1u, 5u, 31u, 32u, 33u, 1000u, 3000u})
			for (double items_per_line : {0.0, 5.0, 20.0, 50.0, 150.0, 1000.0})
			{
				SCOPED_TRACE(::testing::Message() << int{hashes} << " hashes, " << lines << " lines of " << items_per_line);
				Bf bf(lines, hashes);
				bf.add(random_hashes(lines, static_cast<size_t>(lines * items_per_line)));
				const double rate = bf.measured().current_fpr;
				const double sample = sb_bf_sample_fpr(&bf.parameters, bf.lines.data(), 0);
				const bool whole = lines <= 32;
				if (whole)
				{
					EXPECT_NEAR(sample, rate, 1e-9 * rate);
				}
				const double near = whole ? 1.001 : hashes < 9 ? 2 : 5;
				const auto seems_above = [&](double bound) { return sb_bf_sample_fpr(&bf.parameters, bf.lines.data(), bound) > bound; };
				EXPECT_FALSE(seems_above(rate * near + 1e-9));
				EXPECT_EQ(seems_above(rate / near * 0.999), rate > 0);
			}
}
