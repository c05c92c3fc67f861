/*
 * sections.hpp: the sections of the page, in its order, each in a file of its name. A section measures what it needs
 * unless it is given results, prints its Markdown, and leaves the points of its plots as files.
 */
#ifndef PAPERS_SECTIONS_HPP
#define PAPERS_SECTIONS_HPP

#include "experiment.hpp"

namespace papers {

/* What the streams are: their sizes and orders. */
void describe(const Streams &streams);

void table_two(const Streams &streams, const Results &results);

/* The rows of all that the results hold, and what is said in sum. */
void all_streams(const Streams &streams, const Results &results);

/* Figures 3 to 17. */
void by_importance(const Streams &streams, const Results &results);

void max_sweep(const Streams &streams);

/* Zero cells on distinct items against V0, false positives of the second half against the bound; Figure 18. */
void zero_cells();

/*
 * An item of a long time ago: of a stream of distinct items, asked without a step, which is what its repeat would hear.
 */
void gaps();

/* The same on a real stream in its own order, where what comes in between is not distinct. */
void real_gaps(const Stream &stream);

/* What an abf of as many bytes misses, and an SBF of the same rate. */
void with_abf(const Streams &streams);

void endless();

} // namespace papers

#endif
