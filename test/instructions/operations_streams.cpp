/*
 * operations_streams.cpp: the operations of sbf, ibf and abf whose instructions are counted. These filters find
 * duplicates in a stream.
 */
#include "operations.h"

#include <cmath>

namespace operations {

namespace {

/* Of the items, every tenth comes again soon. */
Hashes stream()
{
	Hashes hashes(many);
	for (size_t i = 0; i < many; i++)
		hashes[i] = random_bits(i % 10 == 9 ? i - 9 : i);
	return hashes;
}

/* Adds items in batches. Importances are given for an ibf only. */
void add_stable(const Counter &counter, sb_scheme scheme, double low, double high)
{
	const Hashes hashes = stream();
	sb_stable stable;
	ok(sb_stable_plan(65536, rate, scheme, low, high, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, 1,
					  &stable));
	Bytes cells(sb_stable_cell_bytes(&stable));
	size_t duplicates = 0;
	counter.begin();
	for (size_t i = 0; i < many; i += batch)
	{
		const size_t count = std::min(batch, many - i);
		uint8_t values[batch];
		bool before[batch];
		for (size_t j = 0; j < count; j++)
		{
			const double importance = scheme == SB_STABLE ? 0 : static_cast<double>(hashes[i + j] >> 40);
			if (scheme != SB_STABLE)
				sb_stable_note_importance(&stable, cells.data(), importance);
			values[j] = sb_stable_value_of(&stable, cells.data(), importance);
		}
		sb_stable_steps(&stable, cells.data(), &hashes[i], values, count, before);
		duplicates += static_cast<size_t>(std::count(before, before + count, true));
	}
	counter.end(many);
	demand(duplicates >= many / 10 && duplicates < many / 5, "the duplicates");
}

void sbf_add(const Counter &counter)
{
	add_stable(counter, SB_STABLE, 0, 0);
}

void ibf_add(const Counter &counter)
{
	add_stable(counter, SB_MULTI_CLASS, NAN, NAN);
}

sb_abf abf_plan()
{
	sb_abf abf;
	ok(sb_abf_plan(week, true, many, rate, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf));
	abf.kind.code = SB_KIND_INTEGER;
	return abf;
}

void abf_add(const Counter &counter)
{
	const Hashes hashes = stream();
	sb_abf abf = abf_plan();
	Bytes slices(sb_abf_slice_bytes(&abf));
	std::vector<int64_t> times(many);
	for (size_t i = 0; i < many; i++)
		times[i] = static_cast<int64_t>(i) * (2 * week / static_cast<int64_t>(many));
	size_t duplicates = 0;
	counter.begin();
	for (size_t i = 0; i < many; i += batch)
	{
		const size_t count = std::min(batch, many - i);
		bool before[batch];
		ok(sb_abf_add(&abf, slices.data(), &hashes[i], &times[i], count, before));
		duplicates += static_cast<size_t>(std::count(before, before + count, true));
	}
	counter.end(many);
	demand(duplicates >= many / 10 && duplicates < many / 5, "the duplicates");
}

void abf_lookup(const Counter &counter)
{
	const Hashes hashes = hashes_of(many / 2, many / 2);
	sb_abf abf = abf_plan();
	Bytes value(SB_ABF_HEADER + sb_abf_slice_bytes(&abf));
	const std::vector<int64_t> times(hashes.size(), hour);
	ok(sb_abf_add(&abf, value.data() + SB_ABF_HEADER, hashes.data(), times.data(), hashes.size(), nullptr));
	sb_abf_encode_header(&abf, value.data());
	look_up(counter, SB_LOOKUP_ABF, value, many / 2, is_found);
}

} // namespace

const std::vector<Operation> of_streams = {
	{"sbf_add", sbf_add, true},
	{"ibf_add", ibf_add, true},
	{"abf_add", abf_add, false},
	{"abf_lookup", abf_lookup, false},
};

} // namespace operations
