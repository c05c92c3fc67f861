/*
 * values_tbf.cpp: random histories of tbf. The model keeps each hit, and counts are compared with sums of hits. A
 * count is never below the sum. If an item has a cell of its own, its count is above the sum by no more than rounding,
 * the slack (what decay may have dropped) and a thousandth. This is not checked of filters with minimum increase.
 */
#include "histories.h"
#include "tbf_support.h"

#include <iterator>
#include <map>
#include <set>

using namespace test;

namespace {

struct Counted
{
	Tbf filter;
	std::vector<Hit> hits;
	long double rounded = 0; /* by how much an item may have been rounded up, in hits at time 0 */
};

/* One unit of this filter at its base, in hits at time 0. */
long double unit_of(const Tbf &filter)
{
	return exp2l(static_cast<long double>(filter.parameters.base) - filter.parameters.unit_bits);
}

class TbfHistory
{
public:
	TbfHistory(Random &random, uint64_t *compared) : random_(random), compared_(compared) {}

	void run()
	{
		static constexpr int64_t hour = INT64_C(3600000000);
		static constexpr int64_t half_lives[] = {0, 0, 1000, hour, 24 * hour, 7 * 24 * hour};
		half_life_ = half_lives[below(random_, 6)];
		epoch_ = half_life_ == 0 ?
					 0 :
					 std::max<int64_t>(1, below(random_, 2) == 0 ?
											  half_life_ / 96 :
											  half_life_ / 7 * static_cast<int64_t>(1 + below(random_, 20)));
		raises_ = below(random_, 4) == 0;
		whole_ = below(random_, 2) == 0;
		hashes_ = static_cast<uint8_t>(1 + below(random_, 8));
		items_ = 1 + below(random_, 200);
		span_ = half_life_ == 0 ?
					1000 :
					half_life_ * static_cast<int64_t>(1 + below(random_, below(random_, 3) == 0 ? 90 : 12));
		origin_ = below(random_, 2) == 0 ? 0 :
										   half_life_ * static_cast<int64_t>(below(random_, 1000)) - half_life_ * 500;

		Counted one = built();
		check(one, "built");
		for (uint64_t steps = 1 + below(random_, 6); steps > 0 && !::testing::Test::HasFailure(); steps--)
			check(one, step(one));
	}

private:
	Hit hit()
	{
		double weight = whole_ ? static_cast<double>(1 + below(random_, 9)) : uniform(random_) * 20;
		return {sb_hash_int64(static_cast<int64_t>(below(random_, items_))),
				origin_ + static_cast<int64_t>(below(random_, static_cast<uint64_t>(span_))), weight};
	}

	sb_tbf like(uint32_t cells)
	{
		sb_tbf tbf = shape(cells, hashes_, half_life_, epoch_);
		tbf.layout = below(random_, 2) == 0 ? SB_TBF_FLAT : SB_TBF_EXTENSIBLE;
		if (raises_)
			tbf.flags |= SB_TBF_MINIMUM_INCREASE;
		return tbf;
	}

	/*
	 * An aggregate over hits. Workers that take the rows in any order must make the same bytes, unless the filter has
	 * minimum increase.
	 */
	Counted built(int doublings = -1)
	{
		Counted made;
		sb_tbf plan = like(64u << (doublings >= 0 ? static_cast<uint64_t>(doublings) : below(random_, 8)));
		for (uint64_t n = 1 + below(random_, 300); n > 0; n--)
			made.hits.push_back(hit());
		Builder sums(plan);
		sums.add(made.hits);
		made.filter = sums.stored();
		made.rounded = unit_of(made.filter);
		if (raises_)
			return made;

		std::vector<Hit> rows = made.hits;
		std::shuffle(rows.begin(), rows.end(), random_);
		std::vector<std::unique_ptr<Builder>> workers;
		for (uint64_t n = 1 + below(random_, 4); n > 0; n--)
			workers.push_back(std::make_unique<Builder>(plan));
		for (const Hit &row : rows)
			EXPECT_EQ(workers[below(random_, workers.size())]->add(row), SB_OK);
		std::shuffle(workers.begin(), workers.end(), random_);
		for (size_t i = 1; i < workers.size(); i++)
			EXPECT_EQ(workers[0]->unite(*workers[i]), SB_OK);
		EXPECT_TRUE(same_bytes(workers[0]->stored().value(), made.filter.value()));
		++*compared_;
		return made;
	}

	const char *step(Counted &one)
	{
		switch (below(random_, 7))
		{
			case 0:
				if (half_life_ != 0)
				{
					int64_t at = one.filter.parameters.newest +
								 static_cast<int64_t>(below(random_, static_cast<uint64_t>(5 * half_life_)));
					Tbf once = one.filter.decayed(at);
					bool same = once.parameters.base == one.filter.parameters.base;
					EXPECT_TRUE(same_bytes(once.decayed(at).value(), once.value())) << "decay is not idempotent";
					if (!same)
						one.rounded += unit_of(once);
					one.filter = once;
				}
				return "decayed";
			case 1:
				one.filter = one.filter.relaid();
				return "in the other layout";
			case 2: /* merged with a filter of a random size and base; the order makes no difference */
			{
				Counted other = built();
				Tbf sum = joined(one.filter, other.filter);
				EXPECT_TRUE(same_bytes(sum.value(), joined(other.filter, one.filter).value())) << "a + b is not b + a";
				one.filter = sum;
				one.hits.insert(one.hits.end(), other.hits.begin(), other.hits.end());
				one.rounded += other.rounded + unit_of(sum);
				return "merged";
			}
			case 3: /* merged with itself */
				one.filter = joined(one.filter, one.filter);
				for (Hit &hit : one.hits)
					hit.weight *= 2;
				one.rounded = 2 * one.rounded + unit_of(one.filter);
				return "doubled";
			case 4:
			{
				double by = std::ldexp(1 + uniform(random_), static_cast<int>(below(random_, 12)) - 8);
				Builder sums(one.filter.parameters);
				EXPECT_EQ(sums.add(one.filter, by), SB_OK);
				one.filter = sums.stored();
				for (Hit &hit : one.hits)
					hit.weight *= by;
				one.rounded = one.rounded * by * 1.001L + unit_of(one.filter);
				return "weighted";
			}
			case 5: /* a late or an early hit */
			{
				Hit late = hit();
				if (half_life_ != 0)
					late.at += half_life_ * (static_cast<int64_t>(below(random_, 60)) - 40);
				Builder sums(one.filter.parameters);
				EXPECT_EQ(sums.add(one.filter), SB_OK);
				EXPECT_EQ(sums.add(late), SB_OK);
				one.filter = sums.stored();
				one.hits.push_back(late);
				one.rounded += unit_of(one.filter);
				return "with one hit more";
			}
			default:
				return there_and_back(one);
		}
	}

	/* Adds a hit and takes it out again. Without decay, whole hits must lead back to the same bytes. */
	const char *there_and_back(Counted &one)
	{
		if (raises_ || sb_tbf_slack(&one.filter.parameters) != 0)
			return "as it was";
		Hit more = hit();
		Tbf before = one.filter;
		Builder sums(before.parameters);
		EXPECT_EQ(sums.add(before), SB_OK);
		EXPECT_EQ(sums.add(more), SB_OK);
		Tbf with = sums.stored();
		if (sb_tbf_slack(&with.parameters) != 0)
			return "as it was";
		sb_moment moment;
		uint64_t value;
		Tbf without;
		double most = 0;
		sb_tbf_moment(half_life_, epoch_, more.at, &moment);
		EXPECT_EQ(sb_tbf_hit(&moment, more.weight, &value), SB_OK);
		sb_status status = with.remove(more.hash, &moment, value, &without, &most);
		EXPECT_EQ(status, SB_OK);
		if (status != SB_OK)
			return "failing to remove";
		if (half_life_ == 0 && before.parameters.unit_bits == 0 && more.weight == std::floor(more.weight))
		{
			EXPECT_TRUE(same_bytes(without.cells, before.cells)) << "remove does not give back what add took";
			++*compared_;
		}
		one.filter = without;
		one.rounded += unit_of(with) + unit_of(without);
		return "with a hit taken out";
	}

	void check(const Counted &one, const char *how)
	{
		const sb_tbf &tbf = one.filter.parameters;
		ASSERT_TRUE(readable(one.filter)) << how;

		/* which items use which cells */
		std::set<uint64_t> present;
		for (const Hit &hit : one.hits)
			present.insert(hit.hash);
		std::map<uint64_t, unsigned> users;
		/*
		 * The cells that are compared here are those of the smallest filter that was merged into this one. Several
		 * cells of this filter were one cell there. If two cells of an item were one there, that cell counted the hits
		 * of the item twice.
		 */
		const uint64_t smallest = sb_tbf_cells(&tbf) >> tbf.widened;
		auto cells_of_item = [&](uint64_t hash) {
			uint16_t positions[SB_TBF_MAX_HASHES];
			tbf_positions(&tbf, hash, positions);
			std::vector<uint64_t> cells;
			for (int i = 0; i < tbf.hash_count; i++)
				if (smallest >= SB_TBF_BLOCK)
					cells.push_back(uint64_t{tbf_block(&tbf, hash)} * (smallest / SB_TBF_BLOCK) / tbf.block_count *
										SB_TBF_BLOCK +
									positions[i]);
				else
					cells.push_back(positions[i] * smallest / tbf.block_cells);
			return cells;
		};
		for (uint64_t hash : present)
			for (uint64_t cell : cells_of_item(hash))
				users[cell]++;

		std::vector<int64_t> times = {tbf.newest,
									  tbf.newest + static_cast<int64_t>(below(random_, static_cast<uint64_t>(span_)))};
		if (half_life_ != 0)
			times.push_back(tbf.newest - static_cast<int64_t>(below(random_, static_cast<uint64_t>(span_))));
		for (int64_t at : times)
		{
			std::map<uint64_t, long double> exact;
			for (const Hit &hit : one.hits)
				exact[hit.hash] += static_cast<long double>(hit.weight) * faded(half_life_, epoch_, hit.at, at);
			for (auto [hash, sum] : exact)
			{
				double count = one.filter.count(hash, at);
				ASSERT_TRUE(std::isfinite(count)) << how;
				ASSERT_GE(static_cast<long double>(count), sum * (1 - 1e-15L))
					<< how << ": undercounts " << hash << " at " << at;
				++*compared_;
				bool alone = false;
				for (uint64_t cell : cells_of_item(hash))
					alone = alone || users[cell] == 1;
				if (!alone || raises_)
					continue;
				sb_moment moment;
				sb_tbf_moment(half_life_, epoch_, at, &moment);
				long double then = half_life_ == 0 ? 1 :
													 exp2l(-static_cast<long double>(moment.half_lives)) * 0x1p62L /
														 static_cast<long double>(moment.scale);
				long double slack = exp2l(static_cast<long double>(tbf.base)) *
									static_cast<long double>(sb_tbf_slack(&tbf)) / 4096;
				ASSERT_LE(static_cast<long double>(count), sum * 1.001L + (one.rounded + slack) * then * 1.001L)
					<< how << ": overcounts " << hash << " at " << at
					<< ", which has a cell of its own: " << static_cast<double>(sum);
				if (half_life_ == 0 && whole_ && tbf.unit_bits == 0)
				{
					ASSERT_EQ(static_cast<long double>(count), sum) << how << ": whole hits without decay are exact";
				}
				++*compared_;
			}
			long double all = 0;
			for (auto [hash, sum] : exact)
				all += sum;
			ASSERT_GE(static_cast<long double>(sb_tbf_total(&tbf, at)), all * (1 - 1e-15L))
				<< how << ": the total is too small";
			++*compared_;
		}
	}

	Random &random_;
	uint64_t *compared_;
	int64_t half_life_ = 0;
	int64_t epoch_ = 0;
	bool raises_ = false;
	bool whole_ = false;
	uint8_t hashes_ = 1;
	uint64_t items_ = 1;
	int64_t span_ = 1;
	int64_t origin_ = 0;
};

} // namespace

TEST(AttackValues, TbfNeverUndercountsAndHardlyOvercounts)
{
	run_histories("tbf", 5000, [](Random &random, uint64_t *compared) { TbfHistory(random, compared).run(); });
}
