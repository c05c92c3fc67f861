/*
 * ibf.cpp: what only the Importance-aware Bloom filter has (Bhoraskar, Gabale, P. Kulkarni, D. Kulkarni 2013): it maps
 * importances to values, by a range or by their ranks in a sample. It keeps, checks and unites samples. It evicts by
 * value (IBF-H).
 *
 * The sample lies behind the cells. It begins with 8 bytes for the number of importances that it has seen. Then it has
 * up to SB_STABLE_SAMPLE of them, as sorted IEEE 754 doubles, and zeros after the last one. -0 is stored as 0.
 */
#include "stable/stable.hpp"

#include <bit>
#include <cmath>

using namespace streambloom;

/* ------------------------------------------------------------------ the sample */

namespace {

constexpr size_t entry = sizeof(double);

/* A sample inside the bytes of a filter. */
struct Sample
{
	const unsigned char *bytes;

	Sample(const sb_stable *stable, const void *cells)
		: bytes(static_cast<const unsigned char *>(cells) + stable_payload(stable))
	{
	}
	uint64_t seen() const { return load_le<uint64_t>(bytes); }
	const unsigned char *entries() const { return bytes + entry; }
	unsigned count() const { return static_cast<unsigned>(std::min<uint64_t>(seen(), SB_STABLE_SAMPLE)); }
	double at(unsigned i) const { return std::bit_cast<double>(load_le<uint64_t>(entries() + i * entry)); }

	/*
	 * How many importances in the sample are lower than `importance`; with or_equal, how many are at most
	 * `importance`.
	 */
	template <bool or_equal>
	unsigned lower(double importance) const
	{
		unsigned first = 0;
		for (unsigned left = count(); left > 0;)
		{
			const unsigned half = left / 2;
			const double here = at(first + half);
			const bool is_lower = or_equal ? here <= importance : here < importance;
			first = is_lower ? first + half + 1 : first;
			left = is_lower ? left - half - 1 : half;
		}
		return first;
	}
};

/* A sample that can be changed. */
struct ChangingSample : Sample
{
	unsigned char *to;

	ChangingSample(const sb_stable *stable, void *cells)
		: Sample(stable, cells), to(static_cast<unsigned char *>(cells) + stable_payload(stable))
	{
	}
	unsigned char *entries_to_change() { return to + entry; }
};

} // namespace

/*
 * Returns which entry of a full sample the next importance replaces, or SB_STABLE_SAMPLE if it does not enter the
 * sample. The sample has seen `seen` importances before.
 */
static uint64_t place_of_next(const sb_stable *stable, uint64_t seen)
{
	const uint64_t among = std::min<uint64_t>(seen + 1, SB_STABLE_SAMPLED_ITEMS);
	/* a sequence of its own, which begins at ~seed: so the numbers that evictions draw from `random` are not used up */
	return std::min<uint64_t>(multiply_high(mix(mix(~stable->seed) + seen), among), SB_STABLE_SAMPLE);
}

void sb_stable_note_importance(const sb_stable *stable, void *cells, double importance) noexcept
{
	if (!stable->ranked)
		return;
	ChangingSample sample(stable, cells);
	const uint64_t seen = sample.seen();
	unsigned count = sample.count();
	const uint64_t place = count < SB_STABLE_SAMPLE ? count : place_of_next(stable, seen);

	store_le(sample.to, counted(seen, 1));
	if (place == SB_STABLE_SAMPLE)
		return;
	unsigned char *entries = sample.entries_to_change();
	if (count == SB_STABLE_SAMPLE)
	{
		count--;
		std::memmove(entries + place * entry, entries + (place + 1) * entry, (count - place) * entry);
	}
	unsigned at = count;
	for (; at > 0 && sample.at(at - 1) > importance; at--)
		std::memcpy(entries + at * entry, entries + (at - 1) * entry, entry);
	store_le(entries + at * entry, std::bit_cast<uint64_t>(importance + 0.0)); /* + 0.0 turns -0 into 0 */
}

namespace streambloom {

bool sample_is_valid(const sb_stable *stable, const unsigned char *cells)
{
	if (!stable->ranked)
		return true;
	const Sample sample(stable, cells);
	if (sample.seen() > stable->items)
		return false;
	for (unsigned i = 0; i < SB_STABLE_SAMPLE; i++)
	{
		const uint64_t bits = load_le<uint64_t>(sample.entries() + i * entry);
		if (i >= sample.count() ? bits != 0 : std::isnan(sample.at(i)) || bits == std::bit_cast<uint64_t>(-0.0))
			return false;
		if (i > 0 && i < sample.count() && sample.at(i) < sample.at(i - 1))
			return false;
	}
	return true;
}

void unite_samples(const sb_stable *stable, unsigned char *dst, const unsigned char *src)
{
	if (!stable->ranked)
		return;
	const ChangingSample to(stable, dst);
	const Sample from(stable, src);
	if (from.seen() > to.seen() ||
		(from.seen() == to.seen() && std::memcmp(from.bytes, to.bytes, SB_STABLE_SAMPLE_BYTES) > 0))
		std::memcpy(to.to, from.bytes, SB_STABLE_SAMPLE_BYTES);
}

} // namespace streambloom

/* ---------------------------------------------------------- values of importances */

/*
 * The value of an importance by its rank (see sb_stable_value_of()). If all importances of a sample of `count` were
 * different, entry j would have the value 1 + floor((2j + 1) / (2 count) * Max). Equal importances share the mean of
 * these values, rounded down. So, as long as a stream goes on like the sample, its values have no higher mean than
 * uniform values, and are not spread more widely. Because log(1 + k_i / p') is concave, the filter then tends to at
 * least as many zero cells as with uniform values, and so to no higher rate (sb_stable_zeros() explains k_i and p').
 * With SB_TWO_CLASS there are only two values: Max if the importance is above the median of the sample, else
 * floor(Max / 2).
 */
static uint8_t value_by_rank(const sb_stable *stable, const void *cells, double importance)
{
	const unsigned max = sb_stable_max(stable);
	const bool two_class = stable->scheme == SB_TWO_CLASS;
	if (cells == nullptr || Sample(stable, cells).count() == 0)
		return static_cast<uint8_t>(two_class ? max / 2 : 1 + max / 2);
	const Sample sample(stable, cells);
	const unsigned count = sample.count();
	const unsigned below = sample.lower<false>(importance);
	const unsigned to = sample.lower<true>(importance);
	if (two_class)
		return static_cast<uint8_t>(below + to > count ? max : max / 2);
	if (to == below)
		return static_cast<uint8_t>(std::min(max, 1 + below * max / count));
	unsigned sum = 0;
	for (unsigned j = below; j < to; j++)
		sum += 1 + (2 * j + 1) * max / (2 * count);
	return static_cast<uint8_t>(sum / (to - below));
}

/*
 * Here a calculation with doubles decides what is stored. All machines get the same result, because IEEE 754 defines
 * how each subtraction, division and multiplication is rounded. And nothing is added to a product: a compiler might
 * turn that into a fused multiply-add, which rounds differently.
 */
uint8_t sb_stable_value_of(const sb_stable *stable, const void *cells, double importance) noexcept
{
	const int max = (1 << stable->bits) - 1;
	if (stable->ranked)
		return value_by_rank(stable, cells, importance);
	switch (stable->scheme)
	{
		case SB_STABLE:
			return static_cast<uint8_t>(max);
		case SB_TWO_CLASS:
			return static_cast<uint8_t>(importance >= stable->low ? max : max / 2);
		default:
			break;
	}
	if (!(importance > stable->low))
		return 1;
	if (importance >= stable->high)
		return static_cast<uint8_t>(max);
	double share = (importance - stable->low) / (stable->high - stable->low);
	int step = static_cast<int>(share * max); /* floor(): it is not negative */
	return static_cast<uint8_t>(std::min(max, step + 1));
}

/* -------------------------------------------------------------- eviction by value */

namespace streambloom {

/*
 * Lowers P cells by 1 (P is stable->evictions). A cell is drawn from all m cells. If it is not zero, it loses 1 with
 * the probability 1/value. One random number decides both which cell is drawn and whether it loses 1: the high half of
 * its product with m is the cell, and the low half is uniform and independent of the high half. At most
 * SB_STABLE_TRIES * P cells are drawn, so that a step in a nearly empty filter does not take long. In such a filter
 * fewer than P cells may lose 1.
 */
void evict_by_value(sb_stable *stable, unsigned char *cells)
{
	uint64_t tries = static_cast<uint64_t>(stable->evictions) * SB_STABLE_TRIES;
	for (uint32_t left = stable->evictions; left > 0 && tries > 0; tries--)
	{
		u128 product = static_cast<u128>(draw(&stable->random)) * stable->cell_count;
		auto cell = static_cast<uint64_t>(product >> 64);
		uint8_t value = get_cell(cells, stable->bits, cell);
		if (value == 0 || static_cast<uint64_t>(product) > UINT64_MAX / value)
			continue;
		put_cell(cells, stable->bits, cell, static_cast<uint8_t>(value - 1));
		left--;
	}
}

} // namespace streambloom
