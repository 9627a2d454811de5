/*-------------------------------------------------------------------------
 *
 * column_encoder.h
 *	  Encoders of one column's values as COPY text.
 *
 * An encoder appends exactly the bytes that COPY ... TO STDOUT in text format
 * writes for the value (src/backend/commands/copyto.c: CopyOneRowTo,
 * CopyAttributeOutText): the output function's text, in the client's
 * encoding, with COPY's backslash escapes.  Separators, NULLs and line ends
 * are the row encoder's.
 *
 * Which encoder a column gets is decided by its type's output function: types
 * with the same output function, domains among them, have the same text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_COLUMN_ENCODER_H
#define PARDUMP_COLUMN_ENCODER_H

#include "postgres.h"

#include "fmgr.h"

#include "byte_buffer.h"

/* What a value's text depends on beside the value; fixed for one scan. */
typedef struct EncodeSettings
{
	int			client_encoding;	/* pg_enc */
	bool		transcode;		/* differs from the database's */
	bool		embeds_ascii;	/* a multi-byte character of the client's
								 * encoding may hold bytes that look like
								 * ASCII (PG_ENCODING_IS_CLIENT_ONLY) */
} EncodeSettings;

typedef struct ColumnEncoder ColumnEncoder;

/*
 * Append the text of a value that is not NULL.  The value is as it stands in
 * the tuple: varlena values may be short, compressed or out of line.  May
 * allocate in CurrentMemoryContext, which is reset after some rows.  Errors
 * are those of the type's output function.
 */
typedef void (*EncodeFunction) (ColumnEncoder *encoder, Datum value,
								ByteBuffer *out);

struct ColumnEncoder
{
	EncodeFunction encode;
	const EncodeSettings *settings; /* borrowed */
	Oid			type_id;		/* of the column, may be a domain */
	FmgrInfo	type_function;	/* of the type, always filled in */
	bool		is_varlena;
	void	   *state;			/* the encoder's own, or NULL */
};

/* The settings of the current session. */
extern void encode_settings_init(EncodeSettings *settings);

/*
 * Choose and set up the encoder of a type.  Allocates in
 * CurrentMemoryContext, which must outlive the encoder.  Values of types
 * without a fast encoder go through their output function.
 */
extern void column_encoder_init(ColumnEncoder *encoder, Oid type_id,
								const EncodeSettings *settings);

static inline void
column_encode(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	encoder->encode(encoder, value, out);
}

/*
 * Raise the error for a value of a type that is not what the type stores: one
 * that points beyond its own end.
 */
extern void damaged_value(const char *type);

/* ----------
 * Families of encoders
 *
 * Each looks the output function up in its table and returns the function, or
 * NULL if it has none for it or none that is exact under the session's
 * settings (e.g. a DateStyle other than ISO).
 * ----------
 */

/* encode_number.c: bool, integers, oid, floats, numeric */
extern EncodeFunction number_encoder(Oid type_function);

/* encode_datetime.c: date, time, timestamp, both with zones, interval */
extern EncodeFunction datetime_encoder(Oid type_function);

/* encode_hex.c: uuid, bytea, inet, cidr, macaddr */
extern EncodeFunction hex_encoder(Oid type_function);

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

/* ----------
 * Escaping
 * ----------
 */

/*
 * Append text that is in the database's encoding: converted to the client's
 * if need be, and escaped.
 */
extern void append_text(ByteBuffer *out, const char *text, Size len,
						const EncodeSettings *settings);

#endif							/* PARDUMP_COLUMN_ENCODER_H */
