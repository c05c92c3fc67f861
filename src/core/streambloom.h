/*
 * streambloom.h: the C face of the core, the only header that both sides of the boundary include.
 *
 * Rules of the boundary (CONTRIBUTING.md has the reasons):
 *  - The core knows nothing of PostgreSQL. It allocates only through the sb_memory that its caller hands over. In this
 *    way it allocates memory that the same call releases, and results whose size is not known beforehand: sets of
 *    hashes and builders, which grow; serialized builders; a new tbf; the intersection of exact bfs; the query of a
 *    pattern. For everything else the caller asks the core for the size, allocates a buffer and passes it with its
 *    length; the core fills it.
 *  - Every function that can fail returns an sb_status that must be looked at. Nothing throws.
 *  - Buffers need no alignment unless a comment says REQUIRES. Stored bytes are little-endian on every machine.
 *
 * Words used everywhere: an *item* is hashed to 64 bits; a *line* is 512 bits of a bf; a *cell* is one counter of a
 * tbf, or one place of an sbf or ibf; a *block* is the part of a tbf or abf that has all the cells or bits of an
 * item. Times are microseconds since 2000-01-01 00:00 UTC (PostgreSQL's timestamptz).
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
#include "tbf/sb_top.h"

#endif							/* STREAMBLOOM_H */
