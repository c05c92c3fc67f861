/*
 * operations_tbf.cpp: the operations of tbf.
 */
#include "operations.h"

namespace operations {

namespace {

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

} // namespace

const std::vector<Operation> of_tbf = {
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
};

} // namespace operations
