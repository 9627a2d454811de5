/*-------------------------------------------------------------------------
 *
 * field.h
 *	  A field of COPY's text format, as it stands in the line.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_FIELD_H
#define PARDUMP_FIELD_H

#include "postgres.h"

typedef struct Field
{
	char	   *text;			/* borrowed from the stream */
	uint32		len;
	bool		escaped;		/* there is a backslash in it */
} Field;

/* Does the field stand for NULL? */
static inline bool
field_is_null(const Field *field)
{
	return field->escaped && field->len == 2 && field->text[1] == 'N';
}

/*
 * Write a field without its escapes to a place that has room for its length
 * and FIELD_PADDING.  Octal and hexadecimal escapes are not among them, and
 * the last backslash has a character behind it.  Returns the new length.
 */
extern Size field_unescape(const Field *field, char *to);

#endif							/* PARDUMP_FIELD_H */
