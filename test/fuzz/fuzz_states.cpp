/*
 * fuzz_states.cpp: any bytes as the state of an aggregate that has travelled from a parallel worker. That of bf_agg is
 * a builder of the core, which reads such bytes itself. That of tbf_agg is read by the shim's tbf_agg_deserialize(); what
 * it accepts, the core must be able to combine and store. It is read here by the same rules, with the same doors of the
 * core: packed planes, hashes and words, and the numbers of sb_sums.
 *
 * Input: a number that chooses, three more, then the bytes.
 */
#include "fuzz_support.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

using namespace fuzz;

const size_t fuzz::prefix_size = 32;

static void *allocate(void *, size_t size)
{
	return std::malloc(size);
}

static void release(void *, void *block)
{
	std::free(block);
}

static const sb_memory memory = {allocate, release, nullptr};

/* The plan of a bf's builder, which sizes itself for some choices. */
static sb_bf bf_like(uint64_t choice)
{
	sb_bf bf;
	uint8_t hashes;
	const double load = sb_bf_best_load(0.01, &hashes);
	FUZZ_CHECK(sb_bf_plan_for_load(1 + choice % 600, 0.01, hashes, load, choice % 4 == 0, &bf) == SB_OK);
	bf.kind.code = SB_KIND_INTEGER;
	return bf;
}

/* A builder's bytes. */
static Input serialized(sb_bf_builder *builder)
{
	size_t size;
	FUZZ_CHECK(sb_bf_builder_serialized_size(builder, &size) == SB_OK);
	Input bytes(size + SB_BF_SERIALIZED_SPARE);
	FUZZ_CHECK(sb_bf_builder_serialize(builder, bytes.data(), size) == SB_OK);
	bytes.resize(size);
	return bytes;
}

static sb_tbf plan_like(uint64_t choice)
{
	sb_tbf tbf{};
	tbf.kind.code = SB_KIND_INTEGER;
	tbf.blocks = choice % 16 == 0 ? 2 : 1;
	tbf.block_cells = static_cast<uint16_t>(choice % 16 == 0 ? SB_TBF_BLOCK : 64u << (choice >> 4 & 1));
	tbf.hashes = static_cast<uint8_t>(1 + (choice >> 8) % 16);
	tbf.layout = (choice >> 12 & 1) != 0 ? SB_TBF_FLAT : SB_TBF_EXTENSIBLE;
	tbf.cell_bits = 8;
	tbf.unit_bits = (choice >> 13 & 1) != 0 ? SB_TBF_UNIT_BITS : 0;
	tbf.half_life = tbf.unit_bits != 0 ? 3600000000 : 0;
	tbf.epoch = tbf.half_life / 96;
	tbf.fpr = 0.01;
	return tbf;
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
		FUZZ_CHECK(sb_bf_builder_begin(&builder, &memory, &bf) == SB_OK);
		for (uint64_t items = random() % (random() % 2 == 0 ? 1000 : 30); items > 0; items--)
			FUZZ_CHECK(sb_bf_builder_add(&builder, random()) == SB_OK);
		const Input bytes = serialized(&builder);
		sb_bf_builder_release(&builder);
		input.insert(input.end(), bytes.begin(), bytes.end());
		return input;
	}

	/* the numbers of sb_sums: small ones of an everyday state, or whatever may be read */
	bool everyday = random() % 4 != 0;
	auto small = [&](int bits) { return everyday ? random() % (UINT64_C(1) << bits) : odd_number(random); };
	uint64_t newest = small(12);
	append_number(&input, newest / SB_TBF_PLANE);
	append_number(&input, newest);
	append_number(&input, small(10));
	append_number(&input, small(40));
	for (int i = 0; i < 2; i++)
	{
		append_number(&input, everyday ? 0 : random() >> (random() % 64));
		append_number(&input, small(30));
	}
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		for (int j = 0; j < 3; j++)
		{
			append_number(&input, everyday ? 0 : random() >> (random() % 64));
			append_number(&input, small(40));
		}
		append_number(&input, random() % 2);
	}
	if (choice % 3 == 1)
	{
		sb_tbf tbf = plan_like(choice >> 8);
		std::vector<uint64_t> words(sb_tbf_cells(&tbf));
		for (int i = 0; i < SB_TBF_PLANES; i++)
		{
			for (uint64_t &word : words)
				word = random() % 4 == 0 ? random() >> (2 + random() % 62) : 0;
			size_t at = input.size();
			sb_tbf packed;
			input.resize(at + 8 + 200000);
			if (sb_sums_pack_plane(words.data(), &tbf, &packed, input.data() + at + 8, 200000) != SB_OK)
				packed.payload = 0;
			input.resize(at + 8 + packed.payload);
			for (int byte = 0; byte < 8; byte++)
				input[at + static_cast<size_t>(byte)] = static_cast<unsigned char>(uint64_t{packed.payload} >> (8 * byte));
		}
		return input;
	}
	uint64_t items = random() % 20;
	for (uint64_t i = 0; i < items * (1 + SB_TBF_PLANES); i++)
		append_number(&input, random() >> (random() % 8 == 0 ? 0 : 2 + random() % 62));
	return input;
}

/* The lines that a builder makes, or none if they would be many. */
static Copy result_of(sb_bf_builder *builder, sb_bf *plan)
{
	uint8_t hashes;
	const sb_status status = sb_bf_builder_plan(builder, sb_bf_best_load(builder->plan.fpr, &hashes), plan);
	FUZZ_CHECK(status == SB_OK || status == SB_TOO_LARGE);
	Copy lines(status == SB_OK && plan->lines < 4096 ? size_t{plan->lines} * SB_BF_LINE : 0);
	if (lines.size() != 0)
		FUZZ_CHECK(sb_bf_builder_write(builder, plan, lines.data()) == SB_OK);
	return lines;
}

/* What bf_agg does with a state that arrives: it is united. And whatever else may be asked of a builder. */
static int bf_state(uint64_t hash, const Copy &bytes)
{
	sb_bf_builder arrived;
	if (sb_bf_builder_deserialize(&arrived, &memory, bytes.data(), bytes.size()) != SB_OK)
	{
		FUZZ_CHECK(arrived.form == SB_BF_HAS_NOTHING);
		return -1;
	}
	const Input again = serialized(&arrived);
	FUZZ_CHECK(Copy(again.data(), again.size()) == bytes);

	sb_bf_builder leader;
	FUZZ_CHECK(sb_bf_builder_begin(&leader, &memory, &arrived.plan) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_add(&leader, hash) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_unite(&leader, &arrived) == SB_OK);
	FUZZ_CHECK(sb_bf_builder_add(&arrived, hash) == SB_OK);
	sb_bf plan;
	sb_bf same_plan;
	const Copy lines = result_of(&leader, &plan);
	FUZZ_CHECK(result_of(&arrived, &same_plan) == lines);
	FUZZ_CHECK(plan.lines == same_plan.lines);
	if (lines.size() != 0)
		FUZZ_CHECK(sb_bf_contains(&plan, lines.data(), hash));

	/* on to another process, which finds the same */
	if (leader.plan.lines < 4096 || leader.form == SB_BF_OWNS_SET)
	{
		const Input next = serialized(&leader);
		sb_bf_builder further;
		const sb_status status = sb_bf_builder_deserialize(&further, &memory, next.data(), next.size());
		FUZZ_CHECK(status == SB_OK || leader.plan.kind.code == SB_KIND_NONE);
		if (status == SB_OK)
			FUZZ_CHECK(result_of(&further, &same_plan) == lines);
		sb_bf_builder_release(&further);
	}
	sb_bf_builder_release(&arrived);
	sb_bf_builder_release(&leader);
	return 0;
}

static sb_u128 wide_number(Reader *reader)
{
	uint64_t high = reader->number();
	return static_cast<sb_u128>(high) << 64 | reader->number();
}

struct State
{
	sb_sums sums{};
	bool plane[SB_TBF_PLANES] = {};
	std::vector<std::unique_ptr<uint64_t[]>> owned;

	uint64_t *make_plane(int index)
	{
		if (sums.plane[index] == nullptr)
		{
			owned.push_back(std::make_unique<uint64_t[]>(sums.width));
			sums.plane[index] = owned.back().get();
		}
		return sums.plane[index];
	}

	/* The numbers, under the conditions of tbf_sums_deserialize(). */
	bool read(Reader *reader, uint64_t flags)
	{
		const int64_t furthest = INT64_C(1) << 61;
		sums.any = (flags & 1) != 0;
		sums.merged = (flags & 2) != 0;
		sums.fractions = (flags & 4) != 0;
		sums.newest_plane = static_cast<int64_t>(reader->number());
		sums.newest_half_life = static_cast<int64_t>(reader->number());
		sums.oldest_base = static_cast<int64_t>(reader->number());
		sums.newest = static_cast<int64_t>(reader->number());
		sums.dropped_total = wide_number(reader);
		sums.dropped_loss = wide_number(reader);
		for (int i = 0; i < SB_TBF_PLANES; i++)
		{
			sums.total[i] = wide_number(reader);
			sums.slack[i] = wide_number(reader);
			sums.loss[i] = wide_number(reader);
			plane[i] = reader->number() % 2 != 0;
			if (plane[i] && !sums.any)
				return false;
		}
		return sums.newest_half_life > -furthest && sums.newest_half_life < furthest && sums.oldest_base > -furthest &&
			   sums.oldest_base < furthest && sums.newest_plane >= -furthest / SB_TBF_PLANE && sums.newest_plane <= furthest / SB_TBF_PLANE &&
			   sums.newest_half_life - sums.newest_plane * SB_TBF_PLANE < SB_TBF_PLANE &&
			   sums.newest_half_life - sums.newest_plane * SB_TBF_PLANE >= -SB_TBF_PLANE;
	}
};

/* Whatever is stored is read; or it does not fit. */
static void store(const sb_sums &sums, const sb_hash_set *set, const sb_tbf &plan)
{
	sb_tbf planned;
	sb_status status = sb_sums_plan(&sums, set, &plan, &planned);
	if (status != SB_OK)
	{
		FUZZ_CHECK(status == SB_OVERFLOW || status == SB_TOO_LARGE);
		return;
	}
	Copy cells(sb_tbf_size(&planned) - SB_TBF_HEADER);
	FUZZ_CHECK(sb_sums_write(&sums, set, &planned, cells.data()) == SB_OK);
	Copy header(SB_TBF_HEADER);
	sb_tbf_encode_header(&planned, header.data());
	sb_tbf read;
	(void)!sb_tbf_decode_header(header.data(), SB_TBF_HEADER, sb_tbf_size(&planned), &read);

	sb_tbf stored;
	Copy room(cells.size());
	FUZZ_CHECK(sb_sums_store(&sums, set, &plan, &stored, room.data(), room.size()) == SB_OK);
	FUZZ_CHECK(room == cells);
}

/* As tbf_agg_deserialize() and tbf_agg_combine(): planes of cells. */
static int planes(uint64_t choice, uint64_t flags, Reader *reader)
{
	sb_tbf plan = plan_like(choice);
	State state;
	state.sums.width = sb_tbf_cells(&plan);
	if (!state.read(reader, flags))
		return -1;
	sb_tbf packed = plan;
	packed.layout = SB_TBF_EXTENSIBLE;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (state.plane[i])
		{
			uint64_t payload = reader->number();
			if (payload > reader->size() || (payload != 0 && payload < uint64_t{packed.blocks} * 4))
				return -1;
			Copy bytes(reader->data(), static_cast<size_t>(payload));
			reader->skip(bytes.size());
			packed.payload = static_cast<uint32_t>(payload);
			uint64_t *words = state.make_plane(i);
			for (uint32_t block = 0; block < packed.blocks; block++)
				if (sb_tbf_unpack_block(&packed, bytes.data(), block, words + uint64_t{block} * packed.block_cells) != SB_OK)
					return -1;
			if (std::any_of(words, words + state.sums.width, [](uint64_t word) { return word >= SB_TBF_MAX_CELL; }))
				return -1;

			/* what is packed again comes back */
			sb_tbf again;
			Copy room(400000);
			FUZZ_CHECK(sb_sums_pack_plane(words, &plan, &again, room.data(), room.size()) == SB_OK);
			Copy exactly(room.data(), again.payload);
			std::vector<uint64_t> back(plan.block_cells);
			again.layout = SB_TBF_EXTENSIBLE;
			for (uint32_t block = 0; block < plan.blocks; block++)
			{
				FUZZ_CHECK(sb_tbf_unpack_block(&again, exactly.data(), block, back.data()) == SB_OK);
				FUZZ_CHECK(std::equal(back.begin(), back.end(), words + uint64_t{block} * plan.block_cells));
			}
		}

	/* into another state */
	State own;
	own.sums.width = state.sums.width;
	sb_moment moment;
	uint64_t value;
	sb_tbf_moment(plan.half_life, plan.epoch, 0, &moment);
	FUZZ_CHECK(sb_tbf_hit(&moment, 1, &value) == SB_OK);
	int index = sb_sums_turn(&own.sums, moment.half_lives);
	FUZZ_CHECK(index == 0);
	own.make_plane(index);
	FUZZ_CHECK(sb_sums_add_item(&own.sums, &plan, index, 42, moment.half_lives, value) == SB_OK);
	sb_sums_note_hit(&own.sums, index, &moment, value);
	sb_sums_combine_notes(&own.sums, &state.sums);
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		int to = sb_sums_matching_plane(&own.sums, &state.sums, i);
		FUZZ_CHECK(to >= -1 && to < SB_TBF_PLANES);
		if (to < 0 || state.sums.plane[i] == nullptr)
			continue;
		own.make_plane(to);
		if (sb_sums_add_plane(&own.sums, to, state.sums.plane[i]) != SB_OK)
			return 0;
	}
	store(own.sums, nullptr, plan);
	return 0;
}

/* The same over items: hashes, then the words of each plane. */
static int items(uint64_t choice, uint64_t flags, Reader *reader)
{
	sb_tbf plan = plan_like(choice);
	State state;
	if (!state.read(reader, flags))
		return -1;
	uint64_t columns = 1;
	for (bool there : state.plane)
		columns += there;
	if (reader->size() % (8 * columns) != 0)
		return -1;
	uint64_t count = reader->size() / (8 * columns);
	if (count > 4096)
		return -1;
	Copy bytes(reader->data(), reader->size());
	std::vector<uint64_t> hashes(count);
	sb_hash_set_read_words(bytes.data(), hashes.data(), count);

	sb_hash_set set{};
	set.beside = SB_TBF_PLANES;
	set.capacity = sb_hash_set_capacity_for(count + 1);
	std::vector<uint64_t> slots(sb_hash_set_bytes(set.capacity, set.beside) / 8 + 8);
	set.slots = slots.data();
	state.sums.beside = set.beside;
	state.sums.width = 0;
	int column = 1;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (state.plane[i])
			state.sums.plane[i] = set.slots + 4 * (i + 1);
	std::vector<uint64_t> words(count);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (state.plane[i])
		{
			sb_hash_set_read_words(bytes.data() + static_cast<size_t>(column++) * count * 8, words.data(), count);
			for (size_t j = 0; j < count; j++)
			{
				if (words[j] >= SB_TBF_MAX_CELL)
					return -1;
				FUZZ_CHECK(sb_hash_set_has_room(&set));
				uint64_t slot = sb_hash_set_insert(&set, hashes[j]);
				FUZZ_CHECK(slot <= set.capacity && sb_hash_set_find(&set, hashes[j]) == slot);
				uint64_t *word = state.sums.plane[i] + sb_hash_set_place(slot, set.beside);
				if (*word + words[j] >= SB_TBF_MAX_CELL) /* the shim's sb_sums_add_word() refuses that */
					return 0;
				*word += words[j];
			}
		}
	if (set.count == 0)
		return 0;
	uint64_t seen = 0;
	uint64_t hash;
	for (uint64_t slot = 0; (slot = sb_hash_set_next(&set, slot, &hash)) != UINT64_MAX; slot++)
	{
		FUZZ_CHECK(sb_hash_set_find(&set, hash) == slot);
		seen++;
	}
	FUZZ_CHECK(seen == set.count && sb_hash_set_missing(&set, hashes.data(), 0) == 0);
	Copy written(static_cast<size_t>(set.count) * 8);
	FUZZ_CHECK(sb_hash_set_write(&set, written.data()) == SB_OK);
	store(state.sums, &set, plan);
	return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Reader reader(data, size);
	uint64_t choice = reader.number();
	uint64_t flags = reader.number();
	uint64_t hash = reader.number();
	(void)reader.number();
	switch (choice % 3)
	{
		case 0:
			return bf_state(hash, Copy(reader.data(), reader.size()));
		case 1:
			return planes(choice >> 8, flags | 1, &reader);
		default:
			return items(choice >> 8, flags | 1, &reader);
	}
}
