/*
 * slices.c: see slices.h.
 *
 * The cache keeps chunks as TOAST stores them: pieces of 1,996 bytes. A chunk is found by the value to which it
 * belongs, and by its number there. Finding one takes about 20 ns. Reading it from its TOAST table takes some
 * microseconds and touches three or four buffers. When the memory is used up, all chunks are dropped at once. So in a
 * scan over many filters, each of which is asked once, the cache costs no more than copying the chunks into it.
 */
#include "base/slices.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/expanded.h"
#include "base/value.h"

/*
 * A slice of more chunks than this is not cached. Few look-ups need so many: those in blocks of 14 kB and more, as a
 * tbf in the flat layout with counters of 32 or 64 bits has them.
 */
#define MOST_TOAST_CHUNKS 8

/*
 * The memory that a chunk takes: the chunk, the overhead of the memory context, and the chunk's share of the hash
 * table, which is at least 4/10 full.
 */
#define BYTES_OF_CHUNK (TOAST_MAX_CHUNK_SIZE + 144)

typedef struct ToastChunkKey
{
	Oid			table;
	Oid			value;
	int32		size;			/* of the whole value before compression */
	uint32		number;			/* of the chunk in the value, from 0 */
} ToastChunkKey;

typedef struct ToastChunk
{
	ToastChunkKey key;
	char		status;			/* for simplehash.h */
	char	   *data;			/* TOAST_MAX_CHUNK_SIZE bytes */
} ToastChunk;

/* Only few bytes of the keys differ. Hashing all bytes would take longer and spread the keys no better. */
static inline uint32
hash_of_key(const ToastChunkKey *key)
{
	return murmurhash32(key->value ^ key->number * UINT32_C(0x9e3779b1));
}

static inline bool
keys_equal(const ToastChunkKey *left, const ToastChunkKey *right)
{
	return left->number == right->number && left->value == right->value && left->table == right->table &&
		left->size == right->size;
}

/*
 * A hash table with inlined look-ups, without calls through pointers: each look-up of an item searches it two or
 * three times, and in a stable filter once for each cell that it reads.
 */
#define SH_PREFIX chunks
#define SH_ELEMENT_TYPE ToastChunk
#define SH_KEY_TYPE ToastChunkKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) hash_of_key(&key)
#define SH_EQUAL(table, left, right) keys_equal(&left, &right)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct SliceCache
{
	MemoryContext context;		/* of the table and the TOAST chunks */
	chunks_hash *chunks;
	/* start time of the statement that filled the cache; in a later statement a key may belong to another value */
	TimestampTz statement;
};

static void
forget_all(SliceCache *cache)
{
	MemoryContextReset(cache->context);
	cache->statement = GetCurrentStatementStartTimestamp();
	cache->chunks = chunks_create(cache->context, 64, NULL);
}

static SliceCache *
make_cache(MemoryContext context)
{
	SliceCache *cache = MemoryContextAllocZero(context, sizeof(SliceCache));

	cache->context = AllocSetContextCreate(context, "streambloom slices", ALLOCSET_SMALL_SIZES);
	forget_all(cache);
	return cache;
}

/* Reads the chunks from `first` to `last` into the cache, and sets chunks[] to them. `whole` is the value's size. */
static void
read_chunks(SliceCache *cache, Datum value, ToastChunkKey *key, uint32 first, uint32 last, size_t whole,
			char *chunks[MOST_TOAST_CHUNKS])
{
	size_t		begin = (size_t) first * TOAST_MAX_CHUNK_SIZE;
	size_t		end = Min((size_t) (last + 1) * TOAST_MAX_CHUNK_SIZE, whole);
	const char *data = value_slice(value, begin, end - begin);

	/* The cache is emptied, if it has to be, before the chunks of this slice are entered. So it keeps all of these. */
	if ((cache->chunks->members + MOST_TOAST_CHUNKS) * BYTES_OF_CHUNK > get_hash_memory_limit())
		forget_all(cache);
	for (uint32 number = first; number <= last; number++)
	{
		size_t		at = (size_t) number * TOAST_MAX_CHUNK_SIZE;
		ToastChunk *chunk;

		key->number = number;
		chunk = chunks_lookup(cache->chunks, *key);
		if (chunk == NULL)
		{
			char	   *memory = MemoryContextAlloc(cache->context, TOAST_MAX_CHUNK_SIZE);
			bool		found;

			chunk = chunks_insert(cache->chunks, *key, &found);
			chunk->data = memory;
		}
		chunks[number - first] = chunk->data;
		memcpy(chunk->data, data + (at - begin), Min(TOAST_MAX_CHUNK_SIZE, end - at));
	}
}

/*
 * Reads `size` bytes from `offset` of a stored form, like value_slice(), but through the cache. If the first chunk
 * has at least `enough` of these bytes, returns only the bytes in that chunk, without a copy. Otherwise returns all
 * `size` bytes. *have becomes the number of bytes returned. The result is valid until the next call with this hasher.
 * If there is no hasher (NULL), if the value is not in a TOAST table, or if the bytes lie in more than
 * MOST_TOAST_CHUNKS chunks, value_slice() reads them without the cache.
 */
static const void *
cached_slice(ItemHasher *hasher, Datum value, size_t offset, size_t size, size_t enough, size_t *have)
{
	SliceCache **where;
	struct varatt_external pointer;
	SliceCache *cache;
	ToastChunkKey key;
	char	   *chunks[MOST_TOAST_CHUNKS];
	uint32		first;
	uint32		last;
	bool		missing = false;
	char	   *copy;
	size_t		in_first = TOAST_MAX_CHUNK_SIZE - offset % TOAST_MAX_CHUNK_SIZE;

	*have = size;
	first = (uint32) (offset / TOAST_MAX_CHUNK_SIZE);
	last = (uint32) ((offset + Max(size, 1) - 1) / TOAST_MAX_CHUNK_SIZE);
	if (hasher == NULL || !VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)) || last - first >= MOST_TOAST_CHUNKS)
		return value_slice(value, offset, size);
	where = item_slices(hasher);
	if (*where == NULL)
		*where = make_cache(GetMemoryChunkContext(hasher));
	cache = *where;
	if (cache->statement != GetCurrentStatementStartTimestamp())
		forget_all(cache);
	VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(value));
	key = (ToastChunkKey) {pointer.va_toastrelid, pointer.va_valueid, pointer.va_rawsize};

	for (uint32 number = first; number <= last && !missing; number++)
	{
		ToastChunk *chunk;

		key.number = number;
		chunk = chunks_lookup(cache->chunks, key);
		missing = chunk == NULL;
		if (!missing)
			chunks[number - first] = chunk->data;
	}
	if (missing)
		read_chunks(cache, value, &key, first, last, pointer.va_rawsize - VARHDRSZ, chunks);
	if (in_first >= enough)
	{
		*have = Min(size, in_first);
		return chunks[0] + offset % TOAST_MAX_CHUNK_SIZE;
	}

	copy = palloc(size);
	for (uint32 number = first; number <= last; number++)
	{
		size_t		at = (size_t) number * TOAST_MAX_CHUNK_SIZE;
		size_t		begin = Max(at, offset);
		size_t		end = Min(at + TOAST_MAX_CHUNK_SIZE, offset + size);

		memcpy(copy + (begin - offset), chunks[number - first] + (begin - at), end - begin);
	}
	return copy;
}

/* ------------------------------------------------------------------ look-ups */

/*
 * Is the core given this whole value at once? REQUIRES: the value is compressed, stored out of line, or an expanded
 * object.
 */
static bool
is_read_as_a_whole(sb_lookup_type type, Datum value, size_t size)
{
	return expanded_filter(value) != NULL ||
		(type == SB_LOOKUP_STABLE && (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)) || size < STABLE_SLICES_FROM));
}

void
look_up_open(sb_lookup *lookup, sb_lookup_type type, ItemHasher *hasher, Datum value)
{
	struct varlena *raw = (struct varlena *) DatumGetPointer(value);
	const void *bytes;
	size_t		have;
	size_t		size;
	sb_status	status;

	if (likely(!VARATT_IS_EXTERNAL(raw) && !VARATT_IS_COMPRESSED(raw)))
	{
		bytes = VARDATA_ANY(raw);
		have = size = VARSIZE_ANY_EXHDR(raw);
	}
	else
	{
		size = value_size(value);
		if (is_read_as_a_whole(type, value, size))
			bytes = value_open(value, &have);
		else
		{
			/*
			 * Reads the header and the rest of its chunk. In a tbf this chunk mostly contains the whole directory of
			 * blocks.
			 */
			bytes = cached_slice(hasher, value, 0, Min(size, TOAST_MAX_CHUNK_SIZE), Min(size, TOAST_MAX_CHUNK_SIZE),
								 &have);
		}
	}
	status = sb_lookup_open(lookup, type, bytes, have, size);
	if (unlikely(status != SB_OK))
		value_refuse(lookup->type_name, status);
}

void
look_up_finish(sb_lookup *lookup, ItemHasher *hasher, Datum value, sb_status status)
{
	while (status == SB_NEED_BYTES)
	{
		size_t		have;
		const void *bytes = cached_slice(hasher, value, lookup->need.offset, lookup->need.size, lookup->need.enough,
										 &have);

		status = sb_lookup_next(lookup, bytes, have);
	}
	if (unlikely(status != SB_OK))
		value_refuse(lookup->type_name, status);
}

/* Inlined, because look_up() runs for each row. */
pg_attribute_always_inline void
look_up_item(sb_lookup *lookup, ItemHasher *hasher, Datum value, Datum item)
{
	look_up_finish(lookup, hasher, value, sb_lookup_item(lookup, item_hash_for(hasher, item, &lookup->header.kind)));
}

bool
look_up(sb_lookup_type type, ItemHasher *hasher, Datum value, Datum item)
{
	sb_lookup	lookup;

	look_up_open(&lookup, type, hasher, value);
	look_up_item(&lookup, hasher, value, item);
	return lookup.found;
}

bool
look_up_elements(sb_lookup_type type, Datum value, Elements *elements, bool answer)
{
	sb_lookup	lookup;
	Datum		item;

	look_up_open(&lookup, type, elements->hasher, value);
	while (next_item(elements, &item))
	{
		look_up_item(&lookup, elements->hasher, value, item);
		if (lookup.found == answer)
			return true;
	}
	return false;
}

/* Reading a slice takes as long as reading about two pages: one of the TOAST table, and one of its index. */
#define BYTES_LIKE_A_SLICE (2 * BLCKSZ)

bool
slices_are_cheaper(Datum value, int items, int slices_per_item)
{
	return has_cheap_slices(value) && items < (int64) (value_size(value) / BYTES_LIKE_A_SLICE / slices_per_item);
}
