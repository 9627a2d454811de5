/*-------------------------------------------------------------------------
 *
 * copy_stream.c
 *	  What a client sends for COPY ... FROM STDIN, as a stream of bytes.
 *
 * As src/backend/commands/copyfromparse.c: CopyGetData(), CopyLoadRawBuf()
 * and CopyConvertBuf() do.  The message that is being read is the one of the
 * server's own COPY, and so is its place in it: either can go on where the
 * other has stopped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

/* What else a connection consists of needs headers that need not be there. */
#undef ENABLE_GSS
#undef USE_OPENSSL
#undef USE_SSL

#include "commands/progress.h"
#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
#include "decode/column_decoder.h"
#include "load/copy_stream.h"

/* The types of messages that may come: data, and what is ignored. */
#define COPY_DATA	'd'
#define FLUSH		'H'
#define SYNC		'S'

/* A line that is longer is the server's, whose own limit is 1 GB. */
#define MAX_UNUSED	(MaxAllocSize / 4)

void
copy_stream_init(CopyStream *stream, CopyFromState cstate)
{
	memset(stream, 0, sizeof(CopyStream));
	stream->cstate = cstate;
	stream->size = COPY_STREAM_BLOCK;
	stream->data = palloc(stream->size + STREAM_PADDING);
}

/*
 * Have a message with data that is not used up.  False if another one is
 * next, which is not touched.
 */
static bool
have_data(CopyStream *stream)
{
	StringInfo	message = stream->cstate->fe_msgbuf;

	while (message->cursor >= message->len)
	{
		int			type;

		HOLD_CANCEL_INTERRUPTS();
		pq_startmsgread();
		type = pq_peekbyte();
		if (type != COPY_DATA && type != FLUSH && type != SYNC)
		{
			pq_endmsgread();
			RESUME_CANCEL_INTERRUPTS();
			return false;
		}
		pq_getbyte();
		if (pq_getmessage(message, type == COPY_DATA ? PQ_LARGE_MESSAGE_LIMIT :
						  PQ_SMALL_MESSAGE_LIMIT))
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("unexpected EOF on client connection with an open transaction")));
		RESUME_CANCEL_INTERRUPTS();
		if (type != COPY_DATA)
			message->cursor = message->len;
		/* a cancel waits for the next row, as the server's does */
	}
	return true;
}

/* Make room for a block behind what is unused, which goes to the front. */
static void
make_room(CopyStream *stream)
{
	Size		unused = stream->end - stream->start;

	if (stream->start > 0)
	{
		memmove(stream->data, stream->data + stream->start, unused);
		stream->valid -= stream->start;
		stream->end = unused;
		stream->start = 0;
	}
	if (stream->size < 2 * unused)
	{
		stream->size = 2 * unused;
		stream->data = repalloc(stream->data, stream->size + STREAM_PADDING);
	}
}

/* Take what there is room for of the message.  Is there a newline in it? */
static bool
take_data(CopyStream *stream)
{
	StringInfo	message = stream->cstate->fe_msgbuf;
	char	   *to = stream->data + stream->end;
	Size		len = Min(stream->size - stream->end,
						  message->len - message->cursor);

	pq_copymsgbytes(message, to, len);
	stream->end += len;
	return memchr(to, '\n', len) != NULL;
}

/* Might we wait for the client if we wanted more of it? */
static bool
might_wait(CopyStream *stream)
{
	StringInfo	message = stream->cstate->fe_msgbuf;

	return message->cursor == message->len && !client_data_is_there();
}

bool
copy_stream_fill(CopyStream *stream)
{
	CopyFromState cstate = stream->cstate;
	Size		unused = stream->end - stream->start;
	bool		has_line = false;

	if (unused > MAX_UNUSED)
		return false;
	make_room(stream);
	while (stream->end < stream->size &&
		   !(has_line && might_wait(stream)) && have_data(stream))
		has_line |= take_data(stream);
	if (stream->end == unused)
		return false;
	memset(stream->data + stream->end, 0, STREAM_PADDING);

	cstate->bytes_processed += stream->end - unused;
	pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED,
								 cstate->bytes_processed);
	stream->valid +=
		pg_encoding_verifymbstr(cstate->file_encoding,
								stream->data + stream->valid,
								stream->end - stream->valid);
	return true;
}

void
copy_stream_hand_over(CopyStream *stream)
{
	CopyFromState cstate = stream->cstate;

	/*
	 * The block takes the place of the raw input.  That it may be longer than
	 * the one which was there does not matter: more is read only when what
	 * remains are a few bytes at the end of the input.
	 */
	StaticAssertStmt(COPY_STREAM_BLOCK > RAW_BUF_SIZE, "block is too short");
	stream->data[stream->end] = '\0';
	cstate->raw_buf = cstate->input_buf = stream->data;
	cstate->raw_buf_index = cstate->input_buf_index = stream->start;
	cstate->raw_buf_len = stream->end;
	cstate->input_buf_len = stream->valid;
	stream->data = NULL;
}
