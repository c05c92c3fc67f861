/*
 * tbf_sums_store.cpp: rounds sums once, up, to the counters of a stored filter, and chooses its header. A sum is split
 * over planes of 16 half-lives each. The base of the filter is the half-life for which its counters are written down.
 *
 * The sums are read a block at a time. Sums of cells are read as they are, or widened. To them are added the sums of
 * the items that lie in the block, from the slots of the set that have them. So the words of all cells are never in
 * memory at once: in a filter of megabytes they would take some thirty times the bytes of the packed counters.
 */
#include "tbf/tbf_sums.hpp"

#include "base/stop.hpp"
#include "tbf/tbf_cells.hpp"

using namespace streambloom;

/* ------------------------------------------------------- the words of a block */

/* Adds values[i] to the cells of hashes[i]. */
template <sb_simd variant>
SB_KERNEL sb_status add_to_block_kernel(uint64_t *words, const sb_tbf *tbf, const uint64_t *hashes,
										const uint64_t *values, size_t count)
{
	const uint32_t cells = tbf->block_cells;
	const int k = tbf->hash_count;
	for (size_t i = 0; i < count; i++)
		if (sb_status status = add_to_cells(words, cells, k, hashes[i], values[i]); status != SB_OK)
			return status;
	return SB_OK;
}
static sb_status add_to_block(uint64_t *words, const sb_tbf *tbf, const uint64_t *hashes, const uint64_t *values,
							  size_t count);
SB_VARIANTS(sb_status, add_to_block,
			(uint64_t * words, const sb_tbf *tbf, const uint64_t *hashes, const uint64_t *values, size_t count),
			(words, tbf, hashes, values, count))

namespace {

class block_words
{
public:
	/* `set`: the items, or NULL */
	block_words(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *tbf) : sums_(sums), set_(set), tbf_(tbf) {}

	/* Reads the words of a block, for planes(). May return SB_OVERFLOW. */
	sb_status open(uint32_t block);

	/* The block's words in each plane; NULL where it holds nothing. */
	const uint64_t *const *planes() const { return plane_; }

	/* Returns whether the block holds nothing at all. */
	bool empty() const
	{
		return std::all_of(plane_, plane_ + SB_TBF_PLANES, [](const uint64_t *words) { return words == nullptr; });
	}

	/*
	 * Returns the index of the only plane that holds anything, or -1 if there is none or more than one. Most often all
	 * hits lie within 16 half-lives.
	 */
	int only_plane() const
	{
		int found = -1;
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (plane_[i] != nullptr)
			{
				if (found >= 0)
					return -1;
				found = i;
			}
		return found;
	}

private:
	const uint64_t *read_cells(int i, uint32_t block);
	sb_status add_items(int i, const uint64_t *hashes, const uint64_t *slots, size_t count);

	const tbf_sums *sums_;
	const sb_hash_set *set_;
	const sb_tbf *tbf_;
	const uint64_t *plane_[SB_TBF_PLANES] = {};
	block_counters added_[SB_TBF_PLANES]; /* words that were added up, widened, or copied from a list */
};

sb_status block_words::open(uint32_t block)
{
	sb_status status = SB_OK;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		plane_[i] = sums_->planes[i].cells != nullptr ? read_cells(i, block) : nullptr;
	if (set_ != nullptr)
		in_part(set_, tbf_->block_count, block, [&](const uint64_t *hashes, const uint64_t *slots, size_t count) {
			for (int i = 0; i < SB_TBF_PLANES && count != 0 && status == SB_OK; i++)
				if (sums_->planes[i].column != 0)
					status = add_items(i, hashes, slots, count);
		});
	return status;
}

const uint64_t *block_words::read_cells(int i, uint32_t block)
{
	const cell_plane *cells = sums_->planes[i].cells;
	const int halvings = doublings(cells->block_cells, tbf_->block_cells);
	const uint64_t *words = read_block(cells, block >> doublings(cells->block_count, tbf_->block_count), added_[i]);
	if (halvings == 0 || words == nullptr)
		return words;
	for (uint32_t cell = 0; cell < tbf_->block_cells; cell++)
		added_[i][cell] = words[cell >> halvings];
	return added_[i];
}

sb_status block_words::add_items(int i, const uint64_t *hashes, const uint64_t *slots, size_t count)
{
	uint64_t values[hashes_at_once];
	const size_t bytes = tbf_->block_cells * sizeof(uint64_t);
	if (plane_[i] == nullptr)
		std::memset(added_[i], 0, bytes);
	else if (plane_[i] != added_[i])
		std::memcpy(added_[i], plane_[i], bytes);
	plane_[i] = added_[i];
	read_words(sums_, i, slots, count, values);
	return add_to_block(added_[i], tbf_, hashes, values, count);
}

} // namespace

/* Returns the largest word. REQUIRES: count is a multiple of 4; words below 2^63. */
template <sb_simd variant>
SB_KERNEL uint64_t largest_of_kernel(const uint64_t *words, uint32_t count)
{
	four_words most = {};
	for (uint32_t i = 0; i < count; i += 4)
	{
		four_words word;
		std::memcpy(&word, words + i, sizeof word);
		most = word > most ? word : most;
	}
	return static_cast<uint64_t>(std::max(std::max(most[0], most[1]), std::max(most[2], most[3])));
}
static uint64_t largest_of(const uint64_t *words, uint32_t count);
SB_VARIANTS(uint64_t, largest_of, (const uint64_t *words, uint32_t count), (words, count))

static sb_status largest_word(block_words *source, const sb_tbf *tbf, u128 *largest)
{
	*largest = 0;
	for (uint32_t block = 0; block < tbf->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (sb_status status = source->open(block); status != SB_OK)
			return status;
		if (source->empty())
			continue;
		if (const int only = source->only_plane(); only >= 0)
			*largest = std::max(*largest, u128{largest_of(source->planes()[only], tbf->block_cells)}
											  << (SB_TBF_PLANE * (SB_TBF_PLANES - 1 - only)));
		else
			for (uint32_t i = 0; i < tbf->block_cells; i++)
				*largest = std::max(*largest, aligned(source->planes(), i));
	}
	return SB_OK;
}

/* --------------------------------------------------------------- the counters */

/* out[i] = ceil(words[i] / 2^shift), 0 <= shift < 63. REQUIRES: count is a multiple of 4; words below 2^62. */
template <sb_simd variant>
SB_KERNEL void shift_words_up_kernel(const uint64_t *words, uint32_t count, int shift, uint64_t *out)
{
	const int64_t below = (INT64_C(1) << shift) - 1;
	for (uint32_t i = 0; i < count; i += 4)
	{
		four_words word;
		std::memcpy(&word, words + i, sizeof word);
		four_words up = (word >> shift) - reinterpret_cast<four_words>((word & below) != 0);
		std::memcpy(out + i, &up, sizeof up);
	}
}
static void shift_words_up(const uint64_t *words, uint32_t count, int shift, uint64_t *out);
SB_VARIANTS(void, shift_words_up, (const uint64_t *words, uint32_t count, int shift, uint64_t *out),
			(words, count, shift, out))

/* By how many digits a sum is shifted to the right for a filter with this base and unit. */
static uint64_t shift_to_units(const tbf_sums *sums, const sb_tbf *planned)
{
	return sums->any ? half_lives_above_oldest(sums, planned->base) +
						   static_cast<uint64_t>(SB_TBF_HIT_BITS - planned->unit_bits) :
					   0;
}

/* Fills in the counters of a block: the sums, rounded up to units at the base. */
static void round_words(const block_words &source, uint64_t shift, uint32_t cells, uint64_t *counters)
{
	const int only = source.only_plane();
	const int64_t only_shift = static_cast<int64_t>(shift) - SB_TBF_PLANE * (SB_TBF_PLANES - 1 - only);
	if (only >= 0 && only_shift >= 0 && only_shift < 63)
		shift_words_up(source.planes()[only], cells, static_cast<int>(only_shift), counters);
	else
		for (uint32_t i = 0; i < cells; i++)
			counters[i] = static_cast<uint64_t>(shift_right_up(aligned(source.planes(), i), shift));
}

/* ------------------------------------------------------------------ the header */

/*
 * Returns over how many planes large counters are split when a filter is added whose base is `base` and whose newest
 * hit is of half-life `newest`.
 */
static int planes_between(int64_t base, int64_t newest)
{
	return static_cast<int>(std::min<int64_t>(plane_of(newest) + 2 - plane_of(base), SB_TBF_PLANES));
}

/*
 * Adds up the totals of all planes, as aligned() in tbf_sums.hpp adds up words. Returns false if the sum would not fit
 * a header at any base.
 */
static bool aligned(const tbf_sums *sums, sb_u128 plane_sums::*totals, u128 *out)
{
	*out = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		const u128 total = sums->planes[i].*totals;
		int shift = SB_TBF_PLANE * (SB_TBF_PLANES - 1 - i);
		if (total >> (126 - shift) != 0)
			return false;
		*out += total << shift;
	}
	return true;
}

namespace {

/* Total and slack of sums, including planes that fell out. */
class totals_of_sums
{
public:
	/*
	 * Reads the sums. SB_TOTAL_OVERFLOW: the total would not fit a header at any base; SB_OVERFLOW: the slack would
	 * not.
	 */
	sb_status read(const tbf_sums *sums)
	{
		sums_ = sums;
		if (!aligned(sums, &plane_sums::total, &total_) || sums->dropped_total >= too_much)
			return SB_TOTAL_OVERFLOW;
		return aligned(sums, &plane_sums::slack, &slack_) && sums->dropped_loss < too_much ? SB_OK : SB_OVERFLOW;
	}

	/*
	 * Writes base, times, total and slack into the header of a filter with this base. SB_TOTAL_OVERFLOW if the total
	 * does not fit, SB_OVERFLOW if the slack does not: then nothing is changed.
	 */
	sb_status write(int64_t base, sb_tbf *out) const
	{
		const uint64_t shift = half_lives_above_oldest(sums_, base);
		const u128 slack = shift_right_up(slack_, shift) +
						   shift_right_up(u128{sums_->dropped_loss}, shift + SB_TBF_PLANE);
		const u128 total = shift_right_up(total_, shift) +
						   shift_right_up(u128{sums_->dropped_total}, shift + SB_TBF_PLANE);
		if (total >> 63 != 0)
			return SB_TOTAL_OVERFLOW;
		if (slack >= SB_TBF_MAX_CELL)
			return SB_OVERFLOW;
		out->flags |= SB_TBF_HAS_HITS;
		out->base = base;
		out->newest = sums_->newest;
		out->slack = static_cast<uint64_t>(slack);
		out->total = static_cast<uint64_t>(total);
		return SB_OK;
	}

private:
	const tbf_sums *sums_ = nullptr;
	u128 total_ = 0;
	u128 slack_ = 0;
};

} // namespace

sb_status streambloom::sums_check_total(const tbf_sums *sums, const sb_moment *moment, uint64_t value, uint64_t count)
{
	/* copies only the notes: sums_turn() would release the planes of cells */
	tbf_sums after = *sums;
	for (plane_sums &plane : after.planes)
		plane.cells = nullptr;
	const int index = sums_turn(&after, moment->half_lives);
	const u128 amount = std::min(u128{value} * count, too_much >> SB_TBF_PLANE) << place_in_plane(moment->half_lives);
	(index >= 0 ? after.planes[index].total : after.dropped_total) += amount;

	/*
	 * The newer the base, the smaller the total. So if the total is too large at the newest base that is possible, it
	 * is too large at every base.
	 */
	totals_of_sums totals;
	sb_tbf header = {};
	const sb_status status = totals.read(&after);
	return (status == SB_OK ? totals.write(after.newest_half_life, &header) : status) == SB_TOTAL_OVERFLOW ?
			   SB_TOTAL_OVERFLOW :
			   SB_OK;
}

sb_status streambloom::sums_describe(const tbf_sums *sums, const sb_tbf *tbf, int64_t base, sb_tbf *out)
{
	totals_of_sums totals;
	*out = *tbf;
	clear_hits(out);
	const sb_status status = totals.read(sums);
	return status == SB_OK && sums->any ? totals.write(base, out) : status;
}

/*
 * Chooses the base, and sets base, times and totals in `out`, where the unit is already set.
 *  - If only hits were added, the base is the half-life of the newest hit.
 *  - If filters were merged, the base is the lowest one at which total and slack fit and no counter is too large to be
 *    split easily (see below). The search begins at the oldest base of these filters, where no counter has to be
 *    rounded (unless weights or exact filters made fractions of units). But it begins at most SB_TBF_MAX_SPREAD
 *    half-lives before the newest half-life. It ends at that one, where a counter need not be easy to split.
 */
static sb_status choose_base(const tbf_sums *sums, u128 largest, sb_tbf *out)
{
	totals_of_sums totals;
	if (const sb_status status = totals.read(sums); status != SB_OK)
		return status;
	const int64_t newest = sums->newest_half_life;
	const auto coarser = static_cast<uint64_t>(SB_TBF_HIT_BITS - out->unit_bits);
	const int64_t newest_hit = out->half_life == 0 ? 0 : floor_divide(sums->newest, out->half_life);
	int64_t base = sums->merged ? std::clamp(sums->oldest_base, newest - SB_TBF_MAX_SPREAD, newest) : newest;
	for (;; base++)
	{
		/*
		 * If this filter is added to a builder later, a counter gets up to 23 more binary digits: 8 because sums are in
		 * 2^-12 hits, and up to 15 by the place of the base in its plane. Then it is split (place_of() in
		 * tbf_sums_weighted.cpp): each of `planes` planes but the last gets 16 digits. Of a counter below `easy` at
		 * most 46 are left for the last one.
		 */
		int planes = planes_between(base, std::max(base, newest_hit));
		u128 easy = std::min(u128{1} << (7 + SB_TBF_PLANE * planes), u128{SB_TBF_MAX_CELL});
		u128 cell = shift_right_up(largest, half_lives_above_oldest(sums, base) + coarser);
		const bool fits = cell < (base < newest ? easy : u128{SB_TBF_MAX_CELL});
		const sb_status status = fits ? totals.write(base, out) : SB_OVERFLOW;
		if (status == SB_OK || base >= newest)
			return status;
	}
}

sb_status streambloom::sums_store(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *tbf, sb_tbf *out,
								  void *cells, size_t room)
{
	block_words source(sums, set, tbf);
	*out = *tbf;
	clear_hits(out);
	out->layout = SB_TBF_EXTENSIBLE;
	out->unit_bits = (tbf->half_life != 0 || sums->fractions) ? SB_TBF_UNIT_BITS : 0;
	if (!sums->any)
		return SB_OK;

	/* if only hits were added, the base does not depend on the largest counter */
	u128 largest = 0;
	sb_status status = sums->merged ? largest_word(&source, tbf, &largest) : SB_OK;
	if (status == SB_OK)
		status = choose_base(sums, largest, out);
	if (status != SB_OK)
		return status;
	const uint64_t shift = shift_to_units(sums, out);
	block_counters counters;
	status = pack_cells(out, cells, room, [&](uint32_t block, gathered *nonzero, uint64_t *most) {
		if (sb_status opened = source.open(block); opened != SB_OK || source.empty())
			return opened;
		round_words(source, shift, tbf->block_cells, counters);
		*most = gather(counters, tbf->block_cells, nonzero);
		return SB_OK;
	});
	return status == SB_BAD_CELLS ? SB_OVERFLOW :
									status; /* too large for a counter is what comes from too large a sum */
}

sb_status streambloom::sums_pack_plane(const cell_plane *plane, const sb_tbf *tbf, sb_tbf *out, void *cells,
									   size_t room)
{
	*out = *tbf;
	clear_hits(out);
	out->layout = SB_TBF_EXTENSIBLE;
	block_counters room_for_list;
	return pack_cells(out, cells, room, [&](uint32_t block, gathered *nonzero, uint64_t *largest) {
		if (const uint64_t *words = read_block(plane, block, room_for_list); words != nullptr)
			*largest = gather(words, tbf->block_cells, nonzero);
		return SB_OK;
	});
}

/* --------------------------------------------------------------- the exact form */

/* Returns an item's words in all planes as one number. */
SB_KERNEL u128 sum_of_slot(const tbf_sums *sums, uint64_t slot)
{
	const size_t place = hash_set_place(slot, sums->set.beside);
	return aligned([=](int i) { return sums->planes[i].column != 0 ? words_of_items(sums, i)[place] : 0; });
}

/* Insertion sort, because the items of a set without a secret are nearly in order. */
static void sort_nearly_sorted(exact_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
	{
		const exact_item item = items[i];
		size_t to = i;
		for (; to > 0 && items[to - 1].hash > item.hash; to--)
			items[to] = items[to - 1];
		items[to] = item;
	}
}

sb_status streambloom::sums_list_items(const tbf_sums *sums, const sb_tbf *tbf, sb_tbf *out, exact_item *items,
									   uint32_t *count)
{
	const sb_hash_set *set = &sums->set;
	u128 largest = 0;
	uint64_t hash;
	for (uint64_t slot = 0; (slot = hash_set_next(set, slot, &hash)) != UINT64_MAX; slot++)
		largest = std::max(largest, sum_of_slot(sums, slot));
	*out = *tbf;
	clear_hits(out);
	plan_exact(out);
	*count = 0;
	if (sums->fractions)
		out->unit_bits = unit_bits_of_parts(out);
	if (sums->any)
		if (sb_status status = choose_base(sums, largest, out); status != SB_OK)
			return status;

	const uint64_t shift = shift_to_units(sums, out);
	size_t found = 0;
	for (uint64_t slot = 0; (slot = hash_set_next(set, slot, &hash)) != UINT64_MAX; slot++)
	{
		const u128 units = shift_right_up(sum_of_slot(sums, slot), shift);
		if (units >= SB_TBF_MAX_CELL)
			return SB_OVERFLOW;
		items[found] = {hash, static_cast<uint64_t>(units)};
		found += units != 0;
	}
	if (set->secret[0] == 0)
		sort_nearly_sorted(items, found);
	else
		std::sort(items, items + found, [](const exact_item &a, const exact_item &b) { return a.hash < b.hash; });
	*count = static_cast<uint32_t>(found);
	return SB_OK;
}
