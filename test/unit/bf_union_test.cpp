/*
 * bf_union_test.cpp: folding, widening, uniting and intersecting bf: nothing is lost.
 */
#include "support.h"

#include <algorithm>
#include <bit>

using namespace test;

/* ------------------------------------------------------- folding and widening */

TEST(BfFold, EqualsTheFilterMadeSmall)
{
	std::vector<uint64_t> items = random_hashes(51, 3000);
	for (uint32_t lines : {1u, 2u, 3u, 5u, 100u})
		for (int halvings = 0; halvings <= 6; halvings++)
		{
			Bf large(lines << halvings, 7);
			Bf small(lines, 7);
			large.add(items);
			small.add(items);
			ASSERT_EQ(sb_bf_fold(&large.parameters, large.lines.data(), halvings, large.lines.data()), SB_OK);
			EXPECT_EQ(large.parameters.line_count, lines);
			Bytes folded(large.lines.data(), small.lines.size());
			EXPECT_TRUE(same_bytes(folded, small.lines)) << lines << " lines, " << halvings << " halvings";
		}
}

TEST(BfFold, InStepsEqualsAtOnce)
{
	Bf steps(96, 5);
	steps.add(random_hashes(52, 500));
	Bf once = steps;
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(sb_bf_fold(&steps.parameters, steps.lines.data(), 1, steps.lines.data()), SB_OK);
	ASSERT_EQ(sb_bf_fold(&once.parameters, once.lines.data(), 5, once.lines.data()), SB_OK);
	size_t size = sb_bf_size(&once.parameters) - SB_BF_HEADER;
	EXPECT_TRUE(same_bytes(Bytes(steps.lines.data(), size), Bytes(once.lines.data(), size)));
}

TEST(BfFold, RefusesSizesThatCannotBeHalved)
{
	for (int halvings : {3, 4, 5, 31, 32, 33, 63, 64, 1000, -1, -1000})
	{
		Bf bf(12, 5);
		bf.add(random_hashes(53, 50));
		Bf before = bf;
		EXPECT_EQ(sb_bf_fold(&bf.parameters, bf.lines.data(), halvings, bf.lines.data()), SB_OUT_OF_RANGE) << halvings;
		EXPECT_TRUE(same_bytes(bf.value(), before.value()));
	}
}

TEST(BfFold, UndoesWidening)
{
	Bf small(10, 5);
	small.add(random_hashes(54, 100));
	Bf widened = united(small, Bf(80, 5));
	EXPECT_EQ(widened.parameters.line_count, 80u);
	EXPECT_EQ(widened.parameters.widened, 3);
	ASSERT_EQ(sb_bf_fold(&widened.parameters, widened.lines.data(), 3, widened.lines.data()), SB_OK);
	EXPECT_EQ(widened.parameters.widened, 0);
	EXPECT_TRUE(same_bytes(Bytes(widened.lines.data(), small.lines.size()), small.lines));
}

/* --------------------------------------------------------------------- union */

namespace {

/* Filters of 3 * 2^j lines. Each has items of its own, and all have some items in common. */
struct Family
{
	std::vector<Bf> filters;
	std::vector<std::vector<uint64_t>> own;
	std::vector<uint64_t> shared = random_hashes(60, 50);

	explicit Family(uint64_t seed, int members = 3)
	{
		Random random(seed);
		for (int i = 0; i < members; i++)
		{
			auto halvings = static_cast<int>(between(random, 0, 6));
			Bf bf(3u << halvings, 6, 0.001 * static_cast<double>(between(random, 1, 9)));
			bf.parameters.expected_items = random() % 1000;
			if (random() % 4 == 0)
				bf.parameters.kind = {}; /* the union takes the kind of the other filter */
			own.push_back(random_hashes(random(), random() % 300));
			bf.add(own.back());
			bf.add(shared);
			filters.push_back(bf);
		}
	}
};

} // namespace

TEST(BfUnion, IsCommutative)
{
	for (uint64_t seed = 0; seed < 200; seed++)
	{
		Family f(seed);
		EXPECT_TRUE(same_bytes(united(f.filters[0], f.filters[1]).value(), united(f.filters[1], f.filters[0]).value()));
	}
}

TEST(BfUnion, IsAssociative)
{
	for (uint64_t seed = 0; seed < 200; seed++)
	{
		Family f(seed);
		Bf left = united(united(f.filters[0], f.filters[1]), f.filters[2]);
		Bf right = united(f.filters[0], united(f.filters[1], f.filters[2]));
		EXPECT_TRUE(same_bytes(left.value(), right.value())) << seed;
	}
}

TEST(BfUnion, WithItselfChangesNothing)
{
	for (uint64_t seed = 0; seed < 50; seed++)
	{
		Bf bf = Family(seed).filters[0];
		EXPECT_TRUE(same_bytes(united(bf, bf).value(), bf.value()));
		Bf wider = united(bf, Bf(bf.parameters.line_count * 4, 6));
		EXPECT_TRUE(same_bytes(united(wider, bf).lines, wider.lines));
	}
}

TEST(BfUnion, NeverLosesAnItem)
{
	for (uint64_t seed = 0; seed < 200; seed++)
	{
		Family f(seed);
		Bf all = united(united(f.filters[0], f.filters[1]), f.filters[2]);
		EXPECT_TRUE(all.contains(f.shared));
		for (const auto &own : f.own)
			EXPECT_TRUE(all.contains(own));
	}
}

TEST(BfUnion, OfEqualSizesIsTheFilterOfAllItems)
{
	std::vector<uint64_t> a = random_hashes(61, 1000);
	std::vector<uint64_t> b = random_hashes(62, 1000);
	Bf left = Bf::planned(2000, 0.01);
	Bf right = left;
	Bf all = left;
	left.add(a);
	right.add(b);
	all.add(a);
	all.add(b);
	EXPECT_TRUE(same_bytes(united(left, right).value(), all.value()));
}

TEST(BfUnion, HasTheGreaterParameters)
{
	Bf a(3, 6, 0.01);
	Bf b(12, 6, 0.001);
	a.parameters.expected_items = 500;
	b.parameters.expected_items = 400;
	b.parameters.kind = {};
	Bf both = united(a, b);
	EXPECT_EQ(both.parameters.line_count, 12u);
	EXPECT_EQ(both.parameters.expected_items, 500u);
	EXPECT_EQ(both.parameters.fpr, 0.01);
	EXPECT_EQ(both.parameters.widened, 2);
	EXPECT_EQ(both.parameters.kind.code, SB_KIND_INTEGER);
}

TEST(BfUnion, IsAcceptedByTheReader)
{
	for (uint64_t seed = 0; seed < 200; seed++)
	{
		Family f(seed);
		Bytes value = united(united(f.filters[0], f.filters[1]), f.filters[2]).value();
		sb_bf read;
		EXPECT_EQ(sb_bf_decode_header(value.data(), value.size(), value.size(), &read), SB_OK);
	}
}

TEST(BfIntersection, NeverLosesAnItemThatIsInBoth)
{
	for (uint64_t seed = 0; seed < 200; seed++)
	{
		Family f(seed);
		Bf both = intersected(f.filters[0], f.filters[1]);
		EXPECT_TRUE(both.contains(f.shared));
		EXPECT_TRUE(intersected(both, f.filters[2]).contains(f.shared));
	}
}

TEST(BfIntersection, HasNothingThatIsMissingInOne)
{
	Family f(63);
	Bf both = intersected(f.filters[0], f.filters[1]);
	Random random(64);
	for (int i = 0; i < 100000; i++)
	{
		uint64_t hash = random();
		EXPECT_EQ(both.contains(hash) && !(f.filters[0].contains(hash) && f.filters[1].contains(hash)), false);
	}
}

TEST(BfIntersection, IsCommutativeAndAssociative)
{
	for (uint64_t seed = 0; seed < 100; seed++)
	{
		Family f(seed);
		const auto &[a, b, c] = std::tie(f.filters[0], f.filters[1], f.filters[2]);
		EXPECT_TRUE(same_bytes(intersected(a, b).value(), intersected(b, a).value()));
		EXPECT_TRUE(same_bytes(intersected(intersected(a, b), c).value(), intersected(a, intersected(b, c)).value()));
	}
}

TEST(BfJoin, SaysThatHashesDiffer)
{
	Bf a(4, 5);
	Bf b(4, 6);
	sb_bf out;
	sb_difference difference{};
	EXPECT_EQ(sb_bf_plan_union(&a.parameters, &b.parameters, &out, &difference), SB_DIFFERENT);
	EXPECT_STREQ(difference.parameter, "hashes");
	EXPECT_EQ(difference.left, 5);
	EXPECT_EQ(difference.right, 6);
}

TEST(BfJoin, SaysThatSizesDiffer)
{
	for (auto [left, right] : {std::pair{3u, 4u}, {4u, 3u}, {3u, 9u}, {1u, 3u}, {6u, 15u}, {SB_BF_MAX_LINES, 1u}})
	{
		sb_bf a = Bf(1, 5).parameters;
		sb_bf b = a;
		a.line_count = left;
		b.line_count = right;
		sb_bf out;
		sb_difference difference{};
		EXPECT_EQ(sb_bf_plan_union(&a, &b, &out, &difference), SB_DIFFERENT) << left << " and " << right;
		ASSERT_NE(difference.parameter, nullptr);
		EXPECT_STREQ(difference.parameter, "bytes");
		EXPECT_EQ(difference.left, static_cast<double>(sb_bf_size(&a)));
		EXPECT_EQ(difference.right, static_cast<double>(sb_bf_size(&b)));
	}
}

TEST(BfJoin, AcceptsEveryPowerOfTwoApart)
{
	for (uint32_t lines = 1; lines <= 7; lines++)
		for (int j = 0; lines << j <= SB_BF_MAX_LINES && j < 23; j++)
		{
			sb_bf a = Bf(lines, 5).parameters;
			sb_bf b = a;
			b.line_count = lines << j;
			sb_bf out;
			sb_difference difference;
			EXPECT_EQ(sb_bf_plan_union(&a, &b, &out, &difference), SB_OK);
			EXPECT_EQ(out.line_count, b.line_count);
			EXPECT_EQ(out.widened, j);
			EXPECT_EQ(sb_bf_plan_union(&b, &a, &out, &difference), SB_OK);
			EXPECT_EQ(out.widened, j);
		}
}
