/*
 * fuzz_tbf_input.cpp: makes valid inputs for fuzz_tbf.cpp: five numbers (a hash, two times, a weight, and one that
 * makes choices), and then a stored tbf of either layout. It has counters or exact items, and sometimes a list of hot
 * items or a table of recurring minimum.
 */
#include "fuzz_tbf.h"

#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_top.hpp"

#include <algorithm>
#include <cmath>

using namespace fuzz;
using namespace streambloom;

const size_t fuzz::prefix_size = 40;

/* Makes a table of recurring minimum. */
static std::vector<unsigned char> make_table(sb_tbf *tbf, Random &random)
{
	tbf->flags |= SB_TBF_RECURRING_MINIMUM;
	std::vector<uint64_t> hashes(random() % 6);
	for (uint64_t &hash : hashes)
		hash = random() & SB_KEPT_HASH_MASK;
	std::sort(hashes.begin(), hashes.end());
	std::vector<unsigned char> table(hashes.size() * recurring_entry_size);
	for (size_t i = 0; i < hashes.size(); i++)
	{
		recurring_entry entry{hashes[i], 1 + (random() >> (3 + random() % 60))};
		write_entry(table.data(), i, &entry);
	}
	return table;
}

/* Makes a list of hot items, and raises the filter's total so that it is not less than the hits of the list. */
static std::vector<unsigned char> make_list(sb_tbf *tbf, Random &random)
{
	static constexpr char text[] =
		"an item of some length that is kept with its hash and its hits, in the value itself, to be shown";
	top_list list{};
	list.limit = static_cast<uint32_t>(1 + random() % 8);
	list.any = true;
	list.base = tbf->base;
	for (uint64_t n = random() % 20; n > 0; n--)
	{
		uint64_t hash = random() % 64 == 0 ? 0 : random();
		sb_u128 least = static_cast<sb_u128>(1 + random() % 1000) << top_fraction_bits;
		tbf->total = std::max<uint64_t>(tbf->total, UINT64_C(1) << 40);
		if (!top_add(&list, hash, tbf->base, &least, 0))
			FUZZ_CHECK(insert_item(&list, memory(), {hash, least}, text, random() % 90) == SB_OK);
	}
	top_purge(&list);
	tbf->top = static_cast<uint16_t>(list.limit);
	std::vector<unsigned char> section(top_size(&list, tbf->base));
	top_write(&list, tbf->base, section.data());
	release_list(&list, memory());
	return section;
}

/* Makes the items of an exact filter, and makes *tbf its header. */
static std::vector<unsigned char> make_items(sb_tbf *tbf, Random &random)
{
	const uint64_t how_many[] = {random() % 3, 30 + random() % 5, 62 + random() % 5, random() % 200, random() % 1500};
	const int digits = random() % 8 == 0 ? static_cast<int>(1 + random() % SB_KEPT_HASH_BITS) :
										   SB_KEPT_HASH_BITS; /* hashes of few digits share a block */
	std::vector<exact_item> items(how_many[random() % 16 == 0 ? 4 : random() % 4]);
	for (exact_item &item : items)
		item = {(random() >> (64 - digits)) << (64 - SB_KEPT_HASH_BITS), 1 + (random() >> (2 + random() % 62))};
	std::sort(items.begin(), items.end(), [](const exact_item &a, const exact_item &b) { return a.hash < b.hash; });
	items.erase(std::unique(items.begin(), items.end(),
							[](const exact_item &a, const exact_item &b) { return a.hash == b.hash; }),
				items.end());

	tbf->flags |= SB_TBF_EXACT;
	tbf->block_count = 0;
	tbf->block_cells = 0;
	tbf->layout = static_cast<uint8_t>(random() % 2);
	if (tbf->half_life != 0 || random() % 4 == 0)
		tbf->unit_bits = SB_TBF_HIT_BITS;
	describe_items(items.data(), static_cast<uint32_t>(items.size()), tbf);
	std::vector<unsigned char> cells(tbf->payload);
	write_list(to_list(items.data(), tbf->item_count), cells.data());
	return cells;
}

/* Makes an array of counters. *tbf tells their number and width; by chance it changes to the other layout. */
static std::vector<unsigned char> make_counters(sb_tbf *tbf, Random &random)
{
	std::vector<unsigned char> cells(counters_size(tbf));
	const size_t width = tbf->cell_bits / 8u;
	const int full = static_cast<int>(random() % 4);
	for (size_t i = 0; i < sb_tbf_cells(tbf); i++)
	{
		uint64_t value = static_cast<int>(random() % 4) < full ? random() >> (random() % 64) : 0;
		if (i == 7)
			value = UINT64_C(1) << (tbf->cell_bits - 2); /* at least one must need the width */
		if (tbf->cell_bits == 64)
			value %= SB_TBF_MAX_CELL;
		for (size_t byte = 0; byte < width; byte++)
			cells[i * width + byte] = static_cast<unsigned char>(value >> (8 * byte));
	}
	sb_tbf packed;
	void *value;
	if (random() % 2 == 0 &&
		sb_tbf_set_layout(tbf, cells.data(), SB_TBF_EXTENSIBLE, memory(), 0, &packed, &value) == SB_OK)
	{
		const auto *to = static_cast<unsigned char *>(value) + SB_TBF_HEADER;
		*tbf = packed;
		cells.assign(to, to + counters_size(&packed));
		std::free(value);
	}
	return cells;
}

Input fuzz::make_input(Random &random)
{
	Input input;
	sb_tbf tbf{};
	tbf.kind.code = static_cast<uint16_t>(1 + random() % 11);
	tbf.block_count = 1;
	tbf.block_cells = static_cast<uint16_t>(64u << (random() % 3));
	if (random() % 64 == 0)
	{
		tbf.block_count = static_cast<uint32_t>(1 + random() % 3);
		tbf.block_cells = SB_TBF_BLOCK;
	}
	tbf.hash_count = static_cast<uint8_t>(1 + random() % 16);
	tbf.cell_bits = static_cast<uint8_t>(8 << (random() % 4));
	tbf.fpr = 0.01;
	bool decays = random() % 4 != 0;
	tbf.unit_bits = decays ? SB_TBF_UNIT_BITS : 0;
	int64_t at = static_cast<int64_t>(odd_number(random)) >> (random() % 50);
	if (decays)
	{
		tbf.half_life = static_cast<int64_t>(1 + (random() >> (4 + random() % 60)));
		tbf.epoch = static_cast<int64_t>(1 + (random() >> (4 + random() % 60)));
		sb_moment moment;
		sb_tbf_moment(tbf.half_life, tbf.epoch, time_of(static_cast<uint64_t>(at)), &moment);
		tbf.base = moment.half_lives;
		tbf.newest = moment.epoch_start;
		tbf.slack = random() % 3 == 0 ? random() >> (2 + random() % 62) : 0;
		if (random() % 3 == 0)
			tbf.flags = SB_TBF_FORGOTTEN;
	}
	tbf.total = random() >> (1 + random() % 63);
	tbf.flags |= SB_TBF_HAS_HITS;

	append_number(&input, random());
	for (int i = 0; i < 2; i++)
	{
		uint64_t distance = decays ? static_cast<uint64_t>(tbf.half_life) * (random() % 100) : 0;
		append_number(&input, random() % 4 == 0 ? odd_number(random) : static_cast<uint64_t>(tbf.newest) + distance);
	}
	uint64_t weight;
	double weight_value = std::ldexp(1.0, static_cast<int>(random() % 60) - 20);
	std::memcpy(&weight, &weight_value, sizeof weight);
	append_number(&input, random() % 8 == 0 ? random() : weight);
	append_number(&input, random());

	const bool exact = random() % 3 == 0;
	const std::vector<unsigned char> cells = exact ? make_items(&tbf, random) : make_counters(&tbf, random);
	std::vector<unsigned char> after;
	if (!decays && !exact && random() % 3 == 0)
		after = make_table(&tbf, random);
	else if (random() % 4 == 0)
		after = make_list(&tbf, random);
	tbf.extra = static_cast<uint32_t>(after.size());

	unsigned char header[SB_TBF_HEADER];
	sb_tbf_encode_header(&tbf, header);
	input.insert(input.end(), header, header + sizeof header);
	input.insert(input.end(), cells.begin(), cells.end());
	input.insert(input.end(), after.begin(), after.end());
	return input;
}
