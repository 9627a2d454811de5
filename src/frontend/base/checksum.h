/*
 * checksum.h
 *		PostgreSQL's checksums (common/checksum_helper.h) in a form without
 *		error returns: a failure ends the program with a message.
 */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include "common/checksum_helper.h"

extern void checksum_begin(pg_checksum_context *context, pg_checksum_type type);
extern void checksum_add(pg_checksum_context *context, const void *data,
						 size_t len);

/*
 * Store the checksum, which has up to PG_CHECKSUM_MAX_LENGTH bytes, and
 * return its length, which is 0 for CHECKSUM_TYPE_NONE.
 */
extern int	checksum_end(pg_checksum_context *context, uint8 *checksum);

/* Returns the checksum in hexadecimal digits; the caller owns it. */
extern char *checksum_end_hex(pg_checksum_context *context);

/*
 * Returns the checksum of this data in hexadecimal digits; the caller owns
 * it.
 */
extern char *checksum_of(pg_checksum_type type, const void *data, size_t len);

#endif							/* CHECKSUM_H */
