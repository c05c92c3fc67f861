/*
 * streambloom.h: the C face of the core, the only header that both sides of the boundary include.
 *
 * streambloom has two halves. The *core* (src/core, C++20) computes: it makes filters, which are arrays of bytes, adds
 * hashes to them and looks hashes up. The *shim* (src/pg, C) is the extension that PostgreSQL loads: it takes SQL
 * values, hashes them, calls the core, and returns the results. They are apart for two reasons. An error of PostgreSQL
 * is a longjmp(), which must not jump over C++ frames that own something. And without PostgreSQL the core can be
 * tested alone, with sanitizers, with a fuzzer, and on other processors (test/unit, test/fuzz).
 *
 * Rules of the boundary (CONTRIBUTING.md has the reasons):
 *  - The core knows nothing of PostgreSQL. It allocates only through the sb_memory that its caller hands over. It
 *    allocates memory that the same call releases again, and results whose size is not known in advance: sets of
 *    hashes, builders, serialized builders, new values of tbf, intersections of exact bfs, and queries of patterns. For
 *    everything else the caller asks the core for the size, allocates a buffer and passes it with its length; the core
 *    fills it.
 *  - Every function that can fail returns an sb_status that must be looked at. Nothing throws.
 *  - Buffers need no alignment unless a comment says REQUIRES. Stored bytes are little-endian on every machine.
 *
 * For example, this makes a bf with three integers:
 *
 *   status = sb_bf_plan(1000, 0.01, false, &bf);   plans a filter for 1,000 items and a false-positive rate of 1 %
 *   bf.kind.code = SB_KIND_INTEGER;                what sort of items it holds
 *   value = calloc(1, sb_bf_size(&bf));            the caller's buffer: all bits are 0
 *   sb_bf_encode_header(&bf, value);
 *   sb_bf_add_many(&bf, value + SB_BF_HEADER, hashes, 3);
 *
 * Words used everywhere: an *item* is hashed to 64 bits; a *line* is 512 bits of a bf; a *cell* is one counter of a
 * tbf, or one place of an sbf or ibf; a *block* is the part of a tbf or abf that has all the cells or bits of an item.
 * Times are microseconds since 2000-01-01 00:00 UTC (PostgreSQL's timestamptz).
 *
 * Each header below begins with what it is for. bf/sb_bf.h comes first: the other types vary the Bloom filter that it
 * explains. base/sb_base.h has what all share: statuses, memory, stopping, hashing, kinds of items. Headers for C are
 * named sb_*.h; those named *.hpp are for the core's own files.
 */
#ifndef STREAMBLOOM_H
#define STREAMBLOOM_H

#include "abf/sb_abf.h"
#include "base/sb_base.h"
#include "base/sb_hash_set.h"
#include "lookup/sb_lookup.h"
#include "bf/sb_bf.h"
#include "bf/sb_bf_builder.h"
#include "bf/sb_bf_exact.h"
#include "bf/sb_bf_formula.h"
#include "gram/sb_gram.h"
#include "stable/sb_stable.h"
#include "tbf/sb_decay_functions.h"
#include "tbf/sb_tbf.h"
#include "tbf/sb_tbf_builder.h"

#endif							/* STREAMBLOOM_H */
