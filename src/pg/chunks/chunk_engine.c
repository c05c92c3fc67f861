/*
 * chunk_engine.c: finds relations whose rows another extension keeps elsewhere (see chunk_engine.h).
 *
 * Each extension lists its relations in a table. These tables are read only if the extension is installed. They are
 * found by their full names, so search_path does not matter, and privileges are not checked. If such a table does not
 * exist or lacks the expected columns, the version of the extension is unknown. Then all relations are refused,
 * because reading one that belongs to the extension would lose rows.
 */
#include "chunks/chunk_engine.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"

/* A table in which an extension lists its relations, by schema and name or by OID. */
typedef struct EngineCatalog
{
	const char *extension;
	const char *schema;
	const char *table;
	const char *schema_column;	/* NULL if table_column has OIDs */
	const char *table_column;
} EngineCatalog;

static const EngineCatalog catalogs[] = {
	{"timescaledb", "_timescaledb_catalog", "hypertable", "schema_name", "table_name"},
	{"timescaledb", "_timescaledb_catalog", "chunk", "schema_name", "table_name"},
	{"citus", "pg_catalog", "pg_dist_partition", NULL, "logicalrelid"},
};

/* The name of a relation; or its OID in digits, and then the schema is empty. */
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

/* The number of the column with this name, if it is of type oid or regclass, or of type name or text. Otherwise 0. */
static AttrNumber
find_column(TupleDesc columns, const char *name, bool is_oid)
{
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		Oid			type = column->atttypid;

		if (!column->attisdropped && strcmp(NameStr(column->attname), name) == 0 &&
			(is_oid ? type == OIDOID || type == REGCLASSOID : type == NAMEOID || type == TEXTOID))
			return i + 1;
	}
	return InvalidAttrNumber;
}

/* The value of a column of type name or text. */
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

		if (catalog->schema_column != NULL)
			schema_column = find_column(columns, catalog->schema_column, false);
		table_column = find_column(columns, catalog->table_column, catalog->schema_column == NULL);
	}
	if (table_column != 0 && (schema_column != 0 || catalog->schema_column == NULL))
	{
		SysScanDesc scan = systable_beginscan(table, InvalidOid, false, NULL, 0, NULL);
		HeapTuple	tuple;

		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			TupleDesc	columns = RelationGetDescr(table);
			EngineKey	key;
			bool		found;
			EngineEntry *entry;

			if (schema_column != 0)
				set_key(&key, name_of_column(tuple, schema_column, columns),
						name_of_column(tuple, table_column, columns));
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
	relation_close(table, AccessShareLock);
	return table_column != 0 && (schema_column != 0 || catalog->schema_column == NULL);
}

/* The first size of the hash table, which grows. */
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
			engines->unknown = &catalogs[i];
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
	if (engines->unknown != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot tell whether \"%s\" belongs to the extension \"%s\"",
						RelationGetRelationName(relation), engines->unknown->extension),
				 errdetail("This version of the extension has no table %s.%s with the expected columns.",
						   engines->unknown->schema, engines->unknown->table),
				 errhint("Use a plain SELECT.")));
}
