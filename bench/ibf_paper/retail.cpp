/*
 * retail.cpp: the streams of retail.csv. The items are its stock codes; the importance is the quantity, quantity ×
 * price or the item's mean quantity, by either of the paper's two mappings onto 0 .. 50.
 */
#include "streams.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <unordered_map>
#include <utility>

namespace papers {

namespace {

std::vector<std::string> codes_of_items;

/* The paper's first mapping: proportional up to the 90th percentile, which becomes 49; larger values become 50. */
std::vector<float> proportional(const std::vector<double> &values)
{
	std::vector<double> sorted = values;
	auto ninety = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() * 9 / 10);
	std::nth_element(sorted.begin(), ninety, sorted.end());
	std::vector<float> mapped(values.size());
	for (size_t i = 0; i < values.size(); i++)
		mapped[i] = static_cast<float>(values[i] > *ninety ? top : 49 * values[i] / *ninety);
	return mapped;
}

/* The paper's second mapping: the percentile. Equal values get the middle of their ranks. */
std::vector<float> by_rank(const std::vector<double> &values)
{
	std::vector<double> sorted = values;
	std::sort(sorted.begin(), sorted.end());
	std::vector<float> mapped(values.size());
	for (size_t i = 0; i < values.size(); i++)
	{
		auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), values[i]);
		double rank = 0.5 * static_cast<double>((first - sorted.begin()) + (last - sorted.begin()));
		mapped[i] = static_cast<float>(top * rank / static_cast<double>(values.size()));
	}
	return mapped;
}

std::vector<std::string> csv_fields(const std::string &line)
{
	std::vector<std::string> fields(1);
	bool quoted = false;
	for (char c : line)
		if (c == '"')
			quoted = !quoted;
		else if (c == ',' && !quoted)
			fields.emplace_back();
		else if (c != '\r')
			fields.back() += c;
	return fields;
}

struct Rows
{
	Stream base; /* without an importance */
	std::vector<double> quantity;
	std::vector<double> value; /* quantity × price */
};

Rows read_rows(std::ifstream *file)
{
	Rows rows;
	rows.base.has_order = true;
	rows.base.permutations = quick ? 2 : 3;
	std::unordered_map<std::string, uint32_t> codes;
	std::string line;
	std::getline(*file, line);
	while (std::getline(*file, line))
	{
		std::vector<std::string> fields = csv_fields(line);
		if (fields.size() != 8)
			die("retail.csv has a line that has not 8 fields");
		auto [at, is_new] = codes.try_emplace(fields[1], static_cast<uint32_t>(codes.size()));
		if (is_new)
		{
			codes_of_items.push_back(fields[1]);
			rows.base.hash.push_back(sb_hash_bytes(fields[1].data(), fields[1].size()));
		}
		rows.base.item.push_back(at->second);
		rows.quantity.push_back(std::abs(std::atof(fields[3].c_str())));
		rows.value.push_back(rows.quantity.back() * std::abs(std::atof(fields[5].c_str())));
	}
	rows.base.plain_bytes = rows.base.bytes = scaled_bytes(rows.base.hash.size());
	return rows;
}

/*
 * Gives an item the same importance in all its rows, as the length of a video would be: the mean of its quantities.
 */
std::vector<double> mean_of_items(const Stream &base, const std::vector<double> &quantity)
{
	std::vector<double> mean(base.hash.size());
	std::vector<double> rows(base.hash.size());
	for (size_t i = 0; i < base.item.size(); i++)
	{
		mean[base.item[i]] += quantity[i];
		rows[base.item[i]]++;
	}
	for (size_t i = 0; i < mean.size(); i++)
		mean[i] /= rows[i];
	return mean;
}

std::vector<float> to_rows(const Stream &base, const std::vector<float> &of_item)
{
	std::vector<float> importance(base.item.size());
	for (size_t i = 0; i < importance.size(); i++)
		importance[i] = of_item[base.item[i]];
	return importance;
}

} // namespace

const std::string &retail_code(uint32_t item)
{
	return codes_of_items[item];
}

std::vector<Stream> retail_streams()
{
	std::ifstream file(directory + "/retail.csv");
	if (!file)
		return {};
	const Rows rows = read_rows(&file);
	const std::vector<double> mean = mean_of_items(rows.base, rows.quantity);

	std::vector<Stream> streams(6, rows.base);
	auto set = [&](size_t at, const char *id, const char *name, std::vector<float> importance)
	{
		streams[at].id = id;
		streams[at].name = name;
		streams[at].importance = std::move(importance);
	};
	set(0, "quantity-prop", "retail, quantity, proportional", proportional(rows.quantity));
	set(1, "quantity-rank", "retail, quantity, percentile", by_rank(rows.quantity));
	set(2, "value-prop", "retail, quantity × price, proportional", proportional(rows.value));
	set(3, "value-rank", "retail, quantity × price, percentile", by_rank(rows.value));
	set(4, "item-prop", "retail, item's mean quantity, proportional", to_rows(rows.base, proportional(mean)));
	set(5, "item-rank", "retail, item's mean quantity, percentile", to_rows(rows.base, by_rank(mean)));
	return streams;
}

} // namespace papers
