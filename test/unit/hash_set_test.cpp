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
		: slots(sb_hash_set_bytes(capacity, beside) / sizeof(uint64_t)), set(set_over(slots, capacity, beside, secret))
	{
	}

	/* As an aggregate grows: insert what there is room for, else the next larger set takes all. */
	void insert(uint64_t hash)
	{
		if (!sb_hash_set_has_room(&set))
			move(sb_hash_set_next_capacity(set.capacity), set.secret[0]);
		sb_hash_set_insert(&set, hash);
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
		for (uint64_t at = sb_hash_set_next(&set, 0, &hash); at != UINT64_MAX; at = sb_hash_set_next(&set, at + 1, &hash))
			hashes.push_back(hash);
		return hashes;
	}
};

} // namespace

TEST(HashSet, ArrayHasOneWordMoreThanItsCapacity)
{
	EXPECT_EQ(sb_hash_set_bytes(8, 0), 9 * sizeof(uint64_t));
	EXPECT_EQ(sb_hash_set_bytes(UINT64_C(1) << 20, 0), ((size_t{1} << 20) + 1) * sizeof(uint64_t));
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
			/* small numbers all begin at slot 0, multiples of 2^32 and what has the highest bits crowd a few slots */
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
	while (sb_hash_set_has_room(&set.set))
	{
		uint64_t hash = random() % 700;
		uint64_t slot = sb_hash_set_insert(&set.set, hash);
		ASSERT_LE(slot, set.set.capacity);
		uint64_t found = ~hash;
		EXPECT_EQ(sb_hash_set_next(&set.set, slot, &found), slot);
		EXPECT_EQ(found, hash);
		uint64_t count = set.set.count;
		EXPECT_EQ(sb_hash_set_insert(&set.set, hash), slot);
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
	EXPECT_EQ(sb_hash_set_missing(&set.set, others.data(), others.size()), others.size() - set.set.count);
	set.insert(0);
	EXPECT_EQ(sb_hash_set_missing(&set.set, others.data(), others.size()), others.size() - set.set.count);
	EXPECT_EQ(sb_hash_set_missing(&set.set, others.data(), 0), 0u);
}

TEST(HashSet, MovesWordsWithTheirHashes)
{
	Random random(15);
	for (uint32_t before = 0; before <= 4; before++)
		for (uint32_t after = before; after <= 4; after++)
			for (uint64_t capacity : {UINT64_C(8), UINT64_C(12), UINT64_C(64), UINT64_C(4092)})
			{
				Set from(capacity, before);
				Set to(before == after ? sb_hash_set_next_capacity(capacity) : capacity, after);
				auto word = [](Set &set, uint64_t slot, uint32_t which) -> uint64_t & {
					return set.slots[sb_hash_set_place(slot, set.set.beside) + 4 * (which + 1)];
				};
				std::unordered_set<uint64_t> hashes = {0};
				while (hashes.size() < capacity / 2)
					hashes.insert(hashes.size() % 2 == 0 ? random() : ~(random() % capacity));
				for (uint64_t hash : hashes)
				{
					uint64_t slot = sb_hash_set_insert(&from.set, hash);
					for (uint32_t i = 0; i < before; i++)
						word(from, slot, i) = hash + i + 1;
				}
				EXPECT_EQ(move_set(&to.set, &from.set), SB_OK);
				EXPECT_EQ(to.set.count, hashes.size());
				EXPECT_EQ(to.walked().size(), hashes.size());
				for (uint64_t hash : hashes)
				{
					uint64_t slot = sb_hash_set_find(&to.set, hash);
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
	EXPECT_EQ(sb_hash_set_write(&set.set, bytes.data() + 1), SB_OK); /* nowhere aligned */
	std::vector<uint64_t> hashes(set.set.count);
	sb_hash_set_read_words(bytes.data() + 1, hashes.data(), hashes.size());
	EXPECT_EQ(hashes, set.walked());
	EXPECT_EQ(bytes[1], hashes[0] & 0xff);
}

TEST(HashSet, HoldsTheHashZeroBesideTheOthers)
{
	Set set(8);
	EXPECT_TRUE(set.walked().empty());
	EXPECT_EQ(sb_hash_set_insert(&set.set, 0), 8u);
	EXPECT_EQ(sb_hash_set_insert(&set.set, 0), 8u);
	EXPECT_EQ(set.set.count, 1u);
	sb_hash_set_insert(&set.set, 77);
	EXPECT_EQ(set.set.count, 2u);
	EXPECT_EQ(set.walked(), (std::vector<uint64_t>{77, 0}));
}

TEST(HashSet, HasRoomUpToALoadOfFiveEighths)
{
	for (uint64_t capacity = 8; capacity <= 4096; capacity += 4)
	{
		Set set(capacity);
		uint64_t inserted = 0;
		while (sb_hash_set_has_room(&set.set))
			sb_hash_set_insert(&set.set, inserted++);
		EXPECT_EQ(set.set.count, inserted);
		EXPECT_EQ(inserted, capacity * 5 / 8);
	}
}

TEST(HashSet, CapacityForIsTheSmallestThatHolds)
{
	uint64_t expected = sb_hash_set_capacity_for(0);
	for (uint64_t count = 0; count < 30000; count++)
	{
		if (count > expected * 5 / 8)
			expected = sb_hash_set_next_capacity(expected);
		ASSERT_EQ(sb_hash_set_capacity_for(count), expected) << count;
	}
	EXPECT_EQ(sb_hash_set_capacity_for(0), 12u);
}

TEST(HashSet, CapacityForAnyCountEnds)
{
	for (int bit = 12; bit < 58; bit++)
	{
		uint64_t count = UINT64_C(1) << bit;
		EXPECT_GE(sb_hash_set_capacity_for(count) / 8 * 5, count);
	}
	EXPECT_NE(sb_hash_set_capacity_for(UINT64_MAX), 0u);
}

/* What PostgreSQL's allocator rounds up to a power of two must not be a little more than one. */
TEST(HashSet, ArraysTakeJustLessThanAPowerOfTwo)
{
	for (uint64_t capacity = sb_hash_set_capacity_for(1); capacity < 1 << 20; capacity = sb_hash_set_next_capacity(capacity))
		for (uint32_t beside : {0u, 1u, 3u})
		{
			size_t bytes = sb_hash_set_bytes(capacity, beside);
			EXPECT_EQ(bytes + 3 * sizeof(uint64_t), std::bit_ceil(bytes)) << capacity << " " << beside;
		}
}

TEST(HashSet, WalkEndsBeyondTheLastSlot)
{
	Set set(8);
	uint64_t hash = 1;
	EXPECT_EQ(sb_hash_set_next(&set.set, 0, &hash), UINT64_MAX);
	EXPECT_EQ(sb_hash_set_next(&set.set, 9, &hash), UINT64_MAX);
	sb_hash_set_insert(&set.set, 0);
	EXPECT_EQ(sb_hash_set_next(&set.set, 0, &hash), 8u);
	EXPECT_EQ(sb_hash_set_next(&set.set, 9, &hash), UINT64_MAX);
}

/* --------------------------------------------------------------- chosen hashes */

/*
 * Inserts as the aggregates do: by batches, with a secret as soon as a search went too far. Returns the farthest that any search
 * can have gone, in fours.
 */
static uint64_t insert_by_batches(Set &set, const std::vector<uint64_t> &hashes, uint64_t secret)
{
	uint64_t farthest = 0;
	for (size_t done = 0; done < hashes.size();)
	{
		done += sb_hash_set_insert_many(&set.set, hashes.data() + done, std::min<size_t>(hashes.size() - done, 128));
		if (done % 1024 < 128 || set.set.crowded)
			farthest = std::max(farthest, farthest_search(&set.set));
		if (!sb_hash_set_has_room(&set.set))
			set.move(sb_hash_set_next_capacity(set.set.capacity), set.set.crowded ? secret : set.set.secret[0]);
		else if (sb_hash_set_wants_secret(&set.set))
			set.move(set.set.capacity, secret);
	}
	return farthest;
}

/* Crowds: at the first slot, at the last one, in the middle, as a ladder, and where the next larger set has them side by side. */
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
		EXPECT_LE(farthest, SB_HASH_SET_FAR + 128u / 4 + 1);
		EXPECT_LE(farthest_search(&set.set), SB_HASH_SET_FAR);
		EXPECT_EQ(set.set.count, hashes.size());
		std::vector<uint64_t> walked = set.walked();
		EXPECT_EQ(std::unordered_set<uint64_t>(walked.begin(), walked.end()), std::unordered_set<uint64_t>(hashes.begin(), hashes.end()));
		for (uint64_t hash : hashes)
			ASSERT_NE(sb_hash_set_find(&set.set, hash), UINT64_MAX);
		EXPECT_EQ(sb_hash_set_missing(&set.set, hashes.data(), hashes.size()), 0u);

		std::vector<uint64_t> sorted(set.set.count);
		EXPECT_EQ(sb_hash_set_sort(&set.set, sorted.data()), SB_OK);
		EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
		EXPECT_EQ(std::unordered_set<uint64_t>(sorted.begin(), sorted.end()), std::unordered_set<uint64_t>(hashes.begin(), hashes.end()));
	}
}

TEST(HashSet, OtherHashesNeedNoSecret)
{
	Random random(17);
	Set set(12);
	std::vector<uint64_t> hashes(1500000);
	for (uint64_t &hash : hashes)
		hash = random();
	EXPECT_LT(insert_by_batches(set, hashes, 77), SB_HASH_SET_FAR);
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
			same += sb_hash_set_insert(&one.set, hash) == sb_hash_set_insert(&other.set, hash);
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
	for (uint64_t at = sb_hash_set_next(set, 0, &hash); at != UINT64_MAX; at = sb_hash_set_next(set, at + 1, &hash))
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
		ASSERT_EQ(sb_hash_set_make(&set, memory, 12, beside), SB_OK);
		std::vector<uint64_t> all;
		for (int i = 0; i < 3000; i++)
		{
			if (!sb_hash_set_has_room(&set))
			{
				ASSERT_EQ(sb_hash_set_remake(&set, memory, sb_hash_set_next_capacity(set.capacity), beside), SB_OK);
			}
			all.push_back(random());
			sb_hash_set_insert(&set, all.back());
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
	ASSERT_EQ(sb_hash_set_make(&set, memory, sb_hash_set_capacity_for(2001), 1), SB_OK);
	EXPECT_EQ(sb_hash_set_insert_many(&set, hashes.data(), hashes.size()), hashes.size());
	ASSERT_TRUE(sb_hash_set_wants_secret(&set));
	ASSERT_EQ(sb_hash_set_remake(&set, memory, set.capacity, 1), SB_OK);
	EXPECT_FALSE(sb_hash_set_wants_secret(&set));
	EXPECT_NE(set.secret[0], 0u);
	EXPECT_LE(farthest_search(&set), SB_HASH_SET_FAR);
	EXPECT_EQ(walk(&set), hashes);
	sb_hash_set_release(&set, memory);
}

TEST(HashSet, IsAsItWasWhereThereIsNoMemory)
{
	Memory memory;
	sb_hash_set set;
	memory.fails_at = 0;
	EXPECT_EQ(sb_hash_set_make(&set, memory, 1020, 1), SB_NO_MEMORY);
	EXPECT_EQ(set.slots, nullptr);
	memory.fails_at = 2;
	ASSERT_EQ(sb_hash_set_make(&set, memory, 1020, 1), SB_OK);
	sb_hash_set_insert(&set, 4711);
	EXPECT_EQ(sb_hash_set_remake(&set, memory, 2044, 1), SB_NO_MEMORY);
	EXPECT_EQ(set.capacity, 1020u);
	EXPECT_EQ(walk(&set), std::vector<uint64_t>{4711});
	sb_hash_set_release(&set, memory);
}
