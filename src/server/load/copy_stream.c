/*-------------------------------------------------------------------------
 *
 * copy_stream.c
 *	  The data that a client sends for COPY ... FROM STDIN, as a stream of
 *	  bytes.
 *
 * As src/backend/commands/copyfromparse.c: CopyGetData(), CopyLoadRawBuf()
 * and CopyConvertBuf() do.  The message that is being read is the one of the
 * server's own COPY, and so is its place in it: either can continue where the
 * other has stopped.  But a message that there is room for goes to the stream
 * itself, and what the server has not in its buffer yet straight from the
 * socket: that buffer is small, and each filling of it is a system call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

/* Other members of a Port need headers that an installation may lack. */
#undef ENABLE_GSS
#undef USE_OPENSSL
#undef USE_SSL

#include "commands/progress.h"
#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
#include "load/copy_stream.h"

/* The types of messages that may come: data, and what is ignored. */
#define COPY_DATA	'd'
#define FLUSH		'H'
#define SYNC		'S'

/*
 * Fewer bytes are read by way of the server's buffer, with the next message.
 */
#define MIN_DIRECT_BYTES	(16 * 1024)

/* A line that is longer is the server's, whose own limit is 1 GB. */
#define MAX_UNUSED	(MaxAllocSize / 4)

void
copy_stream_init(CopyStream *stream, CopyFromState cstate)
{
	memset(stream, 0, sizeof(CopyStream));
	stream->cstate = cstate;
	stream->size = 2 * COPY_STREAM_BLOCK;
	stream->data = palloc(stream->size + STREAM_PADDING);
}

static void
report_lost_client(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("unexpected EOF on client connection with an open transaction")));
}

/*
 * Read "len" bytes of a message; a lost connection is an error.  Where the
 * socket gives no more, pq_getbytes() finds out why, and waits or reports it.
 */
static void
read_bytes(char *to, Size len)
{
	Size		n = bytes_in_buffer(len);

	/*
	 * What the server has read already is in its buffer and comes first.  The
	 * rest of a long message goes from the socket to its place: the buffer
	 * has 8 kB, and each time that it is filled there is a system call.
	 */
	if (len - n >= MIN_DIRECT_BYTES && pq_getbytes(to, n) == 0)
	{
		ssize_t		got = 1;

		for (; n < len && got > 0; n += Max(got, 0))
			got = secure_read(MyProcPort, to + n, len - n);
		to += n;
		len -= n;
	}
	if (len > 0 && pq_getbytes(to, len) != 0)
	{
		ereport(COMMERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("incomplete message from client")));
		report_lost_client();
	}
}

/* The length of a message, which must not be above "max", without itself. */
static Size
read_length(Size max)
{
	uint32		word;

	read_bytes((char *) &word, sizeof(word));
	word = pg_ntoh32(word);
	if (word < sizeof(word) || word > max)
	{
		ereport(COMMERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid message length")));
		report_lost_client();
	}
	return word - sizeof(word);
}

/*
 * Read a message for which the stream has no room.  If there is no memory for
 * it, it has to be passed before that is an error, as by pq_getmessage().
 */
static void
read_long_message(StringInfo message, Size len)
{
	PG_TRY();
	{
		enlargeStringInfo(message, len);
	}
	PG_CATCH();
	{
		char		passed[1024];

		for (Size n; len > 0; len -= n)
		{
			n = Min(len, sizeof(passed));
			read_bytes(passed, n);
		}
		pq_endmsgread();
		PG_RE_THROW();
	}
	PG_END_TRY();
	read_bytes(message->data, len);
	message->len = len;
	message->data[len] = '\0';
}

/* Read a message with data, to the stream or, if it is too long, aside. */
static void
read_data(CopyStream *stream)
{
	Size		len = read_length(PQ_LARGE_MESSAGE_LIMIT);

	if (len <= stream->size - stream->end)
	{
		read_bytes(stream->data + stream->end, len);
		stream->end += len;
	}
	else
		read_long_message(stream->cstate->fe_msgbuf, len);
	pq_endmsgread();
}

/*
 * Read the next message with data.  False if another one is next, which is
 * not touched.
 */
static bool
read_message(CopyStream *stream)
{
	StringInfo	message = stream->cstate->fe_msgbuf;
	int			type;

	for (;;)
	{
		/*
		 * A cancel request in the middle of a message would leave the rest of
		 * it unread, and the connection useless.
		 */
		HOLD_CANCEL_INTERRUPTS();
		pq_startmsgread();
		type = pq_peekbyte();
		/* CopyDone, CopyFail and errors are the server's to read */
		if (type != COPY_DATA && type != FLUSH && type != SYNC)
		{
			pq_endmsgread();
			RESUME_CANCEL_INTERRUPTS();
			return false;
		}
		pq_getbyte();
		resetStringInfo(message);
		if (type == COPY_DATA)
			read_data(stream);
		else if (pq_getmessage(message, PQ_SMALL_MESSAGE_LIMIT))
			report_lost_client();
		RESUME_CANCEL_INTERRUPTS();
		if (type == COPY_DATA)
			return true;
		message->cursor = message->len;
		/* a cancel waits for the next row, as the server's does */
	}
}

/* Add data to the stream.  False if there is none. */
static bool
add_data(CopyStream *stream)
{
	StringInfo	message = stream->cstate->fe_msgbuf;

	if (message->cursor >= message->len && !read_message(stream))
		return false;
	/* of a message that was read aside, take what there is room for */
	if (message->cursor < message->len)
	{
		Size		len = Min(stream->size - stream->end,
							  message->len - message->cursor);

		pq_copymsgbytes(message, stream->data + stream->end, len);
		stream->end += len;
	}
	return true;
}

bool
copy_stream_fill(CopyStream *stream)
{
	CopyFromState cstate = stream->cstate;
	StringInfo	message = cstate->fe_msgbuf;
	Size		unused = stream->end - stream->start;
	Size		enough = Max(2 * unused, COPY_STREAM_BLOCK);
	bool		has_line = false;

	if (unused > MAX_UNUSED)
		return false;
	/* make room for a block behind what is unused, which goes to the front */
	if (stream->start > 0)
	{
		memmove(stream->data, stream->data + stream->start, unused);
		stream->valid -= stream->start;
		stream->end = unused;
		stream->start = 0;
	}
	/* a line that is longer than the block doubles the stream */
	if (stream->size < 2 * unused + COPY_STREAM_BLOCK)
	{
		stream->size = 2 * unused + COPY_STREAM_BLOCK;
		stream->data = repalloc(stream->data, stream->size + STREAM_PADDING);
	}
	/* with a line to work on, do not wait for the client to send more */
	while (stream->end < enough &&
		   !(has_line && message->cursor == message->len &&
			 !client_data_is_there()))
	{
		Size		end = stream->end;

		if (!add_data(stream))
			break;
		has_line = has_line ||
			memchr(stream->data + end, '\n', stream->end - end) != NULL;
	}
	if (stream->end == unused)
		return false;

	/*
	 * scans read whole blocks beyond the end, and find nothing special there
	 */
	memset(stream->data + stream->end, 0, STREAM_PADDING);

	cstate->bytes_processed += stream->end - unused;
	pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED,
								 cstate->bytes_processed);

	/*
	 * Bytes are verified once, as they come.  A character that a block cuts
	 * off is verified with the next one, and one that is invalid stops the
	 * count: the line splitter gives lines beyond it to the server.
	 */
	stream->valid +=
		pg_encoding_verifymbstr(cstate->file_encoding,
								stream->data + stream->valid,
								stream->end - stream->valid);
	return true;
}

/*
 * The server's parser finds its input in raw_buf, which is input_buf as well
 * if the encodings are the same (BeginCopyFrom()).
 */
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
