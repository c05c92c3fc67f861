/*
 * gram_fold.hpp: folds letters, so that texts which some comparison takes for alike but for case have the same grams.
 *
 * PostgreSQL compares s ILIKE p as lower(s) LIKE lower(p), and a character of a regular expression that ignores case
 * matches the lower and the upper case of itself. What lower case is depends on the collation: on its provider, on its
 * version of Unicode, on the language (Turkish I becomes ı), and on the characters beside (a final Σ becomes ς). An
 * index must not depend on any of it. So letters fold by a table of our own (scripts/generate-gram-fold) that is
 * coarser than all of these: for each text s and each lower case L of it, fold(L(s)) = fold(s), and fold(st) = fold(s)
 * fold(t). Therefore, if lower(s) has a part r, fold(s) has the part fold(r).
 *
 *  - All characters that simple case mappings connect become one: I, i, ı and İ; K, k and the Kelvin sign; Σ, σ and ς.
 *  - A character that some mapping makes several of becomes these: ß becomes ss, ǰ becomes j and a caron.
 *  - The combining dot above vanishes, since Lithuanian and Turkish add it and take it away.
 *  - Code points without a character, and letters without another case, all become U+FFFD. A later version of Unicode
 *    may give two of them to each other, which it never does to others. (It may still do so to letters of a script that
 *    has no case at all, as it did to the Georgian one.)
 *
 * The table is stored with an index in effect: to change it is to change the format of indexes.
 */
#ifndef STREAMBLOOM_GRAM_FOLD_HPP
#define STREAMBLOOM_GRAM_FOLD_HPP

#include <cstddef>
#include <cstdint>

namespace streambloom {

/* The lower case of an ASCII letter; other characters as they are. */
constexpr uint32_t fold_ascii(uint32_t character)
{
	return character - 'A' < 26 ? character + ('a' - 'A') : character;
}

/* What a character beyond ASCII becomes is written to folded[]. Returns how many characters these are: 0 to 3. */
size_t fold_beyond_ascii(uint32_t character, uint32_t folded[3]);

/* Calls emit() for each of the characters that this one becomes. */
template <typename Emit>
inline void fold_character(uint32_t character, Emit &&emit)
{
	if (character < 0x80)
		return emit(fold_ascii(character));
	uint32_t folded[3];
	const size_t count = fold_beyond_ascii(character, folded);
	for (size_t i = 0; i < count; i++)
		emit(folded[i]);
}

} // namespace streambloom

#endif
