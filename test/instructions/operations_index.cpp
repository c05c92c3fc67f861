/*
 * operations_index.cpp: what the index asks of the core: lines of its pages, grams, hashes of texts.
 */
#include "operations.h"

namespace operations {

namespace {

constexpr size_t ranges = 125; /* the most that a page has lines of */
constexpr uint8_t index_hashes = 6;
constexpr uint64_t in_range = 40;

/* One position of a page: a line for each range, each with some items. */
Bytes page()
{
	Bytes lines(ranges * SB_BF_LINE);
	for (uint64_t i = 0; i < ranges * in_range; i++)
		sb_bf_line_add(&lines[i / in_range * SB_BF_LINE], index_hashes, random_bits(i));
	return lines;
}

void index_look_up(const Counter &counter)
{
	const Bytes lines = page();
	const Hashes hashes = hashes_of(10000, ranges * in_range);
	size_t missed = 0;
	counter.begin();
	for (size_t i = 0; i < hashes.size(); i++)
	{
		uint64_t mask[2] = {0, 0};
		sb_bf_lines_containing(lines.data(), ranges, index_hashes, hashes[i], mask);
		const size_t range = i % (ranges * in_range) / in_range;
		missed += (mask[range / 64] >> (range % 64) & 1) == 0;
	}
	counter.end(hashes.size());
	demand(missed == 0, "the ranges of an item");
}

void index_add(const Counter &counter)
{
	counter.begin();
	const Bytes lines = page();
	counter.end(ranges * in_range);
	demand(sb_bf_line_contains(lines.data(), index_hashes, random_bits(0)), "an item of a line");
}

/* --------------------------------------------------------------------- grams */

constexpr sb_gram_form gram_form = {SB_GRAM_DEFAULT_LENGTH, true, SB_GRAM_UTF8};

/* Lines of a log of a web server. */
std::vector<std::string> log_lines()
{
	std::vector<std::string> lines;
	for (unsigned i = 0; i < 1000; i++)
	{
		char line[256];
		std::snprintf(
			line, sizeof line,
			"192.0.2.%u - - [01/Mar/2024:%02u:%02u:%02u +0000] \"GET /products/%u?session=%08x HTTP/1.1\" 200 %u "
			"\"https://example.com/\" \"Mozilla/5.0 (X11; Linux x86_64; rv:123.0) Gecko/20100101 Firefox/123.0\"",
			i % 250, i / 240 % 24, i / 4 % 60, i * 15 % 60, i % 77, static_cast<unsigned>(random_bits(i)),
			static_cast<unsigned>(random_bits(i) % 100000));
		lines.emplace_back(line);
	}
	return lines;
}

void gram_extract(const Counter &counter)
{
	const std::vector<std::string> lines = log_lines();
	Hashes grams(sb_gram_most(256));
	size_t all = 0;
	counter.begin();
	for (const std::string &line : lines)
	{
		size_t count;
		ok(sb_gram_extract(&gram_form, line.data(), line.size(), grams.data(), &count));
		all += count;
	}
	counter.end(lines.size());
	demand(all > lines.size() * 150, "the grams");
}

/* The same for texts in which the quick way for ASCII cannot be taken. */
void gram_extract_letters(const Counter &counter)
{
	const std::string text =
		"Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich; ο γρήγορος σκύλος πηδά πάνω από τον φράχτη";
	Hashes grams(sb_gram_most(text.size()));
	size_t all = 0;
	counter.begin();
	for (int i = 0; i < 1000; i++)
	{
		size_t count;
		ok(sb_gram_extract(&gram_form, text.data(), text.size(), grams.data(), &count));
		all += count;
	}
	counter.end(1000);
	demand(all > 80000, "the grams");
}

void take_apart(const Counter &counter, sb_gram_comparison comparison, const std::string &pattern)
{
	Memory memory;
	uint32_t grams = 0;
	counter.begin();
	for (int i = 0; i < 100; i++)
	{
		sb_gram_query query;
		ok(sb_gram_take_apart(&gram_form, comparison, pattern.data(), pattern.size(), memory, &query));
		grams += query.gram_count;
		sb_gram_release(memory, &query);
	}
	counter.end(100);
	demand(grams >= 1000, "the grams of a pattern");
}

void gram_like(const Counter &counter)
{
	take_apart(counter, SB_GRAM_LIKE_ANY_CASE, "%GET /products/42?session=%Firefox/123%");
}

void gram_regex(const Counter &counter)
{
	take_apart(counter, SB_GRAM_REGEX, "GET /(products|offers)/[0-9]+\\?session=.*(Firefox|Chrome)/1[0-9]{2}");
}

void hash_line(const Counter &counter)
{
	const std::vector<std::string> lines = log_lines();
	uint64_t sum = 0;
	counter.begin();
	for (const std::string &line : lines)
		sum ^= sb_hash_bytes(line.data(), line.size());
	counter.end(lines.size());
	demand(sum != 0, "the hashes");
}

} // namespace

const std::vector<Operation> of_index = {
	{"index_look_up", index_look_up, true}, {"index_add", index_add, true},
	{"gram_extract", gram_extract, false},	{"gram_extract_letters", gram_extract_letters, false},
	{"gram_like", gram_like, false},		{"gram_regex", gram_regex, false},
	{"hash_line", hash_line, false},
};

} // namespace operations
