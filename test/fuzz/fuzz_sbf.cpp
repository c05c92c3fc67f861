/*
 * fuzz_sbf.cpp: takes any bytes as a stored sbf or ibf. Either they are refused, or every reader works on them and
 * these promises hold: an item is found right after its step; each value that the core writes can be read again; a
 * cell of a union has the larger one of its two values; decay in two parts gives the same as decay at once, also when
 * nothing is left.
 *
 * Input: a hash, a number that makes choices, then the value.
 */
#include "fuzz_support.h"
#include "stable/stable.hpp"

#include <algorithm>
#include <cmath>

using namespace fuzz;
using streambloom::cell_of;

const size_t fuzz::prefix_size = 16;

Input fuzz::make_input(Random &random)
{
	Input input;
	append_number(&input, random());
	append_number(&input, odd_number(random));

	sb_stable stable{};
	auto scheme = static_cast<sb_scheme>(random() % 4);
	double low = scheme == SB_STABLE ? 0 : -2.5;
	double high = scheme == SB_STABLE || scheme == SB_TWO_CLASS ? low : 7;
	int bits = static_cast<int>((scheme == SB_STABLE ? 1 : 2) + random() % 7);
	if (sb_stable_plan(64 + random() % 100, 0.01, scheme, low, high, static_cast<int>(1 + random() % 16), bits,
					   static_cast<int64_t>(random() % 64), random(), &stable) != SB_OK)
		return input;
	size_t header = input.size();
	input.resize(header + SB_STABLE_HEADER + sb_stable_cell_bytes(&stable));
	unsigned char *cells = input.data() + header + SB_STABLE_HEADER;
	if (uint64_t items = random() % 300; items > 0)
	{
		stable.kind.code = static_cast<uint16_t>(1 + random() % 11);
		for (; items > 0; items--)
		{
			const uint64_t hash = random();
			const auto value = static_cast<uint8_t>(1 + random() % static_cast<uint64_t>(sb_stable_max(&stable)));
			sb_stable_steps(&stable, cells, &hash, &value, 1, nullptr);
		}
	}
	(void) sb_stable_decay(&stable, cells, random() % 50);
	input.resize(header + sb_stable_size(&stable));
	sb_stable_encode_header(&stable, input.data() + header);
	return input;
}

/* True if the core's own readers accept the filter, and write its header to the same bytes. */
static bool readable(const sb_stable &stable, const Copy &cells)
{
	Copy header(SB_STABLE_HEADER);
	Copy again(SB_STABLE_HEADER);
	sb_stable out;
	sb_stable_encode_header(&stable, header.data());
	if (sb_stable_decode_header(header.data(), SB_STABLE_HEADER, sb_stable_size(&stable), SB_STABLE_EITHER, &out) !=
			SB_OK ||
		sb_stable_check_cells(&out, cells.data()) != SB_OK)
		return false;
	sb_stable_encode_header(&out, again.data());
	return header == again;
}

static uint8_t value_of(const Copy &cells, const sb_stable &stable, uint32_t cell)
{
	return streambloom::get_cell(cells.data(), stable.bits, cell);
}

/* Looks an item up in these cells. A filter without a kind finds nothing, so it is given a kind here. */
static bool contains(sb_stable stable, const Copy &cells, uint64_t hash)
{
	Input value(SB_STABLE_HEADER);
	if (stable.kind.code == SB_KIND_NONE)
		stable.kind.code = SB_KIND_INTEGER;
	stable.items = std::max<uint64_t>(stable.items, 1);
	stable.steps = std::max(stable.steps, stable.items);
	sb_stable_encode_header(&stable, value.data());
	value.insert(value.end(), cells.data(), cells.data() + cells.size());
	sb_lookup lookup;
	FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_STABLE, hash, Copy(value.data(), value.size())) == SB_OK);
	return lookup.found;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Reader reader(data, size);
	uint64_t hash = reader.number();
	uint64_t choice = reader.number();
	Copy value(reader.data(), reader.size());

	/* the first bytes of a value are enough for the header, and give the same status */
	sb_stable stable;
	sb_status status = sb_stable_decode_header(value.data(), value.size(), value.size(), SB_STABLE_EITHER, &stable);
	FUZZ_CHECK(status >= SB_OK && status <= SB_DIFFERENT);
	{
		Copy slice(value.data(), std::min<size_t>(value.size(), SB_STABLE_HEADER));
		sb_stable again;
		FUZZ_CHECK(sb_stable_decode_header(slice.data(), slice.size(), value.size(), SB_STABLE_EITHER, &again) ==
				   status);
		(void) !sb_stable_decode_header(slice.data(), slice.size(), static_cast<size_t>(choice), SB_STABLE_EITHER,
										&again);
		bool sbf = sb_stable_decode_header(value.data(), value.size(), value.size(), SB_STABLE_SBF, &again) == SB_OK;
		bool ibf = sb_stable_decode_header(value.data(), value.size(), value.size(), SB_STABLE_IBF, &again) == SB_OK;
		FUZZ_CHECK(sbf + ibf == (status == SB_OK));
	}
	sb_lookup lookup;
	FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_STABLE, hash, value) == status);
	if (status != SB_OK)
		return -1;
	FUZZ_CHECK(sb_stable_size(&stable) == value.size());
	if (stable.items == 0 && sb_stable_cell_bytes(&stable) > 1 << 20)
		return -1; /* an empty filter may stand for half a gigabyte of cells */
	Copy cells(sb_stable_cell_bytes(&stable));
	std::copy_n(value.data() + SB_STABLE_HEADER, value.size() - SB_STABLE_HEADER, cells.data());
	if (sb_stable_check_cells(&stable, cells.data()) != SB_OK)
		return -1;
	FUZZ_CHECK(readable(stable, cells));

	/* reading */
	const int max = sb_stable_max(&stable);
	uint64_t counts[SB_STABLE_MAX_VALUE + 1];
	FUZZ_CHECK(sb_stable_count(&stable, cells.data(), counts) == SB_OK);
	uint64_t all = 0;
	for (uint64_t count : counts)
		all += count;
	FUZZ_CHECK(all == stable.cell_count);
	Random random(hash);
	for (int i = 0; i < 20; i++)
	{
		uint64_t asked = i == 0 ? hash : i == 1 ? 0 : i == 2 ? UINT64_MAX : random();
		bool contained = true;
		for (int j = 0; j < stable.hash_count; j++)
			contained &= value_of(cells, stable, cell_of(&stable, asked, j)) != 0;
		FUZZ_CHECK(contains(stable, cells, asked) == contained);
	}
	double importance;
	std::memcpy(&importance, &choice, sizeof importance);
	if (std::isnan(importance))
		importance = 0;
	sb_stable before = stable;
	Copy cells_before = cells;
	sb_stable_note_importance(&stable, cells.data(), importance);
	uint8_t set = sb_stable_value_of(&stable, cells.data(), importance);
	FUZZ_CHECK(set >= 1 && set <= max);

	/* steps */
	if (stable.kind.code == SB_KIND_NONE)
		stable.kind.code = SB_KIND_INTEGER;
	for (int i = 0; i < 5; i++)
	{
		const uint64_t item = hash + static_cast<uint64_t>(i);
		const bool contained = contains(stable, cells, item);
		bool duplicate;
		sb_stable_steps(&stable, cells.data(), &item, &set, 1, &duplicate);
		FUZZ_CHECK(duplicate == contained);
		FUZZ_CHECK(contains(stable, cells, item));
	}
	FUZZ_CHECK(readable(stable, cells));

	/* union with the filter as it was before */
	sb_stable joined;
	sb_difference difference{};
	FUZZ_CHECK(sb_stable_plan_union(&stable, &before, &joined, &difference) == SB_OK);
	Copy both = cells;
	FUZZ_CHECK(sb_stable_unite(&joined, both.data(), cells_before.data()) == SB_OK);
	FUZZ_CHECK(readable(joined, both));
	for (int i = 0; i < 20; i++)
	{
		auto cell = static_cast<uint32_t>(random() % stable.cell_count);
		FUZZ_CHECK(value_of(both, joined, cell) ==
				   std::max(value_of(cells, stable, cell), value_of(cells_before, before, cell)));
	}

	/* decay: at once or in two parts gives the same */
	sb_stable at_once = joined;
	Copy cells_at_once = both;
	(void) sb_stable_decay(&at_once, cells_at_once.data(), 40);
	(void) sb_stable_decay(&joined, both.data(), 13);
	(void) sb_stable_decay(&joined, both.data(), 27);
	FUZZ_CHECK(at_once.random == joined.random && at_once.steps == joined.steps && cells_at_once == both);
	FUZZ_CHECK(readable(joined, both));

	/*
	 * Decays step by step until nothing is left, but at most 20,000 steps; then two steps more. One call with as many
	 * steps must give the same.
	 */
	if (hash % 64 == 0 && joined.cell_count <= 4096)
	{
		const uint64_t most = 20000;
		uint64_t steps = 0;
		bool gone = false;
		for (; steps < most && !gone; steps++)
			gone = sb_stable_decay(&at_once, cells_at_once.data(), 1);
		(void) sb_stable_decay(&at_once, cells_at_once.data(), 1);
		(void) sb_stable_decay(&at_once, cells_at_once.data(), 1);
		(void) sb_stable_decay(&joined, both.data(), steps + 2);
		FUZZ_CHECK(at_once.random == joined.random && at_once.steps == joined.steps && cells_at_once == both);
		FUZZ_CHECK(readable(joined, both));
		if (gone && joined.evictions != 0)
		{
			FUZZ_CHECK(
				std::all_of(both.data(), both.data() + both.size(), [](unsigned char byte) { return byte == 0; }));
			FUZZ_CHECK(!contains(joined, both, hash));
		}
	}
	return 0;
}
