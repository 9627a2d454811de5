/*
 * json_text.h
 *		Text as JSON strings.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "base/fe_compat.h"

#include "pqexpbuffer.h"

/*
 * Append a text as a JSON string, quotes included (RFC 8259).  JSON is UTF-8,
 * texts may be anything: a byte that is not part of a valid character becomes
 * the code point of its number.  The string gets at most max_bytes between
 * its quotes, and is cut between characters; 0 means no limit.
 */
extern void json_append_text(PQExpBuffer buf, const char *text,
							 size_t max_bytes);

#endif							/* JSON_TEXT_H */
