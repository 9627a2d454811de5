/*-------------------------------------------------------------------------
 *
 * append_text.h
 *	  Appends text as COPY writes it: in the client's encoding, and escaped
 *	  if the format is text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_APPEND_TEXT_H
#define PARDUMP_APPEND_TEXT_H

#include "postgres.h"

#include "bytes/byte_buffer.h"
#include "encode/row_format.h"

/* What a value's form depends on beside the value; fixed for one scan. */
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

#endif							/* PARDUMP_APPEND_TEXT_H */
