/*
 * exports.hpp: the files that are written besides the page, for the plots and for SQL.
 */
#ifndef PAPERS_EXPORTS_HPP
#define PAPERS_EXPORTS_HPP

#include "counts.hpp"
#include "streams.hpp"

namespace papers {

/* Writes ID.dat: the rates over the importance, in classes of this width. */
void write_points(const Stream &stream, const Five &five, int width);

/* Writes sql-ID.csv, the stream for SQL, and sql-ID.expected, the results here, which SQL must repeat. */
void export_for_sql(const Stream &stream, bool text);

} // namespace papers

#endif
