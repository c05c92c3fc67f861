/*
 * sb_gram.h: n-grams of texts, and what a pattern says about them. Part of streambloom.h.
 *
 * A text is taken as the sequence of its characters between a mark for its beginning and one for its end. Its *grams*
 * are all runs of n consecutive characters in this sequence, marks included, each as an integer of 64 bits. If the
 * whole sequence has fewer than n characters, it is one gram. A pattern (of LIKE, or a regular expression) gives grams
 * that every matching text has. A pattern with alternatives gives several sets of grams: every matching text has all
 * grams of at least one set. So a text cannot match if it lacks at least one gram of each set. Any other text may match
 * or not.
 *
 * With `fold`, letters are folded first (gram_fold.hpp), so that grams also serve comparisons that ignore case.
 */
#ifndef STREAMBLOOM_SB_GRAM_H
#define STREAMBLOOM_SB_GRAM_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_GRAM_MIN_LENGTH 3
#define SB_GRAM_MAX_LENGTH 8
#define SB_GRAM_DEFAULT_LENGTH 4

/* How bytes become characters. */
typedef enum sb_gram_text
{
	SB_GRAM_UTF8,				/* a byte that does not belong to a character of UTF-8 is a character of its own */
	SB_GRAM_ONE_BYTE,			/* each byte is a character; with `fold`, all bytes beyond ASCII and 0x1a become the
								 * letter i, and several letters i in a row become one (gram_text.hpp says why) */
	SB_GRAM_BYTES				/* each byte is a character, and nothing is folded */
} sb_gram_text;

/* Describes the grams of an index. Grams of different forms cannot be compared. */
typedef struct sb_gram_form
{
	uint32_t	length;			/* n: SB_GRAM_MIN_LENGTH to SB_GRAM_MAX_LENGTH characters */
	bool		fold;
	sb_gram_text text;
} sb_gram_form;

/* The largest number of grams that a text of `size` bytes can have. */
size_t		sb_gram_most(size_t size) SB_NOEXCEPT;

/*
 * Writes the grams of a text, at least one; *count becomes their number. A gram that occurs several times may be
 * written several times, but in texts of more than 64 bytes most repetitions that follow soon are left out. May return
 * SB_INTERRUPTED. REQUIRES: `grams` has room for sb_gram_most(size) grams.
 */
SB_NODISCARD sb_status sb_gram_extract(const sb_gram_form *form, const void *text, size_t size, uint64_t *grams,
									   size_t *count) SB_NOEXCEPT;

/* The marks that stand for the beginning and the end of a text among its characters. */
#define SB_GRAM_BEGINNING 0x110000
#define SB_GRAM_END 0x110001

/*
 * Writes the characters of which the grams are made, marks included: code points of Unicode, or bytes. *count becomes
 * their number. May return SB_INTERRUPTED. REQUIRES: `characters` has room for sb_gram_most(size) characters.
 */
SB_NODISCARD sb_status sb_gram_characters(const sb_gram_form *form, const void *text, size_t size,
										  uint32_t *characters, size_t *count) SB_NOEXCEPT;

/* How a text is compared with a pattern. */
typedef enum sb_gram_comparison
{
	SB_GRAM_EQUAL,				/* text = pattern */
	SB_GRAM_STARTS_WITH,		/* text ^@ pattern */
	SB_GRAM_LIKE,				/* text LIKE pattern, with \ for ESCAPE */
	SB_GRAM_LIKE_ANY_CASE,		/* text ILIKE pattern */
	SB_GRAM_REGEX,				/* text ~ pattern: an advanced regular expression of PostgreSQL */
	SB_GRAM_REGEX_ANY_CASE		/* text ~* pattern */
} sb_gram_comparison;

/*
 * The grams that a pattern requires, and a program that says whether a text with some of these grams may match. A step
 * of the program either pushes the answer for one gram (is it in the text?) onto a stack, or joins the topmost answers
 * into one: all of them must be true, or at least one.
 */
typedef struct sb_gram_query
{
	uint64_t   *grams;			/* may have the same gram twice */
	uint32_t	gram_count;		/* 0: the pattern requires nothing, any text may match */
	uint32_t   *steps;
	uint32_t	step_count;
	bool	   *stack;			/* room for the answers */
} sb_gram_query;

/*
 * Takes a pattern apart into a query. The query requires nothing (gram_count is 0) in three cases: this function does
 * not understand the pattern, a text without any gram of the pattern can match, or the comparison ignores case and the
 * form does not fold. Some patterns are refused with an error by PostgreSQL's comparison. This function understands few
 * of them. For such a pattern an index may find no row; then PostgreSQL compares nothing, and raises no error.
 * sb_gram_release() frees the query's memory. SB_NO_MEMORY, SB_INTERRUPTED: *query is empty.
 */
SB_NODISCARD sb_status sb_gram_take_apart(const sb_gram_form *form, sb_gram_comparison comparison, const void *pattern,
										  size_t size,
										  const sb_memory *memory, sb_gram_query *query) SB_NOEXCEPT;

void		sb_gram_release(const sb_memory *memory, sb_gram_query *query) SB_NOEXCEPT;

/*
 * Returns false if the text cannot match. there[i] is 0 if the text certainly does not have gram i of the query, else
 * any other number.
 */
bool		sb_gram_can_match(const sb_gram_query *query, const signed char *there) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif							/* STREAMBLOOM_SB_GRAM_H */
