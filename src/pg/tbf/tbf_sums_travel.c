/*
 * tbf_sums_travel.c: how a TbfSums travels from a parallel worker, or wherever its aggregate's state is sent.
 *
 *     plan (a tbf header, 128 bytes)
 *     self_sized, over items?, and what sb_sums notes
 *     the list of hot items, if the plan has one
 *     over items: their number, the hashes, then their words of each plane that is there; little-endian, of 8 bytes
 *     over cells: for each plane that is there its number of bytes, and the words packed as extensible counters are
 *
 * Items are copied once to go, and not at all when they arrive: whoever combines states reads them where they lie.
 */
#include "tbf/tbf_sums.h"

#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "utils/memutils.h"

#include "base/call.h"
#include "base/value.h"

static void
send_u128(StringInfo out, sb_u128 value)
{
	pq_sendint64(out, (uint64) (value >> 64));
	pq_sendint64(out, (uint64) value);
}

static sb_u128
read_u128(StringInfo in)
{
	uint64_t	high = pq_getmsgint64(in);

	return (sb_u128) high << 64 | (uint64) pq_getmsgint64(in);
}

static int
planes_of(const TbfSums *state)
{
	int			planes = 0;

	for (int i = 0; i < SB_TBF_PLANES; i++)
		planes += state->sums.plane[i] != NULL;
	return planes;
}

static SB_NORETURN void
refuse_to_send(uint64_t bytes)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("state of tbf_agg() with " UINT64_FORMAT " bytes is too large to be sent from one process to another", bytes),
			 errhint("Run the query in one process: SET max_parallel_workers_per_gather = 0.")));
	pg_unreachable();
}

/* Room for so much more, at once: to grow by doubling would copy megabytes again and again. */
static void
make_room(StringInfo out, uint64_t bytes)
{
	if (bytes >= MaxAllocSize - (uint64_t) out->len)
		refuse_to_send(bytes);
	enlargeStringInfo(out, (int) bytes);
}

/* ------------------------------------------------------------------- sending */

static void
send_items(StringInfo out, const TbfSums *state)
{
	uint64_t	column = state->set.count * sizeof(uint64_t);
	TbfItemReader reader = {.of = state};
	uint64_t	hashes[TBF_BATCH];
	uint64_t	words[SB_TBF_PLANES][TBF_BATCH];
	uint64_t	done = 0;
	size_t		count;
	char	   *to;

	make_room(out, sizeof(uint64_t) + column * (1 + planes_of(state)));
	pq_sendint64(out, state->set.count);
	to = out->data + out->len;
	out->len += (int) (column * (1 + planes_of(state)));
	while ((count = tbf_sums_read_items(&reader, hashes, words)) > 0)
	{
		char	   *part = to + done * sizeof(uint64_t);

		sb_hash_set_write_words(hashes, count, part);
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (state->sums.plane[i] != NULL)
				sb_hash_set_write_words(words[i], count, part += column);
		done += count;
	}
}

/* If the usual room is not enough it is known how much is. */
static void
send_plane(StringInfo out, const TbfSums *state, const uint64_t *plane)
{
	sb_tbf		packed;
	size_t		room = tbf_sums_usual_room(&state->plan);

	for (;;)
	{
		sb_status	status;

		make_room(out, room + sizeof(uint64_t));
		status = sb_sums_pack_plane(plane, &state->plan, &packed, out->data + out->len + sizeof(uint64_t), room);
		if (status == SB_OK)
			break;
		if (status != SB_TOO_LARGE)
			tbf_sums_must_fit(status);	/* which raises the error of an interrupt, too */
		if (packed.payload <= room)
			refuse_to_send(packed.payload);		/* it is larger than any value may be */
		room = packed.payload;
	}
	pq_sendint64(out, packed.payload);
	out->len += (int) packed.payload;
}

bytea *
tbf_sums_serialize(TbfSums *state)
{
	const sb_sums *sums = &state->sums;
	StringInfoData out;
	unsigned char header[SB_TBF_HEADER];

	tbf_sums_settle(state);
	pq_begintypsend(&out);
	sb_tbf_encode_header(&state->plan, header);
	pq_sendbytes(&out, (char *) header, sizeof header);
	pq_sendbyte(&out, state->self_sized);
	pq_sendbyte(&out, state->over_items);
	pq_sendbyte(&out, sums->any);
	pq_sendbyte(&out, sums->merged);
	pq_sendbyte(&out, sums->fractions);
	pq_sendint64(&out, sums->newest_plane);
	pq_sendint64(&out, sums->newest_half_life);
	pq_sendint64(&out, sums->oldest_base);
	pq_sendint64(&out, sums->newest);
	send_u128(&out, sums->dropped_total);
	send_u128(&out, sums->dropped_loss);
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		send_u128(&out, sums->total[i]);
		send_u128(&out, sums->slack[i]);
		send_u128(&out, sums->loss[i]);
		pq_sendbyte(&out, sums->plane[i] != NULL);
	}
	if (state->top != NULL)
		tbf_top_serialize(state->top, &out);
	if (state->over_items)
		send_items(&out, state);
	else
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (sums->plane[i] != NULL)
				send_plane(&out, state, sums->plane[i]);
	return pq_endtypsend(&out);
}

/* ----------------------------------------------------------------- receiving */

static bool
read_flag(StringInfo in)
{
	int			flag = pq_getmsgbyte(in);

	if (flag > 1)
		value_refuse("tbf_agg", SB_BAD_HEADER);
	return flag;
}

/* The rest of the message. What is only read when it is combined, once, is not copied. */
static void
receive_items(StringInfo in, TbfSums *state, const bool *plane)
{
	uint64_t	count = pq_getmsgint64(in);
	uint64_t	left = in->len - in->cursor;
	uint64_t	columns = 1;
	const unsigned char *column = (const unsigned char *) in->data + in->cursor;

	for (int i = 0; i < SB_TBF_PLANES; i++)
		columns += plane[i];
	if (count > left / sizeof(uint64_t) / columns || count * columns * sizeof(uint64_t) != left)
		value_refuse("tbf_agg", SB_BAD_LENGTH);
	state->travelled = column;
	state->set.count = count;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (plane[i])
		{
			uint64_t	words[TBF_BATCH];

			column += count * sizeof(uint64_t);
			for (uint64_t done = 0; done < count;)
			{
				size_t		now = Min(count - done, TBF_BATCH);

				CHECK_FOR_INTERRUPTS();
				sb_hash_set_read_words(column + done * sizeof(uint64_t), words, now);
				for (size_t j = 0; j < now; j++)
					if (words[j] >= SB_TBF_MAX_CELL)
						value_refuse("tbf_agg", SB_BAD_CELLS);
				done += now;
			}

			/* not a word of memory that could be read: it says that there is a plane */
			state->sums.plane[i] = (uint64_t *) unconstify(unsigned char *, column);
		}
}

static void
receive_plane(StringInfo in, TbfSums *state, int index)
{
	uint64_t	payload = pq_getmsgint64(in);
	sb_tbf		packed = state->plan;
	const char *cells = in->data + in->cursor;

	if (payload > (uint64_t) (in->len - in->cursor))
		value_refuse("tbf_agg", SB_TRUNCATED);
	if (payload != 0 && payload < (uint64_t) packed.blocks * 4)
		value_refuse("tbf_agg", SB_BAD_LENGTH);
	packed.layout = SB_TBF_EXTENSIBLE;
	packed.payload = (uint32_t) payload;
	tbf_sums_allocate_plane(state, index);
	for (uint32_t block = 0; block < packed.blocks; block++)
	{
		uint64_t   *words = state->sums.plane[index] + (uint64_t) block * packed.block_cells;

		CHECK_FOR_INTERRUPTS();
		if (sb_tbf_unpack_block(&packed, cells, block, words) != SB_OK)
			value_refuse("tbf_agg", SB_BAD_CELLS);
		for (uint32_t i = 0; i < packed.block_cells; i++)
			if (words[i] >= SB_TBF_MAX_CELL)
				value_refuse("tbf_agg", SB_BAD_CELLS);
	}
	in->cursor += (int) payload;
}

TbfSums *
tbf_sums_deserialize(MemoryContext context, bytea *bytes)
{
	TbfSums    *state = MemoryContextAllocZero(context, sizeof(TbfSums));
	sb_sums    *sums = &state->sums;
	StringInfoData in;
	const unsigned char *data = (const unsigned char *) VARDATA_ANY(bytes);
	bool		plane[SB_TBF_PLANES];
	sb_status	status;
	const int64 furthest = INT64CONST(1) << 61;

	in.data = (char *) data;
	in.len = in.maxlen = VARSIZE_ANY_EXHDR(bytes);
	in.cursor = 0;
	state->context = context;
	if (in.len < SB_TBF_HEADER)
		value_refuse("tbf_agg", SB_TRUNCATED);

	/* the plan says how long a stored filter is; here its cells are sums */
	status = sb_tbf_decode_header(data, SB_TBF_HEADER, SB_TBF_HEADER, &state->plan);
	if (status == SB_BAD_LENGTH)
		status = sb_tbf_decode_header(data, SB_TBF_HEADER, sb_tbf_size(&state->plan), &state->plan);
	if (status != SB_OK)
		value_refuse("tbf_agg", status);
	in.cursor = SB_TBF_HEADER;
	state->self_sized = read_flag(&in);
	state->over_items = read_flag(&in);
	sums->any = read_flag(&in);
	sums->merged = read_flag(&in);
	sums->fractions = read_flag(&in);
	sums->newest_plane = pq_getmsgint64(&in);
	sums->newest_half_life = pq_getmsgint64(&in);
	sums->oldest_base = pq_getmsgint64(&in);
	sums->newest = pq_getmsgint64(&in);
	sums->dropped_total = read_u128(&in);
	sums->dropped_loss = read_u128(&in);
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		sums->total[i] = read_u128(&in);
		sums->slack[i] = read_u128(&in);
		sums->loss[i] = read_u128(&in);
		plane[i] = read_flag(&in);
		if (plane[i] && !sums->any)
			value_refuse("tbf_agg", SB_BAD_HEADER);
	}
	if (sums->newest_half_life <= -furthest || sums->newest_half_life >= furthest ||
		sums->oldest_base <= -furthest || sums->oldest_base >= furthest ||
		sums->newest_plane < -furthest / SB_TBF_PLANE || sums->newest_plane > furthest / SB_TBF_PLANE ||
		sums->newest_half_life - sums->newest_plane * SB_TBF_PLANE >= SB_TBF_PLANE ||
		sums->newest_half_life - sums->newest_plane * SB_TBF_PLANE < -SB_TBF_PLANE ||
		(state->self_sized && sb_tbf_cells(&state->plan) != SB_TBF_MAX_CELLS))
		value_refuse("tbf_agg", SB_BAD_HEADER);
	if (state->plan.top != 0)
		state->top = tbf_top_deserialize(context, state->plan.top, sums->any, &in);

	sums->width = state->over_items ? 0 : sb_tbf_cells(&state->plan);
	if (state->over_items)
		receive_items(&in, state, plane);
	else
		for (int i = 0; i < SB_TBF_PLANES; i++)
			if (plane[i])
				receive_plane(&in, state, i);
	if (!state->over_items && in.cursor != in.len)
		value_refuse("tbf_agg", SB_BAD_LENGTH);
	return state;
}
