/*
 * checksum.h
 *		PostgreSQL's checksums (common/checksum_helper.h), whose failures end
 *		the program with a message.
 */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include "common/checksum_helper.h"

extern void checksum_begin(pg_checksum_context *context, pg_checksum_type type);
extern void checksum_add(pg_checksum_context *context, const void *data,
						 size_t len);

/*
 * Write the checksum, of up to PG_CHECKSUM_MAX_LENGTH bytes, and return its
 * length, which is 0 for CHECKSUM_TYPE_NONE.
 */
extern int	checksum_end(pg_checksum_context *context, uint8 *checksum);

/* The same, in hexadecimal digits; owned. */
extern char *checksum_end_hex(pg_checksum_context *context);

/* The checksum of this data, in hexadecimal digits; owned. */
extern char *checksum_of(pg_checksum_type type, const void *data, size_t len);

#endif							/* CHECKSUM_H */
