/*-------------------------------------------------------------------------
 *
 * copy_stream.c
 *	  Receives the data that a client sends for COPY ... FROM STDIN, as a
 *	  stream of bytes.
 *
 * row_reader.c reads lines from the stream.  The code follows CopyGetData(),
 * CopyLoadRawBuf() and CopyConvertBuf() in
 * src/backend/commands/copyfromparse.c.
 *
 * The current message, and the position in it, are stored in the state of the
 * server's own COPY, so that the server can continue where this code stops.
 * There are two differences, which save time.  If the stream has room for a
 * message, its data is not copied through the server's message.  And data
 * that is not yet in libpq's buffer is read from the socket directly, because
 * that buffer is small and each filling of it takes a system call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

/*
 * libpq-be.h includes headers of these libraries, which an installation may
 * lack, if they are defined.  The members of Port in question are not used.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#undef USE_SSL

#include "commands/progress.h"
#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "base/server_compat.h"
#include "load/copy_stream.h"

/* The types of messages that are read here: data, and two to be ignored. */
#define COPY_DATA	'd'
#define FLUSH		'H'
#define SYNC		'S'

/*
 * Fewer bytes are read through libpq's buffer, since filling it also reads
 * the start of the next message.
 */
#define MIN_DIRECT_BYTES	(16 * 1024)

/* A longer line is left to the server, whose own limit is 1 GB. */
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
 * Read "len" bytes of a message; a lost connection is an error.  If the
 * socket returns no more data, pq_getbytes() finds out why, and waits or
 * reports the reason.
 */
static void
read_bytes(char *to, Size len)
{
	Size		n = bytes_in_buffer(len);

	/*
	 * First take the bytes that are already in libpq's buffer.  The rest of a
	 * long message is read from the socket to its place: the buffer has 8 kB,
	 * and each filling of it takes a system call.
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

/*
 * Read the length of a message, which must not exceed "max".  Returns it
 * without the bytes of the length itself.
 */
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
 * Read a message for which the stream has no room.  If there is not enough
 * memory, the message is skipped before the error is raised, as in
 * pq_getmessage(): otherwise the rest of it would be taken for messages.
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

/* Read a message with data into the stream or, if it is too long, aside. */
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
 * Read the next message with data.  Returns false if the next message is of
 * another type, without reading it.
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
		/* the server's COPY reads CopyDone, CopyFail and wrong messages */
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
		/* a cancel request is handled with the next row, as in the server */
	}
}

/* Add data to the stream.  Returns false if there is no more. */
static bool
add_data(CopyStream *stream)
{
	StringInfo	message = stream->cstate->fe_msgbuf;

	if (message->cursor >= message->len && !read_message(stream))
		return false;
	/* of a message that was read aside, copy as much as fits */
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
	/* move the unused bytes to the front, to make room for a block */
	if (stream->start > 0)
	{
		memmove(stream->data, stream->data + stream->start, unused);
		stream->valid -= stream->start;
		stream->end = unused;
		stream->start = 0;
	}
	/* if a line is longer than a block, double the stream */
	if (stream->size < 2 * unused + COPY_STREAM_BLOCK)
	{
		stream->size = 2 * unused + COPY_STREAM_BLOCK;
		stream->data = repalloc(stream->data, stream->size + STREAM_PADDING);
	}
	/* once there is a line to process, do not wait for the client */
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

	/* scans read whole blocks beyond the end, and find only zeros there */
	memset(stream->data + stream->end, 0, STREAM_PADDING);

	cstate->bytes_processed += stream->end - unused;
	pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED,
								 cstate->bytes_processed);

	/*
	 * Bytes are verified once, when they have been read.  An incomplete
	 * character at the end is verified with the next data.  "valid" does not
	 * grow beyond an invalid character, and the line splitter leaves all
	 * lines from there on to the server.
	 */
	stream->valid +=
		pg_encoding_verifymbstr(cstate->file_encoding,
								stream->data + stream->valid,
								stream->end - stream->valid);
	return true;
}

/*
 * The server's parser reads its input from raw_buf, which is also input_buf
 * if the encodings are the same (BeginCopyFrom()).
 */
void
copy_stream_hand_over(CopyStream *stream)
{
	CopyFromState cstate = stream->cstate;

	/*
	 * The stream's memory replaces the raw input.  It may be longer than the
	 * server's buffer, but that does not matter: the server reads more data
	 * only when a few bytes at the end of the input are left.
	 */
	StaticAssertStmt(COPY_STREAM_BLOCK > RAW_BUF_SIZE, "block is too short");
	stream->data[stream->end] = '\0';
	cstate->raw_buf = cstate->input_buf = stream->data;
	cstate->raw_buf_index = cstate->input_buf_index = stream->start;
	cstate->raw_buf_len = stream->end;
	cstate->input_buf_len = stream->valid;
	stream->data = NULL;
}
