/*
 * grams.c: see grams.h. Ranges of RANGE pages are searched for pieces of texts from earlier ranges. If a range does not
 * have the piece, and has all of its grams, an index would have it read in vain.
 */
#include "advisor/grams.h"

#include "access/detoast.h"
#include "mb/pg_wchar.h"

#include "base/call.h"
#include "base/memory.h"

/* The pages of a range: as many as an index on short texts has. */
#define RANGE 8

#define RANGES_LOOKED_AT 32
#define PIECES 32
#define PIECE_BYTES_TAKEN 11	/* an address, or a word: eight grams of four characters */
#define MOST_TEXT 65536
#define BITS 262144				/* for at most 64 KiB of grams */

struct GramSample
{
	BlockNumber range;
	int			ranges;			/* how many were begun */
	char		pieces[PIECES][PIECE_BYTES_TAKEN];	/* from the range before */
	int			piece_count;
	char		coming[PIECES][PIECE_BYTES_TAKEN];	/* from the range that is being read */
	int			next;
	bool		found[PIECES];	/* in the range that is being read */
	int			absent;			/* how often a piece was not in a range */
	int			in_vain;		/* and how often the range had all of its grams */
	uint8		bits[BITS / 8];
};

GramSample *
bf_index_begin_grams(MemoryContext context)
{
	GramSample *sample = MemoryContextAllocZero(context, sizeof(GramSample));

	sample->range = InvalidBlockNumber;
	return sample;
}

/* Writes the grams of a text into memory of the caller; the first and the last one have the text's ends. */
static uint64 *
grams_of(const char *text, size_t size, size_t *count)
{
	const sb_gram_form form = {
		.length = SB_GRAM_DEFAULT_LENGTH,
		.fold = true,
		.text = GetDatabaseEncoding() == PG_UTF8 ? SB_GRAM_UTF8 : SB_GRAM_ONE_BYTE
	};
	uint64	   *grams = palloc(sb_gram_most(size) * sizeof(uint64));

	must_finish(sb_gram_extract(&form, text, size, grams, count));
	return grams;
}

static uint32
bit_of(uint64 gram)
{
	return (uint32) ((gram * UINT64CONST(0x9E3779B97F4A7C15)) >> 32) % BITS;
}

static void
end_range(GramSample *sample)
{
	for (int i = 0; i < sample->piece_count; i++)
	{
		size_t		count;
		uint64	   *grams = grams_of(sample->pieces[i], PIECE_BYTES_TAKEN, &count);
		bool		all = true;

		for (size_t g = 1; g + 1 < count; g++)
			all &= (sample->bits[bit_of(grams[g]) / 8] & 1 << bit_of(grams[g]) % 8) != 0;
		sample->absent += !sample->found[i];
		sample->in_vain += !sample->found[i] && all;
	}
	memset(sample->bits, 0, sizeof sample->bits);
	memset(sample->found, 0, sizeof sample->found);
	memcpy(sample->pieces, sample->coming, sizeof sample->pieces);
	sample->piece_count = Min(sample->next, PIECES);
	sample->next = 0;
	sample->ranges++;
}

void
bf_index_look_at_grams(GramSample *sample, BlockNumber page, Datum value)
{
	text	   *packed;
	const char *data;
	size_t		size;
	size_t		count;
	uint64	   *grams;

	if (sample->ranges > RANGES_LOOKED_AT || toast_raw_datum_size(value) > MOST_TEXT)
		return;
	if (sample->range != page / RANGE)
		end_range(sample);
	sample->range = page / RANGE;
	packed = DatumGetTextPP(value);
	data = VARDATA_ANY(packed);
	size = VARSIZE_ANY_EXHDR(packed);
	grams = grams_of(data, size, &count);
	for (size_t g = 0; g < count; g++)
		sample->bits[bit_of(grams[g]) / 8] |= 1 << bit_of(grams[g]) % 8;
	for (int i = 0; i < sample->piece_count; i++)
		sample->found[i] |= memmem(data, size, sample->pieces[i], PIECE_BYTES_TAKEN) != NULL;
	/* of the range's last texts, each from another place of its text */
	if (size >= PIECE_BYTES_TAKEN)
		memcpy(sample->coming[sample->next % PIECES],
			   data + (size_t) sample->next * 7919 % (size - PIECE_BYTES_TAKEN + 1), PIECE_BYTES_TAKEN);
	sample->next += size >= PIECE_BYTES_TAKEN;
}

bool
bf_index_grams_are_everywhere(const GramSample *sample)
{
	return sample->absent >= PIECES && sample->in_vain > sample->absent / 2;
}
