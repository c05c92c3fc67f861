/*
 * judge.c: bf_index_advise() expects figures of an index, such as its size and the pages that its searches read. This
 * file decides whether such an index pays, and says why. It also decides whether a lower false-positive rate pays.
 */
#include "advisor/advice.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/catalog.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

/* A table of fewer pages than this is read as quickly without an index. */
#define SMALL_TABLE 128

/* An index pays only if a look-up of a rare value reads at most this share of the table's pages. */
#define WORTH 0.25

/* Adds a remark to the advice. */
static const char *
with_remark(const char *advice, const char *remark)
{
	return remark == NULL ? advice : psprintf("%s; %s", advice, remark);
}

/*
 * If the fullest range has more than this many times the items of the average range, uneven ranges are named as the
 * reason why an index is too large: many ranges share one size of filters, and the fullest of them need the largest.
 */
#define UNEVEN 2

static const char *
size_text(double bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty, Int64GetDatum((int64) bytes)));
}

/*
 * Returns a text that says which of the table, a GIN index and a B-tree would be smaller than an index with these
 * figures, and why. Returns NULL if none of them would be smaller.
 */
static const char *
why_too_large(const SampleColumn *column, const Advice *advice, const Figures *figures)
{
	const double table = (advice->heap_pages + advice->toast_pages) * BLCKSZ;
	const char *items = column->items_are_keys ? "keys" : "values";
	StringInfoData text;
	const char *and = "";

	initStringInfo(&text);
	appendStringInfo(&text, "does not pay: it would take %s, more than ", size_text(figures->bytes));
	if (figures->bytes > table)
	{
		appendStringInfo(&text, "the table (%s)", size_text(table));
		and = " and ";
	}
	/*
	 * For a column of texts, gin_bytes is the size of an index on trigrams. They are not the items of the bf index. So
	 * the two sizes are not compared.
	 */
	if (column->items_are_keys && advice->gin_possible && figures->bytes > advice->gin_bytes)
	{
		appendStringInfo(&text, "%sa GIN index (%s)", and, size_text(advice->gin_bytes));
		and = " and ";
	}
	if (advice->btree_possible && figures->bytes > advice->btree_bytes)
	{
		appendStringInfo(&text, "%sa B-tree (%s)", and, size_text(advice->btree_bytes));
		and = " and ";
	}
	if (and[0] == '\0')
		return NULL;
	if (advice->unevenness > UNEVEN)
		appendStringInfo(&text, ", because a range has %.0f times as many %s as the average one, "
						 "and all filters of a group have one size", advice->unevenness, items);
	else
		appendStringInfo(&text, ", because a page has %.0f %s, each of which is on %.0f pages, "
						 "and is stored for each range that has it", advice->items / advice->heap_pages, items,
						 Max(1, advice->value_pages / Max(1, Min(advice->distinct, advice->items))));
	return text.data;
}

/*
 * Are the partitions of this table, or of the tables that it is a partition of, ranges or lists of the column's values?
 * Then a value is in one partition, which PostgreSQL finds by itself, and there it is mostly on one page or on all.
 */
static bool
divides_partitions(Relation table, const char *column)
{
	List	   *tables = lcons_oid(RelationGetRelid(table), get_partition_ancestors(RelationGetRelid(table)));
	ListCell   *cell;

	foreach(cell, tables)
	{
		Relation	parent = try_relation_open(lfirst_oid(cell), AccessShareLock);
		PartitionKey key = parent != NULL ? RelationGetPartitionKey(parent) : NULL;
		bool		found = false;

		for (int i = 0; key != NULL && key->strategy != PARTITION_STRATEGY_HASH && i < key->partnatts; i++)
			found |= key->partattrs[i] != 0 && key->partattrs[i] == get_attnum(lfirst_oid(cell), column);
		if (parent != NULL)
			relation_close(parent, AccessShareLock);
		if (found)
			return true;
	}
	return false;
}

bool
bf_index_lower_rate_pays(const SampleColumn *column, const Advice *advice)
{
	/*
	 * If items are keys, no lower rate is proposed. A query looks for several keys on average, and each of them rules
	 * ranges out. The default rate of such an operator class was chosen with this in mind.
	 */
	return !column->items_are_keys && advice->bf_lower.pages_absent * 2 <= advice->bf.pages_absent &&
		advice->bf.pages_absent + advice->bf.rare_extra <= WORTH * advice->heap_pages &&
		why_too_large(column, advice, &advice->bf_lower) == NULL;
}

const char *
bf_index_judge(Relation table, const SampleColumn *column, const Advice *advice, const Figures *figures, bool *pays)
{
	const double rare = figures->pages_absent + figures->rare_extra;
	const char *why;

	*pays = false;
	if (column->refused != NULL)
		return column->refused;
	if (IsSystemRelation(table) && !allowSystemTableMods)
		return "no index can be made on a system catalog";
	if (advice->rows < 1)
		return has_subclass(RelationGetRelid(table)) && table->rd_rel->relkind == RELKIND_RELATION ?
			"the table itself is empty: ask for one of its children" : "the table is empty: ask again when it has rows";
	if (advice->heap_pages < SMALL_TABLE)
		return "the table is small: it is read as quickly without an index";
	if (divides_partitions(table, column->name))
		why = "does not pay: the partitions are divided by this column, so that PostgreSQL finds the one that has a value by itself, and BRIN or a B-tree its pages there";
	else if (rare > WORTH * advice->heap_pages)
		why = psprintf("does not pay: even a rare %s is in so many places that %.0f %% of the pages are read",
					   column->items_are_keys ? "key" : "value", Min(100, 100 * rare / advice->heap_pages));
	else if ((why = why_too_large(column, advice, figures)) == NULL)
	{
		*pays = true;
		why = psprintf("pays for %s that are rare or absent%s%s", column->items_are_keys ? "keys" : "values",
					   figures->pages_frequent <= WORTH * advice->heap_pages ? "" :
					   column->items_are_keys ? "; the most frequent key is found as quickly without an index" :
					   "; the most frequent value is found as quickly without an index",
					   figures == &advice->bf_lower ? "; the lower rate halves the pages that are read in vain" : "");
	}
	if (bf_index_has_left_out_keys(column) && column->items_are_keys)
		why = with_remark(why, "very long values were left out of the figures");
	if (column->grams != NULL && bf_index_grams_are_everywhere(column->grams))
		return why;
	return with_remark(why, column->uses);
}
