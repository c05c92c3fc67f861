/*
 * hash_run.cpp: see hash_run.hpp.
 */
#include "base/hash_run.hpp"

#include "base/stop.hpp"

#include <algorithm>
#include <utility>

using namespace streambloom;

/* --------------------------------------------------------------------- columns */

/* Loads a number of `width` bytes, and reads no byte behind them. */
template <int width>
static uint64_t load_bytes(const unsigned char *from)
{
	if constexpr (width == 0)
		return 0;
	else if constexpr (width == 8)
		return load_le<uint64_t>(from);
	else if constexpr (width >= 4)
		return load_le<uint32_t>(from) | load_bytes<width - 4>(from + 4) << 32;
	else if constexpr (width >= 2)
		return load_le<uint16_t>(from) | load_bytes<width - 2>(from + 2) << 16;
	else
		return *from;
}

template <int width>
static void store_bytes(unsigned char *to, uint64_t value)
{
	if constexpr (width == 8)
		store_le(to, value);
	else if constexpr (width >= 4)
	{
		store_le(to, static_cast<uint32_t>(value));
		store_bytes<width - 4>(to + 4, value >> 32);
	}
	else if constexpr (width >= 2)
	{
		store_le(to, static_cast<uint16_t>(value));
		store_bytes<width - 2>(to + 2, value >> 16);
	}
	else if constexpr (width == 1)
		*to = static_cast<unsigned char>(value);
}

/* Calls work(std::integral_constant) for a width of 0 to 8 bytes, so that the compiler knows it inside the loops. */
template <typename Work>
static void for_width(int width, Work work)
{
	[&]<int... widths>(std::integer_sequence<int, widths...>)
	{
		((width == widths ? work(std::integral_constant<int, widths>()) : void()), ...);
	}
	(std::make_integer_sequence<int, 9>());
}

void streambloom::pack_words(const packed_column &column, const uint64_t *words, size_t count, unsigned char *out)
{
	for_width(column.width, [&](auto width) {
		for (size_t i = 0; i < count; i++)
			store_bytes<width>(out + i * width, words[i] >> column.shift);
	});
}

void streambloom::unpack_words(const packed_column &column, uint64_t first, size_t count, uint64_t *out)
{
	const unsigned char *from = column.bytes + first * column.width;
	for_width(column.width, [&](auto width) {
		for (size_t i = 0; i < count; i++)
			out[i] = load_bytes<width>(from + i * width) << column.shift;
	});
}

/* ------------------------------------------------------------------------ runs */

constexpr int not_kept = 64 - SB_KEPT_HASH_BITS;

packed_column streambloom::column_for_hashes(const uint64_t *hashes, size_t count)
{
	uint64_t any = 0;
	uint64_t before = 0;
	for (size_t i = 0; i < count; before = hashes[i++])
		any |= hashes[i] - before;
	packed_column column = column_for(any >> not_kept << not_kept | UINT64_C(1) << not_kept);
	column.width = std::max<uint8_t>(column.width, 1);
	return column;
}

void streambloom::pack_hashes(const packed_column &differences, uint64_t before, const uint64_t *hashes, size_t count,
							  unsigned char *out)
{
	uint64_t words[hash_run_reader::at_once];
	for (size_t first = 0; first < count; first += hash_run_reader::at_once)
	{
		const size_t now = std::min(count - first, hash_run_reader::at_once);
		for (size_t i = 0; i < now; i++)
			words[i] = hashes[first + i] - std::exchange(before, hashes[first + i]);
		pack_words(differences, words, now, out + first * differences.width);
	}
}

sb_status streambloom::check_run(const hash_run &run)
{
	const packed_column &column = run.differences;
	if (column.shift != not_kept || column.width < 1 || column.width > SB_KEPT_HASH_BITS / 8)
		return SB_BAD_CELLS;
	uint64_t words[hash_run_reader::at_once];
	uint64_t last = 0;
	for (uint64_t first = 0; first < run.count; first += hash_run_reader::at_once)
	{
		const auto now = static_cast<size_t>(std::min<uint64_t>(run.count - first, hash_run_reader::at_once));
		bool wrong = false;
		if (stop_wanted())
			return SB_INTERRUPTED;
		unpack_words(column, first, now, words);
		for (size_t i = 0; i < now; i++)
		{
			wrong |= (words[i] == 0 && first + i != 0) || last + words[i] < last;
			last += words[i];
		}
		if (wrong)
			return SB_BAD_CELLS;
	}
	return SB_OK;
}

size_t hash_run_reader::next(uint64_t *out)
{
	const auto now = static_cast<size_t>(std::min<uint64_t>(run_.count - read_, at_once));
	unpack_words(run_.differences, read_, now, out);
	uint64_t last = last_;
	for (size_t i = 0; i < now; i++)
		out[i] = last += out[i];
	last_ = last;
	read_ += now;
	return now;
}

/* ---------------------------------------------------------- the union of runs */

namespace {

struct some_hashes
{
	const uint64_t *begin;
	size_t count;
};

/* What is read of a run, and not counted yet. */
struct run_ahead
{
	hash_run_reader reader;
	size_t at;
	size_t end;
	uint64_t hashes[hash_run_reader::at_once];
};

/* Merges two ascending lists into one. A hash that is in both is written once. The loop has no branch on a hash. */
some_hashes merged(some_hashes a, some_hashes b, uint64_t *out)
{
	size_t i = 0;
	size_t j = 0;
	size_t found = 0;
	while (i < a.count && j < b.count)
	{
		const uint64_t x = a.begin[i];
		const uint64_t y = b.begin[j];
		out[found++] = x < y ? x : y;
		i += static_cast<size_t>(x <= y);
		j += static_cast<size_t>(y <= x);
	}
	uint64_t *end = std::copy(a.begin + i, a.begin + a.count, out + found);
	end = std::copy(b.begin + j, b.begin + b.count, end);
	return {out, static_cast<size_t>(end - out)};
}

} // namespace

/*
 * Counts the different hashes of some lists. Merges neighbours until one list is left. `room` and `other_room` have
 * room for all hashes.
 */
static size_t different_of(some_hashes *lists, size_t number, uint64_t *room, uint64_t *other_room)
{
	for (; number > 1; number = (number + 1) / 2, std::swap(room, other_room))
	{
		uint64_t *out = room;
		for (size_t i = 0; i < number; i += 2)
		{
			lists[i / 2] = merged(lists[i], i + 1 < number ? lists[i + 1] : some_hashes{}, out);
			out += lists[i / 2].count;
		}
	}
	return lists[0].count;
}

/*
 * Reads all runs side by side. Some hashes of each run are in memory. A step counts the hashes up to the least of the
 * runs' last hashes in memory. So it uses up what is in memory of at least one run, and the next step reads more of it.
 */
sb_status streambloom::count_different(const sb_memory *memory, const hash_run *runs, size_t number, uint64_t *out)
{
	constexpr size_t at_once = hash_run_reader::at_once;
	*out = number == 1 ? runs[0].count : 0;
	if (number < 2)
		return SB_OK;
	void *block = memory->allocate(memory->context, number * (sizeof(run_ahead) + 2 * at_once * sizeof(uint64_t)));
	if (block == nullptr)
		return SB_NO_MEMORY;
	auto *ahead = static_cast<run_ahead *>(block);
	auto *room = reinterpret_cast<uint64_t *>(ahead + number);
	for (size_t i = 0; i < number; i++)
	{
		ahead[i].reader = hash_run_reader(runs[i]);
		ahead[i].at = ahead[i].end = 0;
	}
	sb_status status = SB_OK;
	for (;;)
	{
		some_hashes lists[most_runs];
		uint64_t most = UINT64_MAX;
		size_t left = 0;
		if (stop_wanted())
		{
			status = SB_INTERRUPTED;
			break;
		}
		for (size_t i = 0; i < number; i++)
		{
			run_ahead *run = &ahead[i];
			if (run->at == run->end)
			{
				run->at = 0;
				run->end = run->reader.next(run->hashes);
			}
			if (run->at == run->end)
				continue;
			most = std::min(most, run->hashes[run->end - 1]);
			left++;
		}
		if (left == 0)
			break;
		for (size_t i = 0; i < number; i++)
		{
			run_ahead *run = &ahead[i];
			const uint64_t *begin = run->hashes + run->at;
			const uint64_t *end = run->hashes + run->end;
			lists[i] = {begin, static_cast<size_t>(std::upper_bound(begin, end, most) - begin)};
			run->at += lists[i].count;
		}
		*out += different_of(lists, number, room, room + number * at_once);
	}
	memory->release(memory->context, block);
	return status;
}
