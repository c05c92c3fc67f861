/*
 * abf_test.cpp: the promises of the age-partitioned Bloom filter. There is no false negative inside the window,
 * whatever the clock and the order. In a filter by time the order of items does not matter, and a union has the same
 * bytes as the filter of both streams. Then come plans, the header, batches of items, and the golden bytes.
 * abf_rate_test.cpp tests the false positives.
 */
#include "abf_support.h"
#include "golden.h"

#include <limits>
#include <map>

using namespace test;

/* --------------------------------------------------------------- the promise */

/* The last `window` items are found. Adding an item returns what a look-up of the item just before it returns. */
TEST(Abf, ByItemsTheLastItemsAreNeverMissed)
{
	Random random(11);
	for (int round = 0; round < 150; round++)
	{
		const int64_t window = between(random, 1, round % 3 == 0 ? 20 : 600);
		const int k = round % 2 == 0 ? SB_ABF_CHOOSE : static_cast<int>(between(random, 1, 12));
		const int l = round % 2 == 0 ? SB_ABF_CHOOSE : static_cast<int>(between(random, 1, 40));
		Abf filter = Abf::by_items(window, 0.01, k, l);
		std::vector<uint64_t> stream;
		std::map<uint64_t, size_t> last;
		const auto distinct = static_cast<uint64_t>(between(random, 1, 3 * window));
		for (int i = 0; i < 2500; i++)
		{
			const uint64_t hash = sb_hash_int64(static_cast<int64_t>(random() % distinct));
			const bool found = filter.contains(hash);
			const auto before = last.find(hash);
			if (before != last.end() && static_cast<int64_t>(stream.size() - before->second) <= window)
			{
				ASSERT_TRUE(found) << window << " after " << stream.size();
			}
			ASSERT_EQ(filter.add(hash), found);
			last[hash] = stream.size();
			stream.push_back(hash);
			if (i % 97 == 0)
				for (size_t at = stream.size(); at-- > 0 && static_cast<int64_t>(stream.size() - at) <= window;)
				{
					ASSERT_TRUE(filter.contains(stream[at]))
						<< window << " " << stream.size() - at << " before the end";
				}
		}
	}
}

namespace {

/*
 * A clock that runs, jumps, stands still and goes back. next() returns the time of the next item, in the order in
 * which items come.
 */
class Clock
{
public:
	Clock(Random &random, int64_t window) : random_(random), window_(window)
	{
		now_ = between(random, -100 * window, 100 * window);
	}
	int64_t next()
	{
		switch (random_() % 40)
		{
			case 0:
				now_ += between(random_, 0, 3 * window_); /* idle for a while */
				break;
			case 1:
				now_ += between(random_, 0, 100 * window_); /* idle for a long time */
				break;
			default:
				now_ += random_() % 4 == 0 ? between(random_, 0, window_ / 8) : between(random_, 0, window_ / 200);
		}
		switch (random_() % 6)
		{
			case 0:
				return now_ - between(random_, 0, window_); /* the item comes late */
			case 1:
				return now_ - between(random_, 0, 3 * window_); /* so late that it may be outside the window */
			default:
				return now_;
		}
	}

private:
	Random &random_;
	int64_t window_;
	int64_t now_;
};

} // namespace

/* An item is found until one window after its own time, in whatever order items come. */
TEST(Abf, ByTimeNoItemIsMissedUntilAWindowAfterItsTime)
{
	Random random(12);
	for (int round = 0; round < 120; round++)
	{
		const int64_t window = between(random, 1, round % 3 == 0 ? 30 : 1000000);
		const int k = round % 2 == 0 ? SB_ABF_CHOOSE : static_cast<int>(between(random, 1, 12));
		const int l = round % 2 == 0 ? SB_ABF_CHOOSE : static_cast<int>(between(random, 1, 40));
		Abf filter = Abf::by_time(window, 300, 0.01, k, l);
		Clock clock(random, window);
		std::map<uint64_t, int64_t> latest; /* of each item the latest of its times */
		int64_t newest = std::numeric_limits<int64_t>::min();
		const auto distinct = static_cast<uint64_t>(between(random, 1, 2000));
		for (int i = 0; i < 1500; i++)
		{
			const uint64_t hash = sb_hash_int64(static_cast<int64_t>(random() % distinct));
			const int64_t at = clock.next();
			newest = std::max(newest, at);
			const bool found = filter.contains(hash, at);
			const auto known = latest.find(hash);
			if (known != latest.end() && newest - known->second <= window)
			{
				ASSERT_TRUE(found);
			}
			ASSERT_EQ(filter.add(hash, at), found);
			latest[hash] = known == latest.end() ? at : std::max(known->second, at);
			if (newest - at <= window)
			{
				ASSERT_TRUE(filter.contains(hash));
			}
			if (i % 61 != 0)
				continue;
			/* as of any time, before the newest item or long after it */
			const int64_t asked = newest + between(random, -window, 2 * window);
			for (const auto &[item, time] : latest)
				if (std::max(asked, newest) - time <= window)
				{
					ASSERT_TRUE(filter.contains(item, asked)) << window << " " << asked - time;
				}
		}
	}
}

/*
 * An item that is alone in its filter is no longer found as of a time l + 1 generations after its own, where l is the
 * number of generations in the window.
 */
TEST(Abf, ByTimeAnItemIsForgottenOneGenerationBehindTheWindow)
{
	Random random(13);
	for (int round = 0; round < 500; round++)
	{
		const int64_t window = between(random, 1, 100000);
		Abf filter = Abf::by_time(window, 100, 0.01, static_cast<int>(between(random, 1, 20)),
								  static_cast<int>(between(random, 1, 50)));
		const int64_t at = between(random, -1000000, 1000000);
		const int64_t end = (sb_abf_generation(&filter.parameters, at) + filter.parameters.generations + 1) *
							sb_abf_length(&filter.parameters);
		filter.add(7, at);
		EXPECT_TRUE(filter.contains(7, at + window));
		EXPECT_TRUE(filter.contains(7, end - 1));
		EXPECT_FALSE(filter.contains(7, end));
		EXPECT_TRUE(filter.contains(7)) << "without a time the filter is asked as of its newest item";
		EXPECT_LE(end - 1 - at, window + 2 * sb_abf_length(&filter.parameters) + filter.parameters.generations);
	}
}

/* ------------------------------------------------------ the content by time */

TEST(Abf, ByTimeTheOrderDoesNotMatter)
{
	Random random(14);
	for (int round = 0; round < 60; round++)
	{
		const int64_t window = between(random, 1, 100000);
		const sb_abf planned = Abf::by_time(window, 500, 0.02).parameters;
		Clock clock(random, window);
		std::vector<std::pair<uint64_t, int64_t>> stream;
		for (int i = 0; i < 400; i++)
			stream.emplace_back(random() % 300, clock.next());
		Abf first(planned);
		Abf parts[3] = {Abf(planned), Abf(planned), Abf(planned)};
		for (const auto &[hash, at] : stream)
		{
			first.add(hash, at);
			parts[random() % 3].add(hash, at);
		}
		std::shuffle(stream.begin(), stream.end(), random);
		Abf second(planned);
		for (const auto &[hash, at] : stream)
			second.add(hash, at);
		EXPECT_TRUE(same_bytes(first.stored(), second.stored()));

		/* the union of the filters of three servers has the bytes of the filter of all their items, in either order */
		Abf left = parts[0];
		left.unite(parts[1]);
		left.unite(parts[2]);
		Abf right = parts[2];
		right.unite(parts[1]);
		right.unite(parts[0]);
		EXPECT_TRUE(same_bytes(left.stored(), first.stored()));
		EXPECT_TRUE(same_bytes(right.stored(), first.stored()));
		sb_abf again;
		EXPECT_EQ(read(first.stored(), &again), SB_OK);

		/* a union with an empty filter adds nothing; a union with itself changes only the number of items */
		Abf empty(planned);
		empty.unite(first);
		EXPECT_TRUE(same_bytes(empty.stored(), first.stored()));
		left = first;
		left.unite(Abf(planned));
		EXPECT_TRUE(same_bytes(left.stored(), first.stored()));
		left.unite(first);
		EXPECT_EQ(left.parameters.items, 2 * first.parameters.items);
		EXPECT_EQ(left.slices, first.slices);
	}
}

/* Moving the clock on changes no later answer. After a long idle time the filter consists of its header alone. */
TEST(Abf, IdleTimeEmptiesIt)
{
	Random random(15);
	for (int round = 0; round < 60; round++)
	{
		const int64_t window = between(random, 50, 100000);
		Abf filter = Abf::by_time(window, 500, 0.02);
		Clock clock(random, window);
		int64_t newest = std::numeric_limits<int64_t>::min();
		std::vector<uint64_t> items;
		for (int i = 0; i < 200; i++)
		{
			const int64_t at = clock.next();
			newest = std::max(newest, at);
			items.push_back(random());
			filter.add(items.back(), at);
		}
		const int64_t moved_to = newest + between(random, 0, 2 * window);
		Abf moved = filter;
		moved.advance(moved_to);
		sb_abf again;
		EXPECT_EQ(read(moved.stored(), &again), SB_OK);
		for (int i = 0; i < 20; i++)
		{
			const int64_t asked = moved_to + between(random, 0, 2 * window);
			for (uint64_t item : items)
			{
				ASSERT_EQ(moved.contains(item, asked), filter.contains(item, asked));
			}
		}
		/* items that come afterwards have the same effect whether or not the clock was moved */
		Abf later = filter;
		later.add(1, moved_to + window / 3);
		moved.add(1, moved_to + window / 3);
		EXPECT_TRUE(same_bytes(later.stored(), moved.stored()));

		moved.advance(moved_to + 100 * window);
		EXPECT_EQ(moved.stored().size(), size_t{SB_ABF_HEADER});
		EXPECT_EQ(read(moved.stored(), &again), SB_OK);
		for (uint64_t item : items)
		{
			EXPECT_FALSE(filter.contains(item, moved_to + 100 * window));
		}
		Abf both = moved;
		both.unite(filter);
		EXPECT_EQ(both.stored().size(), size_t{SB_ABF_HEADER});
		EXPECT_EQ(read(both.stored(), &again), SB_OK);
		const uint64_t count = moved.parameters.items;
		moved.add(2, newest); /* older than all live generations: it is counted, but sets no bit */
		EXPECT_EQ(moved.stored().size(), size_t{SB_ABF_HEADER});
		EXPECT_EQ(moved.parameters.items, count + 1);
	}
}

TEST(Abf, UnionsNameWhatDiffers)
{
	sb_abf out;
	sb_difference difference{};
	const sb_abf base = Abf::by_time(1000000, 5000, 0.01, 8, 20).parameters;
	const sb_abf items = Abf::by_items(5000).parameters;
	EXPECT_EQ(sb_abf_plan_union(&items, &items, &out, &difference), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan_union(&base, &items, &out, &difference), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan_union(&base, &base, &out, &difference), SB_OK);
	const struct
	{
		const char *name;
		sb_abf other;
	} others[] = {
		{"window", Abf::by_time(1000001, 5000, 0.01, 8, 20).parameters},
		{"generations", Abf::by_time(1000000, 5000, 0.01, 8, 21).parameters},
		{"hashes", Abf::by_time(1000000, 5000, 0.01, 7, 20).parameters},
		{"slice_bits", Abf::by_time(1000000, 9000, 0.01, 8, 20).parameters},
	};
	for (const auto &other : others)
	{
		EXPECT_EQ(sb_abf_plan_union(&base, &other.other, &out, &difference), SB_DIFFERENT);
		EXPECT_STREQ(difference.parameter, other.name);
		EXPECT_NE(difference.left, difference.right);
	}
}

/* ----------------------------------------------------------------- parameters */

TEST(AbfPlan, RefusesWhatIsOutOfRange)
{
	sb_abf out;
	const double nan = std::numeric_limits<double>::quiet_NaN();
	EXPECT_EQ(sb_abf_plan(0, false, 0, 0.01, -1, -1, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan(SB_ABF_MAX_TIME + 1, true, 10, 0.01, -1, -1, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan(1000, true, 0, 0.01, -1, -1, &out), SB_OUT_OF_RANGE);
	for (double fpr : {0.0, 0.6, -1.0, nan})
	{
		EXPECT_EQ(sb_abf_plan(1000, false, 0, fpr, -1, -1, &out), SB_OUT_OF_RANGE);
	}
	EXPECT_EQ(sb_abf_plan(1000, false, 0, 0.01, 0, -1, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan(1000, false, 0, 0.01, SB_ABF_MAX_HASHES + 1, -1, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan(1000, false, 0, 0.01, -1, 0, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan(1000, false, 0, 0.01, -1, SB_ABF_MAX_GENERATIONS + 1, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_abf_plan(INT64_C(1) << 40, false, 0, 0.01, -1, -1, &out), SB_TOO_LARGE);
	EXPECT_EQ(sb_abf_plan(SB_ABF_MAX_TIME, false, 0, 0.000001, -1, -1, &out), SB_TOO_LARGE);
	EXPECT_EQ(sb_abf_plan(1, false, 0, 0.5, -1, -1, &out), SB_OK);
	EXPECT_EQ(sb_abf_plan(1, true, static_cast<uint64_t>(SB_ABF_MAX_TIME), 0.5, -1, -1, &out), SB_TOO_LARGE);
	EXPECT_EQ(sb_abf_plan(SB_ABF_MAX_TIME, true, 1, 0.000001, SB_ABF_MAX_HASHES, SB_ABF_MAX_GENERATIONS, &out), SB_OK);
}

TEST(AbfPlan, WhatIsPlannedCanBeReadBack)
{
	Random random(18);
	for (int round = 0; round < 3000; round++)
	{
		sb_abf planned;
		const double fpr = std::clamp(std::exp2(-1 - 19 * uniform(random)), SB_BF_MIN_FPR, SB_BF_MAX_FPR);
		const int k = random() % 3 == 0 ? SB_ABF_CHOOSE : static_cast<int>(between(random, 1, SB_ABF_MAX_HASHES));
		const int l = random() % 3 == 0 ? SB_ABF_CHOOSE : static_cast<int>(between(random, 1, SB_ABF_MAX_GENERATIONS));
		const int64_t window = between(random, 1, INT64_C(1) << random() % 60);
		const sb_status status = sb_abf_plan(window, random() % 2 == 0, uint64_t{1} << random() % 40, fpr, k, l,
											 &planned);
		if (status == SB_TOO_LARGE)
			continue;
		ASSERT_EQ(status, SB_OK);
		Bytes header(SB_ABF_HEADER);
		sb_abf_encode_header(&planned, header.data());
		sb_abf again;
		ASSERT_EQ(sb_abf_decode_header(header.data(), header.size(), header.size(), &again), SB_OK);
		Bytes twice(SB_ABF_HEADER);
		sb_abf_encode_header(&again, twice.data());
		EXPECT_EQ(header, twice);
	}
}

/* --------------------------------------------------------------------- header */

/*
 * Each damaged field of a header is refused, or leads to a filter that can be used without a read outside the value.
 */
TEST(AbfHeader, DamageIsRefusedOrHarmless)
{
	Random random(19);
	for (int by_time = 0; by_time < 2; by_time++)
	{
		Abf filter = by_time != 0 ? Abf::by_time(1000, 100, 0.1) : Abf::by_items(100, 0.1);
		for (int i = 0; i < 150; i++)
			filter.add(random(), i * 13);
		const Bytes good = filter.stored();
		sb_abf out;
		ASSERT_EQ(read(good, &out), SB_OK);
		for (size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, good.size() - 1})
		{
			EXPECT_NE(read(Bytes(good.data(), size), &out), SB_OK) << size;
		}
		EXPECT_EQ(read(good + Bytes(1), &out), SB_BAD_LENGTH);
		for (size_t byte = 0; byte < SB_ABF_HEADER; byte++)
			for (int bit = 0; bit < 8; bit++)
			{
				Bytes bad = good;
				bad[byte] = static_cast<unsigned char>(bad[byte] ^ 1 << bit);
				if (read(bad, &out) != SB_OK)
					continue;
				/* only fields that say nothing about the shape may have another value */
				EXPECT_TRUE(byte == 4 || (byte >= 6 && byte < 40) || (byte >= 48 && byte < 88)) << byte;
				Abf again(out);
				again.slices = Bytes(bad.data() + SB_ABF_HEADER, bad.size() - SB_ABF_HEADER);
				for (int i = 0; i < 20; i++)
					(void) again.contains(random(), between(random, -SB_ABF_MAX_TIME, SB_ABF_MAX_TIME));
				if (again.parameters.by_time)
					again.unite(Abf(again));
			}
	}
}

TEST(AbfHeader, ContradictionsAreRefused)
{
	sb_abf out;
	Abf filter = Abf::by_time(1000, 100, 0.1);
	EXPECT_EQ(filter.stored().size(), size_t{SB_ABF_HEADER});
	EXPECT_EQ(read(filter.stored() + filter.slices, &out), SB_BAD_LENGTH); /* an empty filter has no slices */
	filter.add(1, 500);
	const sb_abf good = filter.parameters;
	auto refused = [&](const char *what, auto change) {
		sb_abf changed = good;
		change(changed);
		Bytes header(SB_ABF_HEADER);
		sb_abf_encode_header(&changed, header.data());
		EXPECT_EQ(sb_abf_decode_header(header.data(), header.size(), sb_abf_size(&good), &out), SB_BAD_HEADER) << what;
	};
	refused("no kind", [](sb_abf &abf) { abf.kind = {}; });
	refused("no items", [](sb_abf &abf) { abf.items = 0; });
	refused("no block", [](sb_abf &abf) { abf.blocks = 0; });
	refused("half a word", [](sb_abf &abf) { abf.block_bits = 96; });
	refused("large blocks", [](sb_abf &abf) { abf.block_bits = SB_ABF_MAX_BLOCK_BITS + 64; });
	refused("many small blocks", [](sb_abf &abf) { abf.blocks = 2, abf.block_bits = 448; });
	refused("too large", [](sb_abf &abf) { abf.blocks = SB_ABF_MAX_BYTES, abf.block_bits = 512; });
	refused("no hashes", [](sb_abf &abf) { abf.hash_count = 0; });
	refused("no generations", [](sb_abf &abf) { abf.generations = 0; });
	refused("no window", [](sb_abf &abf) { abf.window = 0; });
	refused("before all times", [](sb_abf &abf) { abf.generation = INT64_MIN; });
	refused("after all times", [](sb_abf &abf) { abf.generation = INT64_MAX; });
	refused("by items, another generation",
			[](sb_abf &abf) { abf.by_time = false, abf.expected = 1000, abf.generation = 1; });
	refused("by items, another window", [](sb_abf &abf) { abf.by_time = false, abf.generation = 0; });
	refused("rate", [](sb_abf &abf) { abf.fpr = std::numeric_limits<double>::quiet_NaN(); });

	/* first no bit is set, then more bits than one item sets */
	Bytes empty = filter.stored();
	std::fill_n(empty.data() + SB_ABF_HEADER, empty.size() - SB_ABF_HEADER, static_cast<unsigned char>(0));
	EXPECT_EQ(read(empty, &out), SB_BAD_CELLS);
	Bytes full = filter.stored();
	full[SB_ABF_HEADER] = full[SB_ABF_HEADER + 9] = 0xff;
	EXPECT_EQ(read(full, &out), SB_BAD_CELLS);
}

TEST(Abf, ItemsThatCannotBeCountedAreRefused)
{
	Abf filter = Abf::by_items(100);
	filter.add(1);
	filter.parameters.items = SB_ABF_MAX_ITEMS - 1;
	filter.parameters.generation = sb_abf_generation(&filter.parameters, static_cast<int64_t>(filter.parameters.items));
	const uint64_t hashes[2] = {2, 3};
	EXPECT_EQ(sb_abf_add(&filter.parameters, filter.slices.data(), hashes, nullptr, 2, nullptr), SB_OVERFLOW);
	EXPECT_EQ(sb_abf_add(&filter.parameters, filter.slices.data(), hashes, nullptr, 1, nullptr), SB_OK);
	sb_abf out;
	EXPECT_EQ(read(filter.stored(), &out), SB_OK);

	Abf time = Abf::by_time(100, 10);
	time.add(1, 5);
	time.parameters.items = SB_ABF_MAX_ITEMS;
	time.add(2, 6);
	time.unite(Abf(time));
	EXPECT_EQ(time.parameters.items, SB_ABF_MAX_ITEMS);
}

/*
 * Many items in one call have the same effect as one call after the other. This also holds for filters so large that
 * their slices are prefetched.
 */
TEST(Abf, BatchesAreSingleSteps)
{
	Random random(20);
	for (uint64_t size : {100u, 200000u})
		for (int by_time = 0; by_time < 2; by_time++)
		{
			Abf one = by_time != 0 ? Abf::by_time(1000000, size) : Abf::by_items(static_cast<int64_t>(size));
			Abf many(one.parameters);
			std::vector<uint64_t> hashes(1000);
			std::vector<int64_t> times(1000);
			auto single = std::make_unique<bool[]>(1000);
			auto batch = std::make_unique<bool[]>(1000);
			for (int round = 0; round < 5; round++)
			{
				for (size_t i = 0; i < hashes.size(); i++)
				{
					hashes[i] = sb_hash_int64(static_cast<int64_t>(random() % 900));
					times[i] = round * 300000 + between(random, 0, 400000);
					single[i] = one.add(hashes[i], times[i]);
				}
				many.add_all(hashes.data(), times.data(), hashes.size(), batch.get());
				EXPECT_TRUE(std::equal(single.get(), single.get() + 1000, batch.get()));
			}
			EXPECT_TRUE(same_bytes(one.stored(), many.stored()));
		}
}

/* -------------------------------------------------------------------- golden */

/* golden/make_golden_abf.py shares no code with the core, and makes these bytes of the same stream. */
TEST(AbfGolden, TheSameStreamGivesTheseBytesForEver)
{
	const struct
	{
		const char *name;
		bool by_time;
		int64_t window;
		int k, l;
		uint32_t blocks;
		uint16_t block_bits;
		int items;
		int64_t moved_to;
	} files[] = {
		{"abf_empty", false, 100, 4, 6, 1, 128, 0, 0},
		{"abf_items", false, 100, 4, 6, 1, 128, 250, 0},
		{"abf_time", true, 1000000, 5, 7, 2, 512, 120, 0},
		{"abf_moved", true, 1000000, 5, 7, 1, 192, 120, 2500000},
		{"abf_gone", true, 1000000, 5, 7, 1, 192, 120, 9000000},
	};
	for (const auto &file : files)
	{
		sb_abf parameters{};
		parameters.by_time = file.by_time;
		parameters.window = file.window;
		parameters.hash_count = static_cast<uint8_t>(file.k);
		parameters.generations = static_cast<uint8_t>(file.l);
		parameters.blocks = file.blocks;
		parameters.block_bits = file.block_bits;
		parameters.expected = 100;
		parameters.fpr = 0.05;
		Abf filter(parameters);
		for (int i = 0; i < file.items; i++)
			filter.add(sb_hash_int64(i * i % 83), int64_t{i} * 17011 % 1999993 - 500000); /* times that do not ascend */
		if (file.moved_to != 0)
			filter.advance(file.moved_to);
		EXPECT_TRUE(same_bytes(filter.stored(), golden_bytes(file.name))) << file.name;
		sb_abf out;
		EXPECT_EQ(read(golden_bytes(file.name), &out), SB_OK) << file.name;
	}
}
