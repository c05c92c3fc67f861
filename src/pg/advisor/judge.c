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

#include "index/handler.h"

/* A table of fewer pages than this is read as quickly without an index. */
#define SMALL_TABLE 128

/* An index pays only if a look-up of a rare value reads at most this share of the table's pages. */
#define WORTH 0.25

/* The least share of pieces and ranges in which a range does not have a piece of another text. */
#define LEAST_ABSENT 0.05

/* If pieces of texts read fewer pages in vain than this, longer grams are not proposed. */
#define FEW_PAGES 16

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
why_too_large(const Sample *sample, const SampleColumn *column, const Advice *advice, const Figures *figures)
{
	const double table = (sample->pages + sample->toast_pages) * BLCKSZ;
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
	if (figures->unevenness > UNEVEN)
		appendStringInfo(&text, ", because a range has %.0f times as many %s as the average one, "
						 "and all filters of a group have one size", figures->unevenness, items);
	else
		appendStringInfo(&text, ", because a page has %.0f %s, each of which is on %.0f pages, "
						 "and is stored for each range that has it", advice->items / sample->pages, items,
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
bf_index_lower_rate_pays(const Sample *sample, const SampleColumn *column, const Advice *advice)
{
	/*
	 * If items are keys, no lower rate is proposed. A query looks for several keys on average, and each of them rules
	 * ranges out. The default rate of such an operator class was chosen with this in mind.
	 */
	return !column->items_are_keys && advice->bf_lower.pages_absent * 2 <= advice->bf.pages_absent &&
		advice->bf.pages_rare <= WORTH * sample->pages &&
		why_too_large(sample, column, advice, &advice->bf_lower) == NULL;
}

/*
 * Returns a remark on an index on the grams of a text, with the n that leaves more pages unread. Returns NULL if most
 * ranges that do not have a piece of a text have all its grams.
 */
static const char *
remark_on_grams(Relation table, const Sample *sample, const SampleColumn *column)
{
	const Pieces *pieces = column->pieces;
	Figures		figures[GRAM_INDEXES];
	double		pages[GRAM_INDEXES];
	char	   *statement;

	for (int i = 0; i < GRAM_INDEXES; i++)
	{
		const Sketch *grams = column->grams[i];
		int			length;

		bf_estimate(sample, grams, BF_INDEX_GRAM_FPR, true, bf_distinct(sample, grams), &figures[i]);
		length = figures[i].length;
		/* if nearly all pieces are in all ranges, nothing is left out either */
		if (pieces->ranges[length] < LEAST_ABSENT * pieces->asked[length])
			return NULL;
		pages[i] = sample->pages * pieces->in_vain[i][length] / Max(pieces->ranges[length], 1);
	}
	if (pages[0] > WORTH * sample->pages && pages[1] > WORTH * sample->pages)
		return NULL;
	if (pages[0] < FEW_PAGES || pages[1] > pages[0] / 2)
		return psprintf("for LIKE, ILIKE and regular expressions: %s, %s",
						bf_index_create_statement(table, column, column->gram_class, ""), size_text(figures[0].bytes));
	statement = bf_index_create_statement(table, column, psprintf("%s (n = %u)", column->gram_class, bf_gram_lengths[1]), "");
	return psprintf("for LIKE, ILIKE and regular expressions: %s, %s; %d characters that are nowhere read %.0f pages (with n = 4: %.0f), and fewer than %u leave nothing out",
					statement, size_text(figures[1].bytes), PIECE_LENGTH, pages[1], pages[0], bf_gram_lengths[1]);
}

const char *
bf_index_judge(Relation table, const Sample *sample, const SampleColumn *column, const Advice *advice,
			   const Figures *figures, bool *pays)
{
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
	else if (figures->pages_rare > WORTH * sample->pages)
		why = psprintf("does not pay: even a rare %s is in so many places that %.0f %% of the pages are read",
					   column->items_are_keys ? "key" : "value", Min(100, 100 * figures->pages_rare / sample->pages));
	else if ((why = why_too_large(sample, column, advice, figures)) == NULL)
	{
		*pays = true;
		why = psprintf("pays for %s that are rare or absent%s%s", column->items_are_keys ? "keys" : "values",
					   figures->pages_frequent <= WORTH * sample->pages ? "" :
					   column->items_are_keys ? "; the most frequent key is found as quickly without an index" :
					   "; the most frequent value is found as quickly without an index",
					   figures == &advice->bf_lower ? "; the lower rate halves the pages that are read in vain" : "");
	}
	if (column->left_out)
		why = with_remark(why, "very long values were left out of the figures");
	return with_remark(why, column->gram_class != NULL ? remark_on_grams(table, sample, column) : column->uses);
}
