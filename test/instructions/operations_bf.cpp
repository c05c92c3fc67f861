/*
 * operations_bf.cpp: the operations of bf whose instructions are counted.
 */
#include "operations.h"

#include <cmath>

namespace operations {

namespace {

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

} // namespace

const std::vector<Operation> of_bf = {
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
};

} // namespace operations
