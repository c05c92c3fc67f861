/*
 * tbf_builder_runs.cpp: items in the order of their hashes. A worker sends them so, and the leader merges what arrives
 * into a run: two sequences are read from the beginning to the end and a third one is written, where adding each item
 * to a set takes a search in a set that has to grow meanwhile.
 *
 * A run is a dense set (sb_hash_set.h). It is read as any other set. Nothing can be searched in it or added to it, so
 * it becomes an ordinary set again (own_items()) before anything but another run is added to it.
 */
#include "base/memory.hpp"
#include "base/short_words.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace streambloom;

uint64_t streambloom::merged_from_items = 4096;

/* ------------------------------------------------------------------ sending */

namespace {

/*
 * Items on their way into bytes, tbf_batch at a time: how much each hash is above the last one, then the words of each
 * plane that is there, as short words. The last tbf_batch items are kept back, since those that come next may belong
 * before them.
 */
class item_writer
{
public:
	item_writer(const sb_tbf_builder *builder, unsigned char *out) : builder_(builder), out_(out) {}

	void put(uint64_t hash, uint64_t slot)
	{
		if (count_ == 2 * tbf_batch)
			write_batch(tbf_batch);
		size_t at = count_++;
		for (; at > 0 && hashes_[at - 1] > hash; at--)
		{
			hashes_[at] = hashes_[at - 1];
			slots_[at] = slots_[at - 1];
		}
		hashes_[at] = hash;
		slots_[at] = slot;
	}

	/* Writes the rest, and returns the end. */
	unsigned char *end()
	{
		while (count_ > 0)
			write_batch(std::min(count_, tbf_batch));
		return out_;
	}

private:
	void write_batch(size_t count)
	{
		uint64_t words[tbf_batch];
		for (size_t i = 0; i < count; i++)
			words[i] = hashes_[i] - std::exchange(last_, hashes_[i]);
		out_ = put_short_words(out_, words, count);
		for (int plane = 0; plane < SB_TBF_PLANES; plane++)
			if (has_plane(builder_, plane))
			{
				for (size_t i = 0; i < count; i++)
					words[i] = builder_->sums.plane[plane][hash_set_place(slots_[i], builder_->set.beside)];
				out_ = put_short_words(out_, words, count);
			}
		count_ -= count;
		std::copy_n(hashes_ + count, count_, hashes_);
		std::copy_n(slots_ + count, count_, slots_);
	}

	const sb_tbf_builder *builder_;
	unsigned char *out_;
	uint64_t last_ = 0;
	size_t count_ = 0;
	uint64_t hashes_[2 * tbf_batch];
	uint64_t slots_[2 * tbf_batch];
};

} // namespace

uint64_t streambloom::most_bytes_of_items(const sb_tbf_builder *builder)
{
	const uint64_t items = count_items(builder);
	uint64_t columns = 1;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		columns += has_plane(builder, i);
	return columns * (most_short_words(items) + items / tbf_batch + 1) + sizeof(uint64_t);
}

/*
 * The slots up to this one may have hashes that found no place at the end of the set: a search that begins there goes
 * on at the first slot, and passes full groups of four.
 */
static uint64_t end_of_overflow(const sb_hash_set &set)
{
	const auto full = [&](uint64_t group) {
		bool taken = true;
		for (uint64_t slot = group; slot < group + 4; slot++)
			taken &= set.slots[hash_set_place(slot, set.beside)] != 0;
		return taken;
	};
	uint64_t group = 0;
	while (group + 4 < set.capacity && full(group))
		group += 4;
	return group + 4;
}

sb_status streambloom::write_in_order(const sb_tbf_builder *builder, unsigned char *out, unsigned char **end)
{
	constexpr size_t most_aside = 1024;
	if (builder->form == sums_form::borrowed)
	{
		const borrowed_items &items = builder->borrowed;
		*end = out + (items.end - items.begin);
		return in_pieces(static_cast<size_t>(items.end - items.begin), bytes_at_once,
						 [&](size_t first, size_t count) { std::memcpy(out + first, items.begin + first, count); });
	}
	const sb_hash_set &set = builder->set;
	const slot_order order(&set);
	const uint64_t overflow = set.dense || set.secret[0] != 0 ? 0 : end_of_overflow(set);
	uint64_t aside[most_aside];
	size_t aside_count = 0;
	bool stopped = false;
	item_writer writer(builder, out);
	if (set.slots[hash_set_place(set.capacity, set.beside)] != 0)
		writer.put(0, set.capacity);
	in_batches(&set, [&](const uint64_t *hashes, const uint64_t *slots, size_t count) {
		stopped = stopped || stop_wanted();
		for (size_t i = 0; i < count && !stopped; i++)
			if (slots[i] < overflow && own_slot(order, hashes[i]) > slots[i] && aside_count < most_aside)
				aside[aside_count++] = slots[i];
			else if (slots[i] < set.capacity)
				writer.put(hashes[i], slots[i]);
	});
	if (stopped)
		return SB_INTERRUPTED;
	for (size_t i = 0; i < aside_count; i++)
		writer.put(set.slots[hash_set_place(aside[i], set.beside)], aside[i]);
	*end = writer.end();
	return SB_OK;
}

/* ---------------------------------------------------------------- receiving */

bool borrowed_reader::next()
{
	const auto count = static_cast<size_t>(std::min<uint64_t>(left_, tbf_batch));
	count_ = 0;
	if (count == 0)
		return false;
	at_ = take_short_words(at_, of_->end, hashes_, count);
	for (int plane = 0; plane < SB_TBF_PLANES && at_ != nullptr; plane++)
		if (of_->plane[plane])
			at_ = take_short_words(at_, of_->end, words_[plane], count);
	if (at_ == nullptr)
		return false;
	for (size_t i = 0; i < count; i++)
		hashes_[i] = last_ += hashes_[i];
	left_ -= count;
	count_ = count;
	return true;
}

sb_status streambloom::check_items(const borrowed_items *items)
{
	borrowed_reader reader(items);
	while (reader.next())
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		for (int plane = 0; plane < SB_TBF_PLANES; plane++)
			if (items->plane[plane] && std::any_of(reader.words(plane), reader.words(plane) + reader.count(),
												   [](uint64_t word) { return word >= SB_TBF_MAX_CELL; }))
				return SB_BAD_CELLS;
	}
	return reader.ended() ? SB_OK : SB_BAD_LENGTH;
}

/* ------------------------------------------------------------------ merging */

namespace {

/* A plane of the run that is made. Where it has no words in one of the two, the mask is 0, and others are read. */
struct merged_plane
{
	uint64_t *to;
	const uint64_t *set;
	const uint64_t *arrived;
	uint64_t set_mask;
	uint64_t arrived_mask;
};

/* The items of a builder that arrived, and those of a dense or empty set, on their way into a new dense set. */
class merging
{
public:
	merging(const sb_tbf_builder *builder, const sb_tbf_builder *other)
		: set_(builder->set), arrived_(&other->borrowed), arrived_count_(other->borrowed.count)
	{
		const uint64_t *arrived[SB_TBF_PLANES] = {};
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (const int index = has_plane(other, i) ? sums_matching_plane(&builder->sums, &other->sums, i) : -1;
				index >= 0)
				arrived[index] = arrived_.words(i);
		for (int i = 0; i < SB_TBF_PLANES; i++)
		{
			const uint64_t *words = builder->sums.plane[i];
			if (words == nullptr && arrived[i] == nullptr)
				continue;
			index_[planes_] = i;
			plane_[planes_++] = {nullptr, words != nullptr ? words : set_.slots,
								 arrived[i] != nullptr ? arrived[i] : arrived_.hashes(),
								 words != nullptr ? UINT64_MAX : 0, arrived[i] != nullptr ? UINT64_MAX : 0};
		}
	}

	sb_status begin(const sb_memory *memory)
	{
		const uint64_t most = set_.count + arrived_count_;
		const sb_status status = hash_set_make(&run_, memory, (most + 3) / 4 * 4,
											   static_cast<uint32_t>(std::max(planes_, 1)));
		for (int i = 0; i < planes_ && status == SB_OK; i++)
			plane_[i].to = run_.slots + 4 * (1 + static_cast<size_t>(i));
		run_.dense = true;
		return status;
	}

	/* SB_BAD_CELLS: the hashes that arrived are not in their order. Others than SB_OK: the run is of no use. */
	sb_status merge() { return planes_ == 1 ? merge<1>() : merge<0>(); }

	const sb_hash_set &run() const { return run_; }

	/* The planes of the run go to the sums, in place of those of the set. */
	void hand_over(uint64_t **planes) const
	{
		std::fill_n(planes, SB_TBF_PLANES, nullptr);
		for (int i = 0; i < planes_; i++)
			planes[index_[i]] = plane_[i].to;
	}

private:
	template <int known_planes>
	sb_status merge();
	template <int known_planes>
	uint64_t put(uint64_t to, bool from_set, uint64_t slot, bool from_arrived, size_t at);
	uint64_t hash_in_set(uint64_t slot) const { return set_.slots[hash_set_place(slot, set_.beside)]; }

	const sb_hash_set &set_;
	borrowed_reader arrived_;
	uint64_t arrived_count_;
	sb_hash_set run_ = {};
	int planes_ = 0;
	int index_[SB_TBF_PLANES];
	merged_plane plane_[SB_TBF_PLANES];
};

/*
 * The words of an item that is in one of the two or in both, into a slot of the run. Returns their binary digits. Which
 * of the two has the next item nobody can predict, so there is no branch.
 */
template <int known_planes>
inline uint64_t merging::put(uint64_t to, bool from_set, uint64_t slot, bool from_arrived, size_t at)
{
	const size_t place = hash_set_place(to, run_.beside);
	const size_t set_place = hash_set_place(slot, set_.beside);
	const uint64_t set_mask = UINT64_C(0) - from_set;
	const uint64_t arrived_mask = UINT64_C(0) - from_arrived;
	uint64_t digits = 0;
	for (int i = 0; i < (known_planes != 0 ? known_planes : planes_); i++)
	{
		const merged_plane &plane = plane_[i];
		const uint64_t word = (plane.set[set_place] & plane.set_mask & set_mask) +
							  (plane.arrived[at] & plane.arrived_mask & arrived_mask);
		plane.to[place] = word;
		digits |= word;
	}
	return digits;
}

template <int known_planes>
sb_status merging::merge()
{
	bool more = arrived_.next();
	const bool zero_in_set = set_.count != 0 && hash_in_set(set_.capacity) != 0;
	const bool zero_arrived = more && arrived_.hashes()[0] == 0;
	const uint64_t in_set = set_.count - zero_in_set;
	uint64_t slot = 0;
	size_t at = zero_arrived;
	uint64_t to = 0;
	uint64_t last = 0;
	uint64_t digits =
		0; /* all words are below SB_TBF_MAX_CELL, a power of two, so that it is seen here if a sum is not */
	if (zero_in_set || zero_arrived)
	{
		run_.slots[hash_set_place(run_.capacity, run_.beside)] = 1;
		digits = put<known_planes>(run_.capacity, zero_in_set, set_.capacity, zero_arrived, 0);
	}
	for (;;)
	{
		if (at == arrived_.count() && more)
		{
			if (stop_wanted())
				return SB_INTERRUPTED;
			more = arrived_.next();
			at = 0;
		}
		if (slot == in_set && !more)
			break;
		const uint64_t mine = slot < in_set ? hash_in_set(slot) : UINT64_MAX;
		const uint64_t theirs = more ? arrived_.hashes()[at] : UINT64_MAX;
		const uint64_t hash = std::min(mine, theirs);
		const bool from_set = mine == hash && slot < in_set;
		const bool from_arrived = theirs == hash && more;
		if (hash <= last)
			return SB_BAD_CELLS;
		digits |= put<known_planes>(to, from_set, slot, from_arrived, at);
		run_.slots[hash_set_place(to++, run_.beside)] = hash;
		slot += from_set;
		at += from_arrived;
		last = hash;
	}
	run_.count = to + (zero_in_set || zero_arrived);
	static_assert(std::has_single_bit(SB_TBF_MAX_CELL));
	return digits < SB_TBF_MAX_CELL ? SB_OK : SB_OVERFLOW;
}

} // namespace

bool streambloom::may_be_merged(const sb_tbf_builder *builder, const sb_tbf_builder *other)
{
	return builder->form == sums_form::items && (builder->set.dense || builder->set.count == 0) &&
		   other->form == sums_form::borrowed && other->borrowed.count >= merged_from_items;
}

sb_status streambloom::merge_items(sb_tbf_builder *builder, const sb_tbf_builder *other)
{
	merging both(builder, other);
	tbf_sums *sums = &builder->sums;
	sb_status status = both.begin(&builder->memory);
	if (status != SB_OK)
		return status;
	status = both.merge();
	sb_hash_set run = both.run();
	sb_hash_set_release(status == SB_OK ? &builder->set : &run, &builder->memory);
	if (status != SB_OK)
		return status;
	builder->set = both.run();
	sums->width = builder->set.capacity + 1;
	sums->beside = builder->set.beside;
	both.hand_over(sums->plane);
	std::fill_n(sums->fallen, SB_TBF_PLANES, nullptr);
	return outgrow_if_needed(builder);
}
