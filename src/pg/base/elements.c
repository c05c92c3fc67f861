/*
 * elements.c: see elements.h.
 */
#include "base/elements.h"

#include "utils/expandeddatum.h"

void
elements_open_as(Elements *elements, Datum array, int16 length, bool by_value, char align)
{
	AnyArrayType *any;

	/*
	 * detoast() does not change a header of one byte, and the elements behind such a header are not aligned.
	 * DatumGetAnyArrayP() does change it.
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
elements_open(Elements *elements, FunctionCallInfo fcinfo, int argno)
{
	ItemHasher *hasher = item_hasher_for_elements(fcinfo, argno);
	int16		length;
	bool		by_value;
	char		align;

	item_element_storage(hasher, &length, &by_value, &align);
	elements_open_as(elements, PG_GETARG_DATUM(argno), length, by_value, align);
	elements->hasher = hasher;
}
