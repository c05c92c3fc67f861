/*
 * compat.h: the one place that knows how PostgreSQL's versions differ. Every file of the shim includes it first.
 */
#ifndef STREAMBLOOM_PG_COMPAT_H
#define STREAMBLOOM_PG_COMPAT_H

#include "postgres.h"

#include "fmgr.h"

#if PG_VERSION_NUM < 150000
#error "streambloom needs PostgreSQL 15 or later"
#endif

/*
 * The library is built with hidden visibility; before 16 PostgreSQL did not mark what SQL calls as exported.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#define SB_FUNCTION(name) PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); PG_FUNCTION_INFO_V1(name)
#else
#include "varatt.h"
#define SB_FUNCTION(name) PG_FUNCTION_INFO_V1(name)
#endif

/* PostgreSQL 18 has no pg_attribute_noreturn() any more, 15 no pg_noreturn yet. */
#define SB_NORETURN __attribute__((noreturn))

#include "streambloom.h"

#endif
