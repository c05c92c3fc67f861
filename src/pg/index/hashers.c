/*
 * hashers.c: how the items of an index's columns are hashed.
 */
#include "index/bf_index.h"

#include "catalog/pg_type.h"

Oid
bf_index_column_type(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	return IsPolymorphicType(type) ? TupleDescAttr(RelationGetDescr(index), column)->atttypid : type;
}

void
bf_index_prepare_hashers(Relation index, BfHashers *hashers, MemoryContext context)
{
	hashers->columns = IndexRelationGetNumberOfKeyAttributes(index);
	for (int column = 0; column < hashers->columns; column++)
		hashers->hasher[column] = item_hasher_for_index(bf_index_column_type(index, column),
														index->rd_indcollation[column], context);
}
