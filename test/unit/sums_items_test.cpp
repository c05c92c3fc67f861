/*
 * sums_items_test.cpp: sums of items are stored as the same bytes as sums of cells of the same hits, or are refused if
 * they do not fit. Planes that are sent arrive unchanged.
 * tbf_sums.hpp explains planes.
 */
#include "tbf_support.h"
#include "tbf/tbf_cells.hpp"

#include <algorithm>
#include <unordered_set>

using namespace test;

namespace {

/*
 * A builder whose sums are sums of items. Unless `secret` is 0, its set of items has a secret from the beginning. The
 * set of another builder gets a secret only when many hashes collide in it (sb_hash_set.h).
 */
class Items : public Builder
{
public:
	explicit Items(const sb_tbf &like, uint64_t secret = 0) : Builder(like, SB_TBF_SUMS_OF_ITEMS)
	{
		builder->sums.set.secret[0] = secret;
		builder->sums.set.secret[1] = secret * UINT64_C(0xd6e8feb86659fd93);
	}

	/*
	 * The set of items. With a secret the slots are not in the order of the hashes. So `sorted` is set then, as the
	 * functions that store sums require.
	 */
	sb_hash_set set()
	{
		sb_hash_set sorted = builder->sums.set;
		EXPECT_TRUE(streambloom::has_items(&builder->sums));
		sorted_.resize(sorted.count);
		EXPECT_EQ(streambloom::hash_set_sort(&sorted, sorted_.data()), SB_OK);
		sorted.sorted = sorted.secret[0] != 0 ? sorted_.data() : nullptr;
		return sorted;
	}

private:
	std::vector<uint64_t> sorted_;
};

constexpr int64_t hour = INT64_C(3600) * 1000000;

/*
 * Hashes of all sorts: random ones, 0 and the largest, and crowds at the first slots of the set, at its last slots
 * (where hashes go round to the beginning), and between.
 */
std::vector<uint64_t> hashes_of_all_sorts(Random &random, size_t count)
{
	std::unordered_set<uint64_t> hashes = {0, hash_of(1), UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1};
	while (hashes.size() < count)
		switch (random() % 5)
		{
			case 0:
				hashes.insert(~hash_of(random() % count));
				break;
			case 1:
				hashes.insert(hash_of(random() % count));
				break;
			case 2:
				hashes.insert((UINT64_C(3) << 61) - hash_of(random() % count));
				break;
			default:
				hashes.insert(random());
		}
	return {hashes.begin(), hashes.end()};
}

/* Random hits of these hashes. Their times are spread over `hours` hours; if there is a half-life, it is an hour. */
std::vector<Hit> hits_on(Random &random, const std::vector<uint64_t> &hashes, int64_t hours)
{
	std::vector<Hit> hits;
	for (size_t i = 0; i < hashes.size() * 2; i++)
		hits.push_back({hashes[random() % hashes.size()],
						static_cast<int64_t>(random() % static_cast<uint64_t>(hours * hour)),
						static_cast<double>(1 + random() % 9) / 4});
	return hits;
}

sb_tbf shape_of(uint32_t blocks, uint16_t block_cells, uint8_t k, int64_t half_life)
{
	sb_tbf tbf;
	EXPECT_EQ(sb_tbf_plan(100, 0.01, half_life, half_life == 0 ? 0 : hour, false, &tbf), SB_OK);
	tbf.block_count = blocks;
	tbf.block_cells = block_cells;
	tbf.hash_count = k;
	tbf.kind = kind_of(SB_KIND_INTEGER);
	return tbf;
}

} // namespace

TEST(SumsOfItems, AreStoredAsSumsOfCellsAre)
{
	Random random(301);
	for (auto [blocks, block_cells] :
		 {std::pair<uint32_t, uint16_t>{1, 64}, {1, 4096}, {2, 4096}, {3, 4096}, {7, 4096}, {64, 4096}})
		for (uint8_t k : {uint8_t{1}, uint8_t{7}, uint8_t{16}})
			for (int64_t hours : {1, 15, 25, 40, 100}) /* one plane twice, two, three, and more than are kept */
				for (int64_t half_life : {hour, INT64_C(0)})
				{
					std::vector<uint64_t> hashes = hashes_of_all_sorts(random, blocks == 64 ? 5000 : 300);
					std::vector<Hit> hits = hits_on(random, hashes, hours);
					for (auto [layout, secret] : {std::pair<uint8_t, uint64_t>{SB_TBF_FLAT, 0},
												  {SB_TBF_EXTENSIBLE, 0},
												  {SB_TBF_EXTENSIBLE, random()}})
					{
						sb_tbf tbf = shape_of(blocks, block_cells, k, half_life);
						tbf.layout = layout;
						Builder cells(tbf);
						Items items(tbf, secret);
						cells.add(hits);
						items.add(hits);
						Tbf expected = cells.stored();
						ASSERT_TRUE(same_bytes(items.stored().value(), expected.value()))
							<< blocks << " blocks, " << int{k} << ", " << hours;
						if (!streambloom::has_items(&items.sums()))
							continue;

						if (half_life != 0 && hours == 25)
						{
							auto &planes = items.sums().planes;
							EXPECT_EQ(std::ranges::count(planes, 0u, &streambloom::plane_sums::column),
									  SB_TBF_PLANES - 2);
						}

						const sb_hash_set set = items.set();
						if (layout == SB_TBF_FLAT)
							expected = expected.relaid();
						for (size_t room :
							 {expected.cell_bytes() + 100, expected.cell_bytes(), expected.cell_bytes() - 1})
						{
							Tbf once;
							once.cells = Bytes(room);
							sb_status status = streambloom::sums_store(&items.sums(), &set, &tbf, &once.parameters,
																	   once.cells.data(), room);
							ASSERT_EQ(status, room < expected.cell_bytes() ? SB_TOO_LARGE : SB_OK);
							if (status != SB_OK)
								continue;
							once.cells = Bytes(once.cells.data(), once.cell_bytes());
							ASSERT_TRUE(same_bytes(once.value(), expected.value()));
						}
					}
				}
}

TEST(SumsOfItems, ThatDoNotFitACellAreAnOverflow)
{
	for (auto layout : {uint8_t{SB_TBF_FLAT}, uint8_t{SB_TBF_EXTENSIBLE}})
	{
		sb_tbf tbf = shape_of(1, 64, 3, 0);
		tbf.layout = layout;
		Items items(tbf);
		for (uint64_t i = 1; i < 15; i++)
		{
			ASSERT_EQ(items.add(Hit{i * (UINT64_MAX / 15), 0}), SB_OK);
		}
		const sb_hash_set set = items.set();
		uint64_t hash;
		for (uint64_t slot = 0; (slot = streambloom::hash_set_next(&set, slot, &hash)) != UINT64_MAX; slot++)
			streambloom::words_of_items(&items.sums(), 0)[streambloom::hash_set_place(slot, set.beside)] =
				SB_TBF_MAX_CELL - 1;
		Tbf stored;
		stored.cells = Bytes(10000);
		EXPECT_EQ(streambloom::sums_store(&items.sums(), &set, &tbf, &stored.parameters, stored.cells.data(), 10000),
				  SB_OVERFLOW);
		EXPECT_EQ(items.store(&stored), SB_OVERFLOW);
	}
}

TEST(SumsSent, PlanesArriveAsTheyWere)
{
	Random random(303);
	for (uint32_t blocks : {1u, 5u})
		for (int bits : {0, 1, 13, 40, 61})
			for (uint64_t every : {1u, 3u, 1000u})
			{
				sb_tbf tbf = shape_of(blocks, 4096, 7, hour);
				tbf.layout = SB_TBF_FLAT; /* planes are packed alike in both layouts */
				std::vector<uint64_t> words(sb_tbf_cells(&tbf));
				for (uint64_t &word : words)
					word = random() % every == 0 ? random() & ((UINT64_C(1) << bits) - 1) : 0;
				words.back() = bits == 61 ? SB_TBF_MAX_CELL - 1 : words.back();
				Cells plane(tbf, words);
				sb_tbf packed;
				std::vector<uint8_t> bytes(words.size() * 10 + 1000);
				ASSERT_EQ(streambloom::sums_pack_plane(plane, &tbf, &packed, bytes.data(), bytes.size()), SB_OK);
				ASSERT_LE(packed.payload, bytes.size());
				if (packed.payload != 0)
				{
					sb_tbf cut;
					EXPECT_EQ(streambloom::sums_pack_plane(plane, &tbf, &cut, bytes.data(), packed.payload - 1),
							  SB_TOO_LARGE);
					EXPECT_EQ(cut.payload, packed.payload);
					std::vector<uint8_t> exact(packed.payload);
					ASSERT_EQ(streambloom::sums_pack_plane(plane, &tbf, &cut, exact.data(), exact.size()), SB_OK);
					bytes = exact;
				}
				std::vector<uint64_t> again(4096);
				for (uint32_t block = 0; block < blocks; block++)
				{
					ASSERT_EQ(streambloom::unpack_block(&packed, bytes.data(), block, again.data()), SB_OK);
					EXPECT_TRUE(std::equal(again.begin(), again.end(), words.begin() + block * 4096));
				}
			}
}

/* A state may come from anywhere, so its planes may be far away on either side. Such planes match no plane here. */
TEST(SumsSent, PlanesThatAreFarAwayMatchNone)
{
	streambloom::tbf_sums sums{};
	streambloom::tbf_sums other{};
	sums.newest_plane = 29000;
	for (int64_t distance : {INT64_C(0), INT64_C(3), INT64_C(4), INT64_C(-1), INT64_C(-1000), (INT64_C(1) << 32) - 1,
							 -(INT64_C(1) << 32) + 2, -(INT64_C(1) << 57)})
	{
		other.newest_plane = sums.newest_plane - distance;
		EXPECT_EQ(streambloom::sums_matching_plane(&sums, &other, 0),
				  distance >= 0 && distance < SB_TBF_PLANES ? distance : -1);
	}
}
