/*
 * stop_test.cpp: functions of the core that take long for a large filter ask whether to stop. They stop when they are
 * told to, and the questions do not change their results.
 */
#include "tbf_support.h"

#include "base/hash_set.hpp"
#include "bf/bf.hpp"

#include <functional>

using namespace test;
using namespace streambloom;

namespace {

/* How often the core has asked. The answer is "stop" from question number questions_until_stop on. */
uint64_t questions;
uint64_t questions_until_stop;
bool asked_after_stop;

bool stop_at_question()
{
	asked_after_stop |= questions >= questions_until_stop;
	return ++questions >= questions_until_stop;
}

class Asked
{
public:
	explicit Asked(uint64_t until)
	{
		questions = 0;
		questions_until_stop = until;
		asked_after_stop = false;
		sb_set_stop(stop_at_question);
	}
	~Asked() { sb_set_stop(nullptr); }
	Asked(const Asked &) = delete;
	Asked &operator=(const Asked &) = delete;
};

/*
 * Expects that `door`, a function of the core, asks at least `least` times whether to stop, and that it stops at the
 * first question, at one in the middle, and at the last one.
 */
void expect_stops(const char *name, uint64_t least, const std::function<sb_status()> &door)
{
	SCOPED_TRACE(name);
	uint64_t all;
	{
		Asked asked(UINT64_MAX);
		ASSERT_EQ(door(), SB_OK);
		all = questions;
	}
	EXPECT_GE(all, least);
	for (uint64_t until : {uint64_t{1}, (all + 1) / 2, all})
	{
		Asked asked(until);
		EXPECT_EQ(door(), SB_INTERRUPTED);
		EXPECT_EQ(questions, until);
		EXPECT_FALSE(asked_after_stop);
	}
	ASSERT_EQ(door(), SB_OK);
}

constexpr uint64_t megabytes = 4; /* the size of the filters; they are worked on in pieces of one megabyte */

} // namespace

TEST(Stop, BloomFilters)
{
	sb_bf large{};
	large.line_count = megabytes << 20 >> 6;
	large.hash_count = 6;
	large.fpr = 0.01;
	large.widened = 16;
	sb_bf small = large;
	small.line_count = 1;
	sb_bf folded;
	const size_t bytes = size_t{large.line_count} * SB_BF_LINE;
	std::vector<unsigned char> lines(bytes);
	std::vector<unsigned char> other(bytes);
	std::vector<unsigned char> sparse(bytes * 2);
	Random random(1);
	for (auto &byte : lines)
		byte = random() % 8 == 0 ? static_cast<unsigned char>(random()) : 0;
	size_t size = 0;
	double items;
	sb_bf_stats stats;

	expect_stops("or", megabytes, [&] { return sb_bf_combine(&large, other.data(), &large, lines.data(), false); });
	EXPECT_EQ(other, lines);
	expect_stops("or, widened", megabytes,
				 [&] { return sb_bf_combine(&large, other.data(), &small, lines.data(), false); });
	for (size_t i = 0; i < bytes; i++)
		ASSERT_EQ(other[i], lines[i] | lines[i % SB_BF_LINE]);
	expect_stops("and", megabytes, [&] { return sb_bf_combine(&large, other.data(), &large, lines.data(), true); });
	EXPECT_EQ(other, lines);
	expect_stops("fold", megabytes, [&] {
		folded = large;
		return sb_bf_fold(&folded, lines.data(), 3, other.data());
	});
	expect_stops("items", megabytes, [&] { return sb_bf_items(&large, lines.data(), &items); });
	expect_stops("measure", megabytes, [&] { return sb_bf_measure(&large, lines.data(), &stats); });
	expect_stops("sparse size", megabytes, [&] { return size_sparse_lines(&large, lines.data(), &size); });
	ASSERT_LE(size + 8, sparse.size());
	expect_stops("sparse write", megabytes, [&] { return write_sparse_lines(&large, lines.data(), sparse.data()); });
	expect_stops("sparse check", megabytes, [&] { return check_sparse_lines(&large, sparse.data(), size); });
	std::ranges::fill(other, 0);
	expect_stops("or sparse", megabytes, [&] { return or_sparse_lines(&large, other.data(), sparse.data(), size); });
	EXPECT_EQ(other, lines);
}

TEST(Stop, Sets)
{
	auto make = [](uint64_t capacity, uint32_t beside, std::vector<uint64_t> &slots) {
		slots.assign(streambloom::hash_set_bytes(capacity, beside) / sizeof(uint64_t), 0);
		return set_over(slots, capacity, beside);
	};
	constexpr uint64_t count = 10000;
	std::vector<uint64_t> slots;
	std::vector<uint64_t> larger_slots;
	sb_hash_set set = make(streambloom::hash_set_capacity_for(count), 0, slots);
	Random random(2);
	for (uint64_t i = 0; i < count; i++)
		streambloom::hash_set_insert(&set, random());
	sb_bf bf;
	ASSERT_EQ(sb_bf_plan(count, 0.01, false, &bf), SB_OK);
	std::vector<unsigned char> lines(sb_bf_size(&bf));
	std::vector<unsigned char> words(count * sizeof(uint64_t));

	expect_stops("move", count / 256, [&] {
		sb_hash_set larger = make(streambloom::hash_set_next_capacity(set.capacity), 0, larger_slots);
		return move_set(&larger, &set);
	});
	expect_stops("write", count / 256, [&] { return streambloom::hash_set_write(&set, words.data()); });
	std::vector<uint64_t> sorted(count);
	expect_stops("sort", count / 256, [&] { return streambloom::hash_set_sort(&set, sorted.data()); });
	expect_stops("add set", count / 256, [&] { return add_set(&bf, lines.data(), &set); });
}

TEST(Stop, SetsThatAreRemade)
{
	Random random(29);
	Memory memory;
	sb_hash_set set;
	ASSERT_EQ(streambloom::hash_set_make(&set, memory, 1u << 18, 1), SB_OK);
	for (int i = 0; i < 100000; i++)
		streambloom::hash_set_insert(&set, random());
	expect_stops("hash_set_remake", 8, [&] {
		sb_hash_set copy = set;
		const uint64_t blocks = memory.blocks;
		sb_status status = streambloom::hash_set_remake(&copy, memory, 1u << 19, 1);
		if (status == SB_OK)
			std::swap(copy, set); /* the old slots are released */
		EXPECT_EQ(memory.blocks, blocks);
		EXPECT_EQ(set.count, 100000u);
		return status;
	});
	sb_hash_set_release(&set, memory);
}

/*
 * A sort walks through the slots and then sorts hashes that begin alike. Half of the hashes here all begin alike, as
 * hashes that an attacker has chosen may. Then most of the time goes to sorting, so the sorting has to ask, too.
 */
TEST(Stop, SortsManyHashes)
{
	constexpr uint64_t count = UINT64_C(1) << 20;
	std::vector<uint64_t> slots(streambloom::hash_set_bytes(streambloom::hash_set_capacity_for(count), 0) /
								sizeof(uint64_t));
	std::vector<uint64_t> hashes(count);
	std::vector<uint64_t> sorted(count);
	sb_hash_set set = set_over(slots, streambloom::hash_set_capacity_for(count), 0, 1);
	Random random(3);
	for (uint64_t i = 0; i < count; i++)
	{
		hashes[i] = i % 2 == 0 ? i : random();
		streambloom::hash_set_insert(&set, hashes[i]);
	}
	ASSERT_EQ(set.count, count);
	expect_stops("sort", set.capacity / 1024 + count / 16384,
				 [&] { return streambloom::hash_set_sort(&set, sorted.data()); });
	std::ranges::sort(hashes);
	EXPECT_EQ(sorted, hashes);
}

TEST(Stop, TimeDecayingFilters)
{
	constexpr int64_t hour = INT64_C(3600000000);
	for (uint8_t layout : {uint8_t{SB_TBF_EXTENSIBLE}, uint8_t{SB_TBF_FLAT}})
	{
		SCOPED_TRACE(layout);
		sb_tbf plan;
		ASSERT_EQ(sb_tbf_plan(20000, 0.01, hour, hour / 4, false, &plan), SB_OK);
		plan.layout = layout;
		const uint64_t blocks = plan.block_count;
		const uint64_t cells = sb_tbf_cells(&plan);
		ASSERT_GT(blocks, 10u);

		streambloom::tbf_sums sums{};
		Cells words(plan);
		sb_moment moment;
		uint64_t value;
		sb_tbf_moment(hour, hour / 4, 100 * hour, &moment);
		ASSERT_EQ(sb_tbf_hit(&moment, 1, &value), SB_OK);
		ASSERT_EQ(streambloom::sums_turn(&sums, moment.half_lives), 0);
		sums.planes[0].cells = words;
		Random random(3);
		const uint64_t hash = random();
		for (uint64_t i = 0; i < 20000; i++)
		{
			const uint64_t item = i == 0 ? hash : random();
			ASSERT_EQ(streambloom::add_to_plane(words, plan.hash_count, streambloom::place_in_plane(moment.half_lives),
												&item, &value, 1),
					  SB_OK);
		}
		streambloom::sums_note_hit(&sums, 0, &moment, 20000 * value);
		plan.kind.code = SB_KIND_INTEGER;

		sb_tbf stored;
		std::vector<unsigned char> bytes(cells * 8);
		expect_stops("store", blocks, [&] {
			return streambloom::sums_store(&sums, nullptr, &plan, &stored, bytes.data(), bytes.size());
		});
		if (layout == SB_TBF_FLAT)
		{
			Memory flat;
			sb_tbf packed = stored;
			void *value_of;
			ASSERT_EQ(sb_tbf_set_layout(&packed, bytes.data(), layout, flat, 0, &stored, &value_of), SB_OK);
			std::memcpy(bytes.data(), static_cast<unsigned char *>(value_of) + SB_TBF_HEADER,
						streambloom::counters_size(&stored));
			flat.memory.release(flat.memory.context, value_of);
		}
		expect_stops("check", blocks, [&] { return sb_tbf_check(&stored, bytes.data()); });

		sb_tbf out;
		std::vector<unsigned char> to(cells * 16);
		Memory memory;
		void *made;
		auto released = [&](sb_status status) {
			EXPECT_EQ(made != nullptr, status == SB_OK);
			if (made != nullptr)
				memory.memory.release(memory.memory.context, made);
			return status;
		};
		double most;
		const uint8_t other = layout == SB_TBF_FLAT ? SB_TBF_EXTENSIBLE : SB_TBF_FLAT;
		expect_stops("decay", blocks,
					 [&] { return released(sb_tbf_decay(&stored, bytes.data(), 101 * hour, memory, 0, &out, &made)); });
		expect_stops("layout", blocks,
					 [&] { return released(sb_tbf_set_layout(&stored, bytes.data(), other, memory, 0, &out, &made)); });
		expect_stops("remove", blocks, [&] {
			return released(sb_tbf_remove(&stored, bytes.data(), hash, &moment, value, memory, 0, &out, &made, &most));
		});
		expect_stops("pack", blocks,
					 [&] { return streambloom::sums_pack_plane(words, &plan, &out, to.data(), to.size()); });

		streambloom::filter_weight weight;
		ASSERT_EQ(streambloom::make_filter_weight(1, &weight), SB_OK);
		Cells sum(plan);
		expect_stops("add", blocks, [&] {
			int planes;
			streambloom::tbf_sums added{};
			if (streambloom::sums_turn_for_weighted(&added, &stored, &weight, &planes) != 0 || planes != 1)
				return SB_OUT_OF_RANGE;
			added.planes[0].cells = sum;
			return streambloom::sums_add_weighted(&added, &plan, 0, &stored, bytes.data(), &weight);
		});
	}
}

TEST(Stop, PlanesOfManyWords)
{
	constexpr uint32_t blocks = megabytes << 17 >> 12;
	sb_tbf small;
	ASSERT_EQ(sb_tbf_plan(1000, 0.01, 0, 0, true, &small), SB_OK);
	small.block_count = blocks / 2;
	small.block_cells = SB_TBF_BLOCK;
	sb_tbf large = small;
	large.block_count = blocks;
	Cells words(small, std::vector<uint64_t>(sb_tbf_cells(&small), 1));
	Cells wide(large);
	Cells sum(large);

	expect_stops("widen", megabytes, [&] { return streambloom::add_cell_plane(wide, words); });
	expect_stops("add plane", megabytes, [&] { return streambloom::add_cell_plane(sum, wide); });
}

TEST(Stop, StableFilters)
{
	for (int bits : {1, 3, 8})
	{
		SCOPED_TRACE(bits);
		sb_stable stable;
		ASSERT_EQ(sb_stable_plan(megabytes << 20, 0.01, SB_STABLE, 0, 0, SB_STABLE_CHOOSE, bits, SB_STABLE_CHOOSE, 1,
								 &stable),
				  SB_OK);
		std::vector<unsigned char> cells(megabytes << 20);
		std::vector<unsigned char> other(megabytes << 20);
		uint64_t counts[SB_STABLE_MAX_VALUE + 1];
		std::vector<uint64_t> hashes(1000);
		for (uint64_t i = 0; i < 1000; i++)
			hashes[i] = i * UINT64_C(0x9e3779b97f4a7c15);
		const std::vector<uint8_t> values(1000, sb_stable_max(&stable));
		sb_stable_steps(&stable, cells.data(), hashes.data(), values.data(), hashes.size(), nullptr);

		expect_stops("check", 1, [&] { return sb_stable_check_cells(&stable, cells.data()); });
		expect_stops("count", megabytes, [&] { return sb_stable_count(&stable, cells.data(), counts); });
		expect_stops("unite", 1, [&] { return sb_stable_unite(&stable, other.data(), cells.data()); });
		EXPECT_EQ(other, cells);
	}
}

TEST(Stop, AgePartitionedFilters)
{
	sb_abf abf;
	ASSERT_EQ(sb_abf_plan(1000000, true, 3000000, 0.01, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf), SB_OK);
	std::vector<unsigned char> slices(sb_abf_slice_bytes(&abf));
	std::vector<unsigned char> other(slices);
	uint64_t set[SB_ABF_MAX_SLICES];
	const uint64_t least = slices.size() >> 20;
	const uint64_t hash = 5;
	const int64_t at = 7;
	abf.kind = kind_of(SB_KIND_INTEGER);
	ASSERT_EQ(sb_abf_add(&abf, slices.data(), &hash, &at, 1, nullptr), SB_OK);

	expect_stops("check", least, [&] { return sb_abf_check_slices(&abf, slices.data()); });
	expect_stops("count", least, [&] { return sb_abf_count(&abf, slices.data(), set); });
	expect_stops("unite", least, [&] {
		sb_abf united = abf;
		united.generation--; /* so that slices are cleared too */
		return sb_abf_unite(&united, other.data(), &abf, slices.data());
	});
	expect_stops("add", least, [&] {
		sb_abf moved = abf;
		const int64_t later = 100000000;
		return sb_abf_add(&moved, other.data(), &hash, &later, 1, nullptr);
	});
	expect_stops("advance", least, [&] {
		sb_abf moved = abf;
		return sb_abf_advance(&moved, other.data(), moved.generation + 1000);
	});
}

TEST(Stop, Grams)
{
	const sb_gram_form form = {SB_GRAM_DEFAULT_LENGTH, true, SB_GRAM_UTF8};
	constexpr size_t size = megabytes << 20;
	std::string dots; /* folding leaves them out */
	while (dots.size() < size)
		dots.append("\u0307");
	const std::string letters(size, 'x');
	std::vector<uint64_t> grams(sb_gram_most(size));
	std::vector<uint32_t> characters(sb_gram_most(size));
	size_t count;
	for (const std::string &text : {dots, letters})
	{
		expect_stops("sb_gram_extract", 32,
					 [&] { return sb_gram_extract(&form, text.data(), text.size(), grams.data(), &count); });
		expect_stops("sb_gram_characters", 32,
					 [&] { return sb_gram_characters(&form, text.data(), text.size(), characters.data(), &count); });
	}

	struct
	{
		sb_gram_comparison comparison;
		std::string pattern;
	} patterns[] = {
		{SB_GRAM_EQUAL, letters},
		{SB_GRAM_STARTS_WITH, letters},
		{SB_GRAM_LIKE, letters},
		{SB_GRAM_LIKE_ANY_CASE, std::string(size, '%')},
		{SB_GRAM_REGEX, letters},
		{SB_GRAM_REGEX, "***=" + letters},
		{SB_GRAM_REGEX, "abcd[" + letters + "]"},
		{SB_GRAM_REGEX, "abcd[[:alpha:]" + letters + "]"},
		{SB_GRAM_REGEX, "abcd[[." + letters + ".]]"},
	};
	for (const auto &each : patterns)
		expect_stops(each.pattern.substr(0, 10).c_str(), 32, [&] {
			Memory memory;
			sb_gram_query query;
			const sb_status status = sb_gram_take_apart(&form, each.comparison, each.pattern.data(),
														each.pattern.size(), memory, &query);
			EXPECT_TRUE(status == SB_OK || query.gram_count == 0);
			sb_gram_release(memory, &query);
			return status;
		});
}
