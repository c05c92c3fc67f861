/*
 * folding.c: the warning of CREATE INDEX that pg_trgm's operator classes can lose rows.
 *
 * pg_trgm takes values apart in lower case. It folds case by the database (LC_CTYPE, from PostgreSQL 18 on the default
 * collation), whatever the collation of the column is. ILIKE, ~ and ~* fold by the collation of the column. Where the two
 * differ, a row can match whose trigrams are not those that pg_trgm looks for, in its own GIN and GiST indexes too:
 *
 * - ILIKE: the pattern and the row are the same in the column's lower case, and not in pg_trgm's. The Turkish 'ısparta' is
 *   'ISPARTA', whose trigrams are those of 'isparta'.
 * - ~ and ~*: pg_trgm replaces each letter of a regular expression by the letters of the same case pair in the column's
 *   collation, and leaves out those that its own folding changes. If none is left, as of 'Ä' in collation "C", it takes this
 *   part of the expression for one that matches nothing. With ~ this happens although the expression has the very letters of
 *   the row.
 *
 * This file compares the two foldings letter by letter. Even where they agree, ~* loses rows for a few letters whose upper
 * case belongs to another letter too ('ς' and 'σ' are both 'Σ'); that is in docs/searching.md, and no reason for a warning.
 */
#include "index/keys.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "mb/pg_wchar.h"
#include "tsearch/ts_locale.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/*
 * Letters that are compared: in UTF-8 Latin, Greek, Cyrillic and Armenian ones, and in encodings of one byte all. Rarer scripts
 * are left out, since the C library and ICU know different versions of Unicode. Of other encodings only ASCII is compared.
 */
typedef struct Letters
{
	uint32		from;
	uint32		to;
} Letters;

/* Is this column's class one that takes values apart by pg_trgm? */
static bool
is_of_trigrams(Relation index, int column)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(index_getprocid(index, column + 1, BF_EXTRACT_VALUE_PROC)));
	bool		isnull;
	Datum		symbol;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	symbol = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	result = !isnull && ((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId &&
		strcmp(TextDatumGetCString(symbol), "gin_extract_value_trgm") == 0;
	ReleaseSysCache(tuple);
	return result;
}

/* A letter in the encoding of the database, as a string. */
static void
make_letter(uint32 code, char *letter)
{
	if (GetDatabaseEncoding() == PG_UTF8)
	{
		unicode_to_utf8(code, (unsigned char *) letter);
		letter[pg_utf_mblen((unsigned char *) letter)] = '\0';
	}
	else
	{
		letter[0] = (char) code;
		letter[1] = '\0';
	}
}

/* The letter in lower case, as pg_trgm folds it. */
static char *
fold_by_trgm(const char *letter)
{
#if PG_VERSION_NUM >= 180000
	return str_tolower(letter, strlen(letter), DEFAULT_COLLATION_OID);
#else
	return lowerstr(letter);
#endif
}

/* Has pg_trgm the same keys for both? Sets *any to whether it has any for the first. */
static bool
have_same_keys(const BfKeyClass *keys, const char *one, const char *other, bool *any)
{
	int32		counts[2];
	bool	   *nulls;
	Datum	   *of_one = bf_index_extract_keys(keys, CStringGetTextDatum(one), &counts[0], &nulls);
	Datum	   *of_other = bf_index_extract_keys(keys, CStringGetTextDatum(other), &counts[1], &nulls);

	*any = counts[0] > 0;
	if (counts[0] != counts[1])
		return false;
	for (int32 i = 0; i < counts[0]; i++)
		if (DatumGetInt32(of_one[i]) != DatumGetInt32(of_other[i]))
			return false;
	return true;
}

/* A letter that the two foldings change differently. */
typedef struct Difference
{
	char		letter[MAX_MULTIBYTE_CHAR_LEN + 1];
	char	   *by_collation;
	char	   *by_trgm;
} Difference;

/* Do searches by this collation lose rows for the letter, because pg_trgm folds it otherwise? */
static bool
is_folded_otherwise(const BfKeyClass *keys, Oid collation, Difference *difference)
{
	const char *letter = difference->letter;
	bool		any;

	difference->by_collation = str_tolower(letter, strlen(letter), collation);
	difference->by_trgm = fold_by_trgm(letter);
	if (strcmp(difference->by_collation, difference->by_trgm) == 0)
		return false;
	/* In some collations the lower case of a letter is two characters, of which pg_trgm takes one for a separator. */
	if (pg_mbstrlen(difference->by_collation) > 1)
		return false;
	/* ILIKE: the letter and its lower case are the same. */
	if (!have_same_keys(keys, letter, difference->by_collation, &any))
		return true;
	/* ~: neither the letter nor its pair is left. */
	return any && strcmp(difference->by_trgm, letter) != 0 &&
		strcmp(difference->by_trgm, str_toupper(letter, strlen(letter), collation)) != 0;
}

/* Looks for a letter for which searches by this collation lose rows. */
static bool
find_difference(const BfKeyClass *keys, Oid collation, Difference *difference)
{
	static const Letters of_utf8[] = {{'A', 'Z'}, {0xC0, 0x587}, {0x1E00, 0x1FFF}};
	static const Letters of_others[] = {{'A', 'Z'}, {0x80, 0xFF}};
	bool		is_utf8 = GetDatabaseEncoding() == PG_UTF8;
	const Letters *letters = is_utf8 ? of_utf8 : of_others;
	int			count = is_utf8 ? lengthof(of_utf8) : pg_database_encoding_max_length() == 1 ? 2 : 1;

	for (int i = 0; i < count; i++)
		for (uint32 code = letters[i].from; code <= letters[i].to; code++)
		{
			make_letter(code, difference->letter);
			if (is_folded_otherwise(keys, collation, difference))
				return true;
		}
	return false;
}

/* Warns if searches of this column can lose rows. Returns whether it has. */
static bool
warn_of_column(Relation index, int column)
{
	BfKeyClass *keys = bf_index_make_key_class(index, column, CurrentMemoryContext);
	Oid			collation = index->rd_indcollation[column];
	Difference	difference;
	Difference	of_default;

	if (!find_difference(keys, collation, &difference))
		return false;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("searches by ILIKE, ~ and ~* can lose rows by column %d of index \"%s\"", column + 1,
					RelationGetRelationName(index)),
			 errdetail("The lower case of \"%s\" is \"%s\" in collation \"%s\", but \"%s\" for pg_trgm, which folds case as the database does. GIN indexes with pg_trgm lose the same rows.",
					   difference.letter, difference.by_collation, get_collation_name(collation), difference.by_trgm),
			 find_difference(keys, DEFAULT_COLLATION_OID, &of_default) ?
			 errhint("LIKE and = lose no rows. For the others name a collation that folds case as LC_CTYPE of the database does, in the index and in the queries.") :
			 errhint("LIKE and = lose no rows. For the others write COLLATE \"default\" after the column, in the index and in the queries.")));
	return true;
}

void
bf_index_warn_of_folding(Relation index)
{
	static TimestampTz warned_in = 0;	/* the statement that was warned last: a partition is like the other */
	MemoryContext context;
	MemoryContext caller;

	if (warned_in == GetCurrentStatementStartTimestamp())
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "bf index folding", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	for (int column = 0; column < IndexRelationGetNumberOfKeyAttributes(index); column++)
		if (OidIsValid(index->rd_indcollation[column]) && bf_index_has_keys(index, column) && is_of_trigrams(index, column) &&
			warn_of_column(index, column))
			warned_in = GetCurrentStatementStartTimestamp();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}
