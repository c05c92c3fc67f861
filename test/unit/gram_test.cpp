/*
 * gram_test.cpp: n-grams of texts and patterns. The promise: a text that matches a pattern has all the grams that the
 * pattern requires.
 */
#include "support.h"

#include "gram/gram_fold.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

using namespace test;

namespace {

const sb_gram_form usual = {SB_GRAM_DEFAULT_LENGTH, true, SB_GRAM_UTF8};

std::set<uint64_t> grams_of(const std::string &text, const sb_gram_form &form = usual)
{
	std::vector<uint64_t> grams(sb_gram_most(text.size()));
	size_t count = 0;
	EXPECT_EQ(sb_gram_extract(&form, text.data(), text.size(), grams.data(), &count), SB_OK);
	EXPECT_GE(count, 1u);
	EXPECT_LE(count, grams.size());
	return {grams.begin(), grams.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<uint32_t> characters_of(const std::string &text, const sb_gram_form &form = usual)
{
	std::vector<uint32_t> characters(sb_gram_most(text.size()));
	size_t count = 0;
	EXPECT_EQ(sb_gram_characters(&form, text.data(), text.size(), characters.data(), &count), SB_OK);
	characters.resize(count);
	return characters;
}

/* A pattern that is taken apart, and can then be asked about texts. */
class Query
{
public:
	Query(sb_gram_comparison comparison, const std::string &pattern, const sb_gram_form &form = usual)
	{
		EXPECT_EQ(sb_gram_take_apart(&form, comparison, pattern.data(), pattern.size(), memory_, &query_), SB_OK);
	}
	~Query() { sb_gram_release(memory_, &query_); }
	bool requires_something() const { return query_.gram_count > 0; }
	size_t gram_count() const { return query_.gram_count; }
	bool can_match(const std::set<uint64_t> &grams) const
	{
		if (query_.gram_count == 0)
			return true;
		std::vector<signed char> there(query_.gram_count);
		for (uint32_t i = 0; i < query_.gram_count; i++)
			there[i] = grams.count(query_.grams[i]) != 0;
		return sb_gram_can_match(&query_, there.data());
	}

private:
	Memory memory_;
	sb_gram_query query_ = {};
};

bool can_match(sb_gram_comparison comparison, const std::string &pattern, const std::string &text,
			   const sb_gram_form &form = usual)
{
	return Query(comparison, pattern, form).can_match(grams_of(text, form));
}

/* LIKE over bytes, written from the documentation of PostgreSQL's LIKE. */
bool is_like(const std::string &text, size_t t, const std::string &pattern, size_t p)
{
	if (p == pattern.size())
		return t == text.size();
	if (pattern[p] == '%')
	{
		for (size_t rest = t; rest <= text.size(); rest++)
			if (is_like(text, rest, pattern, p + 1))
				return true;
		return false;
	}
	if (t == text.size())
		return false;
	if (pattern[p] == '_')
		return is_like(text, t + 1, pattern, p + 1);
	if (pattern[p] == '\\')
		p++;
	return p < pattern.size() && pattern[p] == text[t] && is_like(text, t + 1, pattern, p + 1);
}

std::string random_text(Random &random, const std::string &letters, size_t most)
{
	std::string text(random() % (most + 1), ' ');
	for (char &letter : text)
		letter = letters[random() % letters.size()];
	return text;
}

} // namespace

TEST(Gram, ATextHasTheGramsOfItsCharactersAndMarks)
{
	EXPECT_EQ(characters_of("aB"), (std::vector<uint32_t>{SB_GRAM_BEGINNING, 'a', 'b', SB_GRAM_END}));
	EXPECT_EQ(grams_of("").size(), 1u);
	EXPECT_EQ(grams_of("a").size(), 1u);
	EXPECT_EQ(grams_of("ab").size(), 1u);
	EXPECT_EQ(grams_of("abc").size(), 2u);
	EXPECT_EQ(grams_of("abcdef").size(), 5u);
	EXPECT_NE(grams_of(""), grams_of("a"));
	EXPECT_NE(grams_of("a"), grams_of("b"));
}

TEST(Gram, ARepeatedGramIsLeftOutMostly)
{
	const std::string text(100000, 'x');
	std::vector<uint64_t> grams(sb_gram_most(text.size()));
	size_t count = 0;
	ASSERT_EQ(sb_gram_extract(&usual, text.data(), text.size(), grams.data(), &count), SB_OK);
	EXPECT_LE(count, 4u);
	EXPECT_EQ(grams_of(text).size(), 3u);
}

/* A long text, which is read in a faster way, has one gram for each different piece of n characters. */
TEST(Gram, GramsOfLongTextsAreThoseOfTheirPieces)
{
	Random random(1);
	for (int round = 0; round < 300; round++)
	{
		const std::string text = random_text(random, "abcdeABC \xc3", 400);
		for (uint32_t n = SB_GRAM_MIN_LENGTH; n <= SB_GRAM_MAX_LENGTH; n++)
			for (bool fold : {false, true})
				for (sb_gram_text kind : {SB_GRAM_UTF8, SB_GRAM_ONE_BYTE, SB_GRAM_BYTES})
				{
					const sb_gram_form form = {n, fold, kind};
					std::set<std::vector<uint32_t>> pieces;
					const std::vector<uint32_t> characters = characters_of(text, form);
					for (size_t i = 0; i + n <= characters.size(); i++)
						pieces.insert({characters.begin() + static_cast<std::ptrdiff_t>(i),
									   characters.begin() + static_cast<std::ptrdiff_t>(i + n)});
					ASSERT_EQ(grams_of(text, form).size(), std::max<size_t>(pieces.size(), 1)) << text;
				}
	}
}

TEST(Gram, LettersFoldAlikeWhateverTheirCase)
{
	EXPECT_EQ(characters_of("Iiıİ"), characters_of("iiii"));
	EXPECT_EQ(characters_of("ΣΊΣΥΦΟΣ"), characters_of("σίσυφος"));
	EXPECT_EQ(characters_of("STRASSE"), characters_of("Straße"));
	EXPECT_EQ(characters_of("\u212a\u017f"), characters_of("ks"));
	EXPECT_EQ(characters_of("i\u0307"), characters_of("I"));
	EXPECT_NE(characters_of("a"), characters_of("ä"));
}

/*
 * In encodings other than UTF-8 ICU may turn a letter into a substitute character, or into two of them. So all
 * letters that may become such characters count as one letter.
 */
TEST(Gram, LettersBeyondAsciiAreOneLetterWhereTheEncodingIsNotUtf8)
{
	const sb_gram_form form = {SB_GRAM_MIN_LENGTH, true, SB_GRAM_ONE_BYTE};
	const std::string letters = "iI\xdd\xfd\x1a";
	Random random(7);
	auto other_case = [&](const std::string &text) {
		std::string other;
		for (char letter : text)
			if (letters.find(letter) == std::string::npos)
				other += letter;
			else
				for (size_t i = random() % 3 + 1; i > 0; i--)
					other += letters[random() % letters.size()];
		return other;
	};
	EXPECT_NE(grams_of("abc\xdd", form), grams_of("abcd", form));
	for (int round = 0; round < 20000; round++)
	{
		const std::string text = random_text(random, std::string("ab").append(letters), 100), other = other_case(text);
		ASSERT_EQ(grams_of(text, form), grams_of(other, form));
		ASSERT_EQ(characters_of(text, form), characters_of(other, form));
		const std::string piece = other_case(text).substr(0, random() % 50),
						  from = text.substr(random() % (text.size() + 1));
		ASSERT_TRUE(can_match(SB_GRAM_STARTS_WITH, piece, text, form));
		ASSERT_TRUE(can_match(SB_GRAM_LIKE_ANY_CASE, std::string("%").append(other_case(from)), text, form));
		ASSERT_TRUE(can_match(SB_GRAM_REGEX_ANY_CASE, other_case(from), text, form));
	}
}

TEST(Gram, FoldingTwiceIsFoldingOnce)
{
	for (uint32_t character = 0; character < 0x110000; character++)
		streambloom::fold_character(character, [&](uint32_t once) {
			size_t count = 0;
			streambloom::fold_character(once, [&](uint32_t twice) {
				EXPECT_EQ(once, twice) << character;
				count++;
			});
			EXPECT_EQ(count, 1u) << character;
		});
}

/* The characters of a concatenated text are those of its parts, without the marks between. Patterns rely on this. */
TEST(Gram, TheCharactersOfTwoTextsAreThoseOfBoth)
{
	Random random(2);
	for (int round = 0; round < 2000; round++)
	{
		std::string texts[2];
		for (std::string &text : texts)
			for (int i = 0; i < 5; i++)
				text += std::vector<std::string>{
					"a", "İ", "ß", "\u0307", "ΐ", "日", "\U0001f600", "ŉ", "K"}[random() % 9];
		std::vector<uint32_t> first = characters_of(texts[0]), second = characters_of(texts[1]);
		first.pop_back();
		first.insert(first.end(), second.begin() + 1, second.end());
		EXPECT_EQ(characters_of(texts[0] + texts[1]), first);
	}
}

TEST(Gram, NoTextIsWrittenBehindTheRoomForIt)
{
	Random random(3);
	for (int round = 0; round < 20000; round++)
	{
		std::string text;
		for (size_t i = random() % 40; i > 0; i--)
			text += random() % 2 == 0 ? std::string("\u0390") : std::string(1, static_cast<char>(random()));
		for (bool fold : {false, true})
		{
			const sb_gram_form form = {SB_GRAM_MIN_LENGTH, fold, SB_GRAM_UTF8};
			EXPECT_LE(characters_of(text, form).size(), sb_gram_most(text.size()));
			grams_of(text, form);
		}
	}
}

TEST(Gram, WhatIsLikeAPatternHasItsGrams)
{
	Random random(4);
	size_t matches = 0, excluded = 0, differ = 0;
	for (int round = 0; round < 200000; round++)
	{
		const std::string text = random_text(random, "abcA", 14);
		std::string pattern = random() % 2 == 0 ? text : random_text(random, "abcA", 8);
		for (size_t i = random() % 3; i > 0 && !pattern.empty(); i--)
			pattern.replace(random() % pattern.size(), random() % 3,
							std::vector<std::string>{"%", "_", "\\a", "%%"}[random() % 4]);
		if (random() % 2 == 0)
			pattern = std::string("%").append(pattern).append("%");
		const sb_gram_form form = {static_cast<uint32_t>(3 + random() % 3), random() % 2 == 0, SB_GRAM_UTF8};
		const bool can = can_match(SB_GRAM_LIKE, pattern, text, form);
		if (is_like(text, 0, pattern, 0))
		{
			matches++;
			ASSERT_TRUE(can) << text << " LIKE " << pattern;
		}
		else
		{
			differ++;
			excluded += !can;
		}
	}
	EXPECT_GT(matches, 20000u);
	EXPECT_GT(excluded, differ / 4);
}

TEST(Gram, EqualityAndBeginningsKnowTheMarks)
{
	EXPECT_TRUE(can_match(SB_GRAM_EQUAL, "a", "a"));
	EXPECT_FALSE(can_match(SB_GRAM_EQUAL, "a", "b"));
	EXPECT_FALSE(can_match(SB_GRAM_EQUAL, "abc", "abcd"));
	EXPECT_FALSE(can_match(SB_GRAM_EQUAL, "", "a"));
	EXPECT_TRUE(can_match(SB_GRAM_STARTS_WITH, "abc", "abcdef"));
	EXPECT_FALSE(can_match(SB_GRAM_STARTS_WITH, "abc", "xabcdef"));
	EXPECT_TRUE(can_match(SB_GRAM_STARTS_WITH, "", "a"));
	EXPECT_FALSE(can_match(SB_GRAM_LIKE, "abc%", "xabc"));
	EXPECT_FALSE(can_match(SB_GRAM_LIKE, "%abc", "abcx"));
	EXPECT_FALSE(can_match(SB_GRAM_LIKE, "a", "b"));
}

TEST(Gram, APatternThatSaysNothingRequiresNothing)
{
	for (const char *pattern : {"%", "%abc%", "a%", "_", "%\\"})
		EXPECT_FALSE(Query(SB_GRAM_LIKE, pattern).requires_something()) << pattern;
	for (const char *pattern :
		 {"",		  "abc",	   "a*",		 "(wget)?",	  "wget|ab",	"(?=wget)", "(?!wget)x",
		  "\\d+",	  "wget|",	   "[",			 "(wget",	  "wget)",		"a**",		"\\x41bcdef",
		  "(\\w)\\1", "(?n)^wget", "(?x) w get", "***:(?q)w", "x{300}wget", "wget\\",	"*wget"})
		EXPECT_FALSE(Query(SB_GRAM_REGEX, pattern).requires_something()) << pattern;
	/* each of these patterns raises an error in PostgreSQL; each of the next ones is similar, and valid */
	for (const char *pattern : {"wget{3,1}", "wget[z-a]", "wget[^9-0]", "wget[[:foo:]]", "wget[[:alphabet:]]", "wget)"})
		EXPECT_FALSE(Query(SB_GRAM_REGEX, pattern).requires_something()) << pattern;
	for (const char *pattern :
		 {"wget{1,3}", "wget{3,}", "wget[a-z]", "wget[^0-9]", "wget[[:word:]]", "wget[z-]", "wget[-a]"})
		EXPECT_TRUE(Query(SB_GRAM_REGEX, pattern).requires_something()) << pattern;
	/* without folding, no other case of a letter is known */
	const sb_gram_form exact = {4, false, SB_GRAM_UTF8};
	EXPECT_FALSE(Query(SB_GRAM_LIKE_ANY_CASE, "%wget%", exact).requires_something());
	EXPECT_FALSE(Query(SB_GRAM_REGEX_ANY_CASE, "wget", exact).requires_something());
	EXPECT_FALSE(Query(SB_GRAM_REGEX, "(?i)wget", exact).requires_something());
	EXPECT_TRUE(Query(SB_GRAM_REGEX, "wget", exact).requires_something());
}

TEST(Gram, RegularExpressionsRequireWhatTheyMustHave)
{
	struct
	{
		const char *pattern, *matches, *does_not;
	} cases[] = {
		{"wget|sqlmap", "GET by sqlmap/1", "curl/7.1"},
		{"^GET /wp-(login|admin)\\.php", "get /wp-login.php", "x get /wp-login.php"},
		{"10[.]2[.]3[.]4", "at 10.2.3.4 it", "at 10.2.3x4 it"},
		{"ab+cdef", "abbcdef", "abbcdxef"},
		{"a{2}bcde", "aabcde", "aabcdxe"},
		{"(abcd)+efgh", "abcdabcdefgh", "abcdef"},
		{"abcd.efgh", "abcdXefgh", "abcdXefg"},
		{"(?:foobar)", "a foobar", "a fooba"},
		{"abcd(efgh)?", "abcd", "abc"},
		{"\\mwget\\M", "a wget b", "a wgt b"},
		{"abc\\tdef", "abc\tdef", "abctdef"},
		{"***=a.cd", "xa.cdx", "xabcdx"},
		{"[Ww][Gg]et", "wget", "wgex"},
		{"abcd$", "xabcd", "abcdx"},
		{"[]abc]wget", "]wget", "]wge"},
		{"[[.].]]wget", "]wget", "]wge"},
		{"[^]]wget", "xwget", "xwge"},
		{"wget{", "wget{", "wgex{"},
		{"(?i)WGET", "wget", "wgex"},
		{"wget(?=abc)(?<!def)", "wgetabc", "wge"},
		{"x*?abcde", "abcde", "abcd"},
		{"abcd{2,}", "abcdd", "abc"},
		{"(((wget)))", "wget", "wge"},
		{"***:wget", "wget", "wge"},
		{"Straße", "STRASSE", "STRASE"},
	};
	for (const auto &each : cases)
	{
		EXPECT_TRUE(Query(SB_GRAM_REGEX, each.pattern).requires_something()) << each.pattern;
		EXPECT_TRUE(can_match(SB_GRAM_REGEX, each.pattern, each.matches)) << each.pattern;
		EXPECT_FALSE(can_match(SB_GRAM_REGEX, each.pattern, each.does_not)) << each.pattern;
	}
}

TEST(Gram, AlternativesAreJoinedWithWhatIsBesideThem)
{
	const sb_gram_form six = {6, true, SB_GRAM_UTF8};
	struct
	{
		const char *pattern, *matches, *does_not;
	} cases[] = {
		{R"(\[(44400|44437)\])", "x[44437]x", "44400 [44438] [44401] 44437"},
		{"item-(?:7|89)[.]html", "item-89.html", "item-8.html item-9.html item- .html"},
		{R"(/a\.(php|html)$)", "/a.php", "/a.phpx"},
		{"abcd(d|)efg", "abcdefg", "abcdxefg"},
		{"host-[123]\\.x", "host-2.x", "host-4.x"},
		{"(^|/)admin", "admin", "xadmin"},
		{R"(abc(d|e)\\fgh)", R"(abcd\fgh)", "abcdfgh"},
		{"abcde[12][34]fghij", "abcde14fghij", "abcde54fghij"},
	};
	for (const auto &each : cases)
	{
		EXPECT_TRUE(Query(SB_GRAM_REGEX, each.pattern, six).requires_something()) << each.pattern;
		EXPECT_TRUE(can_match(SB_GRAM_REGEX, each.pattern, each.matches, six)) << each.pattern;
		EXPECT_FALSE(can_match(SB_GRAM_REGEX, each.pattern, each.does_not, six)) << each.pattern;
	}
	/*
	 * alternatives are not joined with the text beside them, so no gram of six characters is found: if there are many,
	 * if they may occur several times or not at all, if they are nested, if they are a range or a negated set, or if
	 * they are only looked ahead for
	 */
	for (const char *pattern : {"abc(d|e)+fg", "abc(d|e)?fg", "abc(d|(e))fg", "abc[de]{2}fg",
								"abc(a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q)de", "abc[^de]fg", "abc[d-f]gh", "abc(?=d|e)fg"})
		EXPECT_FALSE(Query(SB_GRAM_REGEX, pattern, six).requires_something()) << pattern;
}

/* For expressions that mean the same in PostgreSQL and in C++, std::regex tells which texts match. */
TEST(Gram, WhatMatchesARegularExpressionHasItsGrams)
{
	Random random(5);
	const std::vector<std::string> parts = {
		"a",	   "b",			  "c",		  "ab",	  "bca",	   ".",		 "[ab]",	"[a]",
		"(ab|ca)", "(abc|bcab|)", "a*",		  "b+",	  "c?",		   "(ab)+",	 "(bc)*",	"a{2}",
		"b{1,2}",  "c{0,1}",	  "(?:abca)", "|",	  "^",		   "$",		 "(a|b+c)", "(abca)?",
		"\\w",	   "[bc]",		  "[ac]+",	  "(a|)", "(?:b|ca|)", "(^a|b)", "(b$|c)",	"(.|ab)"};
	size_t matches = 0, differ = 0, excluded = 0;
	for (int round = 0; round < 60000; round++)
	{
		std::string pattern;
		for (size_t i = 1 + random() % 7; i > 0; i--)
			pattern += parts[random() % parts.size()];
		const sb_gram_form form = {3, false, SB_GRAM_UTF8};
		const Query query(SB_GRAM_REGEX, pattern, form);
		if (!query.requires_something())
			continue;
		const std::regex expression(pattern, std::regex::ECMAScript);
		for (int i = 0; i < 10; i++)
		{
			const std::string text = random_text(random, "abc", 40);
			const bool can = query.can_match(grams_of(text, form));
			if (std::regex_search(text, expression))
			{
				matches++;
				ASSERT_TRUE(can) << text << " ~ " << pattern;
			}
			else
			{
				differ++;
				excluded += !can;
			}
		}
	}
	EXPECT_GT(matches, 10000u);
	EXPECT_GT(excluded, differ / 4);
}

TEST(Gram, LongPatternsAreThinnedOut)
{
	Random random(6);
	std::string text(200000, ' ');
	for (char &letter : text)
		letter = static_cast<char>('a' + random() % 26);
	const Query query(SB_GRAM_EQUAL, text);
	EXPECT_GT(query.gram_count(), 100u);
	EXPECT_LT(query.gram_count(), 2000u);
	EXPECT_TRUE(query.can_match(grams_of(text)));
}

/* An alternative without any gram would let all texts match. */
TEST(Gram, EachOfManyAlternativesKeepsGrams)
{
	Random random(8);
	for (size_t letters : {size_t{4}, size_t{8}})
		for (size_t count : {size_t{150}, size_t{200}, size_t{1000}})
		{
			std::string pattern, optional, sets;
			std::vector<std::string> words;
			for (size_t i = 0; i < count; i++)
			{
				std::string word(letters, ' ');
				for (char &letter : word)
					letter = static_cast<char>('a' + random() % 26);
				words.push_back(word);
				pattern.append(i > 0 ? "|" : "").append(word);
				optional.append(i > 0 ? "|" : "").append("(optional)?").append(word);
				sets.append(".[xy]").append(word);
			}
			const Query query(SB_GRAM_REGEX, pattern);
			EXPECT_TRUE(query.requires_something()) << count;
			EXPECT_LE(query.gram_count(), 5 * count + 1000);
			EXPECT_FALSE(query.can_match(grams_of("0123456789 0123456789"))) << count;
			for (const std::string &word : words)
				EXPECT_TRUE(query.can_match(grams_of("some " + word + " and more")));
			EXPECT_TRUE(Query(SB_GRAM_REGEX, optional).requires_something()) << count;
			const Query of_sets(SB_GRAM_REGEX, sets);
			EXPECT_FALSE(of_sets.can_match(grams_of("x" + words[0] + " x" + words[1]))) << count;
			EXPECT_LE(of_sets.gram_count(), 15000);
		}
	/* If there are very many alternatives, not each one can keep a gram: nothing is required, at no great cost. */
	std::string pattern = "0000";
	for (size_t i = 1; i < 100000; i++)
		pattern.append("|").append(std::to_string(1000 + i));
	EXPECT_FALSE(Query(SB_GRAM_REGEX, pattern).requires_something());
}

TEST(Gram, WhereMemoryIsWantingNothingIsLeft)
{
	for (uint64_t fails_at = 0; fails_at < 12; fails_at++)
	{
		Memory memory;
		sb_gram_query query;
		const std::string pattern =
			std::string("%abcdefghijklmnopqrstuvwxyz0123456789").append(500, 'x').append("abcdef%");
		memory.fails_at = fails_at;
		const sb_status status = sb_gram_take_apart(&usual, SB_GRAM_LIKE, pattern.data(), pattern.size(), memory,
													&query);
		EXPECT_TRUE(status == SB_OK || status == SB_NO_MEMORY);
		EXPECT_TRUE(fails_at > 0 || status == SB_NO_MEMORY);
		EXPECT_TRUE(status == SB_OK || query.gram_count == 0);
		sb_gram_release(memory, &query);
	}
}

TEST(Gram, DeepParenthesesAreNotUnderstood)
{
	const std::string deep = std::string(100000, '(').append("wget").append(100000, ')');
	EXPECT_FALSE(Query(SB_GRAM_REGEX, deep).requires_something());
	const std::string fine = std::string(50, '(').append("wget").append(50, ')');
	EXPECT_TRUE(Query(SB_GRAM_REGEX, fine).requires_something());
}
