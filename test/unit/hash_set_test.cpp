/*
 * hash_set_test.cpp: the small set of hashes against std::unordered_set.
 */
#include "support.h"

#include "base/hash_set.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>

using namespace test;
using streambloom::farthest_search;
using streambloom::move_set;

namespace {

struct Set
{
	std::vector<uint64_t> slots;
	sb_hash_set set;

	explicit Set(uint64_t capacity, uint32_t beside = 0, uint64_t secret = 0)
		: slots(streambloom::hash_set_bytes(capacity, beside) / sizeof(uint64_t)),
		  set(set_over(slots, capacity, beside, secret))
	{
	}

	/* Inserts as an aggregate does: while the set has room it takes the hash, else the next larger set takes all. */
	void insert(uint64_t hash)
	{
		if (!streambloom::hash_set_has_room(&set))
			move(streambloom::hash_set_next_capacity(set.capacity), set.secret[0]);
		streambloom::hash_set_insert(&set, hash);
	}
	void move(uint64_t capacity, uint64_t secret)
	{
		Set other(capacity, set.beside, secret);
		EXPECT_EQ(move_set(&other.set, &set), SB_OK);
		slots = std::move(other.slots);
		set = other.set;
		set.slots = slots.data();
	}
	std::vector<uint64_t> walked() const
	{
		std::vector<uint64_t> hashes;
		uint64_t hash = 0;
		for (uint64_t at = streambloom::hash_set_next(&set, 0, &hash); at != UINT64_MAX;
			 at = streambloom::hash_set_next(&set, at + 1, &hash))
			hashes.push_back(hash);
		return hashes;
	}
};

} // namespace

TEST(HashSet, ArrayHasOneWordMoreThanItsCapacity)
{
	EXPECT_EQ(streambloom::hash_set_bytes(8, 0), 9 * sizeof(uint64_t));
	EXPECT_EQ(streambloom::hash_set_bytes(UINT64_C(1) << 20, 0), ((size_t{1} << 20) + 1) * sizeof(uint64_t));
}

TEST(HashSet, HoldsWhatAnUnorderedSetHolds)
{
	Random random(11);
	for (uint64_t range : {UINT64_C(5), UINT64_C(50), UINT64_C(5000), UINT64_MAX})
	{
		Set set(8);
		std::unordered_set<uint64_t> expected;
		for (int i = 0; i < 20000; i++)
		{
			/*
			 * small numbers all begin at slot 0; multiples of 2^32 and hashes with all high bits set crowd a few
			 * slots
			 */
			uint64_t hash = random() % range;
			if (i % 3 == 0)
				hash <<= 32;
			if (i % 7 == 0)
				hash = ~hash;
			set.insert(hash);
			expected.insert(hash);
			ASSERT_EQ(set.set.count, expected.size());
		}
		std::vector<uint64_t> walked = set.walked();
		EXPECT_EQ(walked.size(), expected.size());
		EXPECT_EQ(std::unordered_set<uint64_t>(walked.begin(), walked.end()), expected);
	}
}

TEST(HashSet, InsertTellsTheSlotThatWalkingGives)
{
	Random random(12);
	Set set(1024);
	while (streambloom::hash_set_has_room(&set.set))
	{
		uint64_t hash = random() % 700;
		uint64_t slot = streambloom::hash_set_insert(&set.set, hash);
		ASSERT_LE(slot, set.set.capacity);
		uint64_t found = ~hash;
		EXPECT_EQ(streambloom::hash_set_next(&set.set, slot, &found), slot);
		EXPECT_EQ(found, hash);
		uint64_t count = set.set.count;
		EXPECT_EQ(streambloom::hash_set_insert(&set.set, hash), slot);
		EXPECT_EQ(set.set.count, count);
	}
}

TEST(HashSet, CountsWhatIsMissing)
{
	Random random(14);
	Set set(8);
	std::vector<uint64_t> others = {0, 1, 2};
	for (int i = 0; i < 3000; i++)
	{
		uint64_t hash = i % 5 == 0 ? ~static_cast<uint64_t>(i) : random();
		if (i % 2 == 0)
			set.insert(hash);
		others.push_back(hash);
	}
	EXPECT_EQ(streambloom::hash_set_missing(&set.set, others.data(), others.size()), others.size() - set.set.count);
	set.insert(0);
	EXPECT_EQ(streambloom::hash_set_missing(&set.set, others.data(), others.size()), others.size() - set.set.count);
	EXPECT_EQ(streambloom::hash_set_missing(&set.set, others.data(), 0), 0u);
}

TEST(HashSet, MovesWordsWithTheirHashes)
{
	Random random(15);
	for (uint32_t before = 0; before <= 4; before++)
		for (uint32_t after = before; after <= 4; after++)
			for (uint64_t capacity : {UINT64_C(8), UINT64_C(12), UINT64_C(64), UINT64_C(4092)})
			{
				Set from(capacity, before);
				Set to(before == after ? streambloom::hash_set_next_capacity(capacity) : capacity, after);
				auto word = [](Set &set, uint64_t slot, uint32_t which) -> uint64_t & {
					return set.slots[streambloom::hash_set_place(slot, set.set.beside) + 4 * (which + 1)];
				};
				std::unordered_set<uint64_t> hashes = {0};
				while (hashes.size() < capacity / 2)
					hashes.insert(hashes.size() % 2 == 0 ? random() : ~(random() % capacity));
				for (uint64_t hash : hashes)
				{
					uint64_t slot = streambloom::hash_set_insert(&from.set, hash);
					for (uint32_t i = 0; i < before; i++)
						word(from, slot, i) = hash + i + 1;
				}
				EXPECT_EQ(move_set(&to.set, &from.set), SB_OK);
				EXPECT_EQ(to.set.count, hashes.size());
				EXPECT_EQ(to.walked().size(), hashes.size());
				for (uint64_t hash : hashes)
				{
					uint64_t slot = streambloom::hash_set_find(&to.set, hash);
					ASSERT_NE(slot, UINT64_MAX);
					for (uint32_t i = 0; i < after; i++)
						ASSERT_EQ(word(to, slot, i), i < before ? hash + i + 1 : 0);
				}
			}
}

TEST(HashSet, WritesItsHashesAndReadsThemBack)
{
	Random random(16);
	Set set(8);
	for (int i = 0; i < 1000; i++)
		set.insert(random());
	set.insert(0);
	std::vector<uint8_t> bytes(set.set.count * 8 + 1);
	EXPECT_EQ(streambloom::hash_set_write(&set.set, bytes.data() + 1), SB_OK); /* at an address that is not aligned */
	std::vector<uint64_t> hashes(set.set.count);
	streambloom::hash_set_read_words(bytes.data() + 1, hashes.data(), hashes.size());
	EXPECT_EQ(hashes, set.walked());
	EXPECT_EQ(bytes[1], hashes[0] & 0xff);
}

TEST(HashSet, HoldsTheHashZeroBesideTheOthers)
{
	Set set(8);
	EXPECT_TRUE(set.walked().empty());
	EXPECT_EQ(streambloom::hash_set_insert(&set.set, 0), 8u);
	EXPECT_EQ(streambloom::hash_set_insert(&set.set, 0), 8u);
	EXPECT_EQ(set.set.count, 1u);
	streambloom::hash_set_insert(&set.set, 77);
	EXPECT_EQ(set.set.count, 2u);
	EXPECT_EQ(set.walked(), (std::vector<uint64_t>{77, 0}));
}

TEST(HashSet, HasRoomUpToALoadOfFiveEighths)
{
	for (uint64_t capacity = 8; capacity <= 4096; capacity += 4)
	{
		Set set(capacity);
		uint64_t inserted = 0;
		while (streambloom::hash_set_has_room(&set.set))
			streambloom::hash_set_insert(&set.set, inserted++);
		EXPECT_EQ(set.set.count, inserted);
		EXPECT_EQ(inserted, capacity * 5 / 8);
	}
}

TEST(HashSet, CapacityForIsTheSmallestThatHolds)
{
	uint64_t expected = streambloom::hash_set_capacity_for(0);
	for (uint64_t count = 0; count < 30000; count++)
	{
		if (count > expected * 5 / 8)
			expected = streambloom::hash_set_next_capacity(expected);
		ASSERT_EQ(streambloom::hash_set_capacity_for(count), expected) << count;
	}
	EXPECT_EQ(streambloom::hash_set_capacity_for(0), 12u);
}

TEST(HashSet, CapacityForAnyCountEnds)
{
	for (int bit = 12; bit < 58; bit++)
	{
		uint64_t count = UINT64_C(1) << bit;
		EXPECT_GE(streambloom::hash_set_capacity_for(count) / 8 * 5, count);
	}
	EXPECT_NE(streambloom::hash_set_capacity_for(UINT64_MAX), 0u);
}

/*
 * PostgreSQL's allocator rounds sizes of up to 8 kB up to a power of two, so an array must not be slightly larger than
 * one.
 */
TEST(HashSet, ArraysTakeJustLessThanAPowerOfTwo)
{
	for (uint64_t capacity = streambloom::hash_set_capacity_for(1); capacity < 1 << 20;
		 capacity = streambloom::hash_set_next_capacity(capacity))
		for (uint32_t beside : {0u, 1u, 3u})
		{
			size_t bytes = streambloom::hash_set_bytes(capacity, beside);
			EXPECT_EQ(bytes + 3 * sizeof(uint64_t), std::bit_ceil(bytes)) << capacity << " " << beside;
		}
}

TEST(HashSet, WalkEndsBeyondTheLastSlot)
{
	Set set(8);
	uint64_t hash = 1;
	EXPECT_EQ(streambloom::hash_set_next(&set.set, 0, &hash), UINT64_MAX);
	EXPECT_EQ(streambloom::hash_set_next(&set.set, 9, &hash), UINT64_MAX);
	streambloom::hash_set_insert(&set.set, 0);
	EXPECT_EQ(streambloom::hash_set_next(&set.set, 0, &hash), 8u);
	EXPECT_EQ(streambloom::hash_set_next(&set.set, 9, &hash), UINT64_MAX);
}

/* --------------------------------------------------------------- chosen hashes */

/*
 * Inserts as the aggregates do, in batches. As soon as a search has gone too far, all hashes move to a set with a
 * secret, a random number that also decides where a hash lies. Returns how far a search can have gone at most, in units
 * of four slots.
 */
static uint64_t insert_by_batches(Set &set, const std::vector<uint64_t> &hashes, uint64_t secret)
{
	uint64_t farthest = 0;
	for (size_t done = 0; done < hashes.size();)
	{
		done += streambloom::hash_set_insert_many(&set.set, hashes.data() + done,
												  std::min<size_t>(hashes.size() - done, 128));
		/* Looking at a whole set is slow; large ones are looked at only before they move, when they are fullest. */
		const bool full = !streambloom::hash_set_has_room(&set.set);
		if ((done % 1024 < 128 && set.set.capacity <= 65536) || set.set.crowded || full)
			farthest = std::max(farthest, farthest_search(&set.set));
		if (full)
			set.move(streambloom::hash_set_next_capacity(set.set.capacity),
					 set.set.crowded ? secret : set.set.secret[0]);
		else if (streambloom::hash_set_wants_secret(&set.set))
			set.move(set.set.capacity, secret);
	}
	return farthest;
}

/*
 * Lists of chosen hashes that crowd: at the first slot, at the last one, at one slot in between, over a few of the
 * first slots, and at seven slots far apart.
 */
static std::vector<std::vector<uint64_t>> chosen_hashes(uint64_t count)
{
	std::vector<std::vector<uint64_t>> all(5);
	for (uint64_t i = 0; i < count; i++)
	{
		all[0].push_back(i);
		all[1].push_back(~i);
		all[2].push_back((UINT64_C(5) << 60) + i * 4096);
		all[3].push_back(i << 40);
		all[4].push_back((i % 7 << 61) + i / 7);
	}
	return all;
}

TEST(HashSet, ChosenHashesDoNotCrowd)
{
	for (const std::vector<uint64_t> &hashes : chosen_hashes(40000))
	{
		Set set(12);
		uint64_t farthest = insert_by_batches(set, hashes, 77);
		EXPECT_LE(farthest, streambloom::hash_set_far + 128u / 4 + 1);
		EXPECT_LE(farthest_search(&set.set), streambloom::hash_set_far);
		EXPECT_EQ(set.set.count, hashes.size());
		std::vector<uint64_t> walked = set.walked();
		EXPECT_EQ(std::unordered_set<uint64_t>(walked.begin(), walked.end()),
				  std::unordered_set<uint64_t>(hashes.begin(), hashes.end()));
		for (uint64_t hash : hashes)
			ASSERT_NE(streambloom::hash_set_find(&set.set, hash), UINT64_MAX);
		EXPECT_EQ(streambloom::hash_set_missing(&set.set, hashes.data(), hashes.size()), 0u);

		std::vector<uint64_t> sorted(set.set.count);
		EXPECT_EQ(streambloom::hash_set_sort(&set.set, sorted.data()), SB_OK);
		EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
		EXPECT_EQ(std::unordered_set<uint64_t>(sorted.begin(), sorted.end()),
				  std::unordered_set<uint64_t>(hashes.begin(), hashes.end()));
	}
}

TEST(HashSet, OtherHashesNeedNoSecret)
{
	Random random(17);
	Set set(12);
	std::vector<uint64_t> hashes(1500000);
	for (uint64_t &hash : hashes)
		hash = random();
	EXPECT_LT(insert_by_batches(set, hashes, 77), streambloom::hash_set_far);
	EXPECT_FALSE(set.set.crowded);
	EXPECT_EQ(set.set.secret[0], 0u);
}

TEST(HashSet, ASecretMovesEachHash)
{
	const std::vector<uint64_t> hashes = chosen_hashes(1000)[2];
	for (uint32_t beside : {0u, 2u})
	{
		Set one(4092, beside, 5);
		Set other(4092, beside, 6);
		size_t same = 0;
		for (uint64_t hash : hashes)
			same += streambloom::hash_set_insert(&one.set, hash) == streambloom::hash_set_insert(&other.set, hash);
		EXPECT_LT(same, 20u);
		EXPECT_FALSE(one.set.crowded);
		EXPECT_FALSE(other.set.crowded);
	}
}

/* ---------------------------------------------------------------------- memory */

static std::vector<uint64_t> walk(const sb_hash_set *set)
{
	std::vector<uint64_t> hashes;
	uint64_t hash = 0;
	for (uint64_t at = streambloom::hash_set_next(set, 0, &hash); at != UINT64_MAX;
		 at = streambloom::hash_set_next(set, at + 1, &hash))
		hashes.push_back(hash);
	std::sort(hashes.begin(), hashes.end());
	return hashes;
}

TEST(HashSet, IsMadeAndRemadeInTheMemoryItIsGiven)
{
	Random random(23);
	for (uint32_t beside : {0u, 1u, 3u})
	{
		Memory memory;
		sb_hash_set set;
		ASSERT_EQ(streambloom::hash_set_make(&set, memory, 12, beside), SB_OK);
		std::vector<uint64_t> all;
		for (int i = 0; i < 3000; i++)
		{
			if (!streambloom::hash_set_has_room(&set))
			{
				ASSERT_EQ(streambloom::hash_set_remake(&set, memory, streambloom::hash_set_next_capacity(set.capacity),
													   beside),
						  SB_OK);
			}
			all.push_back(random());
			streambloom::hash_set_insert(&set, all.back());
		}
		if (set.capacity * (beside + 1) >= 1024)
		{
			EXPECT_EQ(reinterpret_cast<uintptr_t>(set.slots) % 64, 0u);
		}
		EXPECT_EQ(memory.blocks, 1u);
		std::sort(all.begin(), all.end());
		EXPECT_EQ(walk(&set), all);
		EXPECT_EQ(set.secret[0], 0u);
		sb_hash_set_release(&set, memory);
	}
}

TEST(HashSet, CrowdedSetIsRemadeWithTheSecret)
{
	Memory memory;
	sb_hash_set set;
	const std::vector<uint64_t> hashes = chosen_hashes(2000)[0];
	ASSERT_EQ(streambloom::hash_set_make(&set, memory, streambloom::hash_set_capacity_for(2001), 1), SB_OK);
	EXPECT_EQ(streambloom::hash_set_insert_many(&set, hashes.data(), hashes.size()), hashes.size());
	ASSERT_TRUE(streambloom::hash_set_wants_secret(&set));
	ASSERT_EQ(streambloom::hash_set_remake(&set, memory, set.capacity, 1), SB_OK);
	EXPECT_FALSE(streambloom::hash_set_wants_secret(&set));
	EXPECT_NE(set.secret[0], 0u);
	EXPECT_LE(farthest_search(&set), streambloom::hash_set_far);
	EXPECT_EQ(walk(&set), hashes);
	sb_hash_set_release(&set, memory);
}

TEST(HashSet, IsAsItWasWhereThereIsNoMemory)
{
	Memory memory;
	sb_hash_set set;
	memory.fails_at = 0;
	EXPECT_EQ(streambloom::hash_set_make(&set, memory, 1020, 1), SB_NO_MEMORY);
	EXPECT_EQ(set.slots, nullptr);
	memory.fails_at = 2;
	ASSERT_EQ(streambloom::hash_set_make(&set, memory, 1020, 1), SB_OK);
	streambloom::hash_set_insert(&set, 4711);
	EXPECT_EQ(streambloom::hash_set_remake(&set, memory, 2044, 1), SB_NO_MEMORY);
	EXPECT_EQ(set.capacity, 1020u);
	EXPECT_EQ(walk(&set), std::vector<uint64_t>{4711});
	sb_hash_set_release(&set, memory);
}

TEST(HashSet, OneThatGrowsByItselfGivesItsHashesAway)
{
	Random random(31);
	Memory memory;
	sb_hash_set set;
	ASSERT_EQ(sb_hash_set_begin(&set, memory, 5), SB_OK);
	for (int round = 0; round < 3; round++)
	{
		/* chosen hashes and others, each of them twice */
		std::vector<uint64_t> hashes = chosen_hashes(500)[0];
		for (int i = 0; i < 3000; i++)
			hashes.push_back(random());
		for (int twice = 0; twice < 2; twice++)
			for (uint64_t hash : hashes)
				ASSERT_EQ(sb_hash_set_add(&set, memory, hash), SB_OK);
		ASSERT_EQ(set.count, hashes.size());
		std::vector<uint64_t> taken(set.count);
		ASSERT_EQ(sb_hash_set_take(&set, taken.data()), SB_OK);
		std::sort(hashes.begin(), hashes.end());
		std::sort(taken.begin(), taken.end());
		EXPECT_EQ(taken, hashes);
		EXPECT_EQ(set.count, 0u);
		EXPECT_TRUE(walk(&set).empty());
	}
	memory.fails_at = memory.allocations;
	while (streambloom::hash_set_has_room(&set))
		ASSERT_EQ(sb_hash_set_add(&set, memory, random()), SB_OK);
	const std::vector<uint64_t> before = walk(&set);
	EXPECT_EQ(sb_hash_set_add(&set, memory, 4711), SB_NO_MEMORY);
	EXPECT_EQ(walk(&set), before);
	sb_hash_set_release(&set, memory);
}

TEST(HashSet, ManyAtOnceAreThoseThatCameOneByOne)
{
	Random random(32);
	Memory memory;
	for (const size_t count : {size_t{0}, size_t{1}, size_t{1024}, size_t{1025}, size_t{30000}})
	{
		sb_hash_set one_by_one;
		sb_hash_set together;
		ASSERT_EQ(sb_hash_set_begin(&one_by_one, memory, 5), SB_OK);
		ASSERT_EQ(sb_hash_set_begin(&together, memory, 5), SB_OK);
		for (int round = 0; round < 4; round++)
		{
			/*
			 * Each round has the hash 0, and some hashes of earlier rounds. Round 2 also has hashes that were chosen to
			 * crowd. In rounds 1 and 3 the hashes ascend.
			 */
			std::vector<uint64_t> hashes = round == 2 ? chosen_hashes(500)[0] : std::vector<uint64_t>{0};
			for (size_t i = 0; i < count; i++)
				hashes.push_back(random() % (2 * count) * UINT64_C(0x9e3779b97f4a7c15));
			if (round % 2 == 1)
				std::sort(hashes.begin(), hashes.end());
			for (uint64_t hash : hashes)
				ASSERT_EQ(sb_hash_set_add(&one_by_one, memory, hash), SB_OK);
			ASSERT_EQ(sb_hash_set_add_many(&together, memory, hashes.data(), hashes.size()), SB_OK);
			std::vector<uint64_t> expected = walk(&one_by_one);
			std::vector<uint64_t> walked = walk(&together);
			std::sort(expected.begin(), expected.end());
			std::sort(walked.begin(), walked.end());
			ASSERT_EQ(walked, expected) << count << " in round " << round;
			EXPECT_EQ(together.count, one_by_one.count);
		}
		sb_hash_set_release(&one_by_one, memory);
		sb_hash_set_release(&together, memory);
	}
}

TEST(HashSet, AscendingHashesDoNotCrowdWhereRoomWasMade)
{
	Memory memory;
	sb_hash_set set;
	ASSERT_EQ(sb_hash_set_begin(&set, memory, 5), SB_OK);
	ASSERT_EQ(sb_hash_set_reserve(&set, memory, 100000), SB_OK);
	const uint64_t capacity = set.capacity;
	for (uint64_t i = 1; i <= 100000; i += 1000)
	{
		std::vector<uint64_t> hashes;
		for (uint64_t j = i; j < i + 1000; j++)
			hashes.push_back(j * (UINT64_MAX / 100000));
		ASSERT_EQ(sb_hash_set_add_many(&set, memory, hashes.data(), hashes.size()), SB_OK);
	}
	EXPECT_EQ(set.count, 100000u);
	EXPECT_EQ(set.capacity, capacity);
	EXPECT_FALSE(set.crowded);

	/* If there is no memory for a larger set, the set stays as it was. */
	memory.fails_at = memory.allocations;
	EXPECT_EQ(sb_hash_set_reserve(&set, memory, 1000000), SB_NO_MEMORY);
	EXPECT_EQ(sb_hash_set_add_many(&set, memory, std::vector<uint64_t>(1000000, 7).data(), 1000000), SB_NO_MEMORY);
	EXPECT_EQ(set.count, 100000u);
	EXPECT_EQ(set.capacity, capacity);
	memory.fails_at = SIZE_MAX;
	sb_hash_set_release(&set, memory);
}
