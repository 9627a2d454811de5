/*-------------------------------------------------------------------------
 *
 * column.c
 *	  The common part of encoders and decoders of all types: text in the
 *	  client's encoding, and calls of the type's own function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "bytes/escape.h"
#include "types/column.h"

/* ----------
 * Appends text as COPY writes it: in the client's encoding, and escaped
 * if the format is text.
 * ----------
 */

/*
 * As BeginCopyTo does (src/backend/commands/copyto.c) without an ENCODING
 * option.  Version 15 calls pg_server_to_any() in more cases, in which that
 * does nothing.
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
 * Append text that needs no conversion and has no ASCII within characters.
 *
 * Room is reserved for the worst case before the copy, so that the copy tests
 * no limit.  Long text goes in pieces: the worst case of a gigabyte would be
 * two gigabytes of room that is hardly ever used.
 */
static inline char *
append_plain(ByteBuffer *out, char *to, const char *string, Size len)
{
	if (unlikely(len > ESCAPE_PIECE))
	{
		/* copy_escaping() stops at a zero, but not the loop */
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
 * Append text that is in a client's encoding whose characters may have ASCII
 * bytes behind their first one: these are not special, so go by characters.
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
 * Convert, then append.  From a database in SQL_ASCII nothing is converted
 * but the text is verified to be valid for the client.
 */
static pg_noinline char *
append_transcoded(ByteBuffer *out, char *to, const char *string, Size len,
				  const EncodeSettings *settings)
{
	char	   *converted;

	/* an output function's text ends at the first zero */
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
	/* ASCII is the same in every encoding of server and client */
	if (unlikely(settings->transcode) && !text_is_ascii(string, len))
		return append_transcoded(out, to, string, len, settings);
	if (settings->format == ROW_BINARY)
		return byte_buffer_append(out, to, string, len);
	return append_plain(out, to, string, len);
}

/* ----------
 * The fallback for encoders of any type, by the type's own function, and the
 * error for a damaged value.
 * ----------
 */

char *
encode_by_type_function(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
						char *to)
{
	/* not freed: the function may return what it did not allocate */
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
 * Decodes what no decoder does.
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
	 * An input function reads up to a zero, and fields of COPY have none.  If
	 * the function raises an error, the byte stays overwritten: nothing of
	 * the stream is read after that.
	 */
	behind = text[len];
	text[len] = '\0';
	value = InputFunctionCall(&decoder->input_function, text,
							  decoder->ioparam, decoder->typmod);
	text[len] = behind;
	return value;
}
