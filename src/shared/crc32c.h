/*
 * crc32c.h
 *		Computes CRC-32C, with the results of port/pg_crc32c.h, several times
 *		as fast.
 *
 * The extension (read/file_stream.c) and pg_parbasebackup compute the
 * checksums of all files of a backup with it.  PostgreSQL executes one CRC
 * instruction after another, each of which waits for the result of the one
 * before; only 18 is faster, on a few processors.  ISA-L computes the CRCs of
 * several parts of the data at the same time and combines them.
 */
#ifndef CRC32C_H
#define CRC32C_H

#include "port/pg_crc32c.h"

#if defined(__x86_64__) || defined(__aarch64__)
#include <isa-l/crc.h>
#define CRC32C_BY_ISAL
#endif

/*
 * Add bytes to a CRC, between INIT_CRC32C() and FIN_CRC32C(), as
 * COMP_CRC32C() does.
 */
static inline pg_crc32c
crc32c_add(pg_crc32c crc, const void *data, size_t len)
{
#ifdef CRC32C_BY_ISAL
	const char *pos = data;

	while (len > 0)
	{
		/* the length is an int */
		size_t		part = Min(len, (size_t) 1 << 30);

		crc = crc32_iscsi((unsigned char *) pos, (int) part, crc);
		pos += part;
		len -= part;
	}
#else
	COMP_CRC32C(crc, data, len);
#endif
	return crc;
}

/* Return the final CRC of these bytes; the CRC of no bytes is 0. */
static inline pg_crc32c
crc32c_of(const void *data, size_t len)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	crc = crc32c_add(crc, data, len);
	FIN_CRC32C(crc);
	return crc;
}

#endif							/* CRC32C_H */
