/*-------------------------------------------------------------------------
 *
 * column.c
 *	  Writes text in the client's encoding, and calls the types' own output,
 *	  send and input functions.
 *
 * The encoders and decoders of all types use these functions: column.h
 * describes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "bytes/escape.h"
#include "types/column.h"

/* ----------
 * Appends text as COPY writes it: in the client's encoding, and escaped if
 * the format is text.
 * ----------
 */

/*
 * Does the same as BeginCopyTo() (src/backend/commands/copyto.c) without an
 * ENCODING option.  15 calls pg_server_to_any() in more cases, in which that
 * function does nothing.
 */
void
encode_settings_init(EncodeSettings *settings, RowFormat format)
{
	int			client_encoding = pg_get_client_encoding();

	settings->format = format;
	settings->client_encoding = client_encoding;
	settings->transcode = client_encoding != GetDatabaseEncoding() &&
		client_encoding != PG_SQL_ASCII;
	settings->embeds_ascii = PG_ENCODING_IS_CLIENT_ONLY(client_encoding);
}

/*
 * Append text that needs no conversion and whose multi-byte characters
 * contain no ASCII bytes.
 *
 * Room is reserved for the worst case before the copy, so that the loop need
 * not test how much is left.  Long text is copied in pieces: the worst case
 * of a gigabyte would be two gigabytes of room, which is hardly ever used.
 */
static inline char *
append_plain(ByteBuffer *out, char *to, const char *string, Size len)
{
	if (unlikely(len > ESCAPE_PIECE))
	{
		/* copy_escaping() stops at a zero, but this loop would not */
		len = strnlen(string, len);
		for (; len > ESCAPE_PIECE; string += ESCAPE_PIECE, len -= ESCAPE_PIECE)
		{
			CHECK_FOR_INTERRUPTS(); /* there may be a gigabyte of it */
			to = byte_buffer_reserve(out, to, COPY_ESCAPED_SIZE(ESCAPE_PIECE));
			to = copy_escaping(to, string, ESCAPE_PIECE, ESCAPE_COPY);
		}
	}
	to = byte_buffer_reserve(out, to, COPY_ESCAPED_SIZE(len));
	return copy_escaping(to, string, len, ESCAPE_COPY);
}

/*
 * Append text in a client's encoding whose characters may contain ASCII bytes
 * after their first byte.  These bytes must not be escaped, so the text is
 * copied character by character.
 */
static char *
append_stepping(ByteBuffer *out, char *to, const char *string, Size len,
				int encoding)
{
	const char *end = string + len;

	while (string < end)
	{
		Size		char_len = 1;

		if (IS_HIGHBIT_SET(*string))
			char_len = Min(pg_encoding_mblen(encoding, string), end - string);

		if (char_len > 1)
			to = byte_buffer_append(out, to, string, char_len);
		else
			to = put_escaped_byte(byte_buffer_reserve(out, to, 2), *string,
								  ESCAPE_COPY);
		string += char_len;
	}
	return to;
}

/*
 * Convert text, then append it.  If the database's encoding is SQL_ASCII,
 * nothing is converted, but pg_server_to_any() verifies that the text is
 * valid in the client's encoding.
 */
static pg_noinline char *
append_transcoded(ByteBuffer *out, char *to, const char *string, Size len,
				  const EncodeSettings *settings)
{
	char	   *converted;

	/* the result of an output function would end at the first zero */
	if (settings->format == ROW_TEXT)
		len = strnlen(string, len);
	converted = pg_server_to_any(string, len, settings->client_encoding);
	if (converted != string)
		len = strlen(converted);

	if (settings->format == ROW_BINARY)
		to = byte_buffer_append(out, to, converted, len);
	else if (settings->embeds_ascii)
		to = append_stepping(out, to, converted, len,
							 settings->client_encoding);
	else
		to = append_plain(out, to, converted, len);

	if (converted != string)
		pfree(converted);
	return to;
}

char *
append_text(ByteBuffer *out, char *to, const char *string, Size len,
			const EncodeSettings *settings)
{
	/* ASCII is the same in all encodings of servers and clients */
	if (unlikely(settings->transcode) && !text_is_ascii(string, len))
		return append_transcoded(out, to, string, len, settings);
	if (settings->format == ROW_BINARY)
		return byte_buffer_append(out, to, string, len);
	return append_plain(out, to, string, len);
}

/* ----------
 * Encodes values with the type's own function, and raises the error for a
 * damaged value.
 * ----------
 */

char *
encode_by_type_function(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
						char *to)
{
	/* not freed, as the function need not have allocated its result */
	if (encoder->settings->format == ROW_BINARY)
	{
		bytea	   *sent = SendFunctionCall(&encoder->type_function, value);

		return byte_buffer_append(out, to, VARDATA(sent),
								  VARSIZE(sent) - VARHDRSZ);
	}
	else
	{
		char	   *str = OutputFunctionCall(&encoder->type_function, value);

		return append_text(out, to, str, strlen(str), encoder->settings);
	}
}

void
damaged_value(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid value of type %s", type)));
}

/* ----------
 * Decodes values with the type's own function.
 * ----------
 */

Datum
decode_by_input_function(ColumnDecoder *decoder, char *text, Size len)
{
	char		behind;
	Datum		value;

	if (text == NULL)
		return InputFunctionCall(&decoder->input_function, NULL,
								 decoder->ioparam, decoder->typmod);

	/*
	 * An input function reads up to a zero, which fields do not end with, so
	 * the next byte is replaced by one.  If the function raises an error, the
	 * byte is not restored, as nothing of the stream is read after that.
	 */
	behind = text[len];
	text[len] = '\0';
	value = InputFunctionCall(&decoder->input_function, text,
							  decoder->ioparam, decoder->typmod);
	text[len] = behind;
	return value;
}
