/*
 * sums_items_test.cpp: sums of items become the same stored filter as sums of cells do; planes that are sent arrive.
 */
#include "support.h"

#include <unordered_set>

using namespace test;

namespace {

/* Sums over the items of a set, as tbf_agg keeps them: with words beside the hashes for as many planes as are there. */
class Items
{
  public:
	sb_tbf tbf;
	sb_sums sums{};
	sb_hash_set set{};

	Items(const sb_tbf &like, uint64_t capacity, uint64_t secret = 0) : tbf(like)
	{
		slots_.resize(sb_hash_set_bytes(capacity, SB_TBF_PLANES) / sizeof(uint64_t));
		set = set_over(slots_, capacity, SB_TBF_PLANES, secret);
		sums.width = capacity + 1;
		sums.beside = set.beside;
	}
	void add(const Hit &hit)
	{
		sb_moment moment;
		uint64_t value;
		sb_status status;
		sb_tbf_moment(tbf.half_life, tbf.epoch, hit.at, &moment);
		ASSERT_EQ(sb_tbf_hit(&moment, hit.weight, &value), SB_OK);
		int index = sb_sums_turn(&sums, moment.half_lives);
		if (index >= 0 && sums.plane[index] == nullptr)
			sums.plane[index] = set.slots + 4 * ++planes_;
		ASSERT_TRUE(sb_hash_set_has_room(&set));
		if (index >= 0)
		{
			ASSERT_EQ(sb_sums_add_hits(&sums, &set, index, moment.half_lives, &hit.hash, &value, 1, &status), 1u);
			ASSERT_EQ(status, SB_OK);
		}
		else
			(void) sb_hash_set_insert(&set, hit.hash);
		sb_sums_note_hit(&sums, index, &moment, value);
	}

	/* To be called when all are in. */
	void sort()
	{
		sorted_.resize(set.count);
		EXPECT_EQ(sb_hash_set_sort(&set, sorted_.data()), SB_OK);
		set.sorted = set.secret[0] != 0 ? sorted_.data() : nullptr;
	}

  private:
	std::vector<uint64_t> slots_;
	std::vector<uint64_t> sorted_;
	size_t planes_ = 0;
};

constexpr int64_t hour = INT64_C(3600) * 1000000;

/* Hashes of all sorts: random, the borders, crowds at the first slots, at the last ones (which go round) and between. */
std::vector<uint64_t> hashes_of_all_sorts(Random &random, size_t count)
{
	std::unordered_set<uint64_t> hashes = {0, 1, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1};
	while (hashes.size() < count)
		switch (random() % 5)
		{
			case 0:
				hashes.insert(~(random() % count));
				break;
			case 1:
				hashes.insert(random() % count);
				break;
			case 2:
				hashes.insert((UINT64_C(3) << 61) - random() % count);
				break;
			default:
				hashes.insert(random());
		}
	return {hashes.begin(), hashes.end()};
}

/* Of a set of hits: spans so many hours, hour being the half-life where there is one. */
std::vector<Hit> hits_on(Random &random, const std::vector<uint64_t> &hashes, int64_t hours)
{
	std::vector<Hit> hits;
	for (size_t i = 0; i < hashes.size() * 2; i++)
		hits.push_back({hashes[random() % hashes.size()], static_cast<int64_t>(random() % static_cast<uint64_t>(hours * hour)),
						static_cast<double>(1 + random() % 9) / 4});
	return hits;
}

sb_tbf shape_of(uint32_t blocks, uint16_t block_cells, uint8_t k, int64_t half_life)
{
	sb_tbf tbf;
	EXPECT_EQ(sb_tbf_plan(100, 0.01, half_life, half_life == 0 ? 0 : hour, false, &tbf), SB_OK);
	tbf.blocks = blocks;
	tbf.block_cells = block_cells;
	tbf.hashes = k;
	tbf.kind = kind_of(SB_KIND_INTEGER);
	return tbf;
}

} // namespace

TEST(SumsOfItems, AreStoredAsSumsOfCellsAre)
{
	Random random(301);
	for (auto [blocks, block_cells] : {std::pair<uint32_t, uint16_t>{1, 64}, {1, 4096}, {2, 4096}, {3, 4096}, {7, 4096}, {64, 4096}})
		for (uint8_t k : {uint8_t{1}, uint8_t{7}, uint8_t{16}})
			for (int64_t hours : {1, 15, 40, 100}) /* one plane, two, three, and some that fall out */
				for (int64_t half_life : {hour, INT64_C(0)})
				{
					std::vector<uint64_t> hashes = hashes_of_all_sorts(random, blocks == 64 ? 5000 : 300);
					std::vector<Hit> hits = hits_on(random, hashes, hours);
					for (auto [layout, secret] : {std::pair<uint8_t, uint64_t>{SB_TBF_FLAT, 0}, {SB_TBF_EXTENSIBLE, 0}, {SB_TBF_EXTENSIBLE, random()}})
					{
						sb_tbf tbf = shape_of(blocks, block_cells, k, half_life);
						tbf.layout = layout;
						Sums cells(tbf);
						Items items(tbf, sb_hash_set_capacity_for(hashes.size() + 1), secret);
						cells.add(hits);
						for (const Hit &hit : hits)
							items.add(hit);
						items.sort();
						Tbf expected = cells.stored();

						Tbf twice;
						ASSERT_EQ(sb_sums_plan(&items.sums, &items.set, &tbf, &twice.parameters), SB_OK);
						twice.cells = Bytes(twice.cell_bytes());
						EXPECT_EQ(sb_sums_write(&items.sums, &items.set, &twice.parameters, twice.cells.data()), SB_OK);
						ASSERT_TRUE(same_bytes(twice.value(), expected.value())) << blocks << " blocks, " << int{k} << ", " << hours;

						for (size_t room : {expected.cell_bytes() + 100, expected.cell_bytes(), expected.cell_bytes() - 1})
						{
							Tbf once;
							once.cells = Bytes(room);
							sb_status status =
								sb_sums_store(&items.sums, &items.set, &tbf, &once.parameters, once.cells.data(), room);
							ASSERT_EQ(status, room < expected.cell_bytes() ? SB_TOO_LARGE : SB_OK);
							if (status != SB_OK)
								continue;
							once.cells = Bytes(once.cells.data(), once.cell_bytes());
							ASSERT_TRUE(same_bytes(once.value(), expected.value()));
						}
					}
				}
}

/* With minimum increase a cell is the largest sum of its items. */
TEST(SumsOfItems, RaiseCellsToTheLargest)
{
	Random random(302);
	for (auto [blocks, secret] : {std::pair<uint32_t, uint64_t>{1, 0}, {3, 0}, {3, random()}, {16, 0}, {16, random()}})
		for (int64_t hours : {1, 40})
		{
			sb_tbf tbf = shape_of(blocks, 4096, 5, hour);
			tbf.flags |= SB_TBF_MINIMUM_INCREASE;
			std::vector<uint64_t> hashes = hashes_of_all_sorts(random, 2000);
			Items items(tbf, 4096, secret);
			for (const Hit &hit : hits_on(random, hashes, hours))
				items.add(hit);
			items.sort();
			Sums cells(tbf);
			std::vector<std::unique_ptr<uint64_t[]>> planes;
			sb_sums sums = items.sums;
			sums.width = sb_tbf_cells(&tbf);
			sums.beside = 0;
			for (uint64_t *&plane : sums.plane)
				if (plane != nullptr)
				{
					planes.push_back(std::make_unique<uint64_t[]>(sums.width));
					plane = planes.back().get();
				}
			uint64_t hash;
			for (uint64_t slot = 0; (slot = sb_hash_set_next(&items.set, slot, &hash)) != UINT64_MAX; slot++)
			{
				uint64_t words[SB_TBF_PLANES] = {};
				for (int i = 0; i < SB_TBF_PLANES; i++)
					if (items.sums.plane[i] != nullptr)
						words[i] = items.sums.plane[i][sb_hash_set_place(slot, items.set.beside)];
				sb_sums_raise_item_to(&sums, &tbf, hash, words);
			}
			Tbf expected;
			Tbf stored;
			ASSERT_EQ(sb_sums_plan(&sums, nullptr, &tbf, &expected.parameters), SB_OK);
			expected.cells = Bytes(expected.cell_bytes());
			EXPECT_EQ(sb_sums_write(&sums, nullptr, &expected.parameters, expected.cells.data()), SB_OK);
			ASSERT_EQ(sb_sums_plan(&items.sums, &items.set, &tbf, &stored.parameters), SB_OK);
			stored.cells = Bytes(stored.cell_bytes());
			EXPECT_EQ(sb_sums_write(&items.sums, &items.set, &stored.parameters, stored.cells.data()), SB_OK);
			EXPECT_TRUE(same_bytes(stored.value(), expected.value()));
		}
}

TEST(SumsOfItems, ThatDoNotFitACellAreAnOverflow)
{
	for (auto layout : {uint8_t{SB_TBF_FLAT}, uint8_t{SB_TBF_EXTENSIBLE}})
	{
		sb_tbf tbf = shape_of(1, 64, 3, 0);
		tbf.layout = layout;
		Items items(tbf, 64);
		for (uint64_t i = 1; i < 30; i++)
			items.add({i * (UINT64_MAX / 30), 0});
		uint64_t hash;
		for (uint64_t slot = 0; (slot = sb_hash_set_next(&items.set, slot, &hash)) != UINT64_MAX; slot++)
			items.sums.plane[0][sb_hash_set_place(slot, items.set.beside)] = SB_TBF_MAX_CELL - 1;
		Tbf stored;
		EXPECT_EQ(sb_sums_plan(&items.sums, &items.set, &tbf, &stored.parameters), SB_OVERFLOW);
		stored.cells = Bytes(10000);
		EXPECT_EQ(sb_sums_store(&items.sums, &items.set, &tbf, &stored.parameters, stored.cells.data(), 10000), SB_OVERFLOW);
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
				tbf.layout = SB_TBF_FLAT; /* which has nothing to do with it */
				std::vector<uint64_t> words(sb_tbf_cells(&tbf));
				for (uint64_t &word : words)
					word = random() % every == 0 ? random() & ((UINT64_C(1) << bits) - 1) : 0;
				words.back() = bits == 61 ? SB_TBF_MAX_CELL - 1 : words.back();
				sb_tbf packed;
				std::vector<uint8_t> bytes(words.size() * 10 + 1000);
				ASSERT_EQ(sb_sums_pack_plane(words.data(), &tbf, &packed, bytes.data(), bytes.size()), SB_OK);
				ASSERT_LE(packed.payload, bytes.size());
				if (packed.payload != 0)
				{
					sb_tbf cut;
					EXPECT_EQ(sb_sums_pack_plane(words.data(), &tbf, &cut, bytes.data(), packed.payload - 1), SB_TOO_LARGE);
					EXPECT_EQ(cut.payload, packed.payload);
					std::vector<uint8_t> exact(packed.payload);
					ASSERT_EQ(sb_sums_pack_plane(words.data(), &tbf, &cut, exact.data(), exact.size()), SB_OK);
					bytes = exact;
				}
				std::vector<uint64_t> again(4096);
				for (uint32_t block = 0; block < blocks; block++)
				{
					ASSERT_EQ(sb_tbf_unpack_block(&packed, bytes.data(), block, again.data()), SB_OK);
					EXPECT_TRUE(std::equal(again.begin(), again.end(), words.begin() + block * 4096));
				}
			}
}

/* A state may come from anywhere: planes that are far away, on either side, match none. */
TEST(SumsSent, PlanesThatAreFarAwayMatchNone)
{
	std::vector<uint64_t> words(64);
	sb_sums sums{};
	sb_sums other{};
	sums.newest_plane = 29000;
	other.plane[0] = words.data();
	for (int64_t distance : {INT64_C(0), INT64_C(3), INT64_C(4), INT64_C(-1), INT64_C(-1000), (INT64_C(1) << 32) - 1, -(INT64_C(1) << 32) + 2, -(INT64_C(1) << 57)})
	{
		other.newest_plane = sums.newest_plane - distance;
		EXPECT_EQ(sb_sums_matching_plane(&sums, &other, 0), distance >= 0 && distance < SB_TBF_PLANES ? distance : -1);
	}
	EXPECT_EQ(sb_sums_matching_plane(&sums, &other, 1), -1);
}
