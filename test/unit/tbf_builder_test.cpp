/*
 * tbf_builder_test.cpp: sb_tbf_builder as a whole. Whatever the form of its sums, and however these were split, sent
 * and united, the stored bytes are the same. Also: what is refused, the list of hot items, recurring minimum.
 */
#include "tbf_builder_support.h"

#include <map>

using namespace test;

/* ------------------------------------------------------------- the same bytes */

TEST(TbfBuilder, FormOrderAndSplitsLeaveNoTrace)
{
	Random random(1);
	Memory memory;
	for (int64_t half_life : {INT64_C(0), hour})
		for (uint64_t items : {10u, 300u, 6000u})
			for (int64_t hours : {1, 40, 100})
			{
				const sb_tbf plan = planned(1000, half_life);
				std::vector<Hit> hits = hits_of(random, 3 * items, items, hours);
				Owned cells = begun(memory, plan, SB_TBF_SUMS_OF_CELLS);
				add_all(cells.get(), hits);
				const Tbf expected = stored_by(cells.get());
				expect_no_undercount(expected, hits);

				Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
				add_all(whole.get(), hits);
				ASSERT_TRUE(same_bytes(stored_by(whole.get()).value(), expected.value()));

				std::shuffle(hits.begin(), hits.end(), random);
				for (size_t parts : {1u, 2u, 5u})
				{
					std::vector<Owned> workers;
					for (size_t i = 0; i < parts; i++)
						workers.push_back(begun(memory, plan, i == 3 ? SB_TBF_SUMS_OF_CELLS : SB_TBF_SUMS_OF_ITEMS));
					for (size_t i = 0; i < hits.size(); i++)
						ASSERT_EQ(add(workers[i % parts].get(), hits[i]), SB_OK);
					sb_tbf_builder *like;
					ASSERT_EQ(sb_tbf_builder_like(memory, workers[0].get(), &like), SB_OK);
					Owned leader(like);
					for (const Owned &worker : workers)
					{
						const Bytes bytes = sent(worker.get());
						Owned there = arrived(memory, bytes);
						ASSERT_EQ(unite(leader.get(), there.get()), SB_OK);
					}
					ASSERT_TRUE(same_bytes(stored_by(leader.get()).value(), expected.value()))
						<< parts << " parts that were sent";
					for (size_t i = 1; i < parts; i++)
						ASSERT_EQ(unite(workers[0].get(), workers[i].get()), SB_OK);
					ASSERT_TRUE(same_bytes(stored_by(workers[0].get()).value(), expected.value())) << parts << " parts";
				}
			}
}

/*
 * Two items count as one if their hashes have the same kept bits (SB_KEPT_HASH_MASK). This holds for every form of
 * builder, and for whatever the builder or the filter is asked.
 */
TEST(TbfBuilder, BitsThatAreNotKeptLeaveNoTrace)
{
	Random random(10);
	Memory memory;
	sb_tbf recurring = shape(256, 4, 0, 0);
	recurring.flags |= SB_TBF_RECURRING_MINIMUM;
	for (const auto &[plan, self_sized] : std::initializer_list<std::pair<sb_tbf, bool>>{{planned(1000, hour), false},
																						 {planned(0, hour, true), true},
																						 {planned(0, 0, true), true},
																						 {recurring, false}})
		for (uint64_t items : {20u, 3000u, 70000u})
		{
			std::vector<Hit> hits = hits_of(random, 2 * items, items, plan.half_life == 0 ? 0 : 40);
			Owned builder = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, self_sized);
			add_all(builder.get(), hits);
			Tbf filter = stored_by(builder.get());

			Owned other = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, self_sized);
			for (Hit &hit : hits)
			{
				hit.hash ^= random() & ~SB_KEPT_HASH_MASK;
				ASSERT_EQ(add(other.get(), hit), SB_OK);
			}
			ASSERT_TRUE(same_bytes(stored_by(other.get()).value(), filter.value()));
			if ((plan.flags & SB_TBF_RECURRING_MINIMUM) == 0)
			{
				Owned united = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, self_sized);
				const Bytes bytes = sent(other.get());
				ASSERT_EQ(unite(united.get(), arrived(memory, bytes).get()), SB_OK);
				ASSERT_TRUE(same_bytes(stored_by(united.get()).value(), filter.value()));
			}
			const int64_t at = 40 * hour;
			for (size_t i = 0; i < 200; i++)
			{
				const Hit &hit = hits[random() % hits.size()];
				const uint64_t changed = hit.hash ^ (random() & ~SB_KEPT_HASH_MASK);
				double estimate[2];
				ASSERT_GT(filter.count(changed, at), 0);
				ASSERT_EQ(filter.count(changed, at), filter.count(hit.hash, at));
				ASSERT_EQ(sb_tbf_estimate(&filter.parameters, filter.cells.data(), hit.hash, at, &estimate[0]), SB_OK);
				ASSERT_EQ(sb_tbf_estimate(&filter.parameters, filter.cells.data(), changed, at, &estimate[1]), SB_OK);
				ASSERT_EQ(estimate[0], estimate[1]);
			}
			sb_moment moment;
			uint64_t value;
			double most;
			Tbf without[2];
			sb_tbf_moment(plan.half_life, plan.epoch, hits[0].at, &moment);
			ASSERT_EQ(sb_tbf_hit(&moment, hits[0].weight, &value), SB_OK);
			if ((plan.flags & SB_TBF_RECURRING_MINIMUM) == 0)
			{
				ASSERT_EQ(filter.remove(hits[0].hash, &moment, value, &without[0], &most), SB_OK);
				ASSERT_EQ(filter.remove(hits[0].hash ^ 1, &moment, value, &without[1], &most), SB_OK);
				ASSERT_TRUE(same_bytes(without[0].value(), without[1].value()));
			}
		}
}

TEST(TbfBuilder, OneThatSizesItselfIsExactOrTheFilterOfThatSize)
{
	Random random(2);
	Memory memory;
	for (uint64_t items : {1u, 10u, 5000u, 40000u, 65536u, 65537u, 150000u})
	{
		const std::vector<Hit> hits = hits_of(random, 4 * items, items, 20);
		std::map<uint64_t, int> distinct;
		for (const Hit &hit : hits)
			distinct[hit.hash]++;
		const sb_tbf any = planned(1, hour, true);
		Owned builder = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
		Owned other = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
		for (size_t i = 0; i < hits.size(); i++)
			ASSERT_EQ(add(i % 3 == 0 ? other.get() : builder.get(), hits[i]), SB_OK);
		const Bytes bytes = sent(other.get());
		Owned there = arrived(memory, bytes);
		ASSERT_EQ(unite(builder.get(), there.get()), SB_OK);
		const Tbf filter = stored_by(builder.get());
		if (distinct.size() <= SB_TBF_EXACT_ITEMS)
		{
			EXPECT_EQ(filter.parameters.flags & SB_TBF_EXACT, SB_TBF_EXACT);
			EXPECT_EQ(filter.parameters.item_count, distinct.size());
			expect_no_undercount(filter, hits);
			continue;
		}
		Owned told = begun(memory, planned(distinct.size(), hour, true), SB_TBF_SUMS_OF_CELLS);
		add_all(told.get(), hits);
		EXPECT_TRUE(same_bytes(filter.value(), stored_by(told.get()).value())) << items;
	}
}

/*
 * In a builder of items, filters with cells have counters of their own, and the list of hot items belongs to the
 * items. If such a builder is sent, these counters and the list must both arrive.
 */
TEST(TbfBuilder, AListTravelsWithFiltersThatHaveCells)
{
	Random random(13);
	Memory memory;
	sb_tbf told = shape(512, 4, 0, 0);
	told.top = 10;
	Owned first = begun(memory, told, SB_TBF_SUMS_OF_ITEMS);
	add_all(first.get(), hits_of(random, 300, 8, 1));
	const Tbf filter = stored_by(first.get());
	ASSERT_GT(filter.parameters.extra, streambloom::top_section_size);
	Owned builder = begun(memory, told, SB_TBF_SUMS_OF_ITEMS, true);
	sb_difference difference;
	ASSERT_EQ(sb_tbf_builder_add_filter(builder.get(), &filter.parameters, filter.cells.data(), 1, &difference), SB_OK);
	const Bytes bytes = sent(builder.get());
	Owned there = arrived(memory, bytes);
	EXPECT_TRUE(same_bytes(stored_by(there.get()).value(), filter.value()));
	Owned leader = begun(memory, told, SB_TBF_SUMS_OF_ITEMS, true);
	ASSERT_EQ(unite(leader.get(), there.get()), SB_OK);
	EXPECT_TRUE(same_bytes(stored_by(leader.get()).value(), filter.value()));
}

/*
 * A builder with merged filters can be sent, however far apart the times of the filters are: it passes the checks of
 * the receiver.
 */
TEST(TbfBuilder, MergedFiltersTravelHoweverFarApartTheyAre)
{
	Random random(14);
	Memory memory;
	for (int64_t half_life : {INT64_C(0), hour})
		for (int64_t apart : {0, 1, 31, 32, 33, 34, 64, 1000})
			for (int64_t first : {-2000, -1, 0})
			{
				const sb_tbf plan = planned(20, half_life);
				Owned merged = begun(memory, plan, SB_TBF_SUMS_OF_CELLS);
				for (int64_t start : {first, first + apart})
				{
					std::vector<Hit> hits = hits_of(random, 20, 20, 3);
					for (Hit &hit : hits)
						hit.at += start * hour;
					Owned of = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
					add_all(of.get(), hits);
					const Tbf filter = stored_by(of.get());
					sb_difference difference;
					ASSERT_EQ(sb_tbf_builder_add_filter(merged.get(), &filter.parameters, filter.cells.data(), 1,
														&difference),
							  SB_OK);
					Owned there = arrived(memory, sent(merged.get()));
					ASSERT_NE(there, nullptr) << half_life << ", " << apart << " from " << first;
					ASSERT_TRUE(same_bytes(stored_by(there.get()).value(), stored_by(merged.get()).value()));
				}
			}
}

/*
 * Whatever the order of merging, the number of builders and the form of the parts, the result has the same bytes, and
 * there is no undercount.
 */
TEST(TbfBuilder, MergesExactFiltersAndFiltersWithCellsInAnyOrder)
{
	Random random(12);
	Memory memory;
	for (int round = 0; round < 40; round++)
	{
		const int64_t half_life = round % 3 == 0 ? 0 : hour;
		sb_tbf any = planned(1, half_life, true);
		sb_tbf told = shape(round % 2 == 0 ? 512 : 4096, any.hash_count, half_life, any.epoch);
		told.layout = SB_TBF_EXTENSIBLE;
		told.expected_items = round % 4 < 2 ? 100 : 0;
		std::vector<Tbf> parts;
		std::vector<double> weights;
		std::vector<Hit> all;
		for (int part = 0; part < 6; part++)
		{
			const bool exact = round % 5 != 0 && (part % 2 == 0 || round % 5 == 1);
			const std::vector<Hit> hits = hits_of(random, 60, 40, 1 + round);
			Owned builder = begun(memory, exact ? any : told, SB_TBF_SUMS_OF_ITEMS, exact);
			add_all(builder.get(), hits);
			parts.push_back(stored_by(builder.get()));
			EXPECT_EQ(streambloom::is_exact(&parts.back().parameters), exact);
			weights.push_back(part == 3 ? 0.375 : part == 4 ? 1000 : 1);
			for (Hit hit : hits)
			{
				hit.weight *= weights.back();
				all.push_back(hit);
			}
		}
		std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
		Bytes expected;
		for (int way = 0; way < 8; way++)
		{
			Owned builder = begun(memory, way % 2 == 0 ? any : told, SB_TBF_SUMS_OF_ITEMS, true);
			Owned worker = begun(memory, any, SB_TBF_SUMS_OF_ITEMS, true);
			for (size_t i : order)
			{
				sb_difference difference;
				sb_tbf_builder *to = way > 3 && i % 2 == 1 ? worker.get() : builder.get();
				ASSERT_EQ(
					sb_tbf_builder_add_filter(to, &parts[i].parameters, parts[i].cells.data(), weights[i], &difference),
					SB_OK);
			}
			const Bytes bytes = sent(worker.get());
			if (way > 3)
			{
				Owned there = arrived(memory, bytes);
				ASSERT_EQ(unite(builder.get(), way % 2 == 0 ? there.get() : worker.get()), SB_OK);
			}
			const Tbf merged = stored_by(builder.get());
			expect_no_undercount(merged, all);
			if (way == 0)
				expected = merged.value();
			ASSERT_TRUE(same_bytes(merged.value(), expected)) << round << " " << way;
			std::shuffle(order.begin(), order.end(), random);
		}
	}
}

TEST(TbfBuilder, AddsStoredFiltersAsTheirHits)
{
	Random random(4);
	Memory memory;
	const sb_tbf plan = planned(1000, 0);
	const std::vector<Hit> hits = hits_of(random, 2000, 700, 0);
	Owned half = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
	Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
	Owned rest = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
	for (size_t i = 0; i < hits.size(); i++)
	{
		ASSERT_EQ(add(i % 2 == 0 ? half.get() : rest.get(), {hits[i].hash, 0, 1}), SB_OK);
		ASSERT_EQ(add(whole.get(), {hits[i].hash, 0, i % 2 == 0 ? 3.0 : 1.0}), SB_OK);
	}
	const Tbf filter = stored_by(half.get());
	sb_difference difference;
	ASSERT_EQ(sb_tbf_builder_add_filter(rest.get(), &filter.parameters, filter.cells.data(), 3, &difference), SB_OK);
	EXPECT_TRUE(same_bytes(stored_by(rest.get()).value(), stored_by(whole.get()).value()))
		<< "a builder of items takes a filter, too";

	sb_tbf_builder *of;
	ASSERT_EQ(sb_tbf_builder_of(memory, &filter.parameters, filter.cells.data(), &of), SB_OK);
	Owned again(of);
	EXPECT_TRUE(same_bytes(stored_by(again.get()).value(), filter.value()));
	for (double weight : {-1.0, SB_TBF_MAX_WEIGHT, std::nan("")})
	{
		EXPECT_EQ(sb_tbf_builder_add_filter(again.get(), &filter.parameters, filter.cells.data(), weight, &difference),
				  SB_OUT_OF_RANGE);
	}
	EXPECT_TRUE(same_bytes(stored_by(again.get()).value(), filter.value()));
}

/* Builders and filters that are smaller by a power of two are widened. */
TEST(TbfBuilder, UnitesCellsOfOtherSizes)
{
	Random random(5);
	Memory memory;
	const sb_tbf small = shape(128, 3, hour, hour);
	const sb_tbf large = shape(512, 3, hour, hour);
	const std::vector<Hit> left = hits_of(random, 300, 60, 30);
	const std::vector<Hit> right = hits_of(random, 300, 60, 30);
	const Tbf expected = joined(stored(small, left), stored(large, right));
	for (bool small_first : {true, false})
	{
		Owned a = begun(memory, small, SB_TBF_SUMS_OF_CELLS);
		Owned b = begun(memory, large, SB_TBF_SUMS_OF_CELLS);
		add_all(a.get(), left);
		add_all(b.get(), right);
		ASSERT_EQ(small_first ? unite(a.get(), b.get()) : unite(b.get(), a.get()), SB_OK);
		EXPECT_EQ(sb_tbf_cells(sb_tbf_builder_parameters((small_first ? a : b).get())), 512u);
		const Tbf both = stored_by((small_first ? a : b).get());
		std::vector<Hit> all = left;
		all.insert(all.end(), right.begin(), right.end());
		expect_no_undercount(both, all);
		EXPECT_EQ(both.parameters.widened, expected.parameters.widened);
	}
}

/* ------------------------------------------------------------------ different ones */

TEST(TbfBuilder, DifferentOnesAreRefusedAndStayAsTheyWere)
{
	Memory memory;
	const sb_tbf plan = planned(1000, hour);
	auto expect_refused = [&](const sb_tbf &a, sb_tbf_sums_of a_of, bool a_self_sized, const sb_tbf &b,
							  sb_tbf_sums_of b_of, bool b_self_sized, const char *parameter) {
		Owned left = begun(memory, a, a_of, a_self_sized);
		Owned right = begun(memory, b, b_of, b_self_sized);
		ASSERT_EQ(add(left.get(), {1, hour, 1}), SB_OK);
		ASSERT_EQ(add(right.get(), {2, hour, 1}), SB_OK);
		const Bytes before = sent(left.get());
		sb_difference difference;
		EXPECT_EQ(sb_tbf_builder_unite(left.get(), right.get(), &difference), SB_DIFFERENT);
		EXPECT_STREQ(difference.parameter, parameter);
		EXPECT_TRUE(same_bytes(sent(left.get()), before));
	};
	sb_tbf other = plan;
	other.kind = kind_of(SB_KIND_TEXT, 6);
	for (sb_tbf_sums_of of : {SB_TBF_SUMS_OF_ITEMS, SB_TBF_SUMS_OF_CELLS})
		expect_refused(plan, of, false, other, of, false, "kind");
	other = planned(1000, 2 * hour);
	expect_refused(plan, SB_TBF_SUMS_OF_CELLS, false, other, SB_TBF_SUMS_OF_CELLS, false, "half_life");
	expect_refused(plan, SB_TBF_SUMS_OF_ITEMS, false, other, SB_TBF_SUMS_OF_ITEMS, false, nullptr);
	expect_refused(plan, SB_TBF_SUMS_OF_ITEMS, false, planned(9000, hour), SB_TBF_SUMS_OF_CELLS, false, nullptr);
	const sb_tbf any = planned(1, hour, true);
	expect_refused(any, SB_TBF_SUMS_OF_ITEMS, true, plan, SB_TBF_SUMS_OF_ITEMS, false, nullptr);
}

/* --------------------------------------------------------------------- travelling */

/* A builder of items that has arrived can be used like any other: whatever is done with it, nothing is lost. */
TEST(TbfBuilder, OneThatArrivedCanBeUsedInAnyWay)
{
	Random random(6);
	Memory memory;
	for (bool self_sized : {false, true})
		for (uint64_t items : {0u, 5u, 3000u})
		{
			sb_tbf plan = planned(1000, hour, self_sized);
			plan.top = 20;
			Owned here = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, self_sized);
			const std::vector<Hit> hits = items == 0 ? std::vector<Hit>() : hits_of(random, 3 * items, items, 40);
			add_all(here.get(), hits);
			const Bytes bytes = sent(here.get());
			const Hit one = {hash_of(77), 40 * hour, 2};

			Owned stored_at_once = arrived(memory, bytes);
			EXPECT_TRUE(same_bytes(stored_by(stored_at_once.get()).value(), stored_by(here.get()).value()));
			Owned sent_on = arrived(memory, bytes);
			EXPECT_TRUE(same_bytes(sent(sent_on.get()), bytes));
			EXPECT_TRUE(same_bytes(stored_by(sent_on.get()).value(), stored_by(here.get()).value()));
			Owned added_to = arrived(memory, bytes);
			ASSERT_EQ(add(added_to.get(), one), SB_OK);
			Owned united = arrived(memory, bytes);
			Owned other = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS, self_sized);
			ASSERT_EQ(add(other.get(), one), SB_OK);
			const Bytes of_other = sent(other.get());
			Owned other_arrived = arrived(memory, of_other);
			ASSERT_EQ(unite(united.get(), other_arrived.get()), SB_OK);
			Owned lone = arrived(memory, bytes); /* it is never used */

			const Tbf before = stored_by(here.get());
			ASSERT_EQ(add(here.get(), one), SB_OK);
			const Tbf expected = stored_by(here.get());
			EXPECT_TRUE(same_bytes(stored_by(added_to.get()).value(), expected.value()));
			EXPECT_EQ(stored_by(united.get()).counters(), expected.counters());
			{
				Owned takes_a_filter = arrived(memory, bytes);
				sb_difference difference;
				ASSERT_EQ(sb_tbf_builder_add_filter(takes_a_filter.get(), &before.parameters, before.cells.data(), 1,
													&difference),
						  SB_OK);
				std::vector<Hit> twice = hits;
				twice.insert(twice.end(), hits.begin(), hits.end());
				expect_no_undercount(stored_by(takes_a_filter.get()), twice);
			}
		}
}

TEST(TbfBuilder, DamagedBytesAreRefused)
{
	Random random(7);
	Memory memory;
	for (sb_tbf_sums_of of : {SB_TBF_SUMS_OF_ITEMS, SB_TBF_SUMS_OF_CELLS})
	{
		sb_tbf plan = shape(128, 3, hour, hour);
		plan.layout = SB_TBF_EXTENSIBLE;
		plan.top = 5;
		Owned builder = begun(memory, plan, of);
		add_all(builder.get(), hits_of(random, 60, 20, 40));
		const Bytes good = sent(builder.get());
		sb_tbf_builder *out;
		for (size_t size = 0; size < good.size(); size++)
		{
			const Bytes cut(good.data(), size);
			EXPECT_NE(sb_tbf_builder_deserialize(memory, cut.data(), cut.size(), &out), SB_OK) << size;
			EXPECT_EQ(out, nullptr);
		}
		const Bytes longer = good + Bytes(1);
		EXPECT_EQ(sb_tbf_builder_deserialize(memory, longer.data(), longer.size(), &out), SB_BAD_LENGTH);

		/* bytes that are not refused can be used */
		uint64_t taken = 0;
		for (int i = 0; i < 20000; i++)
		{
			Bytes bytes = good;
			for (int changes = i % 3; changes >= 0; changes--)
				bytes[random() % good.size()] ^= static_cast<unsigned char>(1u << (random() % 8));
			if (sb_tbf_builder_deserialize(memory, bytes.data(), bytes.size(), &out) != SB_OK)
				continue;
			Owned damaged(out);
			Owned into = begun(memory, plan, of);
			Tbf filter;
			void *value;
			taken++;
			ASSERT_EQ(add(into.get(), {1, 30 * hour, 1}), SB_OK);
			(void) !unite(into.get(), damaged.get());
			Memory room;
			for (sb_tbf_builder *any : {into.get(), damaged.get()})
				if (sb_tbf_builder_store(any, room, 0, &filter.parameters, &value) == SB_OK)
					room.memory.release(room.memory.context, value);
		}
		EXPECT_GT(taken, 1000u);
	}

	/* builders with recurring minimum cannot be sent */
	sb_tbf plan = shape(128, 3, 0, 0);
	plan.flags |= SB_TBF_RECURRING_MINIMUM;
	Owned builder = begun(memory, plan, SB_TBF_SUMS_OF_CELLS);
	void *bytes;
	size_t size;
	EXPECT_EQ(sb_tbf_builder_serialize(builder.get(), memory, 0, SIZE_MAX, &bytes, &size), SB_DIFFERENT);
	EXPECT_EQ(bytes, nullptr);
}

/*
 * Damaged bytes could have sums in a builder without hits, and these would be stored with the first hit that comes.
 * They could also have a flag that only merged filters set, and an oldest base, although there is no filter. Both
 * must be refused.
 */
TEST(TbfBuilder, SumsWithoutHitsAreRefused)
{
	/* the place of dropped_total and dropped_loss; behind them each plane has three numbers and a byte */
	constexpr size_t notes = SB_TBF_HEADER + 6 + 4 * 8;
	constexpr size_t wide = 16;
	Memory memory;
	for (const int64_t half_life : {INT64_C(0), hour})
	{
		const Owned empty = begun(memory, planned(1, half_life, true), SB_TBF_SUMS_OF_ITEMS, true);
		const Bytes good = sent(empty.get());
		(void) arrived(memory, good);
		std::vector<size_t> places = {notes, notes + wide};
		for (const size_t flag : {size_t{4}, size_t{5}}) /* "was merged", "has fractions" */
		{
			Bytes bytes = good;
			sb_tbf_builder *out;
			bytes[SB_TBF_HEADER + flag] = 1;
			std::fill_n(&bytes[SB_TBF_HEADER + 6 + 2 * 8], 8, static_cast<unsigned char>(0xff)); /* oldest base: -1 */
			EXPECT_EQ(sb_tbf_builder_deserialize(memory, bytes.data(), bytes.size(), &out), SB_BAD_HEADER) << flag;
			EXPECT_EQ(out, nullptr);
		}
		for (size_t plane = 0; plane < SB_TBF_PLANES; plane++)
			for (size_t i = 0; i < 3; i++)
				places.push_back(notes + 2 * wide + plane * (3 * wide + 1) + i * wide);
		for (const size_t place : places)
			for (const size_t byte : {size_t{0}, wide - 1})
			{
				Bytes bytes = good;
				sb_tbf_builder *out;
				bytes[place + byte] = 1;
				EXPECT_EQ(sb_tbf_builder_deserialize(memory, bytes.data(), bytes.size(), &out), SB_BAD_HEADER) << place;
				EXPECT_EQ(out, nullptr);
			}
	}
}

/* ------------------------------------------------------------------ hot items */

TEST(TbfBuilder, AHotHitWithoutTextIsInTheError)
{
	Memory memory;
	sb_tbf plan = shape(64, 2, 0, 0);
	plan.top = 3;
	Owned builder = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
	sb_moment moment;
	sb_tbf_moment(0, 0, 0, &moment);
	uint64_t value;
	ASSERT_EQ(sb_tbf_hit(&moment, 5, &value), SB_OK);
	for (uint64_t hash : {1u, 2u, 1u})
	{
		ASSERT_EQ(sb_tbf_builder_add_hit(builder.get(), hash, &moment, value), SB_OK);
		EXPECT_TRUE(sb_tbf_builder_add_hot_hit(builder.get(), hash, &moment, 5));
	}
	const std::string long_text(SB_TOP_MAX_ITEM, 'x');
	ASSERT_EQ(sb_tbf_builder_name_hot_item(builder.get(), long_text.data(), long_text.size()), SB_OK);
	ASSERT_EQ(sb_tbf_builder_name_hot_item(builder.get(), "again", 5), SB_OK) << "there is nothing to name";
	const Tbf filter = stored_by(builder.get());
	streambloom::top_section section;
	sb_top_item item;
	ASSERT_EQ(streambloom::top_open(filter.cells.data() + streambloom::counters_size(&filter.parameters),
									filter.parameters.extra, 3, filter.parameters.total, &section),
			  SB_OK);
	ASSERT_TRUE(streambloom::top_next(&section, &item));
	EXPECT_EQ(item.hash, 1u);
	EXPECT_EQ(item.length, size_t{SB_TOP_MAX_ITEM});
	EXPECT_EQ(item.least >> section.fraction_bits, 5u);
	EXPECT_EQ(section.error >> section.fraction_bits, 10u);
	EXPECT_FALSE(streambloom::top_next(&section, &item));

	/* a builder without a list wants no hot hits */
	plan.top = 0;
	Owned none = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
	EXPECT_FALSE(sb_tbf_builder_add_hot_hit(none.get(), 1, &moment, 5));
}

/* -------------------------------------------------------------- recurring minimum */

/* The table of recurring minimum is the one that a few plain lines compute from its rule (tbf_recurring.cpp). */
TEST(TbfBuilder, RecurringMinimumKeepsItsTable)
{
	Random random(8);
	Memory memory;
	sb_tbf plan = shape(256, 4, 0, 0);
	plan.flags |= SB_TBF_RECURRING_MINIMUM;
	const std::vector<Hit> hits = hits_of(random, 3000, 400, 0);
	std::vector<uint64_t> cells(256);
	std::map<uint64_t, uint64_t> expected;
	for (const Hit &hit : hits)
	{
		uint16_t positions[SB_TBF_MAX_HASHES];
		const auto value = static_cast<uint64_t>(hit.weight * 4096);
		tbf_positions(&plan, hit.hash, positions);
		for (int i = 0; i < plan.hash_count; i++)
			cells[positions[i]] += value;
		if (auto found = expected.find(hit.hash & SB_KEPT_HASH_MASK); found != expected.end())
		{
			found->second += value;
			continue;
		}
		uint64_t least = UINT64_MAX;
		for (int i = 0; i < plan.hash_count; i++)
			least = std::min(least, cells[positions[i]]);
		std::map<uint16_t, bool> holders;
		for (int i = 0; i < plan.hash_count; i++)
			if (cells[positions[i]] == least)
				holders[positions[i]] = true;
		if (holders.size() == 1)
			expected[hit.hash & SB_KEPT_HASH_MASK] = least;
	}
	ASSERT_GT(expected.size(), 100u);

	/* one builder gets all hits; another one is stored in the middle and begun again */
	Owned whole = begun(memory, plan, SB_TBF_SUMS_OF_ITEMS);
	add_all(whole.get(), hits);
	Owned first = begun(memory, plan, SB_TBF_SUMS_OF_CELLS);
	add_all(first.get(), {hits.begin(), hits.begin() + 1500});
	const Tbf middle = stored_by(first.get());
	sb_tbf_builder *of;
	ASSERT_EQ(sb_tbf_builder_of(memory, &middle.parameters, middle.cells.data(), &of), SB_OK);
	Owned second(of);
	add_all(second.get(), {hits.begin() + 1500, hits.end()});
	for (sb_tbf_builder *builder : {whole.get(), second.get()})
	{
		const Tbf filter = stored_by(builder);
		const unsigned char *table = filter.cells.data() + streambloom::counters_size(&filter.parameters);
		ASSERT_EQ(streambloom::recurring_entries(&filter.parameters), expected.size());
		uint64_t i = 0;
		for (const auto &[hash, units] : expected)
		{
			streambloom::recurring_entry entry;
			streambloom::read_entry(table, i++, &entry);
			ASSERT_EQ(entry.hash, hash);
			ASSERT_EQ(entry.hits, units);
		}
	}
	sb_difference difference;
	EXPECT_EQ(sb_tbf_builder_unite(whole.get(), first.get(), &difference), SB_DIFFERENT);
	EXPECT_STREQ(difference.parameter, "recurring_minimum");
}
