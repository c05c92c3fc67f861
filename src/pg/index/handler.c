/*
 * handler.c: tells PostgreSQL what the index access method `bf` can do, and checks its operator classes. Whoever wants
 * to know how the index works begins here.
 *
 * CREATE INDEX ... USING bf makes an index that does not say where a value is, but where it is not. The table's pages
 * are divided into *ranges* of some consecutive pages. For each range and each column the index has a Bloom filter of
 * the values (core/bf/sb_bf.h begins with what that is). A query for `host = 'x'` asks these filters, and reads only
 * the ranges whose filters say "maybe": those that have the value, and by default about one in a thousand of the
 * others. PostgreSQL's BRIN does the same with the smallest and the largest value of a range (or, under its bloom
 * operator classes, with filters too). Here the filters of up to 125 ranges lie so that one page of the index answers
 * for all of them, and above the ranges there are longer ones (*levels*), so that a search need not look at each range.
 * README.md in this folder draws that, and proves that no row is lost.
 *
 * All that PostgreSQL knows of an index access method is what its handler returns (here bf_index_handler()): a struct
 * IndexAmRoutine with properties and functions. What this method can do, and what it cannot:
 *
 *  - It finds pages, not rows: there is amgetbitmap, but no amgettuple. Each row on these pages is compared again by
 *    the executor. So it does not support ordered scans, index-only scans or unique indexes.
 *  - An index may have several columns, and a query may use any of them. It answers conditions with =, = ANY, IS NULL,
 *    and the operators of classes whose items are *keys* inside values (keys.h), such as the words of a text.
 *  - An UPDATE that changes an indexed column may still be HOT (amsummarizing, from PostgreSQL 16 on). An index entry
 *    does not point at a row, so DELETE and VACUUM have no entry to remove.
 *
 * The functions are in these files:
 *
 *   options.c   the options in WITH (...)          insert.c    a row is inserted
 *   build.c     CREATE INDEX, REINDEX              vacuum.c    VACUUM: summarizes new ranges, replaces filters
 *   cost.c      what a scan costs                  scan.c      a query asks; search.c and descend.c do the work
 *
 * An *operator class* says which operators of a type an index answers. One whose items are the values themselves has
 * one operator, the = by which the type is hashed: a class with another = would miss rows that are equal by it. One
 * for keys has GIN's support functions. bf_index_check_operators() refuses all others when an index is built;
 * bf_index_validate() is what PostgreSQL's amvalidate() calls, and reports what is wrong with a class.
 */
#include "index/handler.h"

#include "access/amapi.h"
#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/vacuum.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/preload.h"
#include "index/keys.h"
#include "index/layout.h"
#include "index/sizes.h"

/*
 * Properties and functions of the access method. What is not named here is false, or NULL: the method does not have it.
 */
static const IndexAmRoutine bf_index_routine = {
	.type = T_IndexAmRoutine,
	/* 0: each operator class has its own strategies, BF_EQUAL_STRATEGY or those of a GIN operator class */
	.amstrategies = 0,
	.amsupport = BF_OPTIONS_PROC,
	.amoptsprocnum = BF_OPTIONS_PROC,
	.amcanmulticol = true,
	.amoptionalkey = true,		/* a query need not have a condition on the first column */
	.amsearcharray = true,		/* = ANY (array) */
	.amsearchnulls = true,		/* IS NULL */
	.amstorage = true,			/* an operator class may name the type of its keys */
	.amusemaintenanceworkmem = false,
	.amparallelvacuumoptions = 0,	/* none: expressions of the index may be unsafe in parallel workers */
	.amkeytype = InvalidOid,
#if PG_VERSION_NUM >= 160000
	.amsummarizing = true,
#endif
#if PG_VERSION_NUM >= 170000
	.amcanbuildparallel = true,
#endif
	.ambuild = bf_index_build,
	.ambuildempty = bf_index_build_empty,
	.aminsert = bf_index_insert,
#if PG_VERSION_NUM >= 170000
	.aminsertcleanup = bf_index_end_insert,
#endif
	.ambulkdelete = bf_index_bulk_delete,
	.amvacuumcleanup = bf_index_vacuum_cleanup,
	.amcostestimate = bf_index_cost,
	.amoptions = bf_index_options,
	.ambuildphasename = bf_index_build_phase,
	.amvalidate = bf_index_validate,
	.ambeginscan = bf_index_begin_scan,
	.amrescan = bf_index_rescan,
	.amgetbitmap = bf_index_get_bitmap,
	.amendscan = bf_index_end_scan,
};

/* CREATE ACCESS METHOD names this function. PostgreSQL calls it when it opens an index of the method. */
SB_FUNCTION(bf_index_handler);
Datum
bf_index_handler(PG_FUNCTION_ARGS)
{
#if PG_VERSION_NUM >= 190000
	/* From PostgreSQL 19 on callers neither copy nor free what a handler returns. */
	PG_RETURN_POINTER(&bf_index_routine);
#else
	/* Callers in earlier versions free what a handler returns, so a copy is made. */
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	*am = bf_index_routine;
	PG_RETURN_POINTER(am);
#endif
}

/* Is this access method the one of this library? Another extension may have a method that is called bf, too. */
static bool
is_own_method(Oid method)
{
	IndexAmRoutine *routine = (IndexAmRoutine *) GetIndexAmRoutineByAmId(method, true);
	bool		is_own = routine != NULL && routine->ambuild == bf_index_build;

#if PG_VERSION_NUM < 190000
	if (routine != NULL)
		pfree(routine);
#endif
	return is_own;
}

Oid
bf_index_am_oid(void)
{
	static Oid	known = InvalidOid; /* is_own_method() was true for this one */
	Oid			method = get_index_am_oid("bf", true);

	if (method == known)
		return method;
	if (!is_own_method(method))
		return InvalidOid;
	known = method;
	return method;
}

/* ---------------------------------------------------------- operator classes */

/* Is this operator the = of the type's default hash operator class? Items that are equal by it have equal hashes. */
static bool
is_hashed_equality(Oid operator, Oid type)
{
	TypeCacheEntry *entry;

	/*
	 * The class may be for arrays, ranges or multiranges of any type; only the column knows which one. But all arrays
	 * have the same =, and so have all ranges, and all multiranges. So one type stands for all of its kind.
	 */
	if (type == ANYARRAYOID)
		return op_hashjoinable(operator, INT4ARRAYOID);
	if (type == ANYRANGEOID)
		return op_hashjoinable(operator, INT4RANGEOID);
	if (type == ANYMULTIRANGEOID)
		return op_hashjoinable(operator, INT4MULTIRANGEOID);
	entry = lookup_type_cache(type, TYPECACHE_HASH_OPFAMILY);
	return OidIsValid(entry->hash_opf) && op_in_opfamily(operator, entry->hash_opf);
}

/*
 * The type of a column's values; of a domain, the base type. The column of the index itself may have another type,
 * which the operator class names (STORAGE); operator classes for keys do that.
 */
static Oid
type_of_values(Relation index, int column)
{
	const AttrNumber attribute = index->rd_index->indkey.values[column];
	int			before = 0;		/* expressions of earlier columns */

	if (attribute != 0)
		return getBaseType(get_atttype(index->rd_index->indrelid, attribute));
	for (int i = 0; i < column; i++)
		before += index->rd_index->indkey.values[i] == 0 ? 1 : 0;
	return getBaseType(exprType(list_nth(RelationGetIndexExpressions(index), before)));
}

/*
 * Has this type operators that do not use the index? It has if the operator class is for another type, and the type has
 * an = of its own that is not in the class's family. (All arrays share their operators, and so do all ranges.)
 */
static bool
has_other_operators(Relation index, int column, Oid type)
{
	Oid			equality = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	Oid			left,
				right;

	if (type == index->rd_opcintype[column] || IsPolymorphicType(index->rd_opcintype[column]) ||
		!OidIsValid(equality) || op_in_opfamily(equality, index->rd_opfamily[column]))
		return false;
	op_input_types(equality, &left, &right);
	return left == type;
}

void
bf_index_notice_unasked(Relation index)
{
	static Oid	said_of = InvalidOid;

	/* Of the indexes of partitions only the first one says it. */
	if (index->rd_rel->relispartition)
	{
		Oid			root = llast_oid(get_partition_ancestors(RelationGetRelid(index)));

		if (root == said_of)
			return;
		said_of = root;
		preload_notice();
	}
	for (int column = 0; column < IndexRelationGetNumberOfKeyAttributes(index); column++)
	{
		Oid			type = type_of_values(index, column);
		const char *name = NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname);

		if (has_other_operators(index, column, type))
			ereport(NOTICE,
					(errmsg("the operators of type %s do not use the bf index on column \"%s\"", format_type_be(type), name),
					 errdetail("The operator class is for type %s, whose operators are others.", format_type_be(index->rd_opcintype[column])),
					 errhint("Index an expression, such as (%s::%s), and ask the same expression; or make a class for the type (CREATE OPERATOR CLASS).", name, format_type_be(index->rd_opcintype[column]))));
	}
}

/* An operator class that is being checked. */
typedef struct CheckedClass
{
	Form_pg_opclass form;
	Oid			key_type;
	bool		has_keys;
	int			level;			/* of the messages that say what is wrong: INFO or ERROR */
	bool		valid;
} CheckedClass;

/* Can a class of this kind have the operator? */
static bool
is_good_operator(const CheckedClass *class, const FormData_pg_amop *member)
{
	return member->amoppurpose == AMOP_SEARCH && member->amopstrategy >= 1 &&
		(class->has_keys || member->amopstrategy == BF_EQUAL_STRATEGY) &&
		check_amop_signature(member->amopopr, BOOLOID, member->amoplefttype, member->amoprighttype);
}

/*
 * Does the support function have the signature that belongs to its number? The signatures are GIN's. Function 7
 * (BF_OPTIONS_PROC) must also be one of this extension's. A class without keys can have only this one.
 */
static bool
is_good_function(const CheckedClass *class, const FormData_pg_amproc *member)
{
	const Oid	type = class->form->opcintype;

	if (member->amprocnum == BF_OPTIONS_PROC)
		return check_amoptsproc_signature(member->amproc) && bf_index_declares_own_options(member->amproc);
	if (!class->has_keys)
		return false;
	switch (member->amprocnum)
	{
		case BF_COMPARE_PROC:
			return check_amproc_signature(member->amproc, INT4OID, false, 2, 2, class->key_type, class->key_type);
		case BF_EXTRACT_VALUE_PROC:
			return check_amproc_signature(member->amproc, INTERNALOID, false, 2, 3, type, INTERNALOID, INTERNALOID);
		case BF_EXTRACT_QUERY_PROC:
			return check_amproc_signature(member->amproc, INTERNALOID, false, 5, 7, type, INTERNALOID, INT2OID,
										  INTERNALOID, INTERNALOID, INTERNALOID, INTERNALOID);
		case BF_CONSISTENT_PROC:
			return check_amproc_signature(member->amproc, BOOLOID, false, 6, 8, INTERNALOID, INT2OID, type, INT4OID,
										  INTERNALOID, INTERNALOID, INTERNALOID, INTERNALOID);
		case BF_COMPARE_PARTIAL_PROC:
			return check_amproc_signature(member->amproc, INT4OID, false, 4, 4, class->key_type, class->key_type,
										  INT2OID, INTERNALOID);
		case BF_TRI_CONSISTENT_PROC:
			return check_amproc_signature(member->amproc, CHAROID, false, 7, 7, INTERNALOID, INT2OID, type, INT4OID,
										  INTERNALOID, INTERNALOID, INTERNALOID);
		default:
			return false;
	}
}

/* Notes down that the class is not valid, and says why. */
#define REPORT_INVALID(class, hint, ...) \
	do { \
		(class)->valid = false; \
		ereport((class)->level, \
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION), errmsg(__VA_ARGS__), errhint(hint))); \
	} while (0)

/* Checks that the class has no wrong support functions, and that a class for keys inside values has those it needs. */
static void
check_functions(CheckedClass *class)
{
	CatCList   *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(class->form->opcfamily));
	const Oid	family = class->form->opcfamily;
	const Oid	type = class->form->opcintype;

	for (int i = 0; i < functions->n_members; i++)
	{
		Form_pg_amproc member = (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple);

		if (member->amproclefttype == type && !is_good_function(class, member))
			REPORT_INVALID(class, "Function 7 can be bf_class_options(internal), bf_key_class_options(internal) or bf_many_key_class_options(internal); the others are GIN's.",
						   "operator class \"%s\" of access method bf has support function %s with the wrong number %d or signature",
						   NameStr(class->form->opcname), format_procedure(member->amproc), member->amprocnum);
	}
	ReleaseCatCacheList(functions);
	if (!class->has_keys)
		return;
	if (!OidIsValid(get_opfamily_proc(family, type, type, BF_EXTRACT_VALUE_PROC)) ||
		(!OidIsValid(get_opfamily_proc(family, type, type, BF_TRI_CONSISTENT_PROC)) &&
		 !OidIsValid(get_opfamily_proc(family, type, type, BF_CONSISTENT_PROC))))
		REPORT_INVALID(class, "Add them to the operator class, or with ALTER OPERATOR FAMILY ... ADD FUNCTION to its family.",
					   "operator class \"%s\" of access method bf has extractQuery (%d), but lacks extractValue (%d), or both of triConsistent (%d) and consistent (%d)",
					   NameStr(class->form->opcname), BF_EXTRACT_QUERY_PROC, BF_EXTRACT_VALUE_PROC,
					   BF_TRI_CONSISTENT_PROC, BF_CONSISTENT_PROC);
	if (!bf_index_compares_as_hashed(get_opfamily_proc(family, type, type, BF_COMPARE_PROC), class->key_type))
		REPORT_INVALID(class, "Use an operator class that compares keys as = of their type does.",
					   "operator class \"%s\" of access method bf compares keys of type %s otherwise than they are hashed",
					   NameStr(class->form->opcname), format_type_be(class->key_type));
}

/*
 * Checks that the class has no wrong operators. If the values themselves are the items, it also needs the = by which
 * they are hashed.
 */
static void
check_class_operators(CheckedClass *class)
{
	CatCList   *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(class->form->opcfamily));
	const Oid	type = class->form->opcintype;
	bool		found = class->has_keys;

	for (int i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop member = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);

		if (member->amoplefttype != type)
			continue;
		if (!is_good_operator(class, member))
			REPORT_INVALID(class, BF_ONLY_EQUALITY,
						   "operator class \"%s\" of access method bf has operator %s with the wrong purpose, signature or strategy number %d",
						   NameStr(class->form->opcname), format_operator(member->amopopr), member->amopstrategy);
		/* an index with such an operator works, but the planner does not skip a table by it */
		else if (class->level == INFO && !op_strict(member->amopopr))
			REPORT_INVALID(class, "Declare its function STRICT.",
						   "operator class \"%s\" of access method bf has operator %s, which is not strict",
						   NameStr(class->form->opcname), format_operator(member->amopopr));
		if (!class->has_keys && member->amopstrategy == BF_EQUAL_STRATEGY && member->amoprighttype == type)
			found = is_hashed_equality(member->amopopr, type);
	}
	ReleaseCatCacheList(operators);
	if (!found)
		REPORT_INVALID(class, "Operator 1 must be the = of the type's default hash operator class.",
					   "operator class \"%s\" of access method bf lacks the equality operator that hashing type %s needs",
					   NameStr(class->form->opcname), format_type_be(type));
}

/* Is the operator class valid? If not, messages of this level say why. */
static bool
check_class(Oid opclass, int level)
{
	FormData_pg_opclass form;
	CheckedClass class = {.form = &form, .level = level, .valid = true};

	if (!bf_index_opclass_form(opclass, &form))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	class.key_type = OidIsValid(form.opckeytype) ? form.opckeytype : form.opcintype;
	class.has_keys = OidIsValid(get_opfamily_proc(form.opcfamily, form.opcintype, form.opcintype,
												  BF_EXTRACT_QUERY_PROC));
	check_class_operators(&class);
	check_functions(&class);
	return class.valid;
}

/* The SQL function amvalidate() calls this. */
bool
bf_index_validate(Oid opclass)
{
	return check_class(opclass, INFO);
}

void
bf_index_check_operators(Relation index)
{
	for (int column = 0; column < IndexRelationGetNumberOfKeyAttributes(index); column++)
	{
		(void) check_class(get_index_column_opclass(RelationGetRelid(index), column + 1), ERROR);
		if (bf_index_has_keys(index, column))
			bf_index_check_collation(index, column);
	}
}
