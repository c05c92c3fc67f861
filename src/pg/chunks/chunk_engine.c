/*
 * chunk_engine.c: relations whose rows another extension keeps elsewhere (see chunk_engine.h). The lists of the
 * extensions are not read, since they differ from version to version.
 */
#include "chunks/chunk_engine.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/extension.h"

static const char *const engines[] = {"citus", "timescaledb"};

const char *
chunk_engine(void)
{
	for (int i = 0; i < (int) lengthof(engines); i++)
		if (OidIsValid(get_extension_oid(engines[i], true)))
			return engines[i];
	return NULL;
}

void
chunk_require_own_rows(Relation relation)
{
	const char *engine = chunk_engine();
	const FormData_pg_class *form = relation->rd_rel;

	if (engine != NULL &&
		(strcmp(engine, "citus") == 0 ||
		 (form->relkind != RELKIND_PARTITIONED_TABLE && !form->relispartition &&
		  (form->relhassubclass || has_superclass(RelationGetRelid(relation))))))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot scan the chunks of \"%s\" beside the extension \"%s\"",
						RelationGetRelationName(relation), engine),
				 errdetail("The extension may keep rows of such tables elsewhere."),
				 errhint("Use a plain SELECT.")));
}
