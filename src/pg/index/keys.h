/*
 * keys.h: operator classes whose items are keys inside values: the words of a text, the elements of an array, the
 * paths of a JSON document.
 *
 * Such a class has the support functions of a GIN operator class, with GIN's numbers and signatures (PostgreSQL's
 * documentation, "GIN Extensibility"): extractValue takes a value apart into keys. extractQuery does the same with
 * the argument of a query. triConsistent says whether a value can match the query if it lacks some of the keys and
 * may have the others. That is what a Bloom filter can tell: which keys are missing, and which may be there
 * (key_search.h).
 */
#ifndef STREAMBLOOM_PG_INDEX_KEYS_H
#define STREAMBLOOM_PG_INDEX_KEYS_H

#include "base/compat.h"

#include "catalog/pg_opclass.h"
#include "fmgr.h"
#include "utils/rel.h"

#include "base/item.h"

/* The numbers of support functions. A class without extractQuery can have only the last one, for its options. */
#define BF_COMPARE_PROC 1
#define BF_EXTRACT_VALUE_PROC 2
#define BF_EXTRACT_QUERY_PROC 3
#define BF_CONSISTENT_PROC 4
#define BF_COMPARE_PARTIAL_PROC 5
#define BF_TRI_CONSISTENT_PROC 6
#define BF_OPTIONS_PROC 7

/* The hint for a class that has more operators than =, but not extractQuery. */
#define BF_ONLY_EQUALITY "An operator class without extractQuery (3) can have operator 1 only, which is the = of its type."

/* Copies the row of pg_opclass for an operator class. Returns false if there is none. */
extern bool bf_index_opclass_form(Oid opclass, FormData_pg_opclass *form);

/* The support functions of a column's operator class, and how keys are hashed. */
typedef struct BfKeyClass
{
	FmgrInfo	extract_value;
	FmgrInfo	extract_query;
	FmgrInfo	consistent;		/* triConsistent; or consistent, if the class lacks that */
	bool		is_ternary;
	Oid			collation;		/* collation that is passed to these functions */
	Oid			key_type;
	Oid			key_collation;	/* collation with which keys are hashed */
	bytea	   *options;		/* options of the class, for its functions; NULL if it has none */
} BfKeyClass;

/* Are the items of this column keys? */
extern bool bf_index_has_keys(Relation index, int column);

/*
 * The type as which a column's items are hashed. It is the type that the operator class is for, since the = of that
 * type must agree with the hashes. The column's type may be another one: a citext column under text_ops has items of
 * type text.
 * If the operator class is for arrays or ranges of any type, only the column knows the type. Keys have the type that
 * the operator class stores.
 */
extern Oid	bf_index_item_type(Relation index, int column);

/* Makes the key class of a column. It stays valid when the index is closed. REQUIRES: bf_index_has_keys(). */
extern BfKeyClass *bf_index_make_key_class(Relation index, int column, MemoryContext context);

/*
 * Makes a key class without an index, for a column of this type and collation. It can only take values apart, not
 * queries. The type of the keys goes to *key_type. Returns NULL if there is no such operator class, if it has no keys
 * inside values, or if `type` is no array although the class is for arrays.
 */
extern BfKeyClass *bf_index_make_extracting_class(Oid opclass, Oid type, Oid collation, MemoryContext context,
												  Oid *key_type);

/* Does this column of an index have the functions and options of *keys, and are its keys hashed in the same way? */
extern bool bf_index_is_key_class(const BfKeyClass *keys, Relation index, int column);

extern ItemHasher *bf_index_key_hasher(const BfKeyClass *keys, MemoryContext context);

/* Raises an error if the keys of a column cannot be hashed because its collation takes different texts for equal. */
extern void bf_index_check_collation(Relation index, int column);

/* Do keys that compare_function (BF_COMPARE_PROC) takes for equal always have the same hash? True for InvalidOid. */
extern bool bf_index_compares_as_hashed(Oid compare_function, Oid key_type);

/* The keys of a value. (*nulls)[i] says whether key i is NULL; if *nulls is NULL, none is. */
extern Datum *bf_index_extract_keys(const BfKeyClass *keys, Datum value, int32 *count, bool **nulls);

#endif
