/*
 * options.c: the options of an index, WITH (...), and those of the operator classes of its columns. Also: whether an
 * index was built with them, since most of them take effect only then.
 */
#include "index/handler.h"

#include "access/reloptions.h"
#include "utils/rel.h"

#include "base/call.h"
#include "base/hints.h"
#include "index/estimate.h"
#include "index/keys.h"
#include "index/layout.h"
#include "index/sizes.h"

/* The options of an index: WITH (...). */
typedef struct BfOptions
{
	int32		vl_len_;
	int			pages_per_range;	/* 0: it is chosen before the first group is made */
	double		false_positive_rate;	/* 0: it was not given */
	int			levels;			/* 0: as many as are useful */
} BfOptions;

static relopt_kind option_kind;

static relopt_enum_elt_def level_names[] = {{"auto", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}, {NULL}};

void
bf_index_init(void)
{
	bf_index_estimate_init();
	option_kind = add_reloption_kind();
	add_int_reloption(option_kind, "pages_per_range", "Number of pages of the table that share one filter",
					  0, 1, BF_INDEX_MAX_PAGES_PER_RANGE, AccessExclusiveLock);
	add_real_reloption(option_kind, "false_positive_rate",
					   "Share of the filters that say yes to a value that they do not have",
					   0, SB_BF_MIN_FPR, SB_BF_MAX_FPR, AccessExclusiveLock);
	add_enum_reloption(option_kind, "levels", "Number of levels that the index may have", level_names, 0,
					   "Valid values are \"auto\" and numbers from 1 to 4.", AccessExclusiveLock);
}

static void
say_options(const void *unused)
{
	errhint("A bf index has the options pages_per_range (1 to %d), false_positive_rate (%.6f to %g), and levels (auto, or 1 to %d).",
			BF_INDEX_MAX_PAGES_PER_RANGE, SB_BF_MIN_FPR, SB_BF_MAX_FPR, BF_INDEX_MAX_LEVELS);
}

bytea *
bf_index_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt elements[] = {
		{"pages_per_range", RELOPT_TYPE_INT, offsetof(BfOptions, pages_per_range)},
		{"false_positive_rate", RELOPT_TYPE_REAL, offsetof(BfOptions, false_positive_rate)},
		{"levels", RELOPT_TYPE_ENUM, offsetof(BfOptions, levels)},
	};

	bytea	   *options;
	ErrorHint	hint;

	if (!validate)
		return build_reloptions(reloptions, false, option_kind, sizeof(BfOptions), elements, lengthof(elements));
	hint_begin(&hint, say_options, NULL);
	options = build_reloptions(reloptions, true, option_kind, sizeof(BfOptions), elements, lengthof(elements));
	hint_end(&hint);
	return options;
}

void
bf_index_declare_class_options(local_relopts *options, Size size, double rate)
{
	init_local_reloptions(options, size);
	add_local_real_reloption(options, "false_positive_rate",
							 "Share of the filters that say yes to a value that they do not have",
							 -rate, SB_BF_MIN_FPR, SB_BF_MAX_FPR, offsetof(BfClassOptions, false_positive_rate));
}

SB_FUNCTION(bf_class_options);
Datum
bf_class_options(PG_FUNCTION_ARGS)
{
	bf_index_declare_class_options((local_relopts *) PG_GETARG_POINTER(0), sizeof(BfClassOptions),
								   BF_INDEX_DEFAULT_FPR);
	PG_RETURN_VOID();
}

SB_FUNCTION(bf_key_class_options);
Datum
bf_key_class_options(PG_FUNCTION_ARGS)
{
	bf_index_declare_class_options((local_relopts *) PG_GETARG_POINTER(0), sizeof(BfClassOptions), BF_INDEX_KEY_FPR);
	PG_RETURN_VOID();
}

SB_FUNCTION(bf_many_key_class_options);
Datum
bf_many_key_class_options(PG_FUNCTION_ARGS)
{
	bf_index_declare_class_options((local_relopts *) PG_GETARG_POINTER(0), sizeof(BfClassOptions),
								   BF_INDEX_MANY_KEY_FPR);
	PG_RETURN_VOID();
}

BlockNumber
bf_index_pages_per_range_option(Relation index)
{
	BfOptions  *options = (BfOptions *) index->rd_options;

	return options != NULL ? options->pages_per_range : 0;
}

double
bf_index_fpr_option(Relation index, int column)
{
	BfOptions  *options = (BfOptions *) index->rd_options;
	bytea	  **of_classes = RelationGetIndexAttOptions(index, false);
	BfClassOptions *of_class = (BfClassOptions *) of_classes[column];

	if (of_class != NULL && of_class->false_positive_rate > 0)
		return of_class->false_positive_rate;
	if (options != NULL && options->false_positive_rate > 0)
		return options->false_positive_rate;
	if (of_class != NULL)
		return -of_class->false_positive_rate;
	/* the class has no function for options */
	return bf_index_has_keys(index, column) ? BF_INDEX_KEY_FPR : BF_INDEX_DEFAULT_FPR;
}

double
bf_index_key_class_fpr(Oid options_function)
{
	local_relopts options;

	if (!OidIsValid(options_function))
		return BF_INDEX_KEY_FPR;
	init_local_reloptions(&options, 0);
	OidFunctionCall1(options_function, PointerGetDatum(&options));
	return -((BfClassOptions *) build_local_reloptions(&options, (Datum) 0, false))->false_positive_rate;
}

int
bf_index_levels_option(Relation index)
{
	BfOptions  *options = (BfOptions *) index->rd_options;

	return options != NULL && options->levels != 0 ? options->levels : BF_INDEX_MAX_LEVELS;
}

bool
bf_index_declares_own_options(Oid function)
{
	FmgrInfo	info;

	fmgr_info(function, &info);
	return info.fn_addr == bf_class_options || info.fn_addr == bf_key_class_options ||
		info.fn_addr == bf_many_key_class_options || info.fn_addr == bf_gram_class_options ||
		info.fn_addr == bf_bytea_gram_class_options;
}

bool
bf_index_has_other_options(Relation index)
{
	BlockNumber pages = bf_index_pages_per_range_option(index);
	Buffer		buffer = bf_index_read_page(index, 0);
	const BfMetaPage *meta;
	bool		differ;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = bf_index_meta_page(index, BufferGetPage(buffer));
	differ = meta->levels != bf_index_levels_option(index) || (pages != 0 && meta->pages_per_range != pages);
	for (int column = 0; column < IndexRelationGetNumberOfKeyAttributes(index); column++)
		differ |= meta->column[column].false_positive_rate != bf_index_fpr_option(index, column);
	UnlockReleaseBuffer(buffer);
	return differ;
}
