/*
 * fuzz_bf.cpp: takes any bytes as a stored bf. Either they are refused, or every reader works on them and this
 * promise holds: an item that is found stays found after adding, uniting, widening and folding.
 *
 * Input: a hash, a number that makes choices, then the value.
 */
#include "fuzz_support.h"

#include "bf/bf_exact.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace fuzz;

const size_t fuzz::prefix_size = 16;

/* Makes a self-sized filter of these items, with its header. It is exact, or its lines have room for more items. */
static Copy filter_of(const std::vector<uint64_t> &hashes, const sb_bf &like, sb_bf *header)
{
	const sb_memory memory = *fuzz::memory();
	sb_bf_builder builder;
	FUZZ_CHECK(sb_bf_builder_begin_union(&builder, &memory, &like) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_add_many(&builder, hashes.data(), hashes.size(), false) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_plan(&builder, true, header) == SB_OK);
	Copy value(sb_bf_size(header));
	sb_bf_encode_header(header, value.data());
	FUZZ_CHECK(sb_bf_builder_write(&builder, header, value.data() + SB_BF_HEADER) == SB_OK);
	sb_bf_builder_release(&builder);
	return value;
}

/* Appends an exact filter of less than 400 items, seldom of up to 5,000. */
static void append_exact(Input *input, Random &random)
{
	sb_bf like{};
	like.kind.code = SB_KIND_INTEGER;
	like.hash_count = static_cast<uint8_t>(1 + random() % 16);
	like.fpr = 0.01;
	std::vector<uint64_t> hashes;
	const int digits = SB_KEPT_HASH_BITS - static_cast<int>(random() % 40);
	for (uint64_t count = random() % (random() % 32 == 0 ? 5000 : random() % 400 + 1); count > 0; count--)
		hashes.push_back((random() >> (64 - digits)) << (64 - SB_KEPT_HASH_BITS));
	sb_bf bf;
	const Copy value = filter_of(hashes, like, &bf);
	input->insert(input->end(), value.data(), value.data() + value.size());
}

Input fuzz::make_input(Random &random)
{
	Input input;
	append_number(&input, random());
	append_number(&input, odd_number(random));
	if (random() % 4 == 0)
	{
		append_exact(&input, random);
		return input;
	}

	sb_bf bf{};
	bf.kind.code = static_cast<uint16_t>(random() % 12);
	bf.line_count = static_cast<uint32_t>(1 + random() % 40);
	if (random() % 2 == 0)
		bf.line_count = 1u << (random() % 7);
	bf.hash_count = static_cast<uint8_t>(1 + random() % 16);
	while (bf.widened < 6 && bf.line_count >> bf.widened % 2 == 0 && random() % 2 == 0)
		bf.widened++;
	bf.expected_items = random() % 1000;
	bf.fpr = 0.01;
	unsigned char header[SB_BF_HEADER];
	sb_bf_encode_header(&bf, header);
	input.insert(input.end(), header, header + sizeof header);

	size_t lines = input.size();
	input.resize(lines + sb_bf_size(&bf) - SB_BF_HEADER);
	for (uint64_t items = random() % 200; items > 0; items--)
	{
		const uint64_t hash = random();
		sb_bf_add_many(&bf, input.data() + lines, &hash, 1);
	}
	return input;
}

static bool contains(const sb_bf &bf, const Copy &lines, uint64_t hash)
{
	bool found;
	FUZZ_CHECK(sb_bf_contains_many(&bf, lines.data(), &hash, 1, &found) == SB_OK);
	return found;
}

/*
 * Tests an exact filter whose header is good. If its items are accepted, they are written back to the same bytes, and
 * no item is lost.
 */
static int test_exact(const sb_bf &bf, const Copy &value, uint64_t hash, uint64_t choice)
{
	const Copy stored(value.data() + SB_BF_HEADER, value.size() - SB_BF_HEADER);
	std::vector<uint64_t> items;
	const sb_status status = streambloom::for_each_hash(&bf, stored.data(), [&](const uint64_t *hashes, size_t count) {
		items.insert(items.end(), hashes, hashes + count);
		return SB_OK;
	});
	FUZZ_CHECK(status == SB_OK || status == SB_BAD_CELLS);
	FUZZ_CHECK(items.size() <= bf.item_count);
	const sb_status checked = sb_bf_check(&bf, stored.data());
	FUZZ_CHECK(checked == SB_OK || checked == SB_BAD_CELLS);
	FUZZ_CHECK(status == SB_OK || checked == SB_BAD_CELLS);
	sb_lookup lookup;
	const sb_status looked = look_up(&lookup, SB_LOOKUP_BF, hash, value);
	FUZZ_CHECK(looked == SB_OK || looked == checked);
	const sb_memory memory = *fuzz::memory();
	sb_difference difference{};

	/* unions and intersections may read damaged items, too, before they refuse them */
	sb_bf lines = bf;
	lines.flags = 0;
	lines.item_count = 0;
	lines.payload = 0;
	lines.line_count = static_cast<uint32_t>(1 + choice % 100);
	const Copy none(sb_bf_size(&lines) - SB_BF_HEADER);
	sb_bf_builder builder;
	FUZZ_CHECK(sb_bf_builder_begin_union(&builder, &memory, &bf) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_add_filter(&builder, &lines, none.data(), &difference) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_add_filter(&builder, &bf, stored.data(), &difference) == status);
	sb_bf both;
	FUZZ_CHECK(sb_bf_builder_plan(&builder, true, &both) == SB_OK);
	Copy united(sb_bf_size(&both) - SB_BF_HEADER);
	FUZZ_CHECK(sb_bf_builder_write(&builder, &both, united.data()) == SB_OK);
	bool found;
	for (uint64_t item : items)
		FUZZ_CHECK(status != SB_OK || (sb_bf_builder_contains(&builder, item, &found) == SB_OK && found));
	sb_bf_builder_release(&builder);
	sb_bf common;
	void *intersection;
	FUZZ_CHECK(sb_bf_intersect_exact(&bf, stored.data(), &bf, stored.data(), &memory, 0, &common, &intersection,
									 &difference) == status ||
			   status == SB_OK);
	if (intersection != nullptr)
		memory.release(memory.context, intersection);
	if (checked != SB_OK)
		return -1;

	FUZZ_CHECK(looked == SB_OK && lookup.found == contains(bf, stored, hash));
	FUZZ_CHECK(items.size() == bf.item_count && common.item_count == bf.item_count);
	FUZZ_CHECK(std::adjacent_find(items.begin(), items.end(), std::greater_equal<>()) == items.end());
	sb_bf again;
	FUZZ_CHECK(filter_of(items, bf, &again) == value);
	for (uint64_t item : items)
	{
		FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_BF, item, value) == SB_OK && lookup.found);
		FUZZ_CHECK(contains(both, united, item));
	}
	FUZZ_CHECK(sb_bf_plan_compact(&bf, 0.01, &lines) == SB_OK);
	Copy compact(sb_bf_size(&lines) - SB_BF_HEADER);
	FUZZ_CHECK(sb_bf_exact_to_lines(&bf, stored.data(), &lines, compact.data()) == SB_OK);
	items.push_back(hash);
	sb_bf with_items = bf;
	if (bf.kind.code == SB_KIND_NONE) /* only a filter without items has no kind */
		with_items.kind.code = SB_KIND_INTEGER;
	const Copy more = filter_of(items, with_items, &again);
	FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_BF, hash, more) == SB_OK && lookup.found);
	return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Reader reader(data, size);
	uint64_t hash = reader.number();
	uint64_t choice = reader.number();
	Copy value(reader.data(), reader.size());

	/* the first bytes of a value are enough for the header, and give the same status */
	sb_bf bf;
	sb_status status = sb_bf_decode_header(value.data(), value.size(), value.size(), &bf);
	FUZZ_CHECK(status >= SB_OK && status <= SB_DIFFERENT);
	FUZZ_CHECK(sb_status_text(status) != nullptr);
	{
		Copy slice(value.data(), std::min<size_t>(value.size(), SB_BF_HEADER));
		sb_bf again;
		FUZZ_CHECK(sb_bf_decode_header(slice.data(), slice.size(), value.size(), &again) == status);
		(void) !sb_bf_decode_header(slice.data(), slice.size(), static_cast<size_t>(choice), &again);
	}
	if (status == SB_OK && sb_bf_is_exact(&bf))
		return test_exact(bf, value, hash, choice);
	sb_lookup lookup;
	FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_BF, hash, value) == status);
	if (status != SB_OK)
		return -1;

	FUZZ_CHECK(sb_bf_size(&bf) == value.size());
	Copy header(SB_BF_HEADER);
	sb_bf_encode_header(&bf, header.data());
	FUZZ_CHECK(std::memcmp(header.data(), value.data(), SB_BF_HEADER) == 0);
	FUZZ_CHECK(sb_kind_equal(&bf.kind, &bf.kind));
	Copy lines(value.data() + SB_BF_HEADER, value.size() - SB_BF_HEADER);

	/* reading */
	Random random(hash);
	std::vector<uint64_t> found;
	for (int i = 0; i < 50; i++)
	{
		uint64_t asked = i == 0 ? hash : i == 1 ? 0 : i == 2 ? UINT64_MAX : random();
		bool contained = contains(bf, lines, asked);
		FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_BF, asked, value) == SB_OK);
		FUZZ_CHECK(lookup.found == (contained && bf.kind.code != SB_KIND_NONE));
		if (contained)
			found.push_back(asked);
	}
	sb_bf_stats stats;
	FUZZ_CHECK(sb_bf_measure(&bf, lines.data(), &stats) == SB_OK);
	FUZZ_CHECK(stats.bits == uint64_t{bf.line_count} * 512 && stats.bits_set <= stats.bits);
	FUZZ_CHECK(stats.items >= 0 && !std::isnan(stats.items));
	FUZZ_CHECK(stats.current_fpr >= 0 && stats.current_fpr <= 1);

	/* adding */
	sb_bf_add_many(&bf, lines.data(), &hash, 1);
	FUZZ_CHECK(contains(bf, lines, hash));
	found.push_back(hash);
	auto holds_all = [&](const sb_bf &in, const Copy &in_lines) {
		return std::all_of(found.begin(), found.end(), [&](uint64_t item) { return contains(in, in_lines, item); });
	};
	FUZZ_CHECK(holds_all(bf, lines));

	/* the union with a wider, empty filter, and the intersection with a wider, full one: both give the same lines */
	if (value.size() < 100000)
	{
		sb_bf wider = bf;
		wider.line_count <<= choice % 4;
		wider.widened = 0;
		sb_bf both;
		sb_difference difference{};
		FUZZ_CHECK(sb_bf_plan_union(&bf, &wider, &both, &difference) == SB_OK);
		FUZZ_CHECK(both.line_count == wider.line_count);
		Copy all(sb_bf_size(&both) - SB_BF_HEADER);
		FUZZ_CHECK(sb_bf_combine(&both, all.data(), &bf, lines.data(), false) == SB_OK);
		FUZZ_CHECK(holds_all(both, all));
		Copy full(all.size());
		std::memset(full.data(), 0xff, full.size());
		FUZZ_CHECK(sb_bf_combine(&both, full.data(), &bf, lines.data(), true) == SB_OK);
		FUZZ_CHECK(full == all);
		sb_bf_encode_header(&both, header.data());
		sb_bf read;
		FUZZ_CHECK(sb_bf_decode_header(header.data(), SB_BF_HEADER, sb_bf_size(&both), &read) == SB_OK);
		FUZZ_CHECK(sb_bf_measure(&both, all.data(), &stats) == SB_OK);
		FUZZ_CHECK(stats.items >= 0);

		if (sb_bf_fold(&both, all.data(), static_cast<int>(choice >> 8 & 15), all.data()) == SB_OK)
			FUZZ_CHECK(holds_all(both, all));
	}

	/* folding */
	int halvings = static_cast<int>(choice >> 12 & 63) - 2;
	uint32_t before = bf.line_count;
	if (sb_bf_fold(&bf, lines.data(), halvings, lines.data()) == SB_OK)
	{
		FUZZ_CHECK(halvings >= 0 && bf.line_count >= 1 && uint64_t{bf.line_count} << halvings == before);
		FUZZ_CHECK(holds_all(bf, lines));
	}
	return 0;
}
