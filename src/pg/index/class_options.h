/*
 * class_options.h: the options of operator classes. All classes of the extension have the options of BfClassOptions,
 * which give the false-positive rate. A class may have more options.
 */
#ifndef STREAMBLOOM_PG_INDEX_CLASS_OPTIONS_H
#define STREAMBLOOM_PG_INDEX_CLASS_OPTIONS_H

#include "base/compat.h"

#include "access/reloptions.h"

/* The options for one column that all classes of the extension have. Support function BF_OPTIONS_PROC declares them. */
typedef struct BfClassOptions
{
	int32		vl_len_;
	/* negative: it was not given, and the absolute value is the default of the class */
	double		false_positive_rate;
	double		fpr;			/* false_positive_rate by its short name; 0: it was not given */
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
