/*-------------------------------------------------------------------------
 *
 * pglz_decode.h
 *	  Decompresses what PostgreSQL's pglz compressed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PGLZ_DECODE_H
#define PARDUMP_PGLZ_DECODE_H

/* How far beyond its end the output may be scribbled on. */
#define PGLZ_SLACK	32

/*
 * Decompress "source" of "source_len" bytes to "dest", whose "dest_len" bytes
 * it must fill exactly and which has room for PGLZ_SLACK more.  False if the
 * source is damaged, or if it is anything that pglz_compress() does not make:
 * ask pglz_decompress() then.
 */
extern bool pglz_decode(const char *source, Size source_len, char *dest,
						Size dest_len);

#endif							/* PARDUMP_PGLZ_DECODE_H */
