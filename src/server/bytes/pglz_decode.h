/*-------------------------------------------------------------------------
 *
 * pglz_decode.h
 *	  Decompresses values that PostgreSQL compressed with pglz.
 *
 * read/toast_reader.c uses this instead of the server's pglz_decompress(),
 * which takes longer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PGLZ_DECODE_H
#define PARDUMP_PGLZ_DECODE_H

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

#endif							/* PARDUMP_PGLZ_DECODE_H */
