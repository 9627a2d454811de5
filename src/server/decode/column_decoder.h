/*-------------------------------------------------------------------------
 *
 * column_decoder.h
 *	  Decoders of one column's values from COPY's text format.
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
 * Which decoder a column gets is decided by its type's input function.  A
 * domain's is domain_in(), so that a domain has none, and its constraints are
 * checked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_COLUMN_DECODER_H
#define PARDUMP_COLUMN_DECODER_H

#include "postgres.h"

#include "fmgr.h"

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

/*
 * A family of decoders: looks a type's input function up in its table and
 * returns the decoder, or NULL if it has none for it.  May set up
 * decoder->state by palloc() in CurrentMemoryContext, which outlives the
 * decoder; all else of it is set.
 */
typedef DecodeFunction (*DecoderFamily) (Oid input_function,
										 ColumnDecoder *decoder);

/*
 * The value of a field by the input function, which may raise its errors.
 * The byte behind the field is overwritten for that time.  NULL for "text" is
 * NULL: what the function makes of it is checked as by InputFunctionCall(),
 * and it comes to NULL, or to an error.
 */
extern Datum decode_by_input_function(ColumnDecoder *decoder, char *text,
									  Size len);

#endif							/* PARDUMP_COLUMN_DECODER_H */
