/*
 * operations.cpp: runs operations of the core on fixed input under callgrind, which counts the instructions of each.
 * The suite `instructions` of scripts/test compares the numbers with bounds.txt; README.md says how.
 *
 *   operations portable|avx2 [NAME ...]
 *
 * The first argument chooses the variant of the kernels. With avx2, only the operations that have such kernels run;
 * the status is 77 if the processor lacks the instructions. Each operation runs twice: the first run fills what the
 * core remembers between calls, the second run is counted. For each operation the program prints its name and the
 * number of items by which the instructions are divided. An operation whose result is wrong ends the program.
 */
#include "base/simd.hpp"
#include "streambloom.h"

#include <valgrind/callgrind.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t many = 100000;
constexpr size_t batch = 128; /* aggregates and window functions hand over items in such batches */
constexpr double rate = 0.01;
constexpr int64_t hour = INT64_C(3600000000);
constexpr int64_t week = 7 * 24 * hour;

using Hashes = std::vector<uint64_t>;
using Bytes = std::vector<unsigned char>;

/* Ends the program unless an operation has done its work. */
void demand(bool condition, const char *what)
{
	if (condition)
		return;
	std::fprintf(stderr, "wrong result: %s\n", what);
	std::exit(1);
}

void ok(sb_status status)
{
	demand(status == SB_OK, sb_status_text(status));
}

/* SplitMix64: the i-th of a fixed sequence of random numbers. */
uint64_t random_bits(uint64_t i)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Returns `count` hashes: those of the items number first .. first + distinct - 1, again and again. */
Hashes hashes_of(size_t count, uint64_t distinct, uint64_t first = 0)
{
	Hashes hashes(count);
	for (size_t i = 0; i < count; i++)
		hashes[i] = random_bits(first + i % distinct);
	return hashes;
}

/*
 * Memory that is taken from one large block and is never given back, so that no instructions of a C library's malloc()
 * are counted.
 */
class Memory
{
public:
	Memory() : bytes_(static_cast<unsigned char *>(std::calloc(room, 1)))
	{
		demand(bytes_ != nullptr, "no memory");
		memory_ = {allocate, [](void *, void *) {}, this};
	}
	~Memory() { std::free(bytes_); }
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	operator const sb_memory *() const { return &memory_; }

private:
	static constexpr size_t room = size_t{64} << 20;

	static void *allocate(void *context, size_t size)
	{
		Memory *self = static_cast<Memory *>(context);
		const size_t at = (self->used_ + 63) & ~size_t{63};
		if (size > room || at > room - size)
			return nullptr;
		self->used_ = at + size;
		return self->bytes_ + at;
	}

	unsigned char *bytes_;
	size_t used_ = 0;
	sb_memory memory_;
};

/* Says which part of an operation is counted: what lies between begin() and end(). */
class Counter
{
public:
	Counter(const std::string &name, bool counts) : name_(name), counts_(counts) {}
	void begin() const
	{
		if (counts_)
			CALLGRIND_START_INSTRUMENTATION;
	}
	void end(uint64_t items) const
	{
		if (!counts_)
			return;
		CALLGRIND_STOP_INSTRUMENTATION;
		CALLGRIND_DUMP_STATS_AT(name_.c_str());
		std::printf("%s %" PRIu64 "\n", name_.c_str(), items);
	}

private:
	std::string name_;
	bool counts_;
};

/* ------------------------------------------------------------------------ bf */

sb_bf bf_plan(uint64_t items)
{
	sb_bf plan;
	ok(sb_bf_plan(items == 0 ? 1 : items, rate, items == 0, &plan));
	plan.kind.code = SB_KIND_INTEGER;
	return plan;
}

/* A stored bf. */
struct Bf
{
	sb_bf header;
	Bytes value;

	explicit Bf(const sb_bf &plan) : header(plan), value(sb_bf_size(&plan))
	{
		sb_bf_encode_header(&plan, value.data());
	}
	unsigned char *stored() { return value.data() + SB_BF_HEADER; }
	double items()
	{
		double items = 0;
		ok(sb_bf_items(&header, stored(), &items));
		return items;
	}
};

/* What the aggregate's final function does. */
Bf built(sb_bf_builder *builder)
{
	sb_bf plan;
	ok(sb_bf_builder_plan(builder, false, &plan));
	Bf result(plan);
	ok(sb_bf_builder_write(builder, &plan, result.stored()));
	return result;
}

Bf bf_of(uint64_t planned, const Hashes &hashes)
{
	Memory memory;
	const sb_bf plan = bf_plan(planned);
	sb_bf_builder builder;
	ok(sb_bf_builder_begin(&builder, memory, &plan));
	ok(sb_bf_builder_add_many(&builder, hashes.data(), hashes.size(), false));
	return built(&builder);
}

void is_near(double found, double expected)
{
	demand(std::fabs(found - expected) < 0.02 * expected, "a number of items");
}

/* Builds a filter as bf_agg() does, row by row. `planned` is the number of items it is for; 0: it sizes itself. */
void build_bf(const Counter &counter, uint64_t planned, uint64_t distinct)
{
	Memory memory;
	const Hashes hashes = hashes_of(many, distinct);
	const sb_bf plan = bf_plan(planned);
	sb_bf_builder builder;
	counter.begin();
	ok(sb_bf_builder_begin(&builder, memory, &plan));
	for (uint64_t hash : hashes)
		ok(sb_bf_builder_add(&builder, hash));
	Bf filter = built(&builder);
	counter.end(many);
	is_near(filter.items(), static_cast<double>(distinct));
}

void bf_build_few(const Counter &counter)
{
	build_bf(counter, 0, 1000);
}

void bf_build_distinct(const Counter &counter)
{
	build_bf(counter, 0, many);
}

void bf_build_planned(const Counter &counter)
{
	build_bf(counter, many, many);
}

void bf_build_integers(const Counter &counter)
{
	Memory memory;
	const sb_bf plan = bf_plan(0);
	sb_bf_builder builder;
	counter.begin();
	ok(sb_bf_builder_begin(&builder, memory, &plan));
	for (size_t i = 0; i < many; i++)
		ok(sb_bf_builder_add_integer(&builder, static_cast<int64_t>(i)));
	Bf filter = built(&builder);
	counter.end(many);
	is_near(filter.items(), many);
}

/* A worker's state is sent, and its items are added to those of another process. */
void bf_unite_sent(const Counter &counter)
{
	Memory memory;
	const sb_bf plan = bf_plan(2 * many);
	const Hashes here = hashes_of(many, many);
	const Hashes there = hashes_of(many, many, many / 2);
	sb_bf_builder builder;
	sb_bf_builder worker;
	sb_bf_builder arrived;
	void *bytes;
	size_t size;
	ok(sb_bf_builder_begin(&builder, memory, &plan));
	ok(sb_bf_builder_begin(&worker, memory, &plan));
	ok(sb_bf_builder_add_many(&builder, here.data(), many, false));
	ok(sb_bf_builder_add_many(&worker, there.data(), many, false));
	counter.begin();
	ok(sb_bf_builder_serialize(&worker, memory, 0, &bytes, &size));
	ok(sb_bf_builder_deserialize(&arrived, memory, bytes, size));
	ok(sb_bf_builder_unite(&builder, &arrived));
	counter.end(many);
	is_near(built(&builder).items(), 1.5 * many);
}

void bf_add_batches(const Counter &counter)
{
	Bf filter(bf_plan(many));
	const Hashes hashes = hashes_of(many, many);
	counter.begin();
	for (size_t i = 0; i < many; i += batch)
		sb_bf_add_many(&filter.header, filter.stored(), &hashes[i], std::min(batch, many - i));
	counter.end(many);
	is_near(filter.items(), many);
}

/* Half of the items that are looked up were added. */
void bf_contains_batches(const Counter &counter)
{
	Bf filter = bf_of(many, hashes_of(many, many));
	const Hashes hashes = hashes_of(many, many, many / 2);
	size_t found = 0;
	bool there[batch];
	counter.begin();
	for (size_t i = 0; i < many; i += batch)
	{
		const size_t count = std::min(batch, many - i);
		ok(sb_bf_contains_many(&filter.header, filter.stored(), &hashes[i], count, there));
		found += static_cast<size_t>(std::count(there, there + count, true));
	}
	counter.end(many);
	is_near(static_cast<double>(found), 0.505 * many);
}

/* Looks items up one by one, as `f @> item` does for a value that is in memory. Half of them were added. */
template <typename Found>
void look_up(const Counter &counter, sb_lookup_type type, const Bytes &value, uint64_t added, Found found)
{
	const Hashes hashes = hashes_of(many, 2 * added);
	size_t sum = 0;
	counter.begin();
	for (uint64_t hash : hashes)
	{
		sb_lookup lookup;
		ok(sb_lookup_open(&lookup, type, value.data(), value.size(), value.size()));
		ok(sb_lookup_item(&lookup, hash));
		sum += found(&lookup);
	}
	counter.end(many);
	demand(sum >= many / 2 && sum < many / 100 * 53, "the items that were found");
}

bool is_found(const sb_lookup *lookup)
{
	return lookup->found;
}

void bf_lookup(const Counter &counter)
{
	look_up(counter, SB_LOOKUP_BF, bf_of(many, hashes_of(many / 2, many / 2)).value, many / 2, is_found);
}

void bf_lookup_exact(const Counter &counter)
{
	look_up(counter, SB_LOOKUP_BF, bf_of(0, hashes_of(10000, 10000)).value, 10000, is_found);
}

void bf_union_lines(const Counter &counter)
{
	Bf left = bf_of(many, hashes_of(many / 2, many / 2));
	Bf right = bf_of(many, hashes_of(many / 2, many / 2, many / 2));
	counter.begin();
	ok(sb_bf_combine(&left.header, left.stored(), &right.header, right.stored(), false));
	counter.end(left.header.line_count);
	is_near(left.items(), many);
}

/* A hundred filters of 1,000 items, as the hours of a table of summaries; neighbors share half of their items. */
void bf_union_exact(const Counter &counter)
{
	Memory memory;
	std::vector<Bf> filters;
	for (uint64_t i = 0; i < 100; i++)
		filters.push_back(bf_of(0, hashes_of(1000, 1000, i * 500)));
	sb_bf_builder builder;
	counter.begin();
	ok(sb_bf_builder_begin_union(&builder, memory, &filters[0].header));
	for (Bf &filter : filters)
	{
		sb_difference difference;
		ok(sb_bf_builder_add_filter(&builder, &filter.header, filter.stored(), &difference));
	}
	Bf united = built(&builder);
	counter.end(filters.size() * 1000);
	demand(united.items() == 50500, "the items of a union");
}

/* What is done with a value that comes from outside. */
void bf_check_exact(const Counter &counter)
{
	Bf filter = bf_of(0, hashes_of(50000, 50000));
	sb_bf header;
	counter.begin();
	ok(sb_bf_decode_header(filter.value.data(), filter.value.size(), filter.value.size(), &header));
	ok(sb_bf_check(&header, filter.stored()));
	counter.end(50000);
	demand(header.item_count == 50000, "a header");
}

void bf_measure(const Counter &counter)
{
	Bf filter = bf_of(many, hashes_of(many, many));
	sb_bf_stats stats;
	counter.begin();
	ok(sb_bf_measure(&filter.header, filter.stored(), &stats));
	counter.end(filter.header.line_count);
	is_near(stats.items, many);
}

/* ----------------------------------------------------------------------- tbf */

/* `planned` is the number of items that the filter is for; 0: it sizes itself. */
sb_tbf tbf_plan(uint64_t planned, uint16_t top = 0)
{
	sb_tbf plan;
	ok(sb_tbf_plan(planned, rate, week, hour, planned == 0, &plan));
	plan.kind.code = SB_KIND_INTEGER;
	plan.top = top;
	return plan;
}

sb_tbf_builder *tbf_begun(const Memory &memory, const sb_tbf &plan, sb_tbf_sums_of sums_of = SB_TBF_SUMS_OF_ITEMS)
{
	sb_tbf_builder *builder;
	ok(sb_tbf_builder_begin(memory, &plan, sums_of, plan.expected_items == 0, &builder));
	return builder;
}

/* Adds hits with the weight 1, of which 100 come in an hour. */
void add_hits(sb_tbf_builder *builder, const Hashes &hashes)
{
	sb_moment moment{};
	uint64_t value = 0;
	for (size_t i = 0; i < hashes.size(); i++)
	{
		if (i % 100 == 0)
		{
			sb_tbf_moment(week, hour, static_cast<int64_t>(i / 100) * hour, &moment);
			ok(sb_tbf_hit(&moment, 1, &value));
		}
		ok(sb_tbf_builder_add_hit(builder, hashes[i], &moment, value));
	}
}

/* A stored tbf, whose bytes lie in the memory that it was made in. */
struct Tbf
{
	sb_tbf header;
	const unsigned char *value;

	const unsigned char *cells() const { return value + SB_TBF_HEADER; }
	size_t size() const { return sb_tbf_size(&header); }
	uint64_t units() const { return sb_tbf_cells(&header); }
	Bytes bytes() const { return Bytes(value, value + size()); }
	void has(uint64_t hash) const
	{
		sb_lookup lookup;
		ok(sb_lookup_open(&lookup, SB_LOOKUP_TBF, value, size(), size()));
		ok(sb_lookup_item(&lookup, hash));
		demand(lookup.found, "an item of a tbf");
	}
};

Tbf stored(sb_tbf_builder *builder, const Memory &memory)
{
	Tbf result;
	void *value;
	ok(sb_tbf_builder_store(builder, memory, 0, &result.header, &value));
	result.value = static_cast<unsigned char *>(value);
	return result;
}

Tbf tbf_of(const Memory &memory, uint64_t planned, const Hashes &hashes)
{
	sb_tbf_builder *builder = tbf_begun(memory, tbf_plan(planned));
	add_hits(builder, hashes);
	return stored(builder, memory);
}

/* Builds a filter as tbf_agg() does for hits that come in order of time. */
void build_tbf(const Counter &counter, uint64_t planned, uint64_t distinct)
{
	Memory memory;
	const Hashes hashes = hashes_of(many, distinct);
	const sb_tbf plan = tbf_plan(planned);
	counter.begin();
	sb_tbf_builder *builder = tbf_begun(memory, plan);
	add_hits(builder, hashes);
	const Tbf filter = stored(builder, memory);
	counter.end(many);
	filter.has(hashes[many - 1]);
}

void tbf_build_few(const Counter &counter)
{
	build_tbf(counter, 0, 1000);
}

void tbf_build_distinct(const Counter &counter)
{
	build_tbf(counter, 0, many);
}

void tbf_build_planned(const Counter &counter)
{
	build_tbf(counter, many, many);
}

/* The list of hot items alone: one of three hits is of one of 100 items. */
void tbf_hot_items(const Counter &counter)
{
	Memory memory;
	Hashes hashes(many);
	for (size_t i = 0; i < many; i++)
		hashes[i] = random_bits(i % 3 == 0 ? i % 100 : i);
	sb_tbf_builder *builder = tbf_begun(memory, tbf_plan(many, 100));
	sb_moment moment;
	size_t listed = 0;
	sb_tbf_moment(week, hour, 0, &moment);
	counter.begin();
	for (uint64_t hash : hashes)
		if (sb_tbf_builder_add_hot_hit(builder, hash, &moment, 1))
		{
			ok(sb_tbf_builder_name_hot_item(builder, "/the/name/of/an/item", 20));
			listed++;
		}
	counter.end(many);
	demand(listed > 10000, "the hot items");
}

bool is_counted(const sb_lookup *lookup)
{
	return sb_tbf_count(&lookup->header.tbf, lookup->units, 2000 * hour) > 0;
}

/* All that tbf_count() does for a value in memory, except hashing the item. */
void tbf_count(const Counter &counter)
{
	Memory memory;
	const Tbf filter = tbf_of(memory, many, hashes_of(many / 2, many / 2));
	look_up(counter, SB_LOOKUP_TBF, filter.bytes(), many / 2, is_counted);
}

void tbf_count_exact(const Counter &counter)
{
	Memory memory;
	const Tbf filter = tbf_of(memory, 0, hashes_of(10000, 10000));
	look_up(counter, SB_LOOKUP_TBF, filter.bytes(), 10000, is_counted);
}

/* Adds up two stored filters, and stores the sum. */
void merge(const Counter &counter, sb_tbf_sums_of sums_of, uint64_t planned, size_t items)
{
	Memory memory;
	const Tbf left = tbf_of(memory, planned, hashes_of(items, items));
	const Tbf right = tbf_of(memory, planned, hashes_of(items, items, items / 2));
	const uint64_t parts = planned == 0 ? 2 * items : 2 * left.units();
	counter.begin();
	sb_tbf_builder *builder = tbf_begun(memory, tbf_plan(planned), sums_of);
	for (const Tbf *filter : {&left, &right})
	{
		sb_difference difference;
		ok(sb_tbf_builder_add_filter(builder, &filter->header, filter->cells(), 1, &difference));
	}
	const Tbf merged = stored(builder, memory);
	counter.end(parts);
	merged.has(random_bits(0));
	merged.has(random_bits(items / 2 * 3 - 1));
}

void tbf_merge(const Counter &counter)
{
	merge(counter, SB_TBF_SUMS_OF_CELLS, many, many);
}

void tbf_merge_exact(const Counter &counter)
{
	merge(counter, SB_TBF_SUMS_OF_ITEMS, 0, 20000);
}

void tbf_unite_sent(const Counter &counter)
{
	Memory memory;
	sb_tbf_builder *builder = tbf_begun(memory, tbf_plan(0));
	sb_tbf_builder *worker = tbf_begun(memory, tbf_plan(0));
	sb_tbf_builder *arrived;
	sb_difference difference;
	void *bytes;
	size_t size;
	add_hits(builder, hashes_of(20000, 20000));
	add_hits(worker, hashes_of(20000, 20000, 10000));
	counter.begin();
	ok(sb_tbf_builder_serialize(worker, memory, 0, SIZE_MAX, &bytes, &size));
	ok(sb_tbf_builder_deserialize(memory, bytes, size, &arrived));
	ok(sb_tbf_builder_unite(builder, arrived, &difference));
	const Tbf filter = stored(builder, memory);
	counter.end(20000);
	filter.has(random_bits(29999));
}

void tbf_decay(const Counter &counter)
{
	Memory memory;
	const Tbf filter = tbf_of(memory, many, hashes_of(many, many));
	Tbf decayed;
	void *value;
	counter.begin();
	ok(sb_tbf_decay(&filter.header, filter.cells(), 1000 * hour + 2 * week, memory, 0, &decayed.header, &value));
	counter.end(filter.units());
	decayed.value = static_cast<unsigned char *>(value);
	demand(value != nullptr && decayed.header.base > filter.header.base, "a later base");
	decayed.has(random_bits(many - 1));
}

void tbf_check(const Counter &counter)
{
	Memory memory;
	const Tbf filter = tbf_of(memory, many, hashes_of(many, many));
	sb_tbf header;
	counter.begin();
	ok(sb_tbf_decode_header(filter.value, filter.size(), filter.size(), &header));
	ok(sb_tbf_check(&header, filter.cells()));
	counter.end(filter.units());
	demand(header.expected_items == many, "a header");
}

/* ------------------------------------------------------------- sbf, ibf, abf */

/* Of the items, every tenth comes again soon. */
Hashes stream()
{
	Hashes hashes(many);
	for (size_t i = 0; i < many; i++)
		hashes[i] = random_bits(i % 10 == 9 ? i - 9 : i);
	return hashes;
}

/* Adds items in batches. Importances are given for an ibf only. */
void add_stable(const Counter &counter, sb_scheme scheme, double low, double high)
{
	const Hashes hashes = stream();
	sb_stable stable;
	ok(sb_stable_plan(65536, rate, scheme, low, high, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, 1,
					  &stable));
	Bytes cells(sb_stable_cell_bytes(&stable));
	size_t duplicates = 0;
	counter.begin();
	for (size_t i = 0; i < many; i += batch)
	{
		const size_t count = std::min(batch, many - i);
		uint8_t values[batch];
		bool before[batch];
		for (size_t j = 0; j < count; j++)
		{
			const double importance = scheme == SB_STABLE ? 0 : static_cast<double>(hashes[i + j] >> 40);
			if (scheme != SB_STABLE)
				sb_stable_note_importance(&stable, cells.data(), importance);
			values[j] = sb_stable_value_of(&stable, cells.data(), importance);
		}
		sb_stable_steps(&stable, cells.data(), &hashes[i], values, count, before);
		duplicates += static_cast<size_t>(std::count(before, before + count, true));
	}
	counter.end(many);
	demand(duplicates >= many / 10 && duplicates < many / 5, "the duplicates");
}

void sbf_add(const Counter &counter)
{
	add_stable(counter, SB_STABLE, 0, 0);
}

void ibf_add(const Counter &counter)
{
	add_stable(counter, SB_MULTI_CLASS, NAN, NAN);
}

sb_abf abf_plan()
{
	sb_abf abf;
	ok(sb_abf_plan(week, true, many, rate, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf));
	abf.kind.code = SB_KIND_INTEGER;
	return abf;
}

void abf_add(const Counter &counter)
{
	const Hashes hashes = stream();
	sb_abf abf = abf_plan();
	Bytes slices(sb_abf_slice_bytes(&abf));
	std::vector<int64_t> times(many);
	for (size_t i = 0; i < many; i++)
		times[i] = static_cast<int64_t>(i) * (2 * week / static_cast<int64_t>(many));
	size_t duplicates = 0;
	counter.begin();
	for (size_t i = 0; i < many; i += batch)
	{
		const size_t count = std::min(batch, many - i);
		bool before[batch];
		ok(sb_abf_add(&abf, slices.data(), &hashes[i], &times[i], count, before));
		duplicates += static_cast<size_t>(std::count(before, before + count, true));
	}
	counter.end(many);
	demand(duplicates >= many / 10 && duplicates < many / 5, "the duplicates");
}

void abf_lookup(const Counter &counter)
{
	const Hashes hashes = hashes_of(many / 2, many / 2);
	sb_abf abf = abf_plan();
	Bytes value(SB_ABF_HEADER + sb_abf_slice_bytes(&abf));
	const std::vector<int64_t> times(hashes.size(), hour);
	ok(sb_abf_add(&abf, value.data() + SB_ABF_HEADER, hashes.data(), times.data(), hashes.size(), nullptr));
	sb_abf_encode_header(&abf, value.data());
	look_up(counter, SB_LOOKUP_ABF, value, many / 2, is_found);
}

/* ----------------------------------------------------------------- the index */

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

/* ----------------------------------------------------------------------- run */

struct Operation
{
	const char *name;
	void (*run)(const Counter &counter);
	bool has_kernels; /* it is counted with AVX2, too */
};

constexpr Operation operations[] = {
	{"bf_build_few", bf_build_few, true},
	{"bf_build_distinct", bf_build_distinct, true},
	{"bf_build_planned", bf_build_planned, true},
	{"bf_build_integers", bf_build_integers, true},
	{"bf_unite_sent", bf_unite_sent, true},
	{"bf_add_batches", bf_add_batches, true},
	{"bf_contains_batches", bf_contains_batches, true},
	{"bf_lookup", bf_lookup, true},
	{"bf_lookup_exact", bf_lookup_exact, true},
	{"bf_union_lines", bf_union_lines, true},
	{"bf_union_exact", bf_union_exact, true},
	{"bf_check_exact", bf_check_exact, false},
	{"bf_measure", bf_measure, true},
	{"tbf_build_few", tbf_build_few, true},
	{"tbf_build_distinct", tbf_build_distinct, true},
	{"tbf_build_planned", tbf_build_planned, true},
	{"tbf_hot_items", tbf_hot_items, false},
	{"tbf_count", tbf_count, false},
	{"tbf_count_exact", tbf_count_exact, true},
	{"tbf_merge", tbf_merge, true},
	{"tbf_merge_exact", tbf_merge_exact, true},
	{"tbf_unite_sent", tbf_unite_sent, true},
	{"tbf_decay", tbf_decay, true},
	{"tbf_check", tbf_check, true},
	{"sbf_add", sbf_add, true},
	{"ibf_add", ibf_add, true},
	{"abf_add", abf_add, false},
	{"abf_lookup", abf_lookup, false},
	{"index_look_up", index_look_up, true},
	{"index_add", index_add, true},
	{"gram_extract", gram_extract, false},
	{"gram_extract_letters", gram_extract_letters, false},
	{"gram_like", gram_like, false},
	{"gram_regex", gram_regex, false},
	{"hash_line", hash_line, false},
};

} // namespace

int main(int argc, char **argv)
{
	const std::string variant = argc > 1 ? argv[1] : "";
	const bool avx2 = variant == "avx2";
	if (!avx2 && variant != "portable")
	{
		std::fprintf(stderr, "usage: operations portable|avx2 [NAME ...]\n");
		return 1;
	}
	const streambloom::sb_simd wanted = avx2 ? streambloom::SB_SIMD_AVX2 : streambloom::SB_SIMD_PORTABLE;
	if (streambloom::choose_simd(wanted) != wanted)
		return 77;
	const std::vector<std::string> chosen(argv + 2, argv + argc);
	for (const Operation &operation : operations)
	{
		if (avx2 && !operation.has_kernels)
			continue;
		if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), operation.name) == chosen.end())
			continue;
		const std::string name = std::string(operation.name) + (avx2 ? "/avx2" : "");
		operation.run(Counter(name, false));
		operation.run(Counter(name, true));
	}
	return 0;
}
