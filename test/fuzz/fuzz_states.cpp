/*
 * fuzz_states.cpp: takes any bytes as the state of an aggregate that came from a parallel worker, that is, as the
 * bytes of an sb_bf_builder or of an sb_tbf_builder. If the core accepts them, it must be able to unite and store the
 * builder.
 *
 * Input: a number that makes choices, three more numbers, then the bytes.
 */
#include "fuzz_support.h"
#include "tbf/tbf_builder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

using namespace fuzz;

const size_t fuzz::prefix_size = 32;

/* The plan of a bf's builder. For some choices the filter sizes itself. */
static sb_bf bf_like(uint64_t choice)
{
	sb_bf bf;
	FUZZ_CHECK(sb_bf_plan(1 + choice % 600, 0.01, choice % 4 == 0, &bf) == SB_OK);
	bf.kind.code = SB_KIND_INTEGER;
	return bf;
}

static Input taken(void *bytes, size_t size)
{
	const auto *from = static_cast<const unsigned char *>(bytes);
	const Input result(from, from + size);
	std::free(bytes);
	return result;
}

/* These return the bytes of a serialized builder. */
static Input serialized(sb_bf_builder *builder)
{
	void *bytes;
	size_t size;
	FUZZ_CHECK(sb_bf_builder_serialize(builder, memory(), 0, &bytes, &size) == SB_OK);
	return taken(bytes, size);
}

static Input serialized(sb_tbf_builder *builder)
{
	void *bytes;
	size_t size;
	FUZZ_CHECK(sb_tbf_builder_serialize(builder, memory(), 0, SIZE_MAX, &bytes, &size) == SB_OK);
	return taken(bytes, size);
}

/* Adds a filter with lines to the builder of a filter that sizes itself. */
static void add_lines(sb_bf_builder *builder, Random &random)
{
	sb_bf filter = builder->plan;
	sb_difference difference;
	filter.line_count = static_cast<uint32_t>(1 + random() % 20);
	Copy lines(size_t{filter.line_count} * SB_BF_LINE);
	for (uint64_t items = random() % 300; items > 0; items--)
	{
		const uint64_t hash = random();
		sb_bf_add_many(&filter, lines.data(), &hash, 1);
	}
	FUZZ_CHECK(sb_bf_builder_add_filter(builder, &filter, lines.data(), &difference) == SB_OK);
}

static sb_tbf plan_like(uint64_t choice)
{
	sb_tbf tbf{};
	tbf.kind.code = SB_KIND_INTEGER;
	tbf.block_count = choice % 16 == 0 ? 2 : 1;
	tbf.block_cells = static_cast<uint16_t>(choice % 16 == 0 ? SB_TBF_BLOCK : 64u << (choice >> 4 & 1));
	tbf.hash_count = static_cast<uint8_t>(1 + (choice >> 8) % 16);
	tbf.layout = (choice >> 12 & 1) != 0 ? SB_TBF_FLAT : SB_TBF_EXTENSIBLE;
	tbf.cell_bits = 8;
	tbf.unit_bits = (choice >> 13 & 1) != 0 ? SB_TBF_UNIT_BITS : 0;
	tbf.half_life = tbf.unit_bits != 0 ? 3600000000 : 0;
	tbf.epoch = tbf.half_life / 96;
	tbf.fpr = 0.01;
	tbf.top = (choice >> 14 & 3) == 0 ? 3 : 0;
	return tbf;
}

/* True for choices with which the filter sizes itself. Few items are then enough to outgrow the builder's set. */
static bool sizes_itself(uint64_t choice)
{
	return (choice >> 16 & 1) != 0;
}

static void set_limits(uint64_t choice)
{
	streambloom::outgrown = {UINT64_C(28) << (choice >> 18 & 1), 1u << (choice >> 19 & 1)};
}

static sb_tbf_builder *begin(const sb_tbf &plan, sb_tbf_sums_of sums_of, bool self_sized)
{
	sb_tbf_builder *builder;
	FUZZ_CHECK(sb_tbf_builder_begin(memory(), &plan, sums_of, self_sized, &builder) == SB_OK);
	return builder;
}

/*
 * Adds a hit. As in tbf_agg() the first item decides the kind of all items, because a state without hits may have no
 * kind.
 */
static sb_status hit(sb_tbf_builder *builder, uint64_t hash, int64_t at, double weight)
{
	sb_tbf *plan = sb_tbf_builder_parameters(builder);
	if (plan->kind.code == SB_KIND_NONE)
		plan->kind.code = SB_KIND_INTEGER;
	sb_moment moment;
	uint64_t value;
	sb_tbf_moment(plan->half_life, plan->epoch, at, &moment);
	FUZZ_CHECK(sb_tbf_hit(&moment, weight, &value) == SB_OK);
	sb_status status = sb_tbf_builder_add_hit(builder, hash, &moment, value);
	if (sb_tbf_builder_add_hot_hit(builder, hash, &moment, weight))
		FUZZ_CHECK(sb_tbf_builder_name_hot_item(builder, "some item", 9) == SB_OK);
	return status == SB_OK ? sb_tbf_builder_settle(builder) : status;
}

static void add_hits(sb_tbf_builder *builder, Random &random, uint64_t hits)
{
	for (; hits > 0; hits--)
	{
		const uint64_t at = (random() % 100) * 3600000000;
		const uint64_t hash = random() % 8 == 0 ? 0 : random() >> (random() % 46);
		(void) !hit(builder, hash, static_cast<int64_t>(at), std::ldexp(1.0, static_cast<int>(random() % 36) - 8));
	}
}

/* Adds a stored filter, exact or with cells. */
static void add_filter(sb_tbf_builder *builder, const sb_tbf &plan, Random &random)
{
	sb_tbf_builder *of = begin(plan, SB_TBF_SUMS_OF_ITEMS, random() % 2 == 0);
	add_hits(of, random, random() % 30);
	sb_tbf stored;
	void *value;
	const sb_status status = sb_tbf_builder_store(of, memory(), 0, &stored, &value);
	sb_tbf_builder_release(of);
	if (status != SB_OK)
		return;
	sb_difference difference;
	const double weight = random() % 2 == 0 ?
							  1 :
							  std::ldexp(static_cast<double>(random() % 1000), static_cast<int>(random() % 20) - 10);
	(void) !sb_tbf_builder_add_filter(builder, &stored, static_cast<unsigned char *>(value) + SB_TBF_HEADER, weight,
									  &difference);
	std::free(value);
}

Input fuzz::make_input(Random &random)
{
	Input input;
	uint64_t choice = random();
	append_number(&input, choice);
	for (int i = 0; i < 3; i++)
		append_number(&input, odd_number(random));
	if (choice % 3 == 0)
	{
		sb_bf bf = bf_like(choice >> 8);
		sb_bf_builder builder;
		FUZZ_CHECK(sb_bf_builder_begin(&builder, memory(), &bf) == SB_OK);
		for (uint64_t items = random() % (random() % 2 == 0 ? 1000 : 30); items > 0; items--)
			FUZZ_CHECK(sb_bf_builder_add(&builder, random()) == SB_OK);
		if (bf.expected_items == 0 && random() % 2 == 0)
			add_lines(&builder, random);
		const Input bytes = serialized(&builder);
		sb_bf_builder_release(&builder);
		input.insert(input.end(), bytes.begin(), bytes.end());
		return input;
	}

	const uint64_t tbf_choice = choice >> 8;
	const sb_tbf plan = plan_like(tbf_choice);
	set_limits(tbf_choice);
	sb_tbf_builder *builder = begin(plan, choice % 3 == 1 ? SB_TBF_SUMS_OF_CELLS : SB_TBF_SUMS_OF_ITEMS,
									sizes_itself(tbf_choice));
	for (uint64_t turns = 1 + random() % 3; turns > 0; turns--)
	{
		add_hits(builder, random, random() % 60);
		if ((tbf_choice >> 17 & 1) != 0)
			add_filter(builder, plan, random);
	}
	const Input bytes = serialized(builder);
	input.insert(input.end(), bytes.begin(), bytes.end());
	sb_tbf_builder_release(builder);
	return input;
}

/* Returns the lines of the bf that a builder makes; no bytes if there would be 4,096 lines or more. */
static Copy result_of(sb_bf_builder *builder, sb_bf *plan)
{
	const sb_status status = sb_bf_builder_plan(builder, false, plan);
	FUZZ_CHECK(status == SB_OK || status == SB_TOO_LARGE);
	Copy lines(status == SB_OK && plan->line_count < 4096 ? size_t{plan->line_count} * SB_BF_LINE : 0);
	if (lines.size() != 0)
		FUZZ_CHECK(sb_bf_builder_write(builder, plan, lines.data()) == SB_OK);
	return lines;
}

/*
 * Does with a state that arrives what bf_agg does: unites it with another one. Then does other things that a builder
 * can do.
 */
static int bf_state(uint64_t hash, const Copy &bytes)
{
	sb_bf_builder arrived;
	if (sb_bf_builder_deserialize(&arrived, memory(), bytes.data(), bytes.size()) != SB_OK)
	{
		FUZZ_CHECK(arrived.form == SB_BF_HAS_NOTHING);
		return -1;
	}
	const Input again = serialized(&arrived);
	FUZZ_CHECK(Copy(again.data(), again.size()) == bytes);

	sb_bf_builder leader;
	FUZZ_CHECK(sb_bf_builder_begin(&leader, memory(), &arrived.plan) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_add(&leader, hash) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_unite(&leader, &arrived) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_add(&arrived, hash) == SB_OK);
	sb_bf plan;
	sb_bf same_plan;
	const Copy lines = result_of(&leader, &plan);
	FUZZ_CHECK(result_of(&arrived, &same_plan) == lines);
	FUZZ_CHECK(plan.line_count == same_plan.line_count);
	if (lines.size() != 0)
	{
		bool found;
		FUZZ_CHECK(sb_bf_contains_many(&plan, lines.data(), &hash, 1, &found) == SB_OK);
		FUZZ_CHECK(found);
	}

	/* sends the result to another process, which must find the same lines */
	if (leader.plan.line_count < 4096 || leader.form == SB_BF_OWNS_SET)
	{
		const Input next = serialized(&leader);
		sb_bf_builder further;
		const sb_status status = sb_bf_builder_deserialize(&further, memory(), next.data(), next.size());
		FUZZ_CHECK(status == SB_OK || leader.plan.kind.code == SB_KIND_NONE);
		if (status == SB_OK)
			FUZZ_CHECK(result_of(&further, &same_plan) == lines);
		sb_bf_builder_release(&further);
	}
	sb_bf_builder_release(&arrived);
	sb_bf_builder_release(&leader);
	return 0;
}

/*
 * Stores a builder, checks that the core accepts the stored value, and returns it. Returns no bytes if the builder
 * cannot be stored, because the value would not fit, or because its list of hot items has more hits than there are.
 */
static Input store(sb_tbf_builder *builder)
{
	sb_tbf stored;
	void *value;
	sb_status status = sb_tbf_builder_store(builder, memory(), 0, &stored, &value);
	FUZZ_CHECK(status == SB_OK || status == SB_OVERFLOW || status == SB_TOTAL_OVERFLOW || status == SB_TOO_LARGE ||
			   status == SB_BAD_LIST);
	if (status != SB_OK)
		return {};
	sb_tbf read;
	const auto *bytes = static_cast<unsigned char *>(value);
	FUZZ_CHECK(sb_tbf_decode_header(value, SB_TBF_HEADER, sb_tbf_size(&stored), &read) == SB_OK);
	FUZZ_CHECK(sb_tbf_check(&stored, bytes + SB_TBF_HEADER) == SB_OK);
	Input result(bytes, bytes + sb_tbf_size(&stored));
	std::free(value);
	return result;
}

/*
 * Unites an empty builder with three that arrived, and stores the result. The three have the same items, but for a hit
 * that the third has in addition. Returns no bytes if they cannot be united or stored.
 */
static Input leader_of_three(const Copy &bytes, uint64_t choice)
{
	sb_tbf_builder *leader = nullptr;
	sb_difference difference;
	sb_status status = SB_OK;
	for (int i = 0; i < 3 && status == SB_OK; i++)
	{
		sb_tbf_builder *arrived;
		FUZZ_CHECK(sb_tbf_builder_deserialize(memory(), bytes.data(), bytes.size(), &arrived) == SB_OK);
		if (leader == nullptr)
			FUZZ_CHECK(sb_tbf_builder_like(memory(), arrived, &leader) == SB_OK);
		if (i == 2 && hit(arrived, choice, static_cast<int64_t>(choice >> 8 & 0xffff) << 30, 1) != SB_OK)
			status = SB_OVERFLOW;
		const Input sent = serialized(arrived);
		sb_tbf_builder_release(arrived);
		if (status != SB_OK)
			break;
		FUZZ_CHECK(sb_tbf_builder_deserialize(memory(), sent.data(), sent.size(), &arrived) == SB_OK);
		status = sb_tbf_builder_unite(leader, arrived, &difference);
		FUZZ_CHECK(status == SB_OK || status == SB_OVERFLOW);
		sb_tbf_builder_release(arrived);
	}
	const Input result = status == SB_OK ? store(leader) : Input();
	sb_tbf_builder_release(leader);
	return result;
}

/* Does what tbf_agg_deserialize() and tbf_agg_combine() do. */
static int states(uint64_t choice, const Copy &bytes)
{
	sb_tbf_builder *arrived;
	set_limits(choice);
	sb_status status = sb_tbf_builder_deserialize(memory(), bytes.data(), bytes.size(), &arrived);
	if (status != SB_OK)
	{
		FUZZ_CHECK(arrived == nullptr);
		return -1;
	}
	if (sb_tbf_cells(sb_tbf_builder_parameters(arrived)) >
		UINT64_C(1) << 16) /* a few bytes can say that there are 10^8 zeros */
	{
		sb_tbf_builder_release(arrived);
		return -1;
	}

	const Input united = leader_of_three(bytes, choice);
	FUZZ_CHECK(leader_of_three(bytes, choice) == united);

	/* unites it with another builder, which mostly has the same parameters */
	sb_difference difference;
	sb_tbf_builder *own;
	if (choice % 8 == 0)
		own = begin(plan_like(choice), SB_TBF_SUMS_OF_CELLS, sizes_itself(choice));
	else
		FUZZ_CHECK(sb_tbf_builder_like(memory(), arrived, &own) == SB_OK);
	FUZZ_CHECK(hit(own, 42, 0, 1) == SB_OK);
	status = sb_tbf_builder_unite(own, arrived, &difference);
	FUZZ_CHECK(status == SB_OK || status == SB_OVERFLOW || status == SB_DIFFERENT);
	store(own);

	/*
	 * Serializes the builder that arrived, reads these bytes, and serializes once more: both times the bytes must be
	 * the same. They may differ from those that arrived: a list of hot items that was too long is shortened.
	 */
	const Input sent = serialized(arrived);
	sb_tbf_builder *twice;
	FUZZ_CHECK(sb_tbf_builder_deserialize(memory(), sent.data(), sent.size(), &twice) == SB_OK);
	FUZZ_CHECK(serialized(twice) == sent);
	sb_tbf_builder_release(twice);

	/* stores it, adds a hit, and stores it once more */
	store(arrived);
	if (hit(arrived, choice, 0, 1) == SB_OK)
		store(arrived);
	sb_tbf_builder_release(arrived);
	sb_tbf_builder_release(own);
	return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Reader reader(data, size);
	uint64_t choice = reader.number();
	(void) reader.number();
	uint64_t hash = reader.number();
	(void) reader.number();
	const Copy bytes(reader.data(), reader.size());
	return choice % 3 == 0 ? bf_state(hash, bytes) : states(choice >> 8, bytes);
}
