/*
 * gram_fold.hpp: folds letters. If some comparison takes two texts for equal except for case, they have the same
 * grams.
 *
 * PostgreSQL compares s ILIKE p as lower(s) LIKE lower(p), and a character of a regular expression that ignores case
 * matches the lower and the upper case of itself. What the lower case of a text is depends on the collation's provider,
 * its version of Unicode and its language (Turkish I becomes ı), and on the neighbouring characters (a final Σ becomes
 * ς). An index must not depend on any of these. So letters fold by a table of our own, which scripts/generate-gram-fold
 * writes. Letters that are equal except for case under at least one collation fold to the same characters: for each
 * text s and each rule L for lower case, fold(L(s)) = fold(s). A text folds character by character: fold(st) = fold(s)
 * fold(t). Therefore, if lower(s) contains r, fold(s) contains fold(r).
 *
 *  - All characters that simple case mappings connect become the same one: I, i, ı and İ; K, k and the Kelvin sign;
 *    Σ, σ and ς.
 *  - A character that some mapping turns into several characters becomes these: ß becomes ss, ǰ becomes j and a
 *    caron.
 *  - The combining dot above vanishes, because Lithuanian and Turkish rules add it and take it away.
 *  - Code points without a character become U+FFFD. So do letters that Unicode calls upper, lower or title case but
 *    that have no other case: a later version of Unicode may make two of them the upper and lower case of each other.
 *    Letters without case, such as Chinese ones, stay as they are.
 *
 * All this holds for the table's version of Unicode and for earlier versions. A later version may add a character
 * whose other case has been there before, as 5.1 did (U+1E9E, whose lower case is U+00DF) and 9.0 (U+1C80 to U+1C88,
 * whose upper cases are Cyrillic letters). Or it may give other cases to letters without case, as 11.0 did to the
 * Georgian ones. Under a collation of such a version, a comparison that ignores case can be true though the grams
 * differ, if the text or the pattern has one of these characters.
 *
 * The grams in an index depend on the table, so changing the table changes the format of indexes.
 */
#ifndef STREAMBLOOM_GRAM_FOLD_HPP
#define STREAMBLOOM_GRAM_FOLD_HPP

#include <cstddef>
#include <cstdint>

namespace streambloom {

/* Returns the lower case of an ASCII letter, and other characters as they are. */
constexpr uint32_t fold_ascii(uint32_t character)
{
	return character - 'A' < 26 ? character + ('a' - 'A') : character;
}

/* Folds a character beyond ASCII: writes the result to folded[] and returns its number of characters, 0 to 3. */
size_t fold_beyond_ascii(uint32_t character, uint32_t folded[3]);

/* Folds a character, and calls emit() for each character of the result. */
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
