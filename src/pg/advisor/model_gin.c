/*
 * model_gin.c: computes the bytes of a GIN index from a sample of the keys (sample_keys.c). For bf_index_advise()
 * (advise.c).
 *
 * A GIN index is a B-tree of keys (the entry tree). If a key has few rows, the key's tuple has the numbers of these
 * rows, as a compressed list. If a key has more rows, their numbers are in a tree of their own (a posting tree). A leaf
 * page of this tree consists of segments, and each segment is such a list. CREATE INDEX gathers rows until
 * maintenance_work_mem is full. Then it enters what it has gathered, key by key in ascending order. See gininsert.c,
 * ginentrypage.c and gindatapage.c of PostgreSQL.
 */
#include "base/compat.h"

#include <math.h>

#include "access/gin_private.h"
#include "miscadmin.h"

#include "advisor/model.h"

/* The space of a page of the entry tree. */
#define ENTRY_SPACE (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(GinPageOpaqueData)))

/* The header of a compressed list: the first row, and the list's number of bytes. */
#define LIST_HEADER offsetof(GinPostingList, bytes)

/* The bytes of a segment: on the first page of a posting tree, and on its other pages (gindatapage.c). */
#define FIRST_SEGMENT 384
#define NEXT_SEGMENT 256

/*
 * The memory that a key takes while rows are gathered, and that one of its rows takes on average (ginbulk.c; arrays
 * grow by doubling).
 */
#define MEMORY_OF_KEY 120
#define MEMORY_OF_ROW 9

/* How full pages are in the end if they are split at random places (Yao 1978). */
#define RANDOM_FILL 0.69

typedef struct GinModel
{
	double		scale;			/* rows of the table for each row whose keys were looked at */
	double		bytes;			/* of tuples in the leaves of the entry tree, with their line pointers */
	double		tuples;
	double		keys;			/* the sum of the sizes of tuples without rows */
	double		rows;
	double		tree_pages;		/* pages of posting trees */
} GinModel;

typedef struct GinSums
{
	GinModel	known;			/* of keys in several units, and of keys in the beginning of the table */
	GinModel	single;			/* of the other keys, which are in one unit; not scaled up to the table */
} GinSums;

/* Returns the pages of a posting tree. */
static double
posting_tree_pages(double bytes, double bytes_of_row)
{
	/*
	 * The first row of a segment is in its header, which saves bytes_of_row in the list. A row that does not fit into
	 * the rest of a segment goes to the next one, which wastes half the bytes of a row on average.
	 */
	const double saved = (bytes_of_row + 1) / 2;
	const double first = floor(GinDataPageMaxDataSize / FIRST_SEGMENT) * (FIRST_SEGMENT - LIST_HEADER + saved);
	const double next = floor(GinDataPageMaxDataSize / NEXT_SEGMENT) * (NEXT_SEGMENT - LIST_HEADER + saved);
	double		leaves,
				pages;

	if (bytes <= first)
		return 1;
	leaves = 1 + ceil((bytes - first) / next);
	for (pages = leaves; leaves > 1; pages += leaves)
		leaves = ceil(leaves * sizeof(PostingItem) / GinDataPageMaxDataSize);
	return pages;
}

/*
 * Adds `weight` keys to the model. The tuple of a key takes `size` bytes without its rows. Each key has `rows` rows,
 * which take `bytes` bytes in a compressed list.
 */
static void
add_keys(GinModel *model, double weight, double size, double rows, double bytes, double bytes_of_row)
{
	double		list = ceil((LIST_HEADER + bytes) / 2) * 2;
	double		tuple = MAXALIGN((Size) (size + Min(list, BLCKSZ)));

	if (tuple > GinMaxItemSize)
	{
		model->tree_pages += weight * posting_tree_pages(bytes, bytes_of_row);
		tuple = size;
	}
	model->bytes += weight * (tuple + sizeof(ItemIdData));
	model->keys += weight * (size + sizeof(ItemIdData));
	model->tuples += weight;
	model->rows += weight * rows;
}

static void
add_key(const CountedKey *key, void *argument)
{
	GinSums    *sums = argument;
	double		bytes_of_row = key->rows > 1 ? key->bytes / (key->rows - 1.0) : 2;
	double		rows = key->rows;

	/*
	 * A key that is in several units (of 32 pages in a row) of the sample is taken to be in the rest of the table, too.
	 * So its rows are scaled up from the sample to the table.
	 */
	if (!key->in_one_unit)
		rows *= sums->known.scale;
	add_keys(key->single ? &sums->single : &sums->known, key->weight, key->size, rows, (rows - 1) * bytes_of_row,
			 bytes_of_row);
}

/*
 * Returns how full the pages of the entry tree are at the end, if memory becomes full `times` times. `tuple` is the
 * mean size of a tuple.
 */
static double
entry_fill(double times, double tuple)
{
	/* Keys arrive in ascending order, and a full page is split in the middle. So the left pages stay half full. */
	double		fill = 0.5 + 0.75 * tuple / ENTRY_SPACE;

	if (times <= 1)
		return Min(fill, 1);
	/* From the second time on all pages grow, and are split when they are full. */
	fill *= times;
	while (fill > 1)
		fill /= 2;
	/* The more often memory becomes full, the fewer pages become full at the same time. */
	return RANDOM_FILL + (fill - RANDOM_FILL) / Max(times - 1, 1);
}

double
bf_index_model_gin(const Sample *sample, const SampleColumn *column, const KeyStats *keys)
{
	GinSums		sums = {.known.scale = keys->scale};
	GinModel   *model = &sums.known;
	double		times,
				leaves,
				pages,
				room;

	bf_index_visit_keys(column, add_key, &sums);
	if (sums.single.tuples > 0)
	{
		/* The keys in sums.single stand for all keys of the table except those in sums.known. */
		double		more = Max(1, (keys->distinct - model->tuples) / sums.single.tuples);

		model->bytes += sums.single.bytes * more;
		model->tuples += sums.single.tuples * more;
		model->keys += sums.single.keys * more;
		model->rows += sums.single.rows * more;
		model->tree_pages += sums.single.tree_pages * more;
	}
	/* a table without keys: the meta page and the root */
	if (model->tuples < 1)
		return 2 * BLCKSZ;
	times = (model->tuples * MEMORY_OF_KEY + model->rows * MEMORY_OF_ROW) / (maintenance_work_mem * 1024.0);
	room = ENTRY_SPACE * entry_fill(times, model->bytes / model->tuples);
	leaves = model->bytes <= ENTRY_SPACE ? 1 : ceil(model->bytes / room);
	pages = 1 + leaves;
	while (leaves > 1)
	{
		double		inner = leaves * (model->keys / model->tuples);

		leaves = inner <= ENTRY_SPACE ? 1 : ceil(inner / room);
		pages += leaves;
	}
	return (pages + model->tree_pages) * BLCKSZ;
}
