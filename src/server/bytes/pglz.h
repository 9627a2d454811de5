/*-------------------------------------------------------------------------
 *
 * pglz.h
 *	  Compresses and decompresses values with pglz, as the server does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PGLZ_H
#define PARDUMP_PGLZ_H

/* The bytes after the end of the output that may be overwritten. */
#define PGLZ_SLACK	32

/*
 * Decompress "source" of "source_len" bytes to "dest", whose "dest_len" bytes
 * it must fill exactly.  "dest" must have room for PGLZ_SLACK more bytes.
 * Returns false if the source is damaged, or contains anything that
 * pglz_compress() does not write.  The caller then calls pglz_decompress(),
 * which decides whether this is an error.
 */
extern bool pglz_decode(const char *source, Size source_len, char *dest,
						Size dest_len);

/*
 * Compress "source" of "len" bytes to "dest", which must have room for
 * PGLZ_MAX_OUTPUT(len) bytes, to the same bytes as the server.  Returns the
 * compressed length, or -1 if PGLZ_strategy_default does not compress such a
 * value: it is shorter than 32 bytes, or would not become shorter by a
 * quarter.
 */
extern int32 pglz_encode(const char *source, int32 len, char *dest);

#endif							/* PARDUMP_PGLZ_H */
