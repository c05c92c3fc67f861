/*
 * handler.h: what PostgreSQL is told of the access method `bf`, and the functions that PostgreSQL calls. Also the
 * options of an index, and the checks of its operator classes.
 */
#ifndef STREAMBLOOM_PG_INDEX_HANDLER_H
#define STREAMBLOOM_PG_INDEX_HANDLER_H

#include "base/compat.h"

#include "access/reloptions.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/skey.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "utils/rel.h"

/* The strategy number of =, the only operator of an operator class whose items are the values themselves. */
#define BF_EQUAL_STRATEGY 1

/* options.c: the options of an index and its operator classes. 0 pages mean that the number is to be chosen. */
extern BlockNumber bf_index_pages_per_range_option(Relation index);
extern double bf_index_fpr_option(Relation index, int column);

/*
 * The rate of an operator class with keys inside values, if no option gives another one. options_function is the
 * class's function for options, or InvalidOid.
 */
extern double bf_index_key_class_fpr(Oid options_function);
extern int	bf_index_levels_option(Relation index);

/* Was the index built with other options than it has now? */
extern bool bf_index_has_other_options(Relation index);
extern bytea *bf_index_options(Datum reloptions, bool validate);
extern bool bf_index_validate(Oid opclass);

/* Is called when the library is loaded. */
extern void bf_index_init(void);

/* The OID of this library's access method in this database, or InvalidOid. */
extern Oid	bf_index_am_oid(void);

/*
 * Raises an error unless the items of each column are hashed as its operator class compares them. Also raises one if a
 * class has operators, or a function for options, that a class of bf cannot have.
 */
extern void bf_index_check_operators(Relation index);

/*
 * Raises a notice for each column whose type has an = that does not use the index. An example is citext: it is
 * indexed as text, so the index knows only the = of text. For a column whose items are keys, the notice is raised if
 * the operator class is for another type and the column's type has an = of its own. An example is citext under
 * gram_ops.
 */
extern void bf_index_notice_unasked(Relation index);

/* ------------------------------------------------------------ the other callbacks */

struct PlannerInfo;
struct IndexPath;

/* build.c */
extern IndexBuildResult *bf_index_build(Relation heap, Relation index, IndexInfo *indexInfo);
extern void bf_index_build_empty(Relation index);
extern char *bf_index_build_phase(int64 phase);

/* insert.c */
extern bool bf_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
							IndexUniqueCheck check, bool unchanged, IndexInfo *indexInfo);
#if PG_VERSION_NUM >= 170000
extern void bf_index_end_insert(Relation index, IndexInfo *indexInfo);
#endif

/* scan.c */
extern IndexScanDesc bf_index_begin_scan(Relation index, int keys, int orderbys);
extern void bf_index_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern int64 bf_index_get_bitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void bf_index_end_scan(IndexScanDesc scan);

/* vacuum.c */
extern IndexBulkDeleteResult *bf_index_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
												   IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *bf_index_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

/* cost.c */
extern void bf_index_cost(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup,
						  Cost *total, Selectivity *selectivity, double *correlation, double *pages);

/* ------------------------------------------------------- the options of operator classes */

/* The options for one column that all classes of the extension have. Support function BF_OPTIONS_PROC declares them. */
typedef struct BfClassOptions
{
	int32		vl_len_;
	/* negative: it was not given, and the absolute value is the default of the class */
	double		false_positive_rate;
} BfClassOptions;

/*
 * The default rate of gram_ops, whose items are grams: n characters in a row. A pattern of eight letters has five
 * grams of four letters, and a row must have all five. With this rate and one page in a range, nine of ten searches for
 * a word read hardly any page in vain (bench/results/keys.md, "Other rates and grams").
 */
#define BF_INDEX_GRAM_FPR 0.1

/*
 * Declares the options of BfClassOptions. `rate` is the false-positive rate if neither the options of the column nor
 * those of the index give one. `size` is the size of the class's struct of options, which begins with BfClassOptions.
 */
extern void bf_index_declare_class_options(local_relopts *options, Size size, double rate);

/*
 * Is this one of the extension's own functions that declare options? The options of another function may have
 * another layout.
 */
extern bool bf_index_declares_own_options(Oid function);

/* The functions that declare options of the classes for grams (gram/gram.c). */
extern PGDLLEXPORT Datum bf_gram_class_options(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum bf_bytea_gram_class_options(PG_FUNCTION_ARGS);

#endif
