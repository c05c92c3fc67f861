/*
 * gram_extract.cpp: takes the grams out of a text, in one pass.
 */
#include <algorithm>

#include "gram/gram_text.hpp"

namespace streambloom {
namespace {

/*
 * Remembers some of the grams that were written, so that they need not be written again. There are 256 slots, one for
 * each value of a gram's 8 highest bits; each has the last gram with these bits. At first all slots have the text's
 * first gram, which has been written already.
 */
class recent_grams
{
public:
	explicit recent_grams(uint64_t first)
	{
		for (uint64_t &slot : slots_)
			slot = first;
	}
	bool has(uint64_t gram)
	{
		uint64_t &slot = slots_[gram >> 56];
		const bool same = slot == gram;
		slot = gram;
		return same;
	}

private:
	uint64_t slots_[256];
};

/*
 * Texts of at most this many bytes are read without recent_grams: they have few repetitions, and filling its slots
 * takes longer than writing all the grams.
 */
constexpr size_t short_text = 64;

template <sb_gram_text text, bool fold>
sb_status extract(uint32_t length, const unsigned char *from, size_t size, uint64_t *grams, size_t *written)
{
	const unsigned char *const end = from + size;
	gram_roller roller(length);
	size_t count = 0;
	auto swallows = [&](uint32_t character) {
		return gram_roller::can_swallow(text, fold) && roller.swallows(character);
	};
	auto push = [&](uint32_t character) {
		if (!swallows(character) && roller.push(character))
			grams[count++] = roller.gram();
	};

	push(mark_of_beginning);
	if (size > short_text)
	{
		/* This loop ends at the first gram. There is none if folding leaves too few characters (gram_text.hpp). */
		stopping_points points(from);
		while (from < end && count == 0)
		{
			from += emit_character<text, fold>(from, end, push);
			if (points.wanted(from))
				return SB_INTERRUPTED;
		}
		if (from < end)
		{
			recent_grams recent(grams[0]);
			auto push_new = [&](uint32_t character) {
				if (!swallows(character) && roller.push(character) && !recent.has(roller.gram()))
					grams[count++] = roller.gram();
			};
			while (from < end)
			{
				const unsigned char *const pause = from +
												   std::min(static_cast<size_t>(end - from), bytes_between_stops);
				while (from < pause)
					from += emit_character<text, fold>(from, end, push_new);
				if (stop_wanted())
					return SB_INTERRUPTED;
			}
		}
	}
	while (from < end)
		from += emit_character<text, fold>(from, end, push);
	push(mark_of_end);
	if (count == 0)
		grams[count++] = roller.gram_of_short_text();
	*written = count;
	return SB_OK;
}

} // namespace
} // namespace streambloom

size_t sb_gram_most(size_t size) noexcept
{
	/* Folding turns two bytes into at most three characters. The two marks of beginning and end are added. */
	return size + size / 2 + 2;
}

sb_status sb_gram_extract(const sb_gram_form *form, const void *text, size_t size, uint64_t *grams,
						  size_t *count) noexcept
{
	using namespace streambloom;
	const auto *from = static_cast<const unsigned char *>(text);
	switch (form->text)
	{
		case SB_GRAM_UTF8:
			return form->fold ? extract<SB_GRAM_UTF8, true>(form->length, from, size, grams, count) :
								extract<SB_GRAM_UTF8, false>(form->length, from, size, grams, count);
		case SB_GRAM_ONE_BYTE:
			return form->fold ? extract<SB_GRAM_ONE_BYTE, true>(form->length, from, size, grams, count) :
								extract<SB_GRAM_ONE_BYTE, false>(form->length, from, size, grams, count);
		case SB_GRAM_BYTES:
			break;
	}
	return extract<SB_GRAM_BYTES, false>(form->length, from, size, grams, count);
}

sb_status sb_gram_characters(const sb_gram_form *form, const void *text, size_t size, uint32_t *characters,
							 size_t *written) noexcept
{
	using namespace streambloom;
	const auto *from = static_cast<const unsigned char *>(text), *end = from + size;
	stopping_points points(from);
	size_t count = 0;
	characters[count++] = mark_of_beginning;
	while (from < end)
	{
		if (points.wanted(from))
			return SB_INTERRUPTED;
		from += emit_character_of(*form, from, end, [&](uint32_t character) {
			const bool again = character == any_letter && characters[count - 1] == character;
			if (!again || !gram_roller::can_swallow(form->text, form->fold))
				characters[count++] = character;
		});
	}
	characters[count++] = mark_of_end;
	*written = count;
	return SB_OK;
}
