/*
 * json.h
 *		Reads JSON, and writes texts into it.
 */
#ifndef JSON_H
#define JSON_H

#include "pqexpbuffer.h"

/* ----------
 * Reads JSON (RFC 8259) step by step: the caller knows what comes next.
 *
 * The text is not trusted.  The first error ends everything: from then on all
 * functions return what ends the caller's loops.  Nothing is recursive but
 * json_skip(), whose depth is limited.
 * ----------
 */

typedef struct JsonReader
{
	const char *pos;
	const char *end;
	const char *error;			/* NULL so far */
} JsonReader;

/* text must be valid UTF-8. */
extern void json_begin(JsonReader *reader, const char *text, size_t len);

/* An object or array begins: '{' or '['. */
extern void json_enter(JsonReader *reader, char open);

/*
 * Is there another member or element?  Takes the comma, or the closing '}' or
 * ']'.  *first is true before the first call, and is then set to false.
 */
extern bool json_more(JsonReader *reader, char close, bool *first);

/* A member's name, and the colon; owned, NULL on error. */
extern char *json_key(JsonReader *reader);

/* A string; owned, NULL for null and on error.  Has no zero byte. */
extern char *json_string(JsonReader *reader);

/* Takes null if that is next. */
extern bool json_null(JsonReader *reader);

/* A whole number from 0 to the largest uint64; 0 on error. */
extern uint64 json_number(JsonReader *reader);

/* The first error is kept, and no more is read. */
extern void json_fail(JsonReader *reader, const char *error);

/* Any value. */
extern void json_skip(JsonReader *reader);

/* Nothing but white space may follow. */
extern void json_finish(JsonReader *reader);

/* ----------
 * Text as JSON strings.
 * ----------
 */

/*
 * Append a text as a JSON string, quotes included (RFC 8259).  JSON is UTF-8,
 * texts may be anything: a byte that is not part of a valid character becomes
 * the code point of its number.  The string gets at most max_bytes between
 * its quotes, and is cut between characters; 0 means no limit.
 */
extern void json_append_text(PQExpBuffer buf, const char *text,
							 size_t max_bytes);

/*
 * Append a time, in microseconds since 1970, in UTC with 3 or 6 digits of the
 * second's fraction: "2026-01-31T23:59:59.123Z".
 */
extern void json_append_time(PQExpBuffer buf, int64 us, int digits);

#endif							/* JSON_H */
