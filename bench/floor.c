/*
 * floor.c
 *		Measures the least that a dump has to do: compress the rows' text with
 *		the codec's own library, and copy the result into a file.
 *
 * usage: floor FILE CODEC OUTPUT
 *
 * CODEC is none, lz4, zstd:LEVEL or gzip:LEVEL.  FILE is read whole before
 * the clock starts; its blocks of 1 MiB are then compressed in memory that is
 * used again and again, and written to OUTPUT: one frame, or, for gzip, one
 * member a block, by the library that pg_pardump has chosen for the level.
 * Prints "wall,cpu,0,0,bytes": seconds, nothing for a server, and the size of
 * OUTPUT.  One thread.
 */
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "shared/gzip_member.h"

#define BLOCK_SIZE	((size_t) 1024 * 1024)
#define OUT_SIZE	(2 * BLOCK_SIZE)	/* more than any codec's bound */

/* Compresses a block and returns the size of what it made. */
typedef size_t (*CompressBlock) (void *codec, void *out,
								 const void *block, size_t length);

static void
fail(const char *what)
{
	fprintf(stderr, "floor: %s\n", what);
	exit(1);
}

static void *
not_null(void *pointer, const char *what)
{
	if (pointer == NULL)
		fail(what);
	return pointer;
}

/* No codec: the block itself is what is written. */
static size_t
none_block(void *codec, void *out, const void *block, size_t length)
{
	(void) codec;
	(void) out;
	(void) block;
	return length;
}

static size_t
gzip_block(void *codec, void *out, const void *block, size_t length)
{
	return gzip_member_compress(codec, block, length, out, OUT_SIZE);
}

static size_t
zstd_block(void *codec, void *out, const void *block, size_t length)
{
	ZSTD_inBuffer in = {block, length, 0};
	ZSTD_outBuffer made = {out, OUT_SIZE, 0};

	while (in.pos < in.size)
		if (ZSTD_isError(ZSTD_compressStream2(codec, &made, &in, ZSTD_e_continue)))
			fail("zstd failed");
	return made.pos;
}

static size_t
lz4_block(void *codec, void *out, const void *block, size_t length)
{
	size_t		made = LZ4F_compressUpdate(codec, out, OUT_SIZE,
										   block, length, NULL);

	if (LZ4F_isError(made))
		fail("lz4 failed");
	return made;
}

static void *
lz4_codec(void *out)
{
	LZ4F_cctx  *codec;
	LZ4F_preferences_t preferences = {.frameInfo.blockSizeID = LZ4F_max64KB};

	if (LZ4F_isError(LZ4F_createCompressionContext(&codec, LZ4F_VERSION)) ||
		LZ4F_isError(LZ4F_compressBegin(codec, out, OUT_SIZE, &preferences)))
		fail("lz4 failed");
	return codec;
}

static CompressBlock
choose_codec(const char *name, void **codec, void *out)
{
	int			level;

	*codec = NULL;
	if (strcmp(name, "none") == 0)
		return none_block;
	if (strcmp(name, "lz4") == 0)
	{
		*codec = lz4_codec(out);
		return lz4_block;
	}
	if (sscanf(name, "gzip:%d", &level) == 1)
	{
		*codec = not_null(gzip_codec_new(level), "no such level");
		return gzip_block;
	}
	if (sscanf(name, "zstd:%d", &level) != 1)
		fail("unknown codec");
	*codec = not_null(ZSTD_createCCtx(), "out of memory");
	ZSTD_CCtx_setParameter(*codec, ZSTD_c_compressionLevel, level);
	return zstd_block;
}

/* Map the file and touch it all, so that the clock sees no reading. */
static const char *
read_file(const char *path, size_t *length)
{
	FILE	   *file = not_null(fopen(path, "r"), "could not open the file");
	struct stat st;
	void	   *data;

	if (fstat(fileno(file), &st) != 0 || st.st_size == 0)
		fail("the file is empty");
	*length = st.st_size;
	data = mmap(NULL, *length, PROT_READ, MAP_PRIVATE | MAP_POPULATE,
				fileno(file), 0);
	if (data == MAP_FAILED)
		fail("could not map the file");
	fclose(file);
	return data;
}

static double
seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	char	   *out = not_null(malloc(OUT_SIZE), "out of memory");
	FILE	   *output;
	size_t		length;
	size_t		made = 0;
	const char *data;
	void	   *codec;
	CompressBlock compress_block;
	double		wall;
	double		cpu;

	if (argc != 4)
		fail("usage: floor FILE CODEC OUTPUT");
	output = not_null(fopen(argv[3], "w"), "could not create the output");
	data = read_file(argv[1], &length);
	compress_block = choose_codec(argv[2], &codec, out);
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t done = 0; done < length; done += BLOCK_SIZE)
	{
		size_t		part = length - done < BLOCK_SIZE ? length - done : BLOCK_SIZE;
		size_t		size = compress_block(codec, out, data + done, part);
		const char *result = compress_block == none_block ? data + done : out;

		if (write(fileno(output), result, size) != (ssize_t) size)
			fail("could not write the output");
		made += size;
	}
	printf("%.3f,%.3f,0,0,%zu\n", seconds(CLOCK_MONOTONIC) - wall,
		   seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, made);
	return 0;
}
