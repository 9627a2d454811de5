/*-------------------------------------------------------------------------
 *
 * column.h
 *	  The common part of encoders and decoders of all types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_COLUMN_H
#define PARDUMP_COLUMN_H

#include "access/htup_details.h"
#include "fmgr.h"

#include "bytes/byte_buffer.h"

/* ----------
 * The formats that rows are read in: COPY's two, and as they are stored.
 * ----------
 */

typedef enum RowFormat
{
	ROW_TEXT,
	ROW_BINARY,
	ROW_RAW
} RowFormat;

/* ----------
 * Appends text as COPY writes it: in the client's encoding, and escaped
 * if the format is text.
 * ----------
 */

/* Settings that a value's form depends on; fixed for one scan. */
typedef struct EncodeSettings
{
	RowFormat	format;
	int			client_encoding;	/* pg_enc */
	bool		transcode;		/* differs from the database's */
	bool		embeds_ascii;	/* a multi-byte character of the client's
								 * encoding may hold bytes that look like
								 * ASCII (PG_ENCODING_IS_CLIENT_ONLY) */
} EncodeSettings;

/* The settings of the current session, for a format. */
extern void encode_settings_init(EncodeSettings *settings, RowFormat format);

/*
 * Append "len" bytes of text that is in the database's encoding at "to", and
 * return its end: converted to the client's if need be, and escaped if the
 * format is text, where it ends at a zero byte as for an output function.  A
 * character that is not valid, or that the client's encoding lacks, is the
 * conversion's error.
 */
extern char *append_text(ByteBuffer *out, char *to, const char *text, Size len,
						 const EncodeSettings *settings);

/* ----------
 * Encoders of one column's values in COPY's formats.
 *
 * An encoder appends exactly the bytes that COPY ... TO STDOUT writes for the
 * value (src/backend/commands/copyto.c: CopyOneRowTo, CopyAttributeOutText).
 * In text format that is the output function's text, in the client's
 * encoding, with COPY's backslash escapes; in binary format it is what the
 * send function returns.  Separators, lengths, NULLs and line ends are the
 * row encoder's.
 *
 * The output or send function of a column's type determines its encoder:
 * types with the same function, domains among them, have the same form.
 * ----------
 */

typedef struct ColumnEncoder ColumnEncoder;

/*
 * The room that an encoder finds without asking for it.  Most values need no
 * more, and so no test.
 */
#define VALUE_ROOM	192

/*
 * Append a value that is not NULL at "to", where the buffer has VALUE_ROOM
 * bytes, and return its end, behind which there may be no room left.  A
 * varlena value may have a short header, but is neither compressed nor out of
 * line: the row encoder has fetched it, and no array or jsonb holds another.
 * May allocate in CurrentMemoryContext, which is reset after some rows.
 * Errors are those of the type's own function.
 *
 * Settings may change between two values, as a cursor may be read by several
 * FETCH with SET between them.  So an encoder looks at a setting for each
 * value, and leaves the value to the type's function if it is not exact under
 * it: DateStyle, IntervalStyle and TimeZone (datetime.c), extra_float_digits
 * (number.c), bytea_output (text.c).  The client's encoding is that at the
 * begin of the read, as in COPY.
 */
typedef char *(*EncodeFunction) (ColumnEncoder *encoder, Datum value,
								 ByteBuffer *out, char *to);

/*
 * The encoder for a built-in output or send function (F_... of
 * utils/fmgroids.h).  A table of them, which a file offers to
 * choose_encoder(), ends with InvalidOid.
 */
typedef struct EncoderRow
{
	Oid			type_function;
	EncodeFunction encode;
	int			variant;		/* tells the functions of an encoder apart */
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
	void	   *state;			/* the encoder's own, or NULL */
};

static inline char *
column_encode(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	to = byte_buffer_reserve(out, to, VALUE_ROOM);
	return encoder->encode(encoder, value, out, to);
}

/* Append the length that stands for a NULL in binary format. */
static inline char *
append_null_length(ByteBuffer *out, char *to)
{
	return put_network_32(byte_buffer_reserve(out, to, sizeof(int32)), -1);
}

/* Append a value behind its length, as binary format has it. */
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
 * Leave a value to its type's output or send function.  For what no fast
 * encoder covers: other types, values out of a type's range, which only a
 * damaged tuple holds, and rare ones whose text depends on the major.
 */
extern char *encode_by_type_function(ColumnEncoder *encoder, Datum value,
									 ByteBuffer *out, char *to);

/*
 * Raise the error for a value of a type that is not what the type stores: one
 * that points beyond its own end.
 */
extern void damaged_value(const char *type);

/* ----------
 * Decoders of one column's values from COPY's text format.
 *
 * The mirror of the encoders: a decoder makes of a field the Datum that the
 * type's input function makes of it, faster.  Loaded rows are compared with
 * those of COPY FROM byte by byte, so the Datum must be the same in all of
 * its bytes, padding included (array_in() pads the last element of a text[]).
 *
 * A decoder covers what is common, and declines all else: what it is not sure
 * of goes to the type's input function, and so does every value that is an
 * error, for that function has the message.
 *
 * The input function of a column's type determines its decoder.  That of a
 * domain is domain_in(), for which there is no decoder, so that the domain's
 * constraints are checked.
 * ----------
 */

typedef struct ColumnDecoder ColumnDecoder;

/*
 * Bytes behind a field that may be read, though not used: a decoder may take
 * whole blocks of them.
 */
#define FIELD_PADDING	32

/*
 * Decode a field that is not NULL to *value and return true, or decline: then
 * return false, and what *value is does not matter.
 *
 * The text has "len" bytes, which may be none, and fewer than 1 GB.  COPY's
 * escapes are resolved.  It is valid in the database's encoding and holds no
 * zero, but none ends it either: FIELD_PADDING bytes of anything follow, and
 * those are not to be written.  The text is gone when the row is: a value by
 * reference is made by value_alloc(), and what else is needed by it or by
 * palloc() in CurrentMemoryContext.  All of that is gone after every row, so
 * that nothing needs to be freed.
 *
 * The value is what the input function returns, with the column's typmod
 * applied: a varlena is neither short nor compressed nor out of line, and is
 * below MaxAllocSize.
 *
 * Functions of defaults, constraints and indexes run between two values, and
 * may change any setting with set_config().  So a decoder looks at a setting
 * for each value, and keeps nothing that depends on one:
 *
 * array_nulls: looked at by decode_array()
 * IntervalStyle: looked at by decode_interval()
 * DateStyle: does not matter, as the year is first and has 4 digits
 * TimeZone: does not matter, as zones are offsets
 * max_stack_depth: does not matter, as the least allows MAX_JSON_DEPTH
 *
 * xmloption, lc_monetary, search_path (reg*), timezone_abbreviations and the
 * text search configuration are of types without a decoder.  The settings
 * for output (extra_float_digits, bytea_output) are not read by any input
 * function.
 *
 * Must decline a value that the input function raises an error, a warning or
 * a notice for, and must not raise any itself (but for lack of memory).
 * Declining costs little, so that there need not be a decoder for what is
 * rare.
 */
typedef bool (*DecodeFunction) (ColumnDecoder *decoder, const char *text,
								Size len, Datum *value);

/*
 * Memory for the values of a row, from which is taken what fits: for values
 * of a few bytes, palloc() and a context's reset are too much.  Without any
 * room all is allocated.
 */
typedef struct ValueSpace
{
	char	   *next;			/* aligned as by palloc() */
	char	   *end;
} ValueSpace;

struct ColumnDecoder
{
	ValueSpace *space;			/* borrowed */
	DecodeFunction decode;		/* NULL if all goes to the input function */
	FmgrInfo	input_function; /* the type's, always set */
	Oid			type_id;		/* of the column, may be a domain */
	Oid			ioparam;		/* for the input function */
	int32		typmod;			/* of the column, -1 if none */
	int			variant;		/* as in the row */
	void	   *state;			/* the decoder's own, or NULL */
};

/* Memory for a value of the decoder's; aligned, and not set. */
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

/* A varlena of "len" bytes with a plain header; the bytes are not set. */
static inline struct varlena *
varlena_alloc(ColumnDecoder *decoder, Size len)
{
	struct varlena *result = value_alloc(decoder, len + VARHDRSZ);

	SET_VARSIZE(result, len + VARHDRSZ);
	return result;
}

/*
 * The decoder for a built-in input function.  A table of them, which a file
 * offers to choose_decoder(), ends with InvalidOid.
 */
typedef struct DecoderRow
{
	Oid			input_function;
	DecodeFunction decode;		/* NULL: none for columns with a typmod */
	DecodeFunction unlimited;	/* for columns without a typmod; NULL = the
								 * same */
	Size		state_bytes;	/* that decoder->state points to; not set */
	int			variant;		/* tells the functions of a decoder apart */
} DecoderRow;

/*
 * The value of a field by the input function, which may raise its errors.
 * The byte behind the field is overwritten for that time.  If "text" is NULL,
 * the value is NULL: a function that is not strict, such as domain_in(), is
 * called for its checks, and InputFunctionCall() requires it to return NULL.
 */
extern Datum decode_by_input_function(ColumnDecoder *decoder, char *text,
									  Size len);

#endif							/* PARDUMP_COLUMN_H */
