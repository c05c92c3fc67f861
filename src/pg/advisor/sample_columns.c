/*
 * sample_columns.c: prepares the columns of a table for sampling: how their values are hashed, and which kinds of index
 * can be made on them (sample.h).
 */
#include "advisor/sample.h"

#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "index/attempt.h"
#include "index/handler.h"

typedef struct Preparation
{
	SampleColumn *column;
	Oid			type;
	Oid			collation;
	MemoryContext context;
} Preparation;

static void
make_hasher(void *argument)
{
	Preparation *preparation = argument;

	preparation->column->hasher =
		item_hasher_for_index(preparation->type, preparation->collation, preparation->context);
}

/* Returns whether this error means that an index on such a column is refused. */
static bool
is_refusal(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_FEATURE_NOT_SUPPORTED ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION;
}

/* Returns whether equal values share a tuple in a B-tree of this operator class. */
static bool
deduplicates(Oid opclass, Oid collation)
{
	Oid			type = get_opclass_input_type(opclass);
	Oid			procedure = get_opfamily_proc(get_opclass_family(opclass), type, type, BTEQUALIMAGE_PROC);

	return OidIsValid(procedure) &&
		DatumGetBool(OidFunctionCall1Coll(procedure, collation, ObjectIdGetDatum(type)));
}

void
bf_index_sample_column(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context)
{
	Oid			type = getBaseType(attribute->atttypid);
	Oid			opclass = GetDefaultOpClass(type, bf_index_am_oid());
	Oid			btree = GetDefaultOpClass(type, BTREE_AM_OID);
	Preparation preparation = {.column = column, .collation = attribute->attcollation, .context = context};
	Oid			family;
	ErrorData  *error;

	column->attnum = attribute->attnum;
	column->name = pstrdup(NameStr(attribute->attname));
	column->has_btree = OidIsValid(btree);
	column->rate = BF_INDEX_DEFAULT_FPR;
	column->deduplicates = OidIsValid(btree) && deduplicates(btree, attribute->attcollation);
#ifdef ATTRIBUTE_GENERATED_VIRTUAL
	if (attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
	{
		column->refused = "no index can be made on a virtual generated column";
		return;
	}
#endif
	if (!OidIsValid(opclass))
	{
		column->refused = psprintf("there is no operator class of bf for type %s", format_type_be(attribute->atttypid));
		return;
	}
	family = get_opclass_family(opclass);
	preparation.type = get_opclass_input_type(opclass);
	/*
	 * bf_index_sample_key_column() recognizes an operator class with keys inside values by the functions of the class.
	 * The strategy numbers of the operators do not tell: such a class has GIN's numbers, in which && of arrays has the
	 * number that = has in other classes.
	 */
	if (bf_index_sample_key_column(column, attribute, opclass, context))
		return;
	/*
	 * CREATE INDEX accepts the operator class of text for a column of citext, too. But = of citext is another operator
	 * than = of text, and does not use such an index. So such a column is refused here.
	 */
	if (!op_in_opfamily(lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr, family))
	{
		column->refused = psprintf("bf indexes type %s as %s, and its operator = would not use the index",
								   format_type_be(attribute->atttypid), format_type_be(preparation.type));
		return;
	}
	if (IsPolymorphicType(preparation.type))
		preparation.type = type;
	error = bf_index_attempt(make_hasher, &preparation, is_refusal);
	if (error != NULL)
		column->refused = error->message;
}
