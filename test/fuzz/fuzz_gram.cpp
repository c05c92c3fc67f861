/*
 * fuzz_gram.cpp: takes patterns and texts apart into grams.
 *
 * An input is a byte for the form of the grams, a byte for the comparison, the pattern up to a zero byte, and the
 * text. Whatever they are, a text that matches must have the grams that the pattern requires. This is checked where
 * matching is simple enough to be done here.
 */
#include "fuzz_support.h"

#include <set>
#include <string>

using namespace fuzz;

const size_t fuzz::prefix_size = 2;

static std::string random_of(Random &random, const char *letters, size_t most)
{
	const std::string all(letters);
	std::string text(random() % (most + 1), ' ');
	for (char &letter : text)
		letter = all[random() % all.size()];
	return text;
}

Input fuzz::make_input(Random &random)
{
	static const char *const pieces[] = {
		"%",   "_",	   "\\",	  ".",	  "*",	  "+",		  "?",			 "{1,2}",	 "{0}",
		"(",   ")",	   "|",		  "[",	  "]",	  "[^a]",	  "[[:alpha:]]", "(?:",		 "(?i)",
		"(?=", "(?<!", "***=",	  "***:", "^",	  "$",		  "\\A",		 "\\m",		 "\\d",
		"\\t", "\\\\", "(ab|cd)", "[.]",  "[aA]", "\xc3\x9f", "\xc4\xb0",	 "\xcc\x87", "\xff"};
	Input input = {static_cast<unsigned char>(random()), static_cast<unsigned char>(random())};
	const std::string text = random_of(random, "abcdiIA \x1a\xc3\x9f", 60);
	std::string pattern = random() % 2 == 0 ? text.substr(random() % (text.size() + 1), random() % 20) :
											  random_of(random, "abcdABi", 12);
	const auto comparison = static_cast<sb_gram_comparison>(input[1] % 6);
	for (uint64_t n = random() % 5; n > 0; n--)
		if (random() % 2 == 0 && !pattern.empty())
			pattern.replace(random() % pattern.size(), 1,
							pieces[random() % (comparison >= SB_GRAM_REGEX ? std::size(pieces) : 3)]);
		else
			pattern.insert(random() % (pattern.size() + 1), pieces[random() % std::size(pieces)]);
	/* makes a pattern that mostly matches */
	if ((comparison == SB_GRAM_LIKE || comparison == SB_GRAM_LIKE_ANY_CASE) && random() % 4 != 0)
		pattern = std::string("%").append(pattern).append("%");
	if (comparison <= SB_GRAM_STARTS_WITH && random() % 2 == 0)
		pattern = text;
	input.insert(input.end(), pattern.begin(), pattern.end());
	input.push_back(0);
	input.insert(input.end(), text.begin(), text.end());
	return input;
}

/*
 * LIKE over bytes. Where pattern and text differ, it goes back to the last % that it has passed, and tries what follows
 * this % one byte further on in the text.
 */
static bool is_like(const std::string &text, const std::string &pattern)
{
	size_t t = 0, p = 0, again_t = 0, again_p = std::string::npos;
	for (;;)
	{
		if (p < pattern.size() && pattern[p] == '%')
		{
			again_p = ++p;
			again_t = t;
			continue;
		}
		if (p == pattern.size() && t == text.size())
			return true;
		const bool escaped = p < pattern.size() && pattern[p] == '\\';
		if (escaped && p + 1 == pattern.size())
			return false;
		if (p < pattern.size() && t < text.size() &&
			((pattern[p] == '_' && !escaped) || pattern[p + escaped] == text[t]))
		{
			p += 1u + escaped;
			t++;
			continue;
		}
		if (again_p == std::string::npos || again_t == text.size())
			return false;
		p = again_p;
		t = ++again_t;
	}
}

/* True if the text certainly matches; false if it does not, or if this is not known here. */
static bool matches(sb_gram_comparison comparison, const std::string &text, const std::string &pattern)
{
	switch (comparison)
	{
		case SB_GRAM_EQUAL:
			return text == pattern;
		case SB_GRAM_STARTS_WITH:
			return text.compare(0, pattern.size(), pattern) == 0;
		case SB_GRAM_LIKE:
		case SB_GRAM_LIKE_ANY_CASE:
			return is_like(text, pattern);
		case SB_GRAM_REGEX:
		case SB_GRAM_REGEX_ANY_CASE:
			break;
	}
	return pattern.find_first_of("\\.[](){}*+?^$|") == std::string::npos && text.find(pattern) != std::string::npos;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < prefix_size)
		return -1;
	const uint8_t *const from = data + prefix_size, *const end = data + size, *const zero = std::find(from, end, 0);
	const Copy pattern(from, static_cast<size_t>(zero - from));
	const Copy text(zero == end ? end : zero + 1, static_cast<size_t>(zero == end ? 0 : end - zero - 1));
	const sb_gram_form form = {SB_GRAM_MIN_LENGTH + data[0] % 8u % (SB_GRAM_MAX_LENGTH - SB_GRAM_MIN_LENGTH + 1),
							   (data[0] & 8) != 0, static_cast<sb_gram_text>(data[0] / 16 % 3)};
	const auto comparison = static_cast<sb_gram_comparison>(data[1] % 6);

	/* there is a gram for each different piece of form.length characters of the text, and at least one gram in all */
	std::vector<uint64_t> grams(sb_gram_most(text.size()));
	std::vector<uint32_t> characters(grams.size());
	size_t count = 0;
	FUZZ_CHECK(sb_gram_extract(&form, text.data(), text.size(), grams.data(), &count) == SB_OK);
	FUZZ_CHECK(count >= 1 && count <= grams.size());
	const std::set<uint64_t> there(grams.begin(), grams.begin() + static_cast<std::ptrdiff_t>(count));
	size_t written = 0;
	FUZZ_CHECK(sb_gram_characters(&form, text.data(), text.size(), characters.data(), &written) == SB_OK);
	characters.resize(written);
	std::set<std::vector<uint32_t>> pieces;
	for (size_t i = 0; i + form.length <= characters.size(); i++)
		pieces.insert({characters.begin() + static_cast<std::ptrdiff_t>(i),
					   characters.begin() + static_cast<std::ptrdiff_t>(i + form.length)});
	FUZZ_CHECK(there.size() == std::max<size_t>(pieces.size(), 1));

	sb_gram_query query;
	FUZZ_CHECK(sb_gram_take_apart(&form, comparison, pattern.data(), pattern.size(), memory(), &query) == SB_OK);
	const bool requires_something = query.gram_count > 0;
	if (requires_something)
	{
		/* With more grams there, a text that could match can still match. */
		std::vector<signed char> none(query.gram_count, 0), all(query.gram_count, 1), some(query.gram_count),
			of_text(query.gram_count);
		FUZZ_CHECK(!sb_gram_can_match(&query, none.data()));
		FUZZ_CHECK(sb_gram_can_match(&query, all.data()));
		Random random(size);
		for (uint32_t i = 0; i < query.gram_count; i++)
		{
			some[i] = random() % 2 == 0;
			of_text[i] = there.count(query.grams[i]) != 0;
		}
		const bool before = sb_gram_can_match(&query, some.data());
		some[random() % some.size()] = 1;
		FUZZ_CHECK(!before || sb_gram_can_match(&query, some.data()));

		const std::string the_pattern(pattern.data(), pattern.data() + pattern.size()),
			the_text(text.data(), text.data() + text.size());
		/*
		 * In UTF-8 a part of a text begins and ends at the border of a character, and _ is one character. The bytes are
		 * compared here, so UTF-8 is tried with ASCII only.
		 */
		auto is_plain = [](const std::string &of) {
			return std::all_of(of.begin(), of.end(), [](char c) { return (c & 0x80) == 0; });
		};
		if ((form.text != SB_GRAM_UTF8 || (is_plain(the_pattern) && is_plain(the_text))) &&
			matches(comparison, the_text, the_pattern))
			FUZZ_CHECK(sb_gram_can_match(&query, of_text.data()));
	}
	sb_gram_release(memory(), &query);
	return requires_something ? 0 : -1;
}
