/*
 * filters.hpp: the filters that bench/duplicates compares, each of as many bytes: those of the core, plain Bloom
 * filters that are changed by hand, and the simulations of simulator.hpp.
 */
#ifndef REPEATS_FILTERS_HPP
#define REPEATS_FILTERS_HPP

#include "base/bits.hpp"
#include "simulator.hpp"
#include "streambloom.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace repeats {

[[noreturn]] inline void die(const char *what)
{
	std::fprintf(stderr, "repeats: %s\n", what);
	std::exit(1);
}

inline void must(sb_status status)
{
	if (status != SB_OK)
		die(sb_status_text(status));
}

/*
 * What is compared in one table: the window, in items or in microseconds, and the bytes and the rate that all filters
 * have.
 */
struct Setting
{
	int64_t window;
	bool by_time;
	uint64_t expected; /* items in the window */
	uint64_t bytes;
	double fpr;
};

class Filter
{
public:
	explicit Filter(std::string name) : name_(std::move(name)) {}
	virtual ~Filter() = default;
	/*
	 * Returns whether the item had come before, and adds it. `position` is the item's number in the stream, or its
	 * time.
	 */
	virtual bool step(uint64_t hash, int64_t position, double importance) = 0;
	const std::string &name() const { return name_; }

private:
	std::string name_;
};

class Abf : public Filter
{
public:
	explicit Abf(const Setting &s) : Filter("abf")
	{
		must(sb_abf_plan(s.window, s.by_time, s.expected, s.fpr, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf_));
		abf_.kind.code = SB_KIND_INTEGER;
		slices_.resize(sb_abf_slice_bytes(&abf_));
	}
	bool step(uint64_t hash, int64_t position, double) override
	{
		bool duplicate;
		must(sb_abf_add(&abf_, slices_.data(), &hash, abf_.by_time ? &position : nullptr, 1, &duplicate));
		return duplicate;
	}

private:
	sb_abf abf_;
	std::vector<unsigned char> slices_;
};

class Stable : public Filter
{
public:
	/*
	 * An ibf ranks importances. With `old_defaults` it has the range 0 to 1 instead, and as many evictions as an sbf.
	 */
	Stable(const Setting &s, const char *name, sb_scheme scheme, bool old_defaults = false) : Filter(name)
	{
		const double low = scheme == SB_STABLE ? 0 : !old_defaults ? NAN : scheme == SB_TWO_CLASS ? 0.5 : 0;
		const double high = scheme == SB_STABLE ? 0 : !old_defaults ? NAN : scheme == SB_TWO_CLASS ? 0.5 : 1;
		int64_t evictions = SB_STABLE_CHOOSE;
		if (old_defaults && scheme == SB_MULTI_CLASS)
		{
			sb_stable sbf;
			must(sb_stable_plan(s.bytes, s.fpr, SB_STABLE, 0, 0, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE,
								0, &sbf));
			evictions = sbf.evictions;
		}
		must(sb_stable_plan(s.bytes, s.fpr, scheme, low, high, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, evictions, 0,
							&stable_));
		stable_.kind.code = SB_KIND_INTEGER;
		cells_.resize(sb_stable_cell_bytes(&stable_));
	}
	bool step(uint64_t hash, int64_t, double importance) override
	{
		sb_stable_note_importance(&stable_, cells_.data(), importance);
		const uint8_t value = sb_stable_value_of(&stable_, cells_.data(), importance);
		bool duplicate;
		sb_stable_steps(&stable_, cells_.data(), &hash, &value, 1, &duplicate);
		return duplicate;
	}

private:
	sb_stable stable_;
	std::vector<unsigned char> cells_;
};

/*
 * Plain filters that are changed by hand. Tumbling: each window begins with an empty filter that has all the bytes,
 * as with PARTITION BY date_bin(...). Rotated: two filters of half the bytes; both are asked, the newer one is added
 * to, and after a window it takes the place of the older one.
 */
class Plain : public Filter
{
public:
	Plain(const Setting &s, bool rotated)
		: Filter(rotated ? "two bf, rotated" : "bf, tumbling"), rotated_(rotated), window_(s.window)
	{
		line_count_ = static_cast<uint32_t>(std::max<uint64_t>(s.bytes / (rotated ? 2 : 1) / 64, 1));
		const double bits = static_cast<double>(line_count_) * 512 / static_cast<double>(s.expected);
		hash_count_ = static_cast<int>(std::clamp(std::floor(bits * 0.6931 + 0.5), 1.0, 16.0));
		for (auto &lines : lines_)
			lines.resize(size_t{line_count_} * 64);
	}
	bool step(uint64_t hash, int64_t position, double) override
	{
		const int64_t period = position / window_;
		if (period > period_)
		{
			if (rotated_ && period == period_ + 1)
				lines_[0].swap(lines_[1]);
			else
				std::fill(lines_[1].begin(), lines_[1].end(), static_cast<unsigned char>(0));
			std::fill(lines_[0].begin(), lines_[0].end(), static_cast<unsigned char>(0));
			period_ = period;
		}
		const bool found = has(lines_[0], hash) || (rotated_ && has(lines_[1], hash));
		unsigned char *line = lines_[0].data() + line_of(hash) * 64;
		(void) for_each_bit(hash, [&](unsigned bit) {
			line[bit / 8] = static_cast<unsigned char>(line[bit / 8] | 1u << bit % 8);
			return true;
		});
		return found;
	}

private:
	size_t line_of(uint64_t hash) const { return static_cast<size_t>(streambloom::multiply_high(hash, line_count_)); }
	/* Takes 9 bits of the mixed hash for the position of each bit in the line. */
	template <typename Look>
	bool for_each_bit(uint64_t hash, Look look) const
	{
		uint64_t mixed = streambloom::mix(hash);
		for (int i = 0; i < hash_count_; i++)
		{
			if (i % 7 == 0 && i > 0)
				mixed = streambloom::mix(mixed + streambloom::random_step);
			if (!look(static_cast<unsigned>(mixed >> 9 * (i % 7) & 511)))
				return false;
		}
		return true;
	}
	bool has(const std::vector<unsigned char> &lines, uint64_t hash) const
	{
		const unsigned char *line = lines.data() + line_of(hash) * 64;
		return for_each_bit(hash, [&](unsigned bit) { return (line[bit / 8] >> bit % 8 & 1) != 0; });
	}

	bool rotated_;
	int64_t window_;
	int64_t period_ = 0;
	uint32_t line_count_;
	int hash_count_;
	std::vector<unsigned char> lines_[2];
};

/* A filter of simulator.hpp, with the parameters of the core's filter. */
template <typename Simulation>
class Simulated : public Filter
{
public:
	template <typename... Arguments>
	explicit Simulated(const char *name, Arguments... arguments) : Filter(name), simulation_(arguments...)
	{
	}
	bool step(uint64_t hash, int64_t position, double importance) override
	{
		return simulation_.step(hash, position, importance);
	}

private:
	Simulation simulation_;
};

inline std::vector<std::unique_ptr<Filter>> filters_of(const Setting &s)
{
	std::vector<std::unique_ptr<Filter>> all;
	sb_abf abf;
	sb_stable stable;
	must(sb_abf_plan(s.window, s.by_time, s.expected, s.fpr, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf));
	must(sb_stable_plan(s.bytes, s.fpr, SB_STABLE, 0, 0, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, 0,
						&stable));
	all.push_back(std::make_unique<Plain>(s, false));
	all.push_back(std::make_unique<Plain>(s, true));
	all.push_back(std::make_unique<Stable>(s, "sbf", SB_STABLE));
	all.push_back(
		std::make_unique<Simulated<SimulatedStable>>("sbf, simulated", stable.cell_count, int{stable.hash_count},
													 static_cast<int>(stable.evictions), int{sb_stable_max(&stable)}));
	const auto simulated = [&](const char *name, bool two_class)
	{
		all.push_back(std::make_unique<Simulated<SimulatedImportant>>(
			name, two_class, stable.cell_count, int{stable.hash_count}, static_cast<int>(stable.evictions),
			int{sb_stable_max(&stable)}));
	};
	all.push_back(std::make_unique<Stable>(s, "ibf two_class", SB_TWO_CLASS));
	all.push_back(std::make_unique<Stable>(s, "ibf two_class, threshold 1/2", SB_TWO_CLASS, true));
	simulated("ibf two_class, simulated", true);
	all.push_back(std::make_unique<Stable>(s, "ibf multi_class", SB_MULTI_CLASS));
	all.push_back(std::make_unique<Stable>(s, "ibf multi_class, evictions of an sbf", SB_MULTI_CLASS, true));
	simulated("ibf multi_class, simulated", false);
	if (s.bytes <= 16384 && !s.by_time) /* a step takes tens of microseconds */
		all.push_back(std::make_unique<Stable>(s, "ibf value_weighted", SB_VALUE_WEIGHTED));
	all.push_back(std::make_unique<Abf>(s));
	all.push_back(std::make_unique<Simulated<SimulatedAbf>>("abf, simulated", int{abf.hash_count}, int{abf.generations},
															sb_abf_bits(&abf), sb_abf_length(&abf)));
	return all;
}

} // namespace repeats

#endif
