/*
 * keys.h: operator classes whose items are keys inside values: the words of a text, the elements of an array, the paths
 * of a JSON document.
 *
 * Such a class has the support functions of a GIN operator class, with GIN's numbers and signatures (PostgreSQL's
 * documentation, "GIN Extensibility"): extractValue takes a value apart into keys, extractQuery does the same with what
 * is searched for, and triConsistent says whether a value can match a query if some keys are not in it and the others
 * may be. A Bloom filter knows just that.
 */
#ifndef STREAMBLOOM_PG_INDEX_KEYS_H
#define STREAMBLOOM_PG_INDEX_KEYS_H

#include "base/compat.h"

#include "access/stratnum.h"
#include "catalog/pg_opclass.h"
#include "utils/rel.h"

#include "base/item.h"

/* The numbers of support functions. Without extractQuery, a class has no others than that for the options. */
#define BF_COMPARE_PROC 1
#define BF_EXTRACT_VALUE_PROC 2
#define BF_EXTRACT_QUERY_PROC 3
#define BF_CONSISTENT_PROC 4
#define BF_COMPARE_PARTIAL_PROC 5
#define BF_TRI_CONSISTENT_PROC 6
#define BF_OPTIONS_PROC 7

/* What is said of a class that has other operators, but not extractQuery. */
#define BF_ONLY_EQUALITY "An operator class without extractQuery (3) can have operator 1 only, which is the = of its type."

/* Copies the row of pg_opclass for an operator class. Returns false if there is none. */
extern bool bf_index_opclass_form(Oid opclass, FormData_pg_opclass *form);

/* The support functions of a column's operator class, and how keys are hashed. */
typedef struct BfKeyClass BfKeyClass;

/* Are the items of this column keys? */
extern bool bf_index_has_keys(Relation index, int column);

/*
 * The type as which a column's items are hashed. It is the type of the operator class, whose = must agree with the
 * hashes, and not the column's type: a citext column under text_ops has items of type text. Where the operator class is
 * for arrays or ranges of any type, only the column knows the type. Keys have the type that the operator class stores.
 */
extern Oid	bf_index_item_type(Relation index, int column);

/* REQUIRES: bf_index_has_keys(). The result stays valid when the index is closed. */
extern BfKeyClass *bf_index_make_key_class(Relation index, int column, MemoryContext context);

/*
 * The same without an index, for a column of this type and collation. It can only take values apart. The type of the
 * keys goes to *key_type. Returns NULL if the class has no keys inside values.
 */
extern BfKeyClass *bf_index_make_extracting_class(Oid opclass, Oid type, Oid collation, MemoryContext context,
												  Oid *key_type);

/* Does this column of an index have the same functions, and are its keys hashed in the same way? */
extern bool bf_index_is_key_class(const BfKeyClass *keys, Relation index, int column);

extern ItemHasher *bf_index_key_hasher(const BfKeyClass *keys, MemoryContext context);

/* Raises an error unless keys that the class takes for equal have the same hash. */
extern void bf_index_check_key_class(Relation index, int column);

/*
 * Does such a class take keys for equal only if they have the same hash, as far as this function (BF_COMPARE_PROC)
 * says?
 */
extern bool bf_index_compares_as_hashed(Oid compare_function, Oid key_type);

/* The keys of a value. Sets *nulls to NULL if none of them is NULL. */
extern Datum *bf_index_extract_keys(const BfKeyClass *keys, Datum value, int32 *count, bool **nulls);

/*
 * A search: what an operator looks for, taken apart into keys. With several queries (= ANY, LIKE ANY) a value matches
 * if it matches one of them.
 */
typedef enum BfKeySearchKind
{
	BF_FINDS_NOTHING,			/* no value matches */
	BF_FINDS_ANYTHING,			/* the keys say nothing: any value may match */
	BF_FINDS_BY_KEYS
} BfKeySearchKind;

typedef struct BfKeySearch
{
	BfKeySearchKind kind;
	uint32		count;			/* of the hashes, which are those of the keys to be looked for */
	uint64	   *hashes;			/* ascending, each one there once */
	/* a bit for each of the first 64: no value matches that lacks it. More may be required */
	uint64		required;
	struct KeyQuery *queries;
	uint32		query_count;
	struct Remembered *remembered;
} BfKeySearch;

/* Searches with more keys than this are carried out one level at a time only, unless some keys are enough for them. */
#define BF_FEW_KEYS 64

/*
 * Takes queries apart, in the current memory context, which must live as long as the result; so must the queries.
 * REQUIRES: the operator with this strategy number is in the class.
 */
extern BfKeySearch *bf_index_begin_key_search(const BfKeyClass *keys, ItemHasher *hasher, StrategyNumber strategy,
											  const Datum *queries, uint32 query_count);

/*
 * Can a value match if, of the search's hashes, it has at most those for which present[] is true? At worst the answer
 * is true.
 */
extern bool bf_index_key_search_can_match(BfKeySearch *search, const bool *present);

#endif
