/*
 * floor.c
 *		Measures the least that a dump has to do: compress the rows' text as
 *		pg_pardump does, and copy the result into a file.
 *
 * usage: floor FILE CODEC OUTPUT
 *
 * CODEC is as in pg_pardump's -Z.  FILE is read whole before the clock starts;
 * its blocks of 1 MiB are then compressed in memory that is used again and again,
 * and written to OUTPUT.  Prints "wall,cpu,0,0,bytes": seconds, nothing for a
 * server, and the size of OUTPUT.  One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/compress.h"

#define BLOCK_SIZE	((size_t) 1024 * 1024)

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

static size_t
write_out(FILE *output, const void *data, size_t length)
{
	if (write(fileno(output), data, length) != (ssize_t) length)
		fail("could not write the output");
	return length;
}

/* Compress and write a block; returns how much that has become so far. */
static size_t
compress_block(BlockCompressor *c, const char *data, size_t length, bool last,
			   char *out, FILE *output)
{
	size_t		made = 0;
	ssize_t		part;

	block_compressor_feed(c, data, length, last);
	while ((part = block_compressor_fetch(c, out)) > 0)
		made += write_out(output, out, part);
	if (part < 0)
		fail(block_compressor_error(c));
	return made;
}

int
main(int argc, char **argv)
{
	char		error[COMPRESS_SPEC_ERROR_BYTES];
	CompressSpec spec;
	BlockCompressor *c = NULL;
	char	   *out = NULL;
	FILE	   *output;
	size_t		length;
	size_t		made = 0;
	const char *data;
	double		wall;
	double		cpu;

	if (argc != 4)
		fail("usage: floor FILE CODEC OUTPUT");
	if (!compress_spec_parse(argv[2], &spec, error))
		fail(error);
	output = not_null(fopen(argv[3], "w"), "could not create the output");
	data = read_file(argv[1], &length);
	if (spec.method != COMPRESS_NONE)
	{
		c = not_null(block_compressor_new(&spec, false), "out of memory");
		out = not_null(malloc(block_compressor_out_bytes(c)), "out of memory");
	}
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t done = 0; done < length; done += BLOCK_SIZE)
	{
		size_t		part = length - done < BLOCK_SIZE ? length - done : BLOCK_SIZE;

		made += c ? compress_block(c, data + done, part, done + part == length,
								   out, output) :
			write_out(output, data + done, part);
	}
	printf("%.3f,%.3f,0,0,%zu\n", seconds(CLOCK_MONOTONIC) - wall,
		   seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, made);
	return 0;
}
