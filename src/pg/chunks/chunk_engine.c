/*
 * chunk_engine.c: finds relations whose rows another extension keeps elsewhere (see chunk_engine.h).
 *
 * Each extension lists its relations in tables: TimescaleDB in two, Citus in one (catalogs[] below). These tables are
 * read only if the extension is installed. They are found by their full names, so search_path does not matter.
 * Privileges are not checked.
 *
 * If such a table does not exist, or lacks the expected columns, the extension counts as one of an unknown version.
 * Then all tables of the extension are read. Each column that may hold OIDs of relations is taken to name relations,
 * and so is each pair of neighbouring columns that may hold a schema and a name. A relation that is named is refused.
 * A relation that is not named is refused too if it may belong to the extension nevertheless, because reading it could
 * lose rows. For TimescaleDB, this is any parent or child by inheritance (not by partitioning); for Citus, any table.
 */
#include "chunks/chunk_engine.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type_d.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"

/* A table in which an extension lists its relations. Some versions list OIDs, others schemas and names. */
typedef struct EngineCatalog
{
	const char *extension;
	const char *schema;
	const char *table;
	const char *oid_column;
	const char *schema_column;	/* NULL if relations have always been listed by OID */
	const char *table_column;
	/* true: a relation whose rows this extension keeps elsewhere is always a parent or a child by inheritance */
	bool		by_inheritance;
} EngineCatalog;

static const EngineCatalog catalogs[] = {
	{"timescaledb", "_timescaledb_catalog", "hypertable", "relid", "schema_name", "table_name", true},
	{"timescaledb", "_timescaledb_catalog", "chunk", "relid", "schema_name", "table_name", true},
	{"citus", "pg_catalog", "pg_dist_partition", "logicalrelid", NULL, NULL, false},
};

/*
 * A relation, by its schema and name or by its OID. For an OID, `table` has the decimal digits, and `schema` is
 * empty.
 */
typedef struct EngineKey
{
	char		schema[NAMEDATALEN];
	char		table[NAMEDATALEN];
} EngineKey;

typedef struct EngineEntry
{
	EngineKey	key;
	const EngineCatalog *catalog;
} EngineEntry;

struct ChunkEngines
{
	const EngineCatalog *unknown;	/* a catalog that is not as expected, or NULL */
	HTAB	   *relations;		/* of EngineEntry */
};

static void
set_key(EngineKey *key, const char *schema, const char *table)
{
	memset(key, 0, sizeof *key);	/* all bytes of the key are hashed */
	strlcpy(key->schema, schema, NAMEDATALEN);
	strlcpy(key->table, table, NAMEDATALEN);
}

static void
set_key_to_oid(EngineKey *key, Oid oid)
{
	char		digits[sizeof "4294967295"];

	snprintf(digits, sizeof digits, "%u", oid);
	set_key(key, "", digits);
}

static bool
has_oids(Form_pg_attribute column)
{
	return !column->attisdropped && (column->atttypid == OIDOID || column->atttypid == REGCLASSOID);
}

static bool
has_names(Form_pg_attribute column)
{
	return !column->attisdropped && (column->atttypid == NAMEOID || column->atttypid == TEXTOID);
}

/* Returns the number of the column with this name if has_type() accepts its type, otherwise 0. */
static AttrNumber
find_column(TupleDesc columns, const char *name, bool (*has_type) (Form_pg_attribute))
{
	for (int i = 0; name != NULL && i < columns->natts; i++)
		if (strcmp(NameStr(TupleDescAttr(columns, i)->attname), name) == 0 && has_type(TupleDescAttr(columns, i)))
			return i + 1;
	return InvalidAttrNumber;
}

/* Returns the value of a column of type name or text; "" for NULL. */
static const char *
name_of_column(HeapTuple tuple, AttrNumber column, TupleDesc columns)
{
	bool		null;
	Datum		value = heap_getattr(tuple, column, columns, &null);

	if (null)
		return "";
	return TupleDescAttr(columns, column - 1)->atttypid == NAMEOID ? NameStr(*DatumGetName(value)) :
		TextDatumGetCString(value);
}

/* Adds the relations that are listed in the rows of a table: by OID if schema_column is 0, otherwise by their names. */
static void
read_columns(Relation table, AttrNumber schema_column, AttrNumber table_column, const EngineCatalog *catalog,
			 HTAB *relations)
{
	TupleDesc	columns = RelationGetDescr(table);
	SysScanDesc scan = systable_beginscan(table, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		EngineKey	key;
		bool		found;
		EngineEntry *entry;

		if (schema_column != 0)
			set_key(&key, name_of_column(tuple, schema_column, columns), name_of_column(tuple, table_column, columns));
		else
		{
			bool		null;
			Datum		value = heap_getattr(tuple, table_column, columns, &null);

			set_key_to_oid(&key, null ? InvalidOid : DatumGetObjectId(value));
		}
		entry = hash_search(relations, &key, HASH_ENTER, &found);
		entry->catalog = catalog;
	}
	systable_endscan(scan);
}

/* Adds the relations that a catalog lists. Returns false if the catalog is not as expected. */
static bool
read_catalog(const EngineCatalog *catalog, HTAB *relations)
{
	Oid			schema = get_namespace_oid(catalog->schema, true);
	Oid			oid = OidIsValid(schema) ? get_relname_relid(catalog->table, schema) : InvalidOid;
	Relation	table = OidIsValid(oid) ? try_relation_open(oid, AccessShareLock) : NULL;
	AttrNumber	schema_column = 0;
	AttrNumber	table_column = 0;

	if (table == NULL)
		return false;
	if (table->rd_rel->relkind == RELKIND_RELATION)
	{
		TupleDesc	columns = RelationGetDescr(table);

		table_column = find_column(columns, catalog->oid_column, has_oids);
		if (table_column == 0)
		{
			schema_column = find_column(columns, catalog->schema_column, has_names);
			table_column = schema_column == 0 ? 0 : find_column(columns, catalog->table_column, has_names);
		}
	}
	if (table_column != 0)
		read_columns(table, schema_column, table_column, catalog, relations);
	relation_close(table, AccessShareLock);
	return table_column != 0;
}

/*
 * Adds the relations that may be listed in a table of an extension whose version is unknown: in any column of OIDs,
 * or in any two neighbouring columns of names.
 */
static void
read_unknown_table(Oid oid, const EngineCatalog *catalog, HTAB *relations)
{
	Relation	table = try_relation_open(oid, AccessShareLock);
	TupleDesc	columns;

	if (table == NULL)
		return;
	columns = RelationGetDescr(table);
	for (int i = 0; table->rd_rel->relkind == RELKIND_RELATION && i < columns->natts; i++)
	{
		if (has_oids(TupleDescAttr(columns, i)))
			read_columns(table, 0, i + 1, catalog, relations);
		else if (i > 0 && has_names(TupleDescAttr(columns, i - 1)) && has_names(TupleDescAttr(columns, i)))
			read_columns(table, i, i + 1, catalog, relations);
	}
	relation_close(table, AccessShareLock);
}

/* Adds the relations that may be listed in any table of the extension. */
static void
read_unknown_version(const EngineCatalog *catalog, HTAB *relations)
{
	Relation	dependencies = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *members = NIL;
	ListCell   *cell;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(get_extension_oid(catalog->extension, true)));
	scan = systable_beginscan(dependencies, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend member = (Form_pg_depend) GETSTRUCT(tuple);

		if (member->classid == RelationRelationId && member->deptype == DEPENDENCY_EXTENSION)
			members = lappend_oid(members, member->objid);
	}
	systable_endscan(scan);
	table_close(dependencies, AccessShareLock);
	foreach(cell, members)
		read_unknown_table(lfirst_oid(cell), catalog, relations);
}

/* The size of the hash table at first; it grows. */
#define RELATIONS_EXPECTED 256

ChunkEngines *
chunk_find_engines(void)
{
	ChunkEngines *engines = NULL;
	const char *extension = "";
	bool		installed = false;

	for (int i = 0; i < (int) lengthof(catalogs); i++)
	{
		if (strcmp(extension, catalogs[i].extension) != 0)
		{
			extension = catalogs[i].extension;
			installed = OidIsValid(get_extension_oid(extension, true));
		}
		if (!installed)
			continue;
		if (engines == NULL)
		{
			HASHCTL		control = {.keysize = sizeof(EngineKey), .entrysize = sizeof(EngineEntry),
			.hcxt = CurrentMemoryContext};

			engines = palloc0(sizeof *engines);
			engines->relations = hash_create("chunk_scan engines", RELATIONS_EXPECTED, &control,
											 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		}
		if (!read_catalog(&catalogs[i], engines->relations))
		{
			engines->unknown = &catalogs[i];
			read_unknown_version(&catalogs[i], engines->relations);
		}
	}
	return engines;
}

static const EngineEntry *
find_relation(const ChunkEngines *engines, Relation relation)
{
	char	   *schema = get_namespace_name(RelationGetNamespace(relation));
	EngineKey	key;
	const EngineEntry *entry = NULL;

	set_key_to_oid(&key, RelationGetRelid(relation));
	entry = hash_search(engines->relations, &key, HASH_FIND, NULL);
	if (entry == NULL && schema != NULL)
	{
		set_key(&key, schema, RelationGetRelationName(relation));
		entry = hash_search(engines->relations, &key, HASH_FIND, NULL);
	}
	return entry;
}

/* May a relation belong to an extension whose version is unknown, although no table of the extension names it? */
static bool
may_belong(const EngineCatalog *catalog, Relation relation)
{
	if (!catalog->by_inheritance)
		return true;
	return relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE && !relation->rd_rel->relispartition &&
		(relation->rd_rel->relhassubclass || has_superclass(RelationGetRelid(relation)));
}

void
chunk_require_own_rows(const ChunkEngines *engines, Relation relation)
{
	const EngineEntry *entry;

	if (engines == NULL)
		return;
	entry = find_relation(engines, relation);
	if (entry != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot scan the chunks of \"%s\", which belongs to the extension \"%s\"",
						RelationGetRelationName(relation), entry->catalog->extension),
				 errdetail("The extension may keep the rows elsewhere."),
				 errhint("Use a plain SELECT.")));
	if (engines->unknown != NULL && may_belong(engines->unknown, relation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot tell whether \"%s\" belongs to the extension \"%s\"",
						RelationGetRelationName(relation), engines->unknown->extension),
				 errdetail("This version of the extension has no table %s.%s with the expected columns.",
						   engines->unknown->schema, engines->unknown->table),
				 errhint("Use a plain SELECT.")));
}
