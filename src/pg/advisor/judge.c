/* judge.c: whether an index with the figures that bf_index_advise() expects pays, and why (advisor.h). */
#include "advisor/advisor.h"

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

#include "index/handler.h"

/* An index pays only if a look-up of a rare value reads at most this share of the table's pages. */
#define WORTH 0.25

/* A table of fewer pages than this is read as quickly without an index. */
#define SMALL_TABLE 128

/*
 * If ranges have a greater share of their grams in common, longer grams are proposed, or none. Ranges of 8 pages have
 * 0.89 of the 4 grams of addresses in common, and 0.6 of the 6 grams: an address that is nowhere reads 11 % of the
 * pages with n = 4, and 0.4 % with n = 6. Of the lines of a log and their parts ranges have 0.1 to 0.6 of the 4 grams
 * in common.
 */
#define MOST_GRAMS_IN_COMMON 0.75

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

/* Returns whether the index would be larger than the table, a GIN index or a B-tree, and then why; else NULL. */
static const char *
too_large(const Sample *sample, const SampleColumn *column, const Advice *advice)
{
	const struct
	{
		const char *name;
		double		bytes;		/* not positive: there is none */
	}			others[] = {
		{"the table", sample->bytes},
		/* for a text that would be an index on trigrams, which are not the items of the bf index */
		{"a GIN index", column->items_are_keys ? advice->gin_bytes : 0},
		{"a B-tree", advice->btree_bytes}
	};
	const Spread *spread = &advice->spread;
	const char *items = column->items_are_keys ? "keys" : "values";
	StringInfoData text;
	const char *and = "";

	initStringInfo(&text);
	appendStringInfo(&text, "does not pay: it would take %s, more than ", size_text(advice->bf.bytes));
	for (int i = 0; i < lengthof(others); i++)
		if (others[i].bytes > 0 && advice->bf.bytes > others[i].bytes)
		{
			appendStringInfo(&text, "%s%s (%s)", and, others[i].name, size_text(others[i].bytes));
			and = " and ";
		}
	if (and[0] == '\0')
		return NULL;
	if (advice->bf.unevenness > UNEVEN)
		appendStringInfo(&text, ", because a range has %.0f times as many %s as the average one, "
						 "and all filters of a group have one size", advice->bf.unevenness, items);
	else
		appendStringInfo(&text, ", because a page has %.0f %s, each of which is on %.0f pages, "
						 "and is stored for each range that has it", spread->items / sample->pages, items,
						 Max(1, spread->pages / spread->distinct));
	return text.data;
}

/*
 * Are the partitions of this table, or of the tables that it is a partition of, ranges or lists of the column's values?
 * Then a value is in one partition, which PostgreSQL finds by itself, and there it is mostly on one page or on all.
 */
static bool
divides_partitions(Relation table, const char *column)
{
	ListCell   *cell;

	foreach(cell, lcons_oid(RelationGetRelid(table), get_partition_ancestors(RelationGetRelid(table))))
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

/*
 * Returns a remark on an index on the grams of a text, with the n that leaves more pages unread. Returns NULL if ranges
 * have most grams in common, with either n.
 */
static const char *
remark_on_grams(Relation table, const Sample *sample, const SampleColumn *column)
{
	double		shorter = 0;

	for (int i = 0; i < GRAM_INDEXES; i++)
	{
		const char *opclass = i == 0 ? column->gram_class : psprintf("%s (n = %u)", column->gram_class, bf_gram_lengths[i]);
		const char *remark;
		Spread		spread;
		Figures		figures;

		bf_spread(sample, column->sketches[GRAMS + i], &spread);
		bf_estimate(&spread, BF_INDEX_GRAM_FPR, true, &figures);
		remark = psprintf("for LIKE, ILIKE and regular expressions: %s, %s",
						  bf_index_create_statement(table, column, opclass), size_text(figures.bytes));
		if (figures.common <= MOST_GRAMS_IN_COMMON)
			return i == 0 ? remark :
				psprintf("%s; with n = %u ranges have %.0f %% of their grams in common, with n = %u only %.0f %%, but patterns of fewer than %u characters leave nothing out",
						 remark, bf_gram_lengths[0], 100 * shorter, bf_gram_lengths[i], 100 * figures.common,
						 bf_gram_lengths[i]);
		shorter = figures.common;
	}
	return NULL;
}

const char *
bf_index_judge(Relation table, const Sample *sample, const SampleColumn *column, const Advice *advice, bool *pays)
{
	const char *items = column->items_are_keys ? "key" : "value";
	const char *remark;
	const char *why;

	*pays = false;
	if (column->refused != NULL)
		return column->refused;
	if (IsSystemRelation(table) && !allowSystemTableMods)
		return "no index can be made on a system catalog";
	if (sample->rows < 1)
		return has_subclass(RelationGetRelid(table)) && table->rd_rel->relkind == RELKIND_RELATION ?
			"the table itself is empty: ask for one of its children" : "the table is empty: ask again when it has rows";
	if (sample->pages < SMALL_TABLE)
		return "the table is small: it is read as quickly without an index";
	if (divides_partitions(table, column->name))
		why = "does not pay: the partitions are divided by this column, so that PostgreSQL finds the one that has a value by itself, and BRIN or a B-tree its pages there";
	else if (advice->bf.pages[RARE] > WORTH * sample->pages)
		why = psprintf("does not pay: even a rare %s is in so many places that %.0f %% of the pages are read", items,
					   Min(100, 100 * advice->bf.pages[RARE] / sample->pages));
	else if ((why = too_large(sample, column, advice)) == NULL)
	{
		*pays = true;
		why = psprintf("pays for %ss that are rare or absent", items);
		if (advice->bf.pages[FREQUENT] > WORTH * sample->pages)
			why = psprintf("%s; the most frequent %s is found as quickly without an index", why, items);
	}
	if (column->left_out)
		why = psprintf("%s; very long values were left out of the figures", why);
	remark = column->gram_class != NULL ? remark_on_grams(table, sample, column) : column->uses;
	return remark == NULL ? why : psprintf("%s; %s", why, remark);
}
