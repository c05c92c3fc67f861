/*
 * bf_builder_failures_test.cpp: sb_bf_builder when memory ends or the caller wants to stop. Nothing is lost, and
 * nothing leaks.
 */
#include "bf_builder_support.h"

#include <functional>

using namespace test;

namespace {

class Questions
{
public:
	explicit Questions(uint64_t until)
	{
		asked = 0;
		stops_at = until;
		sb_set_stop(stop);
	}
	~Questions() { sb_set_stop(nullptr); }
	Questions(const Questions &) = delete;
	Questions &operator=(const Questions &) = delete;
	static uint64_t asked;
	static uint64_t stops_at;

private:
	/* says "stop" at one question only, so the call succeeds when it is made again */
	static bool stop() { return ++asked == stops_at; }
};
uint64_t Questions::asked;
uint64_t Questions::stops_at;

using Call = std::function<bool(const std::function<sb_status()> &)>;

struct Builders
{
	sb_bf_builder one{};
	sb_bf_builder other{};
	sb_bf_builder arrived{};
	~Builders()
	{
		sb_bf_builder_release(&one);
		sb_bf_builder_release(&other);
		sb_bf_builder_release(&arrived);
	}
};

/*
 * Makes calls of most functions of builders, with `items` items. `told` is the number of items that the builders are
 * planned for; 0: they size themselves. Each call is made through `call`, which may repeat it. If `call` returns false,
 * so does this function, at once. Otherwise *value becomes the stored filter.
 */
bool history(const Memory &memory, uint64_t told, size_t items, const Call &call, Bytes *value)
{
	const sb_bf plan = builder_plan(told);
	const std::vector<uint64_t> hashes = random_hashes(10, items);
	const size_t first = items / 10;
	Builders all;
	Bytes bytes;
	if (!call([&] { return sb_bf_builder_begin(&all.one, memory, &plan); }) ||
		!call([&] { return sb_bf_builder_begin(&all.other, memory, &plan); }))
		return false;
	for (size_t i = 0; i < first; i++)
		if (!call([&] { return sb_bf_builder_add(&all.one, hashes[i]); }))
			return false;
	if (!call([&] { return sb_bf_builder_add_many(&all.other, hashes.data() + first, items - first, false); }) ||
		!call([&] { return sb_bf_builder_add_integer(&all.other, 4711); }) ||
		!call([&] { return serialize(&all.other, &bytes); }) ||
		!call([&] { return sb_bf_builder_deserialize(&all.arrived, memory, bytes.data(), bytes.size()); }) ||
		!call([&] { return sb_bf_builder_add_integer(&all.arrived, 4712); }) ||
		!call([&] { return sb_bf_builder_unite(&all.one, &all.arrived); }) ||
		!call([&] { return sb_bf_builder_unite(&all.other, &all.one); }))
		return false;
	sb_bf result;
	if (!call([&] { return sb_bf_builder_plan(&all.other, false, &result); }))
		return false;
	Bf filter(result);
	if (!call([&] {
			filter = Bf(result);
			return sb_bf_builder_write(&all.other, &result, filter.lines.data());
		}))
		return false;
	*value = filter.value();
	return true;
}

Bytes value_of_history(uint64_t told, size_t items)
{
	std::vector<uint64_t> hashes = random_hashes(10, items);
	hashes.push_back(sb_hash_int64(4711));
	hashes.push_back(sb_hash_int64(4712));
	return expected_bf(builder_plan(told), hashes).value();
}

} // namespace

/*
 * The memory ends at each allocation in turn (with very many items at each seventh). There are two runs for each of
 * these allocations. The first ends with the failed call. In the second there is memory again, and the failed call is
 * repeated.
 */
TEST(BfBuilder, NothingIsLostAndNothingLeaksWhereMemoryEnds)
{
	const std::pair<uint64_t, size_t> sizes[] = {{1000, 900}, {100000, 5000}, {0, 3000}, {40, 30}, {0, 750000}};
	for (auto [told, items] : sizes)
	{
		SCOPED_TRACE(::testing::Message() << "told " << told << ", " << items << " items");
		const Bytes expected_value = value_of_history(told, items);
		uint64_t allocations = UINT64_MAX;
		for (uint64_t fails_at = 0; fails_at<allocations; fails_at += items> 100000 ? 7 : 1)
			for (bool again : {false, true})
			{
				SCOPED_TRACE(::testing::Message() << "fails at " << fails_at << (again ? ", again" : ""));
				Memory memory;
				memory.fails_at = fails_at;
				bool failed = false;
				Bytes value;
				const bool finished = history(
					memory, told, items,
					[&](const std::function<sb_status()> &make) {
						sb_status status = make();
						if (status == SB_NO_MEMORY)
						{
							failed = true;
							if (!again)
								return false;
							memory.fails_at = UINT64_MAX;
							status = make();
						}
						EXPECT_EQ(status, SB_OK);
						return status == SB_OK;
					},
					&value);
				if (finished)
				{
					EXPECT_TRUE(same_bytes(value, expected_value));
				}
				if (!failed)
					allocations = memory.allocations;
				else
				{
					EXPECT_EQ(finished, again);
				}
				EXPECT_EQ(memory.blocks, 0u);
			}
		EXPECT_GT(allocations, 5u);
	}
}

TEST(BfBuilder, NothingIsLostAndNothingLeaksWhereItIsInterrupted)
{
	const std::pair<uint64_t, size_t> sizes[] = {{300000, 200000}, {3000000, 100000}, {0, 750000}};
	for (const auto &size : sizes)
	{
		const uint64_t told = size.first;
		const size_t items = size.second;
		SCOPED_TRACE(::testing::Message() << "told " << told << ", " << items << " items");
		const Bytes expected_value = value_of_history(told, items);
		uint64_t all = 0;
		auto run = [&](uint64_t stops_at, bool again) {
			Memory memory;
			Questions questions(stops_at);
			bool stopped = false;
			Bytes value;
			const bool finished = history(
				memory, told, items,
				[&](const std::function<sb_status()> &make) {
					sb_status status = make();
					if (status == SB_INTERRUPTED)
					{
						stopped = true;
						EXPECT_EQ(Questions::asked, stops_at) << "asked again in the same call";
						if (!again)
							return false;
						status = make();
					}
					EXPECT_EQ(status, SB_OK);
					return status == SB_OK;
				},
				&value);
			EXPECT_EQ(stopped, stops_at <= Questions::asked);
			EXPECT_EQ(finished, again || !stopped);
			if (finished)
			{
				EXPECT_TRUE(same_bytes(value, expected_value));
			}
			EXPECT_EQ(memory.blocks, 0u);
			all = Questions::asked;
		};
		run(UINT64_MAX, true);
		const uint64_t questions = all;
		EXPECT_GT(questions, 100u);
		for (uint64_t i = 0; i <= 6; i++)
		{
			SCOPED_TRACE(::testing::Message() << "stopped at question " << 1 + (questions - 1) * i / 6);
			run(1 + (questions - 1) * i / 6, false);
			run(1 + (questions - 1) * i / 6, true);
		}
	}
}
