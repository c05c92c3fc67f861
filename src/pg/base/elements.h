/*
 * elements.h: visits the elements of an array argument one after the other, in place. It does not make an array of
 * datums, which would take 9 bytes for each element. It looks for interrupts now and then.
 */
#ifndef STREAMBLOOM_PG_ELEMENTS_H
#define STREAMBLOOM_PG_ELEMENTS_H

#include "base/compat.h"

#include "utils/arrayaccess.h"

#include "base/call.h"
#include "base/item.h"

typedef struct Elements
{
	ItemHasher *hasher;			/* hashes the elements; NULL if they are not items */
	int			count;			/* the number of all elements, NULLs included */
	int			at;				/* the number of the next element, from 0 */
	array_iter	iterator;
	int16		length;
	bool		by_value;
	char		align;
} Elements;

/*
 * elements_open() opens the array in argument `argno`. Its elements are items for the filter in argument 0, which is of
 * type `type`. If the array is an untyped literal or parameter, its text is read as an array of the type that the
 * filter's kind stands for. elements_open_as() opens any array; the last three arguments say how its elements are
 * stored.
 */
extern void elements_open(Elements *elements, FunctionCallInfo fcinfo, int argno, sb_lookup_type type);
extern void elements_open_as(Elements *elements, Datum array, int16 length, bool by_value, char align);

/* Gets the next element. Returns false if there is none. */
static inline bool
next_element(Elements *elements, Datum *element, bool *is_null)
{
	if (elements->at == elements->count)
		return false;
	if (elements->at % ITEMS_BETWEEN_INTERRUPTS == 0)
		CHECK_FOR_INTERRUPTS();
	*element = sb_array_iter_next(&elements->iterator, is_null, elements->at, elements->length, elements->by_value,
								  elements->align);
	elements->at++;
	return true;
}

/* Returns how many of the remaining elements are not NULL. The next element stays the same. */
extern int items_left(const Elements *elements);

/* Gets the next element that is not NULL. Returns false if there is none. */
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
