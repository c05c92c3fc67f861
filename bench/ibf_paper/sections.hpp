/*
 * sections.hpp: the sections of the page, in its order, each in a file of its name. A section measures what it needs
 * unless it is given results, prints its Markdown, and leaves the points of its plots as files.
 */
#ifndef PAPERS_SECTIONS_HPP
#define PAPERS_SECTIONS_HPP

#include "experiment.hpp"

namespace papers {

/* The table of the streams: their sizes and orders. */
void describe(const Streams &streams);

void table_two(const Streams &streams, const Results &results);

/* A row for each of the results, and a summary. */
void all_streams(const Streams &streams, const Results &results);

/* Figures 3 to 17. */
void by_importance(const Streams &streams, const Results &results);

void max_sweep(const Streams &streams);

/*
 * On distinct items: the share of zero cells beside V0, and the false positives of the second half beside the bound;
 * Figure 18.
 */
void zero_cells();

/*
 * False negatives by gap on a stream of distinct items. The item is looked up without a step, which gives the answer
 * that its repeat would get.
 */
void gaps();

/* False negatives by gap on a real stream in its own order, in which the items in between are not distinct. */
void real_gaps(const Stream &stream);

/* What an abf of as many bytes misses, and what an SBF of the same rate misses. */
void with_abf(const Streams &streams);

void endless();

} // namespace papers

#endif
