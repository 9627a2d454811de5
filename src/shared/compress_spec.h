/*
 * compress_spec.h
 *		A compression method, its level, and zstd's extras: as -Z and the
 *		server's functions take them.
 *
 * Compiled into the extension and the frontend, and includes neither's
 * headers.
 */
#ifndef COMPRESS_SPEC_H
#define COMPRESS_SPEC_H

#include <stdbool.h>
#include <stddef.h>

/* Values are the archive header's byte (pg_dump 16 on; compress_io.h). */
typedef enum CompressMethod
{
	COMPRESS_NONE = 0,
	COMPRESS_GZIP = 1,
	COMPRESS_LZ4 = 2,
	COMPRESS_ZSTD = 3
} CompressMethod;

#define N_COMPRESS_METHODS (COMPRESS_ZSTD + 1)

typedef struct CompressSpec
{
	CompressMethod method;
	int			level;			/* resolved: never "default" */
	bool		long_distance;	/* zstd only */
	int			workers;		/* zstd only: threads per stream, 0 = none */
} CompressSpec;

/* Room for any message of compress_spec_parse(). */
#define COMPRESS_SPEC_ERROR_BYTES 256

/*
 * Read a number 0-9 (gzip level, 0 = none) or METHOD[:DETAIL], DETAIL being a
 * number or a comma separated list of level=N, long[=BOOL], workers=N
 * (PostgreSQL's common/compression.c).  Without a level: gzip 6, lz4 0, zstd
 * 3, as pg_dump has them.  False, and a message, for what it does not know.
 */
extern bool compress_spec_parse(const char *arg, CompressSpec *spec,
								char *error);

/* Write a spec so that compress_spec_parse() reads the same. */
extern void compress_spec_print(const CompressSpec *spec, char *buf,
								size_t size);

/* Do both ask for the same? */
extern bool compress_spec_equal(const CompressSpec *a, const CompressSpec *b);

/*
 * The default for archives that the pg_restore of this major reads: zstd
 * level 1 from 16 on, gzip level 1 before.
 */
extern CompressSpec compress_spec_default(int pg_dump_major);

/* Does the pg_restore of this major read files of this method? */
extern bool compress_method_readable(CompressMethod method, int pg_dump_major);

/* "gzip", ... and the suffix of data files: "", ".gz", ".lz4", ".zst" */
extern const char *compress_method_name(CompressMethod method);
extern const char *compress_method_suffix(CompressMethod method);

#endif							/* COMPRESS_SPEC_H */
