/*-------------------------------------------------------------------------
 *
 * column_encoder.h
 *	  Encoders of one column's values in COPY's formats.
 *
 * An encoder appends exactly the bytes that COPY ... TO STDOUT writes for the
 * value (src/backend/commands/copyto.c: CopyOneRowTo, CopyAttributeOutText).
 * In text format that is the output function's text, in the client's
 * encoding, with COPY's backslash escapes; in binary format it is what the
 * send function returns.  Separators, lengths, NULLs and line ends are the
 * row encoder's.
 *
 * Which encoder a column gets is decided by its type's function for the
 * format: types with the same function, domains among them, have the same
 * form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_COLUMN_ENCODER_H
#define PARDUMP_COLUMN_ENCODER_H

#include "postgres.h"

#include "fmgr.h"

#include "bytes/byte_buffer.h"
#include "bytes/network_order.h"
#include "encode/append_text.h"

typedef struct ColumnEncoder ColumnEncoder;

/*
 * The room that an encoder finds without asking for it.  Most values need no
 * more, and so no test.
 */
#define VALUE_ROOM	192

/*
 * Append a value that is not NULL at "to", where the buffer has VALUE_ROOM
 * bytes, and return its end, behind which there may be no room left.  The
 * value is as it stands in the tuple: varlena values may be short, compressed
 * or out of line.  May allocate in CurrentMemoryContext, which is reset after
 * some rows.  Errors are those of the type's own function.
 *
 * Settings may change between two values, as a cursor may be read by several
 * FETCH with SET between them.  So an encoder looks at a setting for each
 * value, and leaves the value to the type's function if it is not exact under
 * it: DateStyle and IntervalStyle (encode_datetime.c), extra_float_digits
 * (encode_number.c), bytea_output (encode_hex.c), TimeZone (zone_offset.c).
 * The client's encoding is that at the begin of the read, as in COPY.
 */
typedef char *(*EncodeFunction) (ColumnEncoder *encoder, Datum value,
								 ByteBuffer *out, char *to);

/*
 * What each family of encoders, one file, offers to choose_encoder(): the
 * encoder for a built-in output or send function, or NULL if the family has
 * none.
 */
typedef EncodeFunction (*EncoderFamily) (Oid type_function);

struct ColumnEncoder
{
	EncodeFunction encode;
	const EncodeSettings *settings; /* borrowed */
	Oid			type_id;		/* of the column, may be a domain */
	FmgrInfo	type_function;	/* output or send function, always set */
	bool		is_varlena;
	void	   *state;			/* the encoder's own, or NULL */
};

static inline char *
column_encode(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	to = byte_buffer_reserve(out, to, VALUE_ROOM);
	return encoder->encode(encoder, value, out, to);
}

/* What stands for a NULL in binary format, where values have lengths. */
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

#endif							/* PARDUMP_COLUMN_ENCODER_H */
