/*
 * elements.c: see elements.h.
 */
#include "base/elements.h"

#include "utils/expandeddatum.h"

#include "base/slices.h"

void
elements_open_as(Elements *elements, Datum array, int16 length, bool by_value, char align)
{
	AnyArrayType *any;

	/*
	 * detoast() reads a large array from its TOAST table with looks for interrupts. It is not called for other arrays,
	 * because it keeps a header of one byte, and elements behind such a header are not aligned. DatumGetAnyArrayP()
	 * makes a header of four bytes.
	 */
	if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(array)))
		array = PointerGetDatum(detoast(array));
	any = DatumGetAnyArrayP(array);
	*elements = (Elements) {
		.count = ArrayGetNItems(AARR_NDIM(any), AARR_DIMS(any)),
		.length = length,
		.by_value = by_value,
		.align = align,
	};
	sb_array_iter_setup(&elements->iterator, any, length, by_value, align);
}

void
elements_open(Elements *elements, FunctionCallInfo fcinfo, int argno, sb_lookup_type type)
{
	ItemHasher *hasher = item_hasher_for_elements(fcinfo, argno);
	Datum		array = PG_GETARG_DATUM(argno);
	int16		length;
	bool		by_value;
	char		align;

	if (item_is_untyped(hasher))
	{
		sb_lookup	filter;

		look_up_open(&filter, type, hasher, PG_GETARG_DATUM(0));
		hasher = item_read_array(hasher, &filter.header.kind, &array);
	}
	item_element_storage(hasher, &length, &by_value, &align);
	elements_open_as(elements, array, length, by_value, align);
	elements->hasher = hasher;
}

int
items_left(const Elements *elements)
{
	Elements	rest = *elements;
	Datum		item;
	int			count = 0;

	while (next_item(&rest, &item))
		count++;
	return count;
}
