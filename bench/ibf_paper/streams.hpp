/*
 * streams.hpp: the streams: arrivals of items, each with an importance, in the order of the source or permuted.
 * streams.cpp makes those of the block trace and the made-up ones, retail.cpp those of the retail data.
 */
#ifndef PAPERS_STREAMS_HPP
#define PAPERS_STREAMS_HPP

#include "common.hpp"

#include <string>
#include <vector>

namespace papers {

struct Stream
{
	std::string id; /* of its files */
	std::string name;
	std::vector<uint32_t> item; /* 0 .. distinct - 1 */
	std::vector<float> importance;
	std::vector<uint64_t> hash; /* of each distinct item */
	uint64_t bytes = paper_bytes;
	uint64_t plain_bytes = paper_bytes; /* of the plain filter: fewer where it has as many cells as the others */
	int permutations = 5;
	bool has_order = false;   /* of its own; then the 0th permutation leaves it */
	bool independent = false; /* importance and repeats are */

	int first_mixed() const { return has_order ? 1 : 0; } /* permutation */
};

/* Six streams of the same rows, each with another importance; none if retail.csv is not there. */
std::vector<Stream> retail_streams();
/* The stock code of an item of these streams. */
const std::string &retail_code(uint32_t item);

/* The trace in filters of its own size and of 16 KB; none if block.txt is not there. */
std::vector<Stream> block_streams();

/*
 * The three kinds, with 10, 30 and 50 % repeats each; then the three with 30 % again, for a plain filter that has as
 * many cells as the others.
 */
std::vector<Stream> made_up_streams();

struct Streams
{
	std::vector<Stream> retail, block, made;

	const Stream &retail_quantity_rank() const { return retail[1]; }
	const Stream &equal30() const { return made[1]; }
	const Stream &first_of_as_many_cells() const { return made[9]; }
	std::vector<const Stream *> all() const;
};

/* Draws an importance of 1 to 50 for each item. */
void draw(Stream *stream, uint64_t seed);

/* The order of the stream's p-th permutation. */
std::vector<uint32_t> order_of(const Stream &stream, int p);

/* Bytes with which the plain filter reaches the paper's rate on this many distinct items. */
uint64_t scaled_bytes(uint64_t distinct);

} // namespace papers

#endif
