/*-------------------------------------------------------------------------
 *
 * column.h
 *	  The interface of encoders and decoders, and what all of them need.
 *
 * Every file in types/ implements encoders and decoders for a group of types,
 * choose.c finds the one for a column, read/chunk_reader.c calls encoders,
 * and load/row_reader.c calls decoders.  They replace the output, send and
 * input functions of common types: these allocate memory for each value, and
 * COPY then converts and escapes their result in passes of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_COLUMN_H
#define PARDUMP_COLUMN_H

#include "access/htup_details.h"
#include "fmgr.h"

#include "bytes/byte_buffer.h"

/* ----------
 * The formats in which rows are read: the two of COPY, and raw tuples.
 * ----------
 */

typedef enum RowFormat
{
	ROW_TEXT,
	ROW_BINARY,
	ROW_RAW
} RowFormat;

/* ----------
 * Appends text as COPY writes it: in the client's encoding, and escaped if
 * the format is text.
 * ----------
 */

/* Settings that determine how values are written; fixed for one scan. */
typedef struct EncodeSettings
{
	RowFormat	format;
	int			client_encoding;	/* pg_enc */
	bool		transcode;		/* it differs from the database's encoding */
	bool		embeds_ascii;	/* its multi-byte characters may contain bytes
								 * that look like ASCII
								 * (PG_ENCODING_IS_CLIENT_ONLY) */
} EncodeSettings;

/* Initialize the settings for a format, from those of the session. */
extern void encode_settings_init(EncodeSettings *settings, RowFormat format);

/*
 * Append "len" bytes of text in the database's encoding at "to", and return
 * the end.  The text is converted to the client's encoding if necessary.  If
 * the format is text, it is also escaped, and ends at the first zero byte, as
 * the result of an output function does.  The conversion raises an error for
 * a character that is invalid or does not exist in the client's encoding.
 */
extern char *append_text(ByteBuffer *out, char *to, const char *text, Size len,
						 const EncodeSettings *settings);

/* ----------
 * Encoders of one column's values in COPY's formats.
 *
 * An encoder appends exactly the bytes that COPY ... TO STDOUT writes for the
 * value (src/backend/commands/copyto.c: CopyOneRowTo, CopyAttributeOutText).
 * In text format these are the output function's text, in the client's
 * encoding, with COPY's backslash escapes; in binary format they are the
 * result of the send function.  The caller writes separators, lengths, NULLs
 * and line ends.
 *
 * The output or send function of a column's type determines its encoder:
 * all types with one function, such as a type and the domains over it, are
 * written in the same way.
 * ----------
 */

typedef struct ColumnEncoder ColumnEncoder;

/*
 * The room that is reserved before an encoder is called.  Most values need no
 * more, so most encoders need not test how much room is left.
 */
#define VALUE_ROOM	192

/*
 * Append a value that is not NULL at "to", and return its end.  There is room
 * for VALUE_ROOM bytes at "to", and there may be none after the result.  A
 * varlena value may have a short header, but is neither compressed nor out of
 * line: the caller has fetched it, and arrays and jsonb values contain only
 * plain ones.  An encoder may allocate in CurrentMemoryContext, which is
 * reset after some rows.  It raises the errors of the type's own function.
 *
 * Settings may change between two values, as a cursor may be read with
 * several FETCH commands and SET between them.  So an encoder reads a setting
 * for each value.  It passes the value to the type's function if it does not
 * write the right text under the current setting.  These settings are
 * DateStyle, IntervalStyle and TimeZone (datetime.c), extra_float_digits
 * (number.c) and bytea_output (text.c).  The client's encoding is that of the
 * beginning of the read, as in COPY.
 */
typedef char *(*EncodeFunction) (ColumnEncoder *encoder, Datum value,
								 ByteBuffer *out, char *to);

/*
 * The encoder for a built-in output or send function (F_... of
 * utils/fmgroids.h).  Each file has a table of such rows, which ends with
 * InvalidOid, for choose_encoder().
 */
typedef struct EncoderRow
{
	Oid			type_function;
	EncodeFunction encode;
	int			variant;		/* passed to an encoder of several types */
	bool		never_quoted;	/* array_out() never quotes the text */
} EncoderRow;

struct ColumnEncoder
{
	EncodeFunction encode;
	const EncodeSettings *settings; /* borrowed */
	Oid			type_id;		/* of the column, may be a domain */
	FmgrInfo	type_function;	/* output or send function, always set */
	bool		is_varlena;
	int			variant;		/* as in the row */
	bool		never_quoted;
	void	   *state;			/* for use by the encoder, or NULL */
};

/* Append a value with its encoder, after making the room that it expects. */
static inline char *
column_encode(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	to = byte_buffer_reserve(out, to, VALUE_ROOM);
	return encoder->encode(encoder, value, out, to);
}

/* Append the length that means NULL in binary format. */
static inline char *
append_null_length(ByteBuffer *out, char *to)
{
	return put_network_32(byte_buffer_reserve(out, to, sizeof(int32)), -1);
}

/* Append the length of a value and the value, as in binary format. */
static inline char *
column_encode_with_length(ColumnEncoder *encoder, Datum value, ByteBuffer *out,
						  char *to)
{
	Size		start;
	char	   *length;

	to = byte_buffer_reserve(out, to, sizeof(int32) + VALUE_ROOM);
	to += sizeof(int32);
	start = to - out->data;
	to = encoder->encode(encoder, value, out, to);
	length = out->data + start - sizeof(int32);
	put_network_32(length, to - length - sizeof(int32));
	return to;
}

/*
 * Append the result of the type's output or send function.  This is the
 * encoder of types without a fast one.  Fast encoders call it for values
 * outside of a type's range, which only occur in damaged tuples, and for rare
 * values whose text depends on a setting or on the major version.
 */
extern char *encode_by_type_function(ColumnEncoder *encoder, Datum value,
									 ByteBuffer *out, char *to);

/*
 * Raise the error for a value that the type named "type" never stores, for
 * example one whose parts exceed its end.
 */
extern void damaged_value(const char *type);

/* ----------
 * Decoders of one column's values from COPY's text format.
 *
 * A decoder makes the same Datum of a field as the type's input function, but
 * faster.  The tests compare loaded rows with those of COPY FROM byte by
 * byte, so all bytes of the Datum must be the same, including padding
 * (array_in() pads the last element of a text[]).
 *
 * A decoder accepts common values, and declines all others: any value of
 * which it is not sure goes to the type's input function.  So does every
 * value that is an error, as that function contains the message.
 *
 * The input function of a column's type determines its decoder.  The input
 * function of a domain is domain_in(), which has no decoder, so the server
 * checks the domain's constraints.
 * ----------
 */

typedef struct ColumnDecoder ColumnDecoder;

/*
 * The bytes after a field that a decoder may read, without using their
 * values, so that it can read the field in whole blocks.
 */
#define FIELD_PADDING	32

/*
 * Decode a field that is not NULL: set *value and return true.  Or decline
 * the field: return false, and leave any value in *value.
 *
 * The text has "len" bytes: 0 or more, and fewer than 1 GB.  COPY's escapes
 * have been resolved.  The text is valid in the database's encoding, contains
 * no zero, and is not followed by one: FIELD_PADDING other bytes follow,
 * which must not be written.  The text is only valid until the row is
 * complete.  So a value by reference is allocated with value_alloc().  Other
 * memory comes from value_alloc() or from palloc() in CurrentMemoryContext.
 * All of this memory is reused or freed after each row, so a decoder need not
 * free any.
 *
 * The value is the one that the input function returns, with the column's
 * typmod applied.  A varlena has a header of four bytes, is neither
 * compressed nor out of line, and is shorter than MaxAllocSize.
 *
 * Functions of defaults, constraints and indexes run between two values, and
 * may change any setting with set_config().  So a decoder reads a setting for
 * each value, and stores nothing that depends on one:
 *
 * array_nulls: read by decode_array()
 * IntervalStyle: read by decode_interval()
 * DateStyle: does not matter, as the year is first and has 4 digits
 * TimeZone: does not matter, as zones are offsets
 * max_stack_depth: does not matter, as the minimum allows MAX_JSON_DEPTH
 *
 * xmloption, lc_monetary, search_path (reg*), timezone_abbreviations and the
 * text search configuration only affect types without a decoder.  Settings
 * for output (extra_float_digits, bytea_output) are not read by any input
 * function.
 *
 * A decoder must decline each value for which the input function raises an
 * error, a warning or a notice, and must not raise any itself, except for
 * lack of memory.  Declining takes little time, so rare forms of a value need
 * not be decoded.
 */
typedef bool (*DecodeFunction) (ColumnDecoder *decoder, const char *text,
								Size len, Datum *value);

/*
 * Memory for the values of a row.  Values that do not fit are palloc'd.  For
 * values of a few bytes, palloc() and the reset of a context would take most
 * of the time.
 */
typedef struct ValueSpace
{
	char	   *next;			/* aligned as by palloc() */
	char	   *end;
} ValueSpace;

struct ColumnDecoder
{
	ValueSpace *space;			/* borrowed */
	DecodeFunction decode;		/* NULL: all values go to input_function */
	FmgrInfo	input_function; /* of the type, always set */
	Oid			type_id;		/* of the column, may be a domain */
	Oid			ioparam;		/* for the input function */
	int32		typmod;			/* of the column, -1 if none */
	int			variant;		/* as in the row */
	void	   *state;			/* for use by the decoder, or NULL */
};

/* Allocate memory for a value; aligned, and not initialized. */
static inline void *
value_alloc(ColumnDecoder *decoder, Size size)
{
	ValueSpace *space = decoder->space;
	char	   *value = space->next;

	if (unlikely(size > (Size) (space->end - value)))
		return palloc(size);
	space->next = value + MAXALIGN(size);
	return value;
}

/* Allocate a varlena of "len" bytes, and set its header only. */
static inline struct varlena *
varlena_alloc(ColumnDecoder *decoder, Size len)
{
	struct varlena *result = value_alloc(decoder, len + VARHDRSZ);

	SET_VARSIZE(result, len + VARHDRSZ);
	return result;
}

/*
 * The decoder for a built-in input function.  Each file has a table of such
 * rows, which ends with InvalidOid, for choose_decoder().
 */
typedef struct DecoderRow
{
	Oid			input_function;
	DecodeFunction decode;		/* NULL: columns with a typmod have none */
	DecodeFunction unlimited;	/* for columns without a typmod; NULL = the
								 * same */
	Size		state_bytes;	/* of decoder->state, not initialized */
	int			variant;		/* passed to a decoder of several types */
} DecoderRow;

/*
 * Return the value that the input function makes of a field.  The function
 * may raise errors.  The byte after the field is overwritten during the call.
 * If "text" is NULL, the value is NULL.  An input function that is not
 * strict, such as domain_in(), is called even then for its checks, and
 * InputFunctionCall() requires it to return NULL.
 */
extern Datum decode_by_input_function(ColumnDecoder *decoder, char *text,
									  Size len);

#endif							/* PARDUMP_COLUMN_H */
