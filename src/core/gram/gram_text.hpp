/*
 * gram_text.hpp: turns bytes into characters, and characters into grams.
 */
#ifndef STREAMBLOOM_GRAM_TEXT_HPP
#define STREAMBLOOM_GRAM_TEXT_HPP

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "base/stop.hpp"
#include "gram/gram_fold.hpp"
#include "gram/sb_gram.h"

namespace streambloom {

/*
 * Numbers beyond all characters: two marks for the beginning and the end of a text, and a third number that only the
 * gram of a text of fewer than n characters has.
 */
inline constexpr uint32_t mark_of_beginning = SB_GRAM_BEGINNING, mark_of_end = SB_GRAM_END,
						  mark_of_short_text = 0x110002;

/*
 * A byte that is not part of a character of UTF-8 becomes the character stray_byte + the byte. This is the number of a
 * surrogate, so no character of a text has it.
 */
inline constexpr uint32_t stray_byte = 0xdc00;

/*
 * With folding and an encoding other than UTF-8, all bytes beyond ASCII become one letter, because it is not known
 * here which of them are the two cases of one letter. The letter is i: in Turkish its other case is one of these
 * bytes. If the encoding lacks a letter's other case, ICU writes one `substitute` or two in its place. Therefore the
 * substitute becomes the letter i, too, and several letters i in a row count as one (gram_roller::swallows()).
 */
inline constexpr uint32_t any_letter = 'i';
inline constexpr unsigned char substitute = 0x1a;

/* Reading this many bytes takes well below a millisecond. */
inline constexpr size_t bytes_between_stops = size_t{1} << 16;

/*
 * For loops that read a text: wanted() asks the caller of the core whether to stop, but only once in
 * bytes_between_stops bytes. The text begins at `from`; `at` is the byte that the loop has reached.
 */
class stopping_points
{
public:
	explicit stopping_points(const unsigned char *from) : last_(from) {}
	bool wanted(const unsigned char *at)
	{
		if (static_cast<size_t>(at - last_) < bytes_between_stops)
			return false;
		last_ = at;
		return stop_wanted();
	}

private:
	const unsigned char *last_;
};

/*
 * Returns the character that begins at `from`, or stray_byte + the byte if no valid character begins there. *bytes
 * becomes the number of its bytes. REQUIRES: from < end.
 */
inline uint32_t next_of_utf8(const unsigned char *from, const unsigned char *end, size_t *bytes)
{
	const uint32_t first = *from;
	*bytes = 1;
	if (first < 0x80)
		return first;
	const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
	if (first < 0xc2 || first > 0xf4 || static_cast<size_t>(end - from) <= more)
		return stray_byte + first;
	uint32_t character = first & (0x3fu >> more);
	for (size_t i = 1; i <= more; i++)
	{
		if ((from[i] & 0xc0) != 0x80)
			return stray_byte + first;
		character = character << 6 | (from[i] & 0x3fu);
	}
	*bytes = more + 1;
	return character;
}

/*
 * Reads the character that begins at `from`, folds it if `fold` is true, and calls emit() for each character of the
 * result. Returns the number of bytes read.
 */
template <sb_gram_text text, bool fold, typename Emit>
inline size_t emit_character(const unsigned char *from, const unsigned char *end, Emit &&emit)
{
	size_t bytes = 1;
	if constexpr (text == SB_GRAM_UTF8)
	{
		const uint32_t character = next_of_utf8(from, end, &bytes);
		if constexpr (fold)
			fold_character(character, emit);
		else
			emit(character);
	}
	else if constexpr (text == SB_GRAM_ONE_BYTE && fold)
		emit(*from >= 0x80 || *from == substitute ? any_letter : fold_ascii(*from));
	else
		emit(uint32_t{*from});
	return bytes;
}

/* Does what emit_character() does, for a form that is known only at run time. */
template <typename Emit>
inline size_t emit_character_of(const sb_gram_form &form, const unsigned char *from, const unsigned char *end,
								Emit &&emit)
{
	switch (form.text)
	{
		case SB_GRAM_UTF8:
			return form.fold ? emit_character<SB_GRAM_UTF8, true>(from, end, emit) :
							   emit_character<SB_GRAM_UTF8, false>(from, end, emit);
		case SB_GRAM_ONE_BYTE:
			return form.fold ? emit_character<SB_GRAM_ONE_BYTE, true>(from, end, emit) :
							   emit_character<SB_GRAM_ONE_BYTE, false>(from, end, emit);
		case SB_GRAM_BYTES:
			break;
	}
	return emit_character<SB_GRAM_BYTES, false>(from, end, emit);
}

/*
 * Makes the grams of a run of characters, one after the other. A gram is the value of a polynomial at `factor`, modulo
 * 2^64. Its coefficients are the gram's characters, each plus 1. So a few instructions make the next gram from the last
 * one. The index hashes grams once more, so they need not be spread evenly.
 */
class gram_roller
{
public:
	explicit gram_roller(uint32_t length) : length_(length)
	{
		for (uint32_t i = 0; i < length; i++)
			leaving_ *= factor;
	}

	/*
	 * Takes the next character. Returns true if the run has at least n characters now (n: the constructor's `length`).
	 * Then gram() is the gram of the last n.
	 */
	bool push(uint32_t character)
	{
		const uint64_t coefficient = character + uint64_t{1};
		value_ = value_ * factor + coefficient - window_[at_] * leaving_;
		window_[at_] = coefficient;
		at_ = at_ + 1 == length_ ? 0 : at_ + 1;
		count_++;
		return count_ >= length_;
	}
	uint64_t gram() const { return value_; }

	/*
	 * True if this character and the last one that was pushed are both any_letter. The caller must not push such a
	 * character if can_swallow() is true for the form of the grams.
	 */
	bool swallows(uint32_t character) const
	{
		return character == any_letter && window_[(at_ == 0 ? length_ : at_) - 1] == character + uint64_t{1};
	}
	static constexpr bool can_swallow(sb_gram_text text, bool fold) { return text == SB_GRAM_ONE_BYTE && fold; }

	/* The number of characters pushed since the run began. */
	size_t count() const { return count_; }

	void begin_run()
	{
		value_ = 0;
		count_ = 0;
		at_ = 0;
		for (uint64_t &coefficient : window_)
			coefficient = 0;
	}

	/*
	 * The only gram of a text that is shorter than n characters, the marks of its beginning and end included. REQUIRES:
	 * all its characters and marks were pushed.
	 */
	uint64_t gram_of_short_text() const { return mix(value_ * factor + mark_of_short_text); }

private:
	static constexpr uint64_t factor = random_step;
	uint64_t leaving_ = 1, value_ = 0;
	uint64_t window_[SB_GRAM_MAX_LENGTH] = {};
	size_t count_ = 0;
	uint32_t length_, at_ = 0;
};

} // namespace streambloom

#endif
