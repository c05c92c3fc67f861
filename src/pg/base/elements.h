/*
 * elements.h: the elements of an array argument, one after the other, where they lie: without an array of datums, which takes
 * 9 bytes for each of them, and with a look for interrupts now and then.
 */
#ifndef STREAMBLOOM_PG_ELEMENTS_H
#define STREAMBLOOM_PG_ELEMENTS_H

#include "base/compat.h"

#include "utils/arrayaccess.h"

#include "base/call.h"
#include "base/item.h"

typedef struct Elements
{
	ItemHasher *hasher;			/* of the elements, if they are items */
	int			count;			/* of all, nulls too */
	int			at;				/* the next one's number, from 0 */
	array_iter	iterator;
	int16		length;
	bool		by_value;
	char		align;
} Elements;

/* The elements of the array argument `argno`, which are items; or those of an array of this storage. */
extern void elements_open(Elements *elements, FunctionCallInfo fcinfo, int argno);
extern void elements_open_as(Elements *elements, Datum array, int16 length, bool by_value, char align);

/* The next element, or false if there is none. */
static inline bool
next_element(Elements *elements, Datum *element, bool *is_null)
{
	if (elements->at == elements->count)
		return false;
	if (elements->at % ITEMS_BETWEEN_INTERRUPTS == 0)
		CHECK_FOR_INTERRUPTS();
	*element = array_iter_next(&elements->iterator, is_null, elements->at++, elements->length, elements->by_value,
							   elements->align);
	return true;
}

/* The next one that is not NULL. */
static inline bool
next_item(Elements *elements, Datum *item)
{
	bool		is_null = true;

	while (is_null)
		if (!next_element(elements, item, &is_null))
			return false;
	return true;
}

#endif
