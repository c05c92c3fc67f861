/*
 * exports.hpp: what is left as files beside the page, for the plots and for SQL.
 */
#ifndef PAPERS_EXPORTS_HPP
#define PAPERS_EXPORTS_HPP

#include "counts.hpp"
#include "streams.hpp"

namespace papers {

/* ID.dat: the rates over the importance, in classes of this width. */
void write_points(const Stream &stream, const Five &five, int width);

/* sql-ID.csv, sql-ID.expected: the stream as SQL is to repeat it, and what came out here. */
void export_for_sql(const Stream &stream, bool text);

} // namespace papers

#endif
