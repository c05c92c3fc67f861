/*
 * with_abf.cpp: an age-partitioned filter beside the Stable one, in the paper's bytes. It misses no repeat within its
 * window, and forgets an item as soon as this is behind the window. The window is the largest that fits these bytes
 * at the rate of 20 % that the paper states.
 */
#include "sections.hpp"

#include <unordered_map>

namespace papers {

namespace {

struct Missed
{
	Tally fp, fn, inside;

	void look_at(bool is_repeat, uint64_t distance, uint64_t window, bool found)
	{
		if (!is_repeat)
			fp.add(1, found);
		else
			fn.add(1, !found);
		if (is_repeat && distance <= window)
			inside.add(1, !found);
	}
	void print() const
	{
		std::printf(" %s | %s | %s |", percent(fp.rate()).c_str(), percent(fn.rate()).c_str(),
					percent(inside.rate()).c_str());
	}
};

sb_abf largest(uint64_t bytes)
{
	int64_t low = 1;
	int64_t high = static_cast<int64_t>(bytes) * 8;
	sb_abf abf;
	while (high - low > 1)
	{
		const int64_t middle = (low + high) / 2;
		const bool fits = sb_abf_plan(middle, false, 0, 0.2, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf) == SB_OK &&
						  sb_abf_slice_bytes(&abf) <= bytes;
		(fits ? low : high) = middle;
	}
	if (sb_abf_plan(low, false, 0, 0.2, SB_ABF_CHOOSE, SB_ABF_CHOOSE, &abf) != SB_OK)
		die("these parameters are refused");
	return abf;
}

void row(const Stream &stream, int permutation, const char *order)
{
	sb_abf abf = largest(stream.bytes);
	abf.kind.code = SB_KIND_INTEGER;
	std::vector<unsigned char> slices(sb_abf_slice_bytes(&abf));
	Filter stable = Filter::of(SBF, stream.bytes, 5, 3, 25);
	const auto window = static_cast<uint64_t>(abf.window);
	std::unordered_map<uint32_t, uint64_t> last;
	Missed of_abf, of_stable;
	uint64_t n = 0;
	for (uint32_t arrival : order_of(stream, permutation))
	{
		const uint32_t item = stream.item[arrival];
		const uint64_t hash = stream.hash[item];
		bool found;
		if (sb_abf_add(&abf, slices.data(), &hash, nullptr, 1, &found) != SB_OK)
			die("an item is refused");
		const auto known = last.find(item);
		const uint64_t distance = known == last.end() ? 0 : n - known->second;
		of_abf.look_at(known != last.end(), distance, window, found);
		of_stable.look_at(known != last.end(), distance, window, stable.step(hash, 1.0));
		last[item] = n++;
	}
	std::printf("| %s%s | %s | %s |", stream.name.c_str(), order, many(stream.bytes).c_str(), many(window).c_str());
	of_abf.print();
	of_stable.print();
	std::puts("");
}

} // namespace

void with_abf(const Streams &streams)
{
	std::puts("## With an age-partitioned filter beside\n");
	std::puts("An `abf` by items (Shtul, Baquero, Almeida 2020) of the same bytes, made for 20 %, and an SBF with the "
			  "P = 25 that keeps 20 %. The window is the\n"
			  "number of items that these bytes remember surely; \"within\": of the repeats whose item came among so "
			  "many.\n");
	std::puts("| stream | bytes | window | abf: FP | FN | FN within | SBF: FP | FN | FN within |");
	std::puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
	for (const Stream *stream : streams.all())
	{
		/* Importances have no effect here, and the retail streams differ only in these. So one of them is enough. */
		const bool again = !streams.retail.empty() && stream > &streams.retail.front() &&
						   stream <= &streams.retail.back();
		if (stream->plain_bytes == stream->bytes && !again)
			row(*stream, stream->has_order ? 0 : stream->first_mixed(), stream->has_order ? ", own order" : "");
	}
	std::puts("");
}

} // namespace papers
