/*-------------------------------------------------------------------------
 *
 * pglz_encode.h
 *	  Compresses values with pglz, to the same bytes as the server.
 *
 * load/toast_values.c uses this instead of the server's pglz_compress(),
 * which takes longer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_PGLZ_ENCODE_H
#define PARDUMP_PGLZ_ENCODE_H

/*
 * Compress "source" of "len" bytes to "dest", which must have room for
 * PGLZ_MAX_OUTPUT(len) bytes.  Returns the compressed length, or -1 if
 * PGLZ_strategy_default does not compress such a value: it is shorter than 32
 * bytes, or would not become shorter by a quarter.
 */
extern int32 pglz_encode(const char *source, int32 len, char *dest);

#endif							/* PARDUMP_PGLZ_ENCODE_H */
