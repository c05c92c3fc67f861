/*
 * fuzz_abf.cpp: takes any bytes as a stored abf. Either they are refused, or every reader works on them and these
 * promises hold: an item that was added is found until a window later; a look-up answers what the bits say; each value
 * that the core writes can be read again; a union loses no bit of a slice that is alive, that is, that look-ups still
 * read; after the clock has moved on far enough, no bit is left.
 *
 * Input: a hash, a number that gives a time, then the value.
 */
#include "abf/abf.hpp"
#include "fuzz_support.h"

#include <algorithm>

using namespace fuzz;

const size_t fuzz::prefix_size = 16;

Input fuzz::make_input(Random &random)
{
	Input input;
	append_number(&input, random());
	append_number(&input, odd_number(random));

	sb_abf abf;
	const bool by_time = random() % 3 != 0;
	const int64_t window = static_cast<int64_t>(1 + random() % (by_time ? 1000000 : 100));
	const int k = static_cast<int>(1 + random() % 10);
	const int l = static_cast<int>(1 + random() % 10);
	if (sb_abf_plan(window, by_time, 1 + random() % 60, 0.1, k, l, &abf) != SB_OK)
		return input;
	const size_t header = input.size();
	input.resize(header + SB_ABF_HEADER + sb_abf_slice_bytes(&abf));
	unsigned char *slices = input.data() + header + SB_ABF_HEADER;
	const int64_t start = static_cast<int64_t>(random() % 10000000) - 5000000;
	if (uint64_t items = random() % 150; items > 0)
	{
		abf.kind.code = static_cast<uint16_t>(1 + random() % 11);
		for (; items > 0; items--)
		{
			const uint64_t hash = random();
			const int64_t at = start + static_cast<int64_t>(random() % static_cast<uint64_t>(3 * window));
			FUZZ_CHECK(sb_abf_add(&abf, slices, &hash, by_time ? &at : nullptr, 1, nullptr) == SB_OK);
		}
	}
	if (random() % 4 == 0)
		FUZZ_CHECK(sb_abf_advance(&abf, slices, abf.generation + static_cast<int64_t>(random() % 30)) == SB_OK);
	input.resize(header + sb_abf_size(&abf));
	sb_abf_encode_header(&abf, input.data() + header);
	return input;
}

/* True if the core's own readers accept the filter, and its header, read and written again, has the same bytes. */
static bool readable(const sb_abf &abf, const Copy &slices)
{
	Copy header(SB_ABF_HEADER);
	Copy again(SB_ABF_HEADER);
	sb_abf out;
	sb_abf_encode_header(&abf, header.data());
	if (sb_abf_decode_header(header.data(), SB_ABF_HEADER, sb_abf_size(&abf), &out) != SB_OK ||
		sb_abf_check_slices(&out, slices.data()) != SB_OK)
		return false;
	sb_abf_encode_header(&out, again.data());
	return header == again;
}

/* The answer of a look-up, computed slice by slice as sb_abf.h describes it. */
static bool contains(const sb_abf &abf, const Copy &slices, uint64_t hash, int64_t generation)
{
	const int n = sb_abf_slices(&abf);
	if (!abf.filled)
		return false;
	const size_t block = static_cast<size_t>(streambloom::block_of(abf, hash)) * streambloom::block_bytes(abf);
	int run = 0;
	for (int64_t slice = std::max(generation, abf.generation) - n + 1; slice <= abf.generation; slice++)
	{
		const int place = streambloom::place_of(abf, slice);
		const unsigned bit = streambloom::bit_of(abf, streambloom::word_of(hash, place), place);
		const unsigned char byte =
			slices.data()[block + static_cast<size_t>(place) * streambloom::slice_part(abf) + bit / 8];
		run = (byte >> bit % 8 & 1) != 0 ? run + 1 : 0;
		if (run == abf.hash_count)
			return true;
	}
	return false;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Reader reader(data, size);
	const uint64_t hash = reader.number();
	const uint64_t choice = reader.number();
	Copy value(reader.data(), reader.size());

	/* the first bytes of a value are enough for the header, and give the same status */
	sb_abf abf;
	const sb_status status = sb_abf_decode_header(value.data(), value.size(), value.size(), &abf);
	FUZZ_CHECK(status >= SB_OK && status <= SB_DIFFERENT);
	{
		Copy slice(value.data(), std::min<size_t>(value.size(), SB_ABF_HEADER));
		sb_abf again;
		FUZZ_CHECK(sb_abf_decode_header(slice.data(), slice.size(), value.size(), &again) == status);
		(void) !sb_abf_decode_header(slice.data(), slice.size(), static_cast<size_t>(choice), &again);
	}
	sb_lookup lookup;
	FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_ABF, hash, value) == status);
	if (status != SB_OK)
		return -1;
	FUZZ_CHECK(sb_abf_size(&abf) == value.size());
	if (sb_abf_slice_bytes(&abf) > 1 << 20)
		return -1; /* an empty filter may stand for half a gigabyte */
	Copy slices(sb_abf_slice_bytes(&abf));
	std::copy_n(value.data() + SB_ABF_HEADER, value.size() - SB_ABF_HEADER, slices.data());
	if (sb_abf_check_slices(&abf, slices.data()) != SB_OK)
		return -1;
	FUZZ_CHECK(readable(abf, slices));

	/* reading */
	uint64_t set[SB_ABF_MAX_SLICES];
	FUZZ_CHECK(sb_abf_count(&abf, slices.data(), set) == SB_OK);
	const int n = sb_abf_slices(&abf);
	for (int age = 0; age < n; age++)
		FUZZ_CHECK(set[age] <= sb_abf_bits(&abf));
	FUZZ_CHECK(sb_abf_cardinality(&abf, set) >= 0);
	const int64_t length = sb_abf_length(&abf);
	FUZZ_CHECK(length >= 1 && length <= abf.window);
	Random random(hash);
	const auto at = static_cast<int64_t>(choice) >> 3; /* |at| <= SB_ABF_MAX_TIME */
	for (int i = 0; i < 20; i++)
	{
		const uint64_t asked = i == 0 ? hash : i == 1 ? 0 : i == 2 ? UINT64_MAX : random();
		FUZZ_CHECK(sb_lookup_open(&lookup, SB_LOOKUP_ABF, value.data(), value.size(), value.size()) == SB_OK);
		const int64_t later = abf.generation + static_cast<int64_t>(random() % 20);
		lookup.generation = i % 2 == 0 ? abf.generation : later;
		FUZZ_CHECK(sb_lookup_item(&lookup, asked) == SB_OK);
		FUZZ_CHECK(lookup.found == contains(abf, slices, asked, lookup.generation));
		sb_lookup_abf_at(&lookup, at);
		FUZZ_CHECK(sb_lookup_item(&lookup, asked) == SB_OK);
		FUZZ_CHECK(lookup.found == contains(abf, slices, asked, sb_abf_generation(&abf, at)));
	}

	/* adding: each item is found until a window after its time, unless it was already older when it came */
	const sb_abf before = abf;
	const Copy slices_before = slices;
	if (abf.kind.code == SB_KIND_NONE)
		abf.kind.code = SB_KIND_INTEGER;
	for (int i = 0; i < 5; i++)
	{
		const uint64_t item = hash + static_cast<uint64_t>(i);
		const int64_t time = abf.items == 0 ?
								 at :
								 std::clamp((abf.generation + static_cast<int64_t>(random() % 9) - 4) * length,
											-SB_ABF_MAX_TIME, SB_ABF_MAX_TIME);
		const int64_t generation = abf.by_time ? sb_abf_generation(&abf, time) : abf.generation;
		const bool contained = contains(abf, slices, item, abf.items == 0 ? abf.generation : generation);
		bool duplicate;
		const sb_status added = sb_abf_add(&abf, slices.data(), &item, abf.by_time ? &time : nullptr, 1, &duplicate);
		if (added == SB_OVERFLOW)
			return 0;
		FUZZ_CHECK(added == SB_OK);
		FUZZ_CHECK(duplicate == contained);
		if (generation >= abf.generation - abf.generations)
			FUZZ_CHECK(contains(abf, slices, item, generation + abf.generations));
	}
	FUZZ_CHECK(readable(abf, slices));
	if (!abf.by_time)
		return 0;

	/* union with the filter as it was before: both orders give the same bytes, and nothing that is alive is lost */
	sb_abf joined = abf;
	Copy both = slices;
	FUZZ_CHECK(sb_abf_unite(&joined, both.data(), &before, slices_before.data()) == SB_OK);
	FUZZ_CHECK(readable(joined, both));
	sb_abf other = before;
	Copy other_way = slices_before;
	FUZZ_CHECK(sb_abf_unite(&other, other_way.data(), &abf, slices.data()) == SB_OK);
	FUZZ_CHECK(both == other_way && joined.items == other.items && joined.generation == other.generation);
	FUZZ_CHECK(both == slices); /* every bit from before is in `slices`, or is dead */

	/* moving the clock on at once or in two parts gives the same bytes */
	sb_abf parts = joined;
	FUZZ_CHECK(sb_abf_advance(&joined, both.data(), joined.generation + n / 2) == SB_OK);
	FUZZ_CHECK(sb_abf_advance(&parts, other_way.data(), parts.generation + n / 3) == SB_OK);
	FUZZ_CHECK(sb_abf_advance(&parts, other_way.data(), joined.generation) == SB_OK);
	FUZZ_CHECK(both == other_way && parts.filled == joined.filled);
	const int64_t end = sb_abf_generation(&joined, SB_ABF_MAX_TIME);
	FUZZ_CHECK(joined.generation > end || readable(joined, both));
	FUZZ_CHECK(sb_abf_advance(&joined, both.data(), joined.generation + n) == SB_OK);
	FUZZ_CHECK(!joined.filled);
	return 0;
}
