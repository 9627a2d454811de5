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
 * Append a value that is not NULL.  The value is as it stands in
 * the tuple: varlena values may be short, compressed or out of line.  May
 * allocate in CurrentMemoryContext, which is reset after some rows.  Errors
 * are those of the type's own function.
 */
typedef void (*EncodeFunction) (ColumnEncoder *encoder, Datum value,
								ByteBuffer *out);

struct ColumnEncoder
{
	EncodeFunction encode;
	const EncodeSettings *settings; /* borrowed */
	Oid			type_id;		/* of the column, may be a domain */
	FmgrInfo	type_function;	/* output or send function, always set */
	bool		is_varlena;
	void	   *state;			/* the encoder's own, or NULL */
};

/*
 * Choose and set up the encoder of a type.  Allocates in
 * CurrentMemoryContext, which must outlive the encoder.  Values of types
 * without a fast encoder go through their own function.
 */
extern void column_encoder_init(ColumnEncoder *encoder, Oid type_id,
								const EncodeSettings *settings);

static inline void
column_encode(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	encoder->encode(encoder, value, out);
}

/* What stands for a NULL in binary format, where values have lengths. */
static inline void
append_null_length(ByteBuffer *out)
{
	char	   *p = byte_buffer_reserve(out, sizeof(int32));

	byte_buffer_commit(out, put_network_32(p, -1));
}

/* Append a value behind its length, as binary format has it. */
static inline void
column_encode_with_length(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *length = byte_buffer_reserve(out, sizeof(int32));
	Size		start;

	byte_buffer_commit(out, length + sizeof(int32));
	start = out->len;
	encoder->encode(encoder, value, out);
	put_network_32(out->data + start - sizeof(int32), out->len - start);
}

/*
 * Raise the error for a value of a type that is not what the type stores: one
 * that points beyond its own end.
 */
extern void damaged_value(const char *type);

/* ----------
 * Families of encoders
 *
 * Each looks a type's output or send function up in its table and returns the
 * encoder, or NULL if it has none for it or none that is exact under the
 * session's settings (e.g. a DateStyle other than ISO).
 * ----------
 */

/* encode_number.c: bool, integers, oid, floats, numeric as text */
extern EncodeFunction number_encoder(Oid type_function);

/*
 * encode_datetime.c: date, time, timestamp, both with zones, interval as text
 */
extern EncodeFunction datetime_encoder(Oid type_function);

/* encode_hex.c: uuid, bytea, inet, cidr, macaddr as text */
extern EncodeFunction hex_encoder(Oid type_function);

/* send_value.c: all of these in binary form */
extern EncodeFunction value_sender(Oid type_function);

/* encode_text.c: text, varchar, bpchar, name, json, xml, "char", enum ... */
extern EncodeFunction text_encoder(Oid type_function);

/* encode_jsonb.c */
extern EncodeFunction jsonb_encoder(Oid type_function);

/*
 * encode_array.c: arrays whose elements have an encoder.  Sets up
 * encoder->state.
 */
extern EncodeFunction array_encoder(Oid type_function,
									ColumnEncoder *encoder);

#endif							/* PARDUMP_COLUMN_ENCODER_H */
