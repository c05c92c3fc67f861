/*
 * header_in_c.c: a C11 compiler must accept streambloom.h as it is, because the PostgreSQL side is C. If this file
 * compiles, the test has passed; bf_test.cpp calls its functions to see that the names link, too.
 */
#include "streambloom.h"

size_t		size_seen_by_c(void);
const char *text_seen_by_c(void);

/* The stored sizes do not depend on the language, C or C++. */
_Static_assert(sizeof(sb_kind) == 36, "sb_kind is 36 bytes");
_Static_assert(SB_BF_HEADER == 64 && SB_TBF_HEADER == 128, "header sizes are part of the format");

size_t
size_seen_by_c(void)
{
	sb_bf		bf;

	if (sb_bf_plan(1000, 0.01, false, &bf) != SB_OK)
		return 0;
	return sb_bf_size(&bf);
}

const char *
text_seen_by_c(void)
{
	return sb_status_text(SB_OK);
}
