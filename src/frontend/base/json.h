/*
 * json.h
 *		Reads JSON values one by one, and writes texts as JSON strings.
 *		json_fields.h uses it to read and write whole structs.
 */
#ifndef JSON_H
#define JSON_H

#include "pqexpbuffer.h"

/* ----------
 * Reading JSON (RFC 8259) step by step: the caller knows which value comes
 * next.
 *
 * The text may be damaged or hostile.  After the first error, nothing more is
 * read, and all functions return values that end the caller's loops.  Only
 * json_skip() is recursive, and its depth is limited.
 * ----------
 */

typedef struct JsonReader
{
	const char *pos;
	const char *end;
	const char *error;			/* NULL = no error */
} JsonReader;

/* Begin to read a text, which must be valid UTF-8. */
extern void json_begin(JsonReader *reader, const char *text, size_t len);

/* Read the start of an object or array: '{' or '['. */
extern void json_enter(JsonReader *reader, char open);

/*
 * Is there another member or element?  Reads the comma, or the closing '}' or
 * ']'.  *first must be true before the first call, and is then set to false.
 */
extern bool json_more(JsonReader *reader, char close, bool *first);

/*
 * Read a member's name and the colon.  Returns the name, or NULL on error;
 * the caller owns it.
 */
extern char *json_key(JsonReader *reader);

/*
 * Read a string without zero bytes, or null.  Returns NULL for null and on
 * error; the caller owns the string.
 */
extern char *json_string(JsonReader *reader);

/* Read null if it is the next value; returns false otherwise. */
extern bool json_null(JsonReader *reader);

/* Read a whole number from 0 to the largest uint64.  Returns 0 on error. */
extern uint64 json_number(JsonReader *reader);

/* Report an error.  The first error is kept, and nothing more is read. */
extern void json_fail(JsonReader *reader, const char *error);

/* Skip a value of any kind. */
extern void json_skip(JsonReader *reader);

/* End reading: only white space may follow. */
extern void json_finish(JsonReader *reader);

/* ----------
 * Writing texts as JSON strings.
 * ----------
 */

/*
 * Append a text as a JSON string with its quotes (RFC 8259).  JSON is UTF-8,
 * but the text may have any encoding: a byte that is not part of a valid
 * character becomes the code point of the same number.  The string has at
 * most max_bytes between its quotes, and is truncated between characters; 0
 * means no limit.
 */
extern void json_append_text(PQExpBuffer buf, const char *text,
							 size_t max_bytes);

/*
 * Append a time, in microseconds since 1970, in UTC with 3 or 6 digits of the
 * second's fraction: "2026-01-31T23:59:59.123Z".
 */
extern void json_append_time(PQExpBuffer buf, int64 us, int digits);

#endif							/* JSON_H */
