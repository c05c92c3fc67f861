/*
 * fuzz_tbf.cpp: takes any bytes as a stored tbf. Either they are refused, or every reader works on them. The values
 * that the core makes of them (decayed, merged, added to, without a hit, in the other layout) must be accepted by the
 * core itself. They must not count less, except for a hit that was removed.
 *
 * Input: a hash, two times, a weight, a number that makes choices, then the value.
 */
#include "fuzz_tbf.h"

#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_top.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

using namespace fuzz;
using namespace streambloom;

static double double_of(uint64_t pattern)
{
	double value;
	std::memcpy(&value, &pattern, sizeof value);
	return value;
}

/* A value with its parameters. */
struct Filter
{
	sb_tbf tbf;
	Copy cells;

	uint64_t least(uint64_t hash) const
	{
		uint64_t units = 0;
		(void) !look_up(hash, &units);
		return units;
	}

	/* The value is asked without its list of hot items, because a look-up does not need the list. */
	sb_status look_up(uint64_t hash, uint64_t *units) const
	{
		sb_tbf alone = tbf;
		if ((tbf.flags & SB_TBF_RECURRING_MINIMUM) == 0)
			alone.extra = 0;
		Input value(SB_TBF_HEADER);
		sb_tbf_encode_header(&alone, value.data());
		value.insert(value.end(), cells.data(), cells.data() + (sb_tbf_size(&alone) - SB_TBF_HEADER));
		sb_lookup lookup;
		sb_status status = fuzz::look_up(&lookup, SB_LOOKUP_TBF, hash, Copy(value.data(), value.size()));
		*units = status == SB_OK ? lookup.units : 0;
		return status;
	}
	double count(uint64_t hash, int64_t at) const
	{
		double count = sb_tbf_count(&tbf, least(hash), at);
		FUZZ_CHECK(count >= 0);
		return count;
	}
};

/* Checks that the core can read a value that it has made. */
static void check_readable(const Filter &filter)
{
	Copy header(SB_TBF_HEADER);
	Copy again(SB_TBF_HEADER);
	sb_tbf read;
	sb_tbf_encode_header(&filter.tbf, header.data());
	FUZZ_CHECK(sb_tbf_decode_header(header.data(), SB_TBF_HEADER, sb_tbf_size(&filter.tbf), &read) == SB_OK);
	sb_tbf_encode_header(&read, again.data());
	FUZZ_CHECK(header == again);
	FUZZ_CHECK(sb_tbf_check(&filter.tbf, filter.cells.data()) == SB_OK);
}

/*
 * Returns the filter that a function of the core makes of `filter`: status = make(memory, in_front, &tbf, &value). If
 * the function had nothing to do, the result has the cells of `filter`. NULL: the status is not SB_OK.
 */
template <typename Make>
static std::unique_ptr<Filter> made(const Filter &filter, sb_status *status, Make make)
{
	constexpr size_t in_front = 3;
	sb_tbf tbf;
	void *value = &tbf; /* any pointer that is not NULL */
	*status = make(memory(), in_front, &tbf, &value);
	FUZZ_CHECK(*status == SB_OK || value == nullptr);
	if (*status != SB_OK)
		return nullptr;
	if (value == nullptr)
		return std::make_unique<Filter>(Filter{tbf, filter.cells});
	const auto *bytes = static_cast<unsigned char *>(value) + in_front;
	Copy header(SB_TBF_HEADER);
	sb_tbf_encode_header(&tbf, header.data());
	FUZZ_CHECK(std::memcmp(bytes, header.data(), SB_TBF_HEADER) == 0);
	auto result = std::make_unique<Filter>(Filter{tbf, Copy(bytes + SB_TBF_HEADER, sb_tbf_size(&tbf) - SB_TBF_HEADER)});
	std::free(value);
	check_readable(*result);
	return result;
}

static Filter decayed(const Filter &filter, int64_t at)
{
	sb_status status;
	auto result = made(filter, &status, [&](const sb_memory *to, size_t in_front, sb_tbf *tbf, void **value) {
		return sb_tbf_decay(&filter.tbf, filter.cells.data(), at, to, in_front, tbf, value);
	});
	FUZZ_CHECK(status == SB_OK);
	return *result;
}

static std::unique_ptr<Filter> in_layout(const Filter &filter, uint8_t layout, sb_status *status)
{
	return made(filter, status, [&](const sb_memory *to, size_t in_front, sb_tbf *tbf, void **value) {
		return sb_tbf_set_layout(&filter.tbf, filter.cells.data(), layout, to, in_front, tbf, value);
	});
}

static bool equal(const Filter &a, const Filter &b)
{
	Copy left(SB_TBF_HEADER);
	Copy right(SB_TBF_HEADER);
	sb_tbf_encode_header(&a.tbf, left.data());
	sb_tbf_encode_header(&b.tbf, right.data());
	return left == right && a.cells == b.cells;
}

/* Compares with room for the rounding of doubles: both sides were rounded up. */
static bool no_less(double count, double than)
{
	return count >= than * (1 - 1e-12);
}

/*
 * Returns the least amount for which a count, which is rounded up, may stand (apart from its relative error). The
 * difference matters only below the normal doubles: there the count may be the smallest double for an amount that is
 * far smaller, and a weight would multiply the difference.
 */
static double least_of(double count)
{
	return count - std::numeric_limits<double>::denorm_min();
}

/* A builder; its functions check that only possible statuses are returned. */
class State
{
public:
	explicit State(const sb_tbf &like)
	{
		FUZZ_CHECK(sb_tbf_builder_begin(memory(), &like, is_exact(&like) ? SB_TBF_SUMS_OF_ITEMS : SB_TBF_SUMS_OF_CELLS,
										is_exact(&like), &builder_) == SB_OK);
	}
	State(const State &) = delete;
	State &operator=(const State &) = delete;
	~State() { sb_tbf_builder_release(builder_); }

	sb_status add(const Filter &filter, double by = 1)
	{
		sb_difference difference;
		sb_status status = sb_tbf_builder_add_filter(builder_, &filter.tbf, filter.cells.data(), by, &difference);
		FUZZ_CHECK(status == SB_OK || status == SB_OVERFLOW || status == SB_OUT_OF_RANGE);
		return status;
	}
	sb_status hit(uint64_t hash, int64_t at, double weight)
	{
		const sb_tbf *tbf = sb_tbf_builder_parameters(builder_);
		sb_moment moment;
		uint64_t value;
		sb_tbf_moment(tbf->half_life, tbf->epoch, at, &moment);
		sb_status status = sb_tbf_hit(&moment, weight, &value);
		if (status == SB_OK)
			status = sb_tbf_builder_add_hit(builder_, hash, &moment, value);
		return status == SB_OK ? sb_tbf_builder_settle(builder_) : status;
	}
	sb_status unite(const State &other)
	{
		sb_difference difference;
		sb_status status = sb_tbf_builder_unite(builder_, other.builder_, &difference);
		FUZZ_CHECK(status == SB_OK || status == SB_OVERFLOW);
		return status;
	}
	sb_status store(std::unique_ptr<Filter> *out) const { return stored(builder_, out); }
	static sb_status stored(sb_tbf_builder *builder, std::unique_ptr<Filter> *out)
	{
		sb_tbf tbf;
		void *value;
		if (sb_status status = sb_tbf_builder_store(builder, memory(), 0, &tbf, &value); status != SB_OK)
			return status;
		*out = std::make_unique<Filter>(
			Filter{tbf, Copy(static_cast<unsigned char *>(value) + SB_TBF_HEADER, sb_tbf_size(&tbf) - SB_TBF_HEADER)});
		std::free(value);
		check_readable(**out);
		return SB_OK;
	}

private:
	sb_tbf_builder *builder_;
};

/*
 * Checks the list of hot items. Either it is refused (returns false), or it can be read to its end, hottest item
 * first, and reading it piece by piece gives the same as reading it at once.
 */
static bool check_list(const Copy &value, int64_t at)
{
	sb_lookup opened;
	Copy first(value.data(), SB_TBF_HEADER);
	FUZZ_CHECK(sb_lookup_open(&opened, SB_LOOKUP_TBF, first.data(), first.size(), value.size()) == SB_OK);
	const sb_tbf &tbf = opened.header.tbf;
	std::vector<sb_top_item> items(tbf.top);
	sb_lookup list = opened;
	Copy piece = first;
	sb_status status = finish_look_up(&list, value, &piece, sb_lookup_top(&list, items.data()));

	sb_lookup whole;
	std::vector<sb_top_item> again(tbf.top);
	FUZZ_CHECK(sb_lookup_open(&whole, SB_LOOKUP_TBF, value.data(), value.size(), value.size()) == SB_OK);
	FUZZ_CHECK(sb_lookup_top(&whole, again.data()) == status);
	if (status != SB_OK)
		return false;
	FUZZ_CHECK(list.listed == whole.listed && list.listed <= tbf.top);
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < list.listed; i++)
	{
		double from;
		double to;
		uint64_t units = 0;
		sb_lookup one = opened;
		Copy other = first;
		FUZZ_CHECK(items[i].hash == again[i].hash && (i == 0 || items[i].least <= items[i - 1].least));
		for (uint32_t j = 0; j < items[i].length; j++)
			bytes += items[i].bytes[j];
		if (finish_look_up(&one, value, &other, sb_lookup_item(&one, items[i].hash)) == SB_OK)
			units = one.units;
		sb_lookup_top_hits(&list, &items[i], units, at, &from, &to);
		FUZZ_CHECK(from >= 0 && from <= to && to <= sb_tbf_count(&tbf, units, at));
	}
	FUZZ_CHECK(bytes <= uint64_t{tbf.extra} * 255);
	return true;
}

/* Checks a builder that begins with the filter and its list: when it is stored again, no count is less. */
static void check_builder_of(const Filter &filter, const std::vector<uint64_t> &items, int64_t at)
{
	sb_tbf_builder *builder;
	std::unique_ptr<Filter> again;
	sb_status status = sb_tbf_builder_of(memory(), &filter.tbf, filter.cells.data(), &builder);
	FUZZ_CHECK(status == SB_OK || status == SB_OVERFLOW);
	if (status != SB_OK)
		return;
	if (State::stored(builder, &again) == SB_OK)
		for (uint64_t item : items)
			FUZZ_CHECK(no_less(again->count(item, at), filter.count(item, at)));
	sb_tbf_builder_release(builder);
}

/* Returns the same filter without its list of hot items. */
static Filter without_list(const Filter &filter)
{
	sb_tbf tbf = filter.tbf;
	tbf.top = 0;
	tbf.extra = 0;
	return {tbf, Copy(filter.cells.data(), counters_size(&tbf))};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Reader reader(data, size);
	uint64_t hash = reader.number();
	int64_t first = time_of(reader.number());
	int64_t then = time_of(reader.number());
	double weight = double_of(reader.number());
	uint64_t choice = reader.number();
	Copy value(reader.data(), reader.size());

	sb_tbf tbf;
	sb_status status = sb_tbf_decode_header(value.data(), value.size(), value.size(), &tbf);
	FUZZ_CHECK(status >= SB_OK && status <= SB_DIFFERENT);
	sb_lookup lookup;
	FUZZ_CHECK(look_up(&lookup, SB_LOOKUP_TBF, hash, value) == status || status == SB_OK);
	{
		Copy slice(value.data(), std::min<size_t>(value.size(), SB_TBF_HEADER));
		sb_tbf again;
		FUZZ_CHECK(sb_tbf_decode_header(slice.data(), slice.size(), value.size(), &again) == status);
		(void) !sb_tbf_decode_header(slice.data(), slice.size(), static_cast<size_t>(choice), &again);
	}
	if (status != SB_OK)
		return -1;
	FUZZ_CHECK(sb_tbf_size(&tbf) == value.size());
	Filter whole{tbf, Copy(value.data() + SB_TBF_HEADER, value.size() - SB_TBF_HEADER)};
	Filter filter = tbf.top != 0 ? without_list(whole) : whole;

	/*
	 * A look-up reads only a few bytes, and nobody has checked the cells before. So it must survive any cells and any
	 * list.
	 */
	(void) !(filter.count(hash, first) > 0);
	(void) !(sb_tbf_total(&tbf, first) > 0);
	(void) !(sb_tbf_error_bound(&tbf, weight, then) > 0);
	for (uint32_t block = 0; block < std::min(tbf.block_count, 4u); block++)
	{
		uint64_t counters[SB_TBF_BLOCK];
		(void) !streambloom::unpack_block(&tbf, filter.cells.data(), block, counters);
	}
	const bool list_is_fine = check_list(value, then) || tbf.top == 0;
	status = sb_tbf_check(&filter.tbf, filter.cells.data());
	FUZZ_CHECK((sb_tbf_check(&tbf, whole.cells.data()) == SB_OK) == (status == SB_OK && list_is_fine));
	if (status != SB_OK)
		return -1;
	check_readable(filter);

	Random random(hash);
	std::vector<uint64_t> items = {hash, 0, UINT64_MAX};
	while (items.size() < 8)
		items.push_back(random());
	for (uint64_t item : items)
	{
		FUZZ_CHECK(no_less(filter.count(item, std::min(first, then)), filter.count(item, std::max(first, then))));
	}
	if ((choice >> 32) % 16 == 0) /* these take longer than all the rest */
	{
		double estimate;
		double product;
		FUZZ_CHECK(sb_tbf_estimate(&tbf, filter.cells.data(), hash, then, &estimate) == SB_OK);
		FUZZ_CHECK(estimate >= 0);
		FUZZ_CHECK(sb_tbf_inner_product(&tbf, filter.cells.data(), &tbf, filter.cells.data(), then, &product) == SB_OK);
		FUZZ_CHECK(product >= 0);
	}
	sb_tbf_stats stats;
	FUZZ_CHECK(sb_tbf_measure(&tbf, filter.cells.data(), 16, &stats) == SB_OK && stats.items >= 0);
	FUZZ_CHECK(stats.fill >= 0 && stats.fill <= 1 && stats.current_fpr >= 0 && stats.current_fpr <= 1);
	double factor = sb_tbf_decay_factor(&tbf);
	FUZZ_CHECK(factor >= 0 && factor <= 1);

	const bool of_usual_size = sb_tbf_cells(&tbf) <= UINT64_C(1)
														 << 16; /* a few bytes can say that there are 10^8 zeros */
	if (list_is_fine && of_usual_size)
		check_builder_of(whole, items, then);
	if (list_is_fine && tbf.top != 0)
	{
		const Filter later = decayed(whole, then);
		FUZZ_CHECK(later.tbf.extra <= tbf.extra);
		FUZZ_CHECK(later.tbf.extra != 0 || tbf.extra == 0);
	}

	/*
	 * The other layout has the same counters, and the way back gives the same bytes. An exact filter becomes a filter
	 * with cells, which must not count less.
	 */
	if (list_is_fine && of_usual_size)
	{
		const uint8_t other_layout = tbf.layout == SB_TBF_FLAT ? SB_TBF_EXTENSIBLE : SB_TBF_FLAT;
		if (const auto other = in_layout(whole, other_layout, &status); status == SB_OK)
		{
			for (uint64_t item : items)
				FUZZ_CHECK(is_exact(&tbf) ? no_less(other->count(item, then), whole.count(item, then)) :
											other->least(item) == whole.least(item));
			const auto again = in_layout(*other, tbf.layout, &status);
			FUZZ_CHECK(is_exact(&tbf) || (status == SB_OK && equal(*again, whole)));
		}
	}
	tbf = filter.tbf;

	/* a hit is removed: either that is refused, or no item's count becomes larger */
	sb_moment moment;
	uint64_t hit;
	sb_tbf_moment(tbf.half_life, tbf.epoch, then, &moment);
	if (of_usual_size && sb_tbf_slack(&tbf) == 0 && (tbf.flags & SB_TBF_OPTIONS) == 0 && tbf.top == 0 &&
		sb_tbf_hit(&moment, weight, &hit) == SB_OK && hit > 0)
	{
		double most = 0;
		const auto without = made(filter, &status,
								  [&](const sb_memory *to, size_t in_front, sb_tbf *out, void **made_value) {
									  return sb_tbf_remove(&tbf, filter.cells.data(), hash, &moment, hit, to, in_front,
														   out, made_value, &most);
								  });
		FUZZ_CHECK(most >= 0);
		if (status == SB_OK)
			for (uint64_t item : items)
				FUZZ_CHECK(without->least(item) <= filter.least(item));
	}

	/* a filter with a table of recurring minimum has been checked above; it does not decay and cannot be merged */
	if ((tbf.flags & SB_TBF_RECURRING_MINIMUM) != 0)
	{
		sb_tbf out;
		sb_difference difference{};
		FUZZ_CHECK(sb_tbf_plan_merge(&tbf, &tbf, &out, &difference) == SB_DIFFERENT);
		FUZZ_CHECK(recurring_entries(&tbf) * recurring_entry_size == tbf.extra);
		return 0;
	}

	/*
	 * decay: at once or in steps gives the same, and no count becomes less unless the filter had already forgotten
	 * hits
	 */
	Filter once = decayed(filter, std::max(first, then));
	Filter steps = decayed(decayed(filter, std::min(first, then)), std::max(first, then));
	FUZZ_CHECK(equal(once, steps));
	FUZZ_CHECK(equal(decayed(once, std::min(first, then)), once));
	if ((tbf.flags & SB_TBF_FORGOTTEN) == 0)
		for (uint64_t item : items)
			FUZZ_CHECK(no_less(once.count(item, then), filter.count(item, then)));

	/*
	 * with minimum increase the order of hits matters, so it is switched off here: then each hit is added to all cells
	 * of its item
	 */
	for (sb_tbf *parameters : {&tbf, &filter.tbf, &once.tbf})
		parameters->flags &= static_cast<uint16_t>(~SB_TBF_MINIMUM_INCREASE);

	/*
	 * Sums of three things: the filter, the decayed filter and a hit. One builder adds all three. Two other builders
	 * share them, in another order, and are united.
	 */
	sb_tbf like = tbf;
	if (!is_exact(&tbf) && sb_tbf_cells(&tbf) <= 4096)
	{
		sb_tbf wider = tbf;
		for (uint64_t doublings = choice % 3; doublings > 0; doublings--)
			if (wider.block_cells < SB_TBF_BLOCK)
				wider.block_cells = static_cast<uint16_t>(wider.block_cells * 2);
			else
				wider.block_count *= 2;
		wider.widened = 0;
		sb_difference difference{};
		FUZZ_CHECK(sb_tbf_plan_merge(&tbf, &wider, &like, &difference) == SB_OK);
		FUZZ_CHECK(sb_tbf_cells(&like) == sb_tbf_cells(&wider));
	}
	State forwards(like);
	State backwards(like);
	State worker(like);
	sb_status of_forwards = forwards.add(filter);
	if (of_forwards == SB_OK)
		of_forwards = forwards.hit(hash, then, weight);
	if (of_forwards == SB_OK)
		of_forwards = forwards.add(once);
	sb_status of_backwards = backwards.add(once);
	if (of_backwards == SB_OK)
		of_backwards = worker.hit(hash, then, weight);
	if (of_backwards == SB_OK)
		of_backwards = worker.add(filter);
	if (of_backwards == SB_OK)
		of_backwards = backwards.unite(worker);
	if (of_forwards != SB_OK || of_backwards != SB_OK)
		return 0;

	std::unique_ptr<Filter> sum;
	std::unique_ptr<Filter> other;
	of_forwards = forwards.store(&sum);
	of_backwards = backwards.store(&other);
	FUZZ_CHECK(of_forwards == of_backwards);
	if (of_forwards != SB_OK)
		return 0;
	FUZZ_CHECK(equal(*sum, *other));
	for (uint64_t item : items)
		for (int64_t at : {first, then, tbf.newest})
		{
			if (at < -SB_TBF_MAX_TIME || at > SB_TBF_MAX_TIME) /* an epoch may begin before all times */
				continue;
			FUZZ_CHECK(no_less(sum->count(item, at), filter.count(item, at)));
			FUZZ_CHECK(no_less(sum->count(item, at), once.count(item, at)));
		}
	FUZZ_CHECK(no_less(sum->count(hash, then), weight));

	/* weights: the one of the input and one by chance, added in either order */
	double by = choice % 4 == 0 ?
					std::ldexp(static_cast<double>(choice >> 40), static_cast<int>(choice >> 8 & 63) - 60) :
					1;
	State weighted(like);
	State reversed(like);
	if (weighted.add(filter, weight) != SB_OK || weighted.add(once, by) != SB_OK || reversed.add(once, by) != SB_OK ||
		reversed.add(filter, weight) != SB_OK)
		return 0;
	of_forwards = weighted.store(&sum);
	FUZZ_CHECK(of_forwards == reversed.store(&other));
	if (of_forwards != SB_OK)
		return 0;
	FUZZ_CHECK(equal(*sum, *other));
	for (uint64_t item : items)
		if (double counts[] = {filter.count(item, then), once.count(item, then)};
			std::isfinite(counts[0]) && std::isfinite(counts[1]))
		{
			FUZZ_CHECK(no_less(sum->count(item, then), weight * least_of(counts[0])));
			FUZZ_CHECK(no_less(sum->count(item, then), by * least_of(counts[1])));
		}
	return 0;
}
