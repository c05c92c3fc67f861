/*
 * stable_support.h: an sbf or ibf that owns its cells, for the tests of both.
 */
#ifndef STREAMBLOOM_TEST_STABLE_SUPPORT_H
#define STREAMBLOOM_TEST_STABLE_SUPPORT_H

#include "stable/stable.hpp"
#include "support.h"

namespace test {

/*
 * A number of items after which the share of zero cells no longer changes. An optimised build uses as many as the
 * measurement in bench/results/papers.md.
 */
#ifdef NDEBUG
inline constexpr uint64_t long_stream = 2000000;
#else
inline constexpr uint64_t long_stream = 250000;
#endif

/* The number of an item's i-th cell, and a cell's value. */
inline uint32_t stable_cell(const sb_stable *stable, uint64_t hash, int i)
{
	return streambloom::cell_of(stable, hash, i);
}

inline uint8_t stable_value(const sb_stable *stable, const Bytes &cells, uint32_t cell)
{
	return streambloom::get_cell(cells.data(), stable->bits, cell);
}

struct Stable
{
	sb_stable parameters{};
	Bytes cells;

	explicit Stable(const sb_stable &from) : parameters(from), cells(sb_stable_cell_bytes(&from)) {}
	Stable(uint64_t bytes, sb_scheme scheme, int hashes, int bits, int64_t evictions, double fpr = 0.01,
		   uint64_t seed = 0)
	{
		double high = scheme == SB_STABLE ? 0 : scheme == SB_TWO_CLASS ? 0.5 : 1;
		double low = scheme == SB_TWO_CLASS ? 0.5 : 0;
		EXPECT_EQ(sb_stable_plan(bytes, fpr, scheme, low, high, hashes, bits, evictions, seed, &parameters), SB_OK);
		cells = Bytes(sb_stable_cell_bytes(&parameters));
	}

	int max() const { return sb_stable_max(&parameters); }
	bool step(uint64_t hash, uint8_t value)
	{
		if (parameters.kind.code == SB_KIND_NONE)
			parameters.kind = kind_of(SB_KIND_INTEGER);
		bool duplicate;
		sb_stable_steps(&parameters, cells.data(), &hash, &value, 1, &duplicate);
		return duplicate;
	}
	bool step(uint64_t hash, double importance = 1)
	{
		sb_stable_note_importance(&parameters, cells.data(), importance);
		return step(hash, sb_stable_value_of(&parameters, cells.data(), importance));
	}
	bool contains(uint64_t hash) const
	{
		Bytes header(SB_STABLE_HEADER);
		sb_lookup lookup;
		sb_stable_encode_header(&parameters, header.data());
		const Bytes stored(cells.data(), sb_stable_size(&parameters) - SB_STABLE_HEADER); /* of an empty filter, none */
		EXPECT_EQ(look_up(&lookup, SB_LOOKUP_STABLE, hash, header, stored), SB_OK);
		return lookup.found;
	}
	bool decay(uint64_t steps) { return sb_stable_decay(&parameters, cells.data(), steps); }
	uint8_t value(uint32_t cell) const { return stable_value(&parameters, cells, cell); }
	double zeros() const
	{
		uint64_t counts[SB_STABLE_MAX_VALUE + 1];
		EXPECT_EQ(sb_stable_count(&parameters, cells.data(), counts), SB_OK);
		return static_cast<double>(counts[0]) / parameters.cell_count;
	}

	/* The input of the formulas for this filter, if importances are uniform. It points to shares_ in this object. */
	sb_stable_chain chain()
	{
		shares_.resize(static_cast<size_t>(max()));
		sb_stable_uniform_shares(static_cast<sb_scheme>(parameters.scheme), max(), shares_.data());
		return {static_cast<double>(parameters.cell_count), static_cast<double>(parameters.hash_count),
				static_cast<double>(parameters.evictions),	max(),
				parameters.scheme == SB_VALUE_WEIGHTED,		shares_.data()};
	}
	Bytes stored() const
	{
		Bytes header(SB_STABLE_HEADER);
		sb_stable_encode_header(&parameters, header.data());
		return parameters.items != 0 ? header + cells : header;
	}

private:
	std::vector<double> shares_;
};

inline sb_status read(const Bytes &value, sb_stable *out)
{
	sb_status status = sb_stable_decode_header(value.data(), value.size(), value.size(), SB_STABLE_EITHER, out);
	return status != SB_OK ? status : sb_stable_check_cells(out, value.data() + SB_STABLE_HEADER);
}

inline Stable united(const Stable &a, const Stable &b)
{
	sb_stable joined;
	sb_difference difference;
	EXPECT_EQ(sb_stable_plan_union(&a.parameters, &b.parameters, &joined, &difference), SB_OK);
	Stable result(joined);
	result.cells = a.cells;
	EXPECT_EQ(sb_stable_unite(&joined, result.cells.data(), b.cells.data()), SB_OK);
	return result;
}

/* What is measured after a long stream of distinct items with uniform importances, once the filter is stable. */
struct Measured
{
	double zeros; /* the mean over the second half */
	double last_zeros;
	double false_positives; /* the rate over the second half */
	double sampling_error;	/* three standard errors of false_positives */
};

template <typename Step>
Measured measure(Stable &filter, uint64_t items, Step step)
{
	Random random(items);
	Measured result{};
	uint64_t wrong = 0;
	int looks = 0;
	for (uint64_t i = 0; i < items; i++)
	{
		/* two statements: the order in which arguments of a call are evaluated differs between compilers */
		double importance = uniform(random);
		bool duplicate = step(random(), importance);
		if (i < items / 2)
			continue;
		wrong += duplicate;
		if (i % (items / 64) == 0)
		{
			result.zeros += filter.zeros();
			looks++;
		}
	}
	double asked = static_cast<double>(items - items / 2);
	result.zeros /= looks;
	result.last_zeros = filter.zeros();
	result.false_positives = static_cast<double>(wrong) / asked;
	result.sampling_error = 3 * std::sqrt(result.false_positives / asked);
	return result;
}

inline Measured measure(Stable &filter, uint64_t items = long_stream)
{
	return measure(filter, items, [&](uint64_t hash, double importance) { return filter.step(hash, importance); });
}

} // namespace test

#endif
