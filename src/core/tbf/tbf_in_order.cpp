/*
 * tbf_in_order.cpp: minimum increase and recurring minimum (Cohen, Matias 2003), the two ways of counting that look at
 * an item's smallest cell. Their result depends on the order of hits, so they are serial, and each hit is added when it
 * comes, to cells of a planned size. A cell has a word in each plane; a plane has the sums of 16 half-lives
 * (tbf_sums.hpp).
 *
 * Minimum increase (section 3.2; conservative update, Estan, Varghese 2002): a hit is added to the item's smallest cell
 * only. Other cells of the item are raised to the new value if they are below it. A cell's value is its words in all
 * planes, read as one number. Why an item is never undercounted: each of its cells, plus all that was dropped (slack,
 * dropped_loss), is at least its hits.
 *  - The inequality still holds after a hit. For the hit's own item: each of its cells is at least the old value of its
 *    smallest cell plus the hit. For other items: no cell becomes smaller.
 *  - When a plane falls out, each cell loses its word of that plane, and dropped_loss grows by the plane's `loss`. The
 *    loss is at least the word that a cell had when a hit of one of its items came: each hit notes the words of its
 *    item's cells.
 *  - Storing, decay and widening are monotonic: if one counter is not larger than another, it does not become larger.
 *    Merging adds counters up. So the inequality survives all of these, as it does for sums.
 *
 * Recurring minimum (section 3.3): an item's minimum is the smallest value of its cells. It *recurs* if at least two
 * different cells hold it; then it is likely that these cells have no hits of other items. If it does not recur, this
 * is less likely. In the paper such an item moves to a secondary filter, and a Bloom filter of the moved items says
 * where to look. If that Bloom filter held an item by mistake, the item would be looked for where its hits are not, and
 * undercounted. Here one table of hashes and counts replaces both the secondary filter and the Bloom filter, and makes
 * no such mistakes.
 *
 * A hit is added to all the item's cells, and also to the item's entry in the table if it has one. If it has none, and
 * its minimum does not recur after the hit, it gets an entry with that minimum. Why an entry never undercounts: cells
 * count all hits, so the minimum is at least the item's hits when the entry is made. From then on, each hit of the
 * item is added to the entry. Hits of other items are not added to it, so an entry is never above the minimum of the
 * cells.
 */
#include "base/memory.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_cells.hpp"

using namespace streambloom;

namespace {

/* The words of a cell in all planes. */
struct cell_words
{
	uint64_t plane[SB_TBF_PLANES];

	u128 value() const
	{
		return aligned([this](int i) { return plane[i]; });
	}
};

/* The cells of an item. */
class cells_of_item
{
public:
	cells_of_item(tbf_sums *sums, const sb_tbf *tbf, uint64_t hash)
		: sums_(sums), block_(block_of(tbf->block_count, hash)), count_(tbf->hash_count)
	{
		positions_of(tbf->block_cells, tbf->hash_count, hash, positions_);
	}
	int count() const { return count_; }
	uint16_t position(int i) const { return positions_[i]; }
	cell_words read(int i) const
	{
		cell_words words;
		for (int j = 0; j < SB_TBF_PLANES; j++)
		{
			const block_place place = place_of_block(sums_->planes[j].cells, block_);
			words.plane[j] = place ? place[positions_[i]] : 0;
		}
		return words;
	}

	/* Makes room for the words. SB_NO_MEMORY. */
	[[nodiscard]] sb_status hold(const cell_words &words)
	{
		for (int j = 0; j < SB_TBF_PLANES; j++)
			if (words.plane[j] != 0)
				if (sb_status status = hold_cells(sums_->planes[j].cells, block_, static_cast<uint32_t>(count_));
					status != SB_OK)
					return status;
		return SB_OK;
	}

	/* REQUIRES: hold(words) */
	void write(int i, const cell_words &words)
	{
		const cell_words before = read(i);
		for (int j = 0; j < SB_TBF_PLANES; j++)
			if (words.plane[j] != before.plane[j])
				*word_at(sums_->planes[j].cells, block_, positions_[i]) = words.plane[j];
	}

private:
	tbf_sums *sums_;
	uint32_t block_;
	int count_;
	uint16_t positions_[SB_TBF_MAX_HASHES];
};

} // namespace

/*
 * Compares by value. Of two equal values, the value with more in older planes counts as smaller, because it will lose
 * more when planes fall out. So two cells are equal only if all their words are equal.
 */
static bool is_below(const cell_words &a, const cell_words &b)
{
	if (a.value() != b.value())
		return a.value() < b.value();
	return std::lexicographical_compare(a.plane, a.plane + SB_TBF_PLANES, b.plane, b.plane + SB_TBF_PLANES);
}

/*
 * Adds `amount` to the word of the item's smallest cell in a plane, and raises the other cells. A cell that is raised
 * gets all words of that cell, even one that is smaller than its old word. (To add only the difference between the old
 * and the new value, in the hit's plane, would be correct too. But the difference may have digits that only the words
 * of older planes have.)
 */
static sb_status raise_item(tbf_sums *sums, const sb_tbf *tbf, int index, uint64_t hash, uint64_t amount)
{
	cells_of_item cells(sums, tbf, hash);
	cell_words least = cells.read(0);
	for (int i = 0; i < cells.count(); i++)
	{
		const cell_words words = cells.read(i);
		for (int j = 0; j < SB_TBF_PLANES; j++)
			sums->planes[j].loss = std::max(u128{sums->planes[j].loss}, u128{words.plane[j]});
		if (is_below(words, least))
			least = words;
	}
	sb_status status = add_to_word(&least.plane[index], amount);
	if (status == SB_OK)
		status = cells.hold(least);
	for (int i = 0; i < cells.count() && status == SB_OK; i++)
		if (is_below(cells.read(i), least))
			cells.write(i, least);
	return status;
}

/* --------------------------------------------------------- recurring minimum */

/* Returns where the hits of a slot's item are, in units of 2^-12 hits: in the word beside the hash. */
static uint64_t *hits_of_slot(const sb_hash_set &recurring, uint64_t slot)
{
	return &recurring.slots[hash_set_place(slot, 1) + 4];
}

/* Makes room for `more` entries. */
static sb_status make_room(sb_tbf_builder *builder, uint64_t more)
{
	sb_hash_set *recurring = &builder->recurring;
	return recurring->slots == nullptr ?
			   hash_set_make(recurring, &builder->memory, hash_set_capacity_for(more), 1) :
			   hash_set_make_room(recurring, &builder->memory);
}

/*
 * Adds a hit to the item's entry, or gives the item an entry if its minimum does not recur. There is no decay, so all
 * hits are in the plane of half-life 0: in the value of a cell, the digits of older planes are all 0 and are cut off.
 */
static sb_status count_apart(sb_tbf_builder *builder, uint64_t hash, uint64_t value)
{
	sb_hash_set *recurring = &builder->recurring;
	if (const uint64_t slot = hash_set_find(recurring, hash); slot != UINT64_MAX)
		return add_to_word(hits_of_slot(*recurring, slot), value);
	const cells_of_item cells(&builder->sums, &builder->plan, hash);
	u128 least = ~u128{0};
	int where = 0;
	bool recurs = false;
	for (int i = 0; i < cells.count(); i++)
	{
		const u128 sum = cells.read(i).value();
		recurs = sum < least ? false : recurs || (sum == least && cells.position(i) != cells.position(where));
		where = sum < least ? i : where;
		least = std::min(least, sum);
	}
	least >>= half_lives_above_oldest(&builder->sums, 0);
	if (recurs)
		return SB_OK;
	if (least >= SB_TBF_MAX_CELL)
		return SB_OVERFLOW;
	*hits_of_slot(*recurring, hash_set_insert(recurring, hash)) = static_cast<uint64_t>(least);
	return SB_OK;
}

/* ------------------------------------------------------------------- both */

sb_status sb_tbf_builder_add_in_order(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
									  uint64_t value) noexcept
{
	tbf_sums *sums = &builder->sums;
	const bool recurring = (builder->plan.flags & SB_TBF_RECURRING_MINIMUM) != 0;
	hash &= SB_KEPT_HASH_MASK;
	if (value == 0)
		return SB_OK; /* a hit of weight 0 leaves no trace */
	const bool any = sums->any;
	const int index = sums_turn(sums, moment->half_lives);
	sb_status status = make_planes(builder, index, 1, any);
	if (status == SB_OK && recurring)
		status = make_room(builder, 1);
	if (status != SB_OK)
	{
		sums->any = any;
		return status;
	}
	sums_note_hit(sums, index, moment, value);
	if (index < 0)
		return SB_OK;
	uint64_t amount;
	if (!recurring)
	{
		status = shifted(value, place_in_plane(moment->half_lives), &amount);
		return status == SB_OK ? raise_item(sums, &builder->plan, index, hash, amount) : status;
	}
	status = add_to_plane(sums->planes[index].cells, builder->plan.hash_count, 0, &hash, &value, 1);
	return status == SB_OK ? count_apart(builder, hash, value) : status;
}

/* ------------------------------------------------------------------- stored */

sb_status streambloom::read_recurring(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells)
{
	const unsigned char *table = static_cast<const unsigned char *>(cells) + counters_size(filter);
	const uint64_t count = recurring_entries(filter);

	/* room for all entries first: in a set that grows step by step, ascending hashes would crowd in the first slots */
	sb_status status = count != 0 ? make_room(builder, count + 1) : SB_OK;
	for (uint64_t i = 0; i < count && status == SB_OK; i++)
	{
		recurring_entry entry;
		if (i % tbf_batch == 0 && stop_wanted())
			return SB_INTERRUPTED;
		status = make_room(builder, 1);
		if (status != SB_OK)
			return status;
		read_entry(table, i, &entry);
		*hits_of_slot(builder->recurring, hash_set_insert(&builder->recurring, entry.hash)) = entry.hits;
	}
	return status;
}

uint32_t streambloom::size_of_recurring(const sb_tbf_builder *builder)
{
	const uint64_t too_many = SB_MAX_BYTES / recurring_entry_size + 1;
	return static_cast<uint32_t>(std::min(builder->recurring.count, too_many) * recurring_entry_size);
}

sb_status streambloom::write_recurring(const sb_tbf_builder *builder, unsigned char *table)
{
	const sb_hash_set *recurring = &builder->recurring;
	void *sorted;
	if (recurring->count == 0)
		return SB_OK;
	sb_status status = allocate_zeroed(&builder->memory, recurring->count * sizeof(uint64_t), &sorted);
	if (status != SB_OK)
		return status;
	const auto *hashes = static_cast<uint64_t *>(sorted);
	status = hash_set_sort(recurring, static_cast<uint64_t *>(sorted));
	for (uint64_t i = 0; i < recurring->count && status == SB_OK; i++)
	{
		const recurring_entry entry = {hashes[i], *hits_of_slot(*recurring, hash_set_find(recurring, hashes[i]))};
		write_entry(table, i, &entry);
		if (i % tbf_batch == 0 && stop_wanted())
			status = SB_INTERRUPTED;
	}
	builder->memory.release(builder->memory.context, sorted);
	return status;
}
